//! How loops reach the positions of a result whose levels are assembled, and what is assembled elsewhere
//! first.
//!
//! ```text
//! in order    forall i, j      S(i,j) in csr, coo    each entry is appended
//! gathered    forall i, j, k   S(i,k) in csr         a workspace for each row
//!             forall j, i      S(i,j) in csr         all entries are counted, then placed
//! listed      forall i, j, k   S(i,k) in coo, csc    all values are listed, sorted and summed up
//! ```
//!
//! The list of a product has a value for each multiplication. A temporary whose entries are gathered, and
//! a copy of it, take less of time and of memory, and run in parts where the list does not.

use super::{Legaliser, Task};
use crate::format::Format;
use crate::level::{COMPRESSED, DENSE};
use crate::notation::{Access, Expr};
use crate::plan::OutputOrder;
use crate::plan::access::distinct;
use tamis_ir::ids::IndexVar;

impl Legaliser<'_> {
    /// How loops in this order reach the positions of a task's result.
    pub(super) fn written(&self, task: &Task, loops: &[IndexVar]) -> OutputOrder {
        let levels = self.program.level_vars(task.result, &task.vars);
        OutputOrder::of(loops, &self.program.storage(task.result).format, &levels)
    }

    /// Makes the task a copy of a temporary where that is better than to assemble the result itself
    /// in the order in which its entries come.
    ///
    /// Where entries store elements for others, what holds the entries anyway is better a tensor, of
    /// which it is known what it takes before the result is allocated.
    pub(super) fn assemble_elsewhere(&mut self, task: Task) -> Task {
        let format = self.program.storage(task.result).format.clone();
        let is_copy = task.is_copy();
        if is_copy && format.spreads() || format.is_full() && !self.is_written_often(&task) {
            return task;
        }
        let loops = self.best_order(&task, is_copy).vars;
        let written = self.written(&task, &loops);
        let elsewhere = match written {
            OutputOrder::InOrder => self.transposed_result(&task, &loops).map(|vars| {
                let format = Format::in_order(vec![DENSE; vars.len()]);
                (vars, Some(format))
            }),
            _ if format.spreads() => Some((task.vars.clone(), None)),
            _ => self
                .gathered_elsewhere(&task, &loops, written)
                .map(|(vars, format)| (vars, Some(format))),
        };
        let Some((vars, stored)) = elsewhere else { return task };
        let value = self.temporary("t", stored, vars, task.value, task.compute);
        Task { value, ..task }
    }

    /// The variables and the levels of a temporary in which loops gather the entries of a result that
    /// they would list otherwise.
    pub(super) fn gathered_elsewhere(
        &self,
        task: &Task,
        loops: &[IndexVar],
        written: OutputOrder,
    ) -> Option<(Vec<IndexVar>, Format)> {
        if written != OutputOrder::Listed || self.request.scheduled || task.vars.len() < 2 {
            return None;
        }
        let vars = match task.value {
            Expr::Access(_) => self.storage_order(task),
            _ => {
                let mut vars = task.vars.clone();
                vars.sort_by_key(|&v| self.depth(v, loops));
                vars
            }
        };
        let rows = self.has_rows(&vars, task);
        let first = if rows { DENSE } else { COMPRESSED };
        let kind = |k| if k == 0 { first } else { COMPRESSED };
        let format = Format::in_order((0..vars.len()).map(kind));
        let ordered = distinct(&task.value).iter().all(|a| self.comes_in_order(a));
        let gathers = OutputOrder::of(loops, &format, &vars) != OutputOrder::Listed;
        (ordered && gathers && self.becomes_result(&vars, task)).then_some((vars, format))
    }

    /// Whether a temporary with levels of these variables becomes the result without being listed, perhaps
    /// by another one whose levels are in the result's order.
    fn becomes_result(&self, vars: &[IndexVar], task: &Task) -> bool {
        let own = self.storage_order(task);
        self.written(task, vars) != OutputOrder::Listed
            || self.has_rows(&own, task) && self.written(task, &own) == OutputOrder::InOrder
    }

    /// Whether an array over the first of some variables is worth its memory: loops pass over all its
    /// coordinates anyway, or an operand has about as many entries.
    fn has_rows(&self, vars: &[IndexVar], task: &Task) -> bool {
        let passes = |a: &Access| {
            let levels = self.program.levels(a);
            levels.iter().any(|(l, v)| *v == vars[0] && l.kind.properties().full)
        };
        let accesses = distinct(&task.value);
        self.is_small(vars[0]) && accesses.iter().any(|a| passes(a) || self.fills_rows(a, vars[0]))
    }

    /// Whether loops come to the entries of an operand in the order of their coordinates, each once.
    fn comes_in_order(&self, access: &Access) -> bool {
        let levels = self.program.storage(access.tensor).format.levels();
        let ordered = levels.iter().all(|l| l.kind.properties().ordered);
        ordered
            && !self.access_methods().is_revisited(std::iter::once(access))
            && !access.is_sliced()
    }
}
