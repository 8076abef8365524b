//! How loops reach the positions of a result whose levels are assembled, and what is assembled elsewhere
//! first.
//!
//! ```text
//! in order    forall i, j      S(i,j) in csr, coo    each entry is appended
//! gathered    forall i, j, k   S(i,k) in csr         a workspace for each row
//!             forall j, i      S(i,j) in csr         all entries are counted, then placed
//!             forall i, j      S(i,j) in ell, dok    all entries are counted, then inserted
//! listed      forall i, j, k   S(i,k) in coo, csc    all values are listed, sorted and summed up
//! ```
//!
//! The list of a product has a value for each multiplication. A temporary whose entries are gathered, and
//! a copy of it, take less of time and of memory, and run in parts where the list does not.

use super::{Legaliser, Task};
use crate::format::{Format, LevelMap, LevelSpec};
use crate::level::{COMPRESSED, DENSE};
use crate::notation::{Access, Expr};
use crate::plan::access::distinct;
use crate::plan::{OutputOrder, Visits};
use tamis_ir::ids::IndexVar;

impl Legaliser<'_> {
    /// How loops in this order reach the positions of a task's result.
    pub(super) fn written(&self, task: &Task, loops: &[IndexVar]) -> OutputOrder {
        self.written_by(task, loops, &self.ascending(&distinct(&task.value)))
    }

    /// The same by loops of which some come to their coordinates in order.
    fn written_by(
        &self,
        task: &Task,
        loops: &[IndexVar],
        ascends: &dyn Fn(IndexVar) -> bool,
    ) -> OutputOrder {
        let levels = self.program.level_vars(task.result, &task.vars);
        let format = &self.program.storage(task.result).format;
        let visits = Visits { derived: &self.program.derived, loops };
        OutputOrder::of(visits, format, &levels, ascends)
    }

    /// How a copy of an operand with levels of these variables is written.
    pub(super) fn copied(
        &self,
        access: &Access,
        vars: &[IndexVar],
        format: &Format,
    ) -> OutputOrder {
        let source = &self.program.storage(access.tensor).format;
        let has_slots = source.levels().iter().any(|l| matches!(l.map, LevelMap::Slot(_)));
        let loops = self.level_vars(access);
        let visits = Visits { derived: &self.program.derived, loops: &loops };
        match OutputOrder::of(visits, format, vars, &|v| !self.is_unordered(access, v)) {
            // Loops over rows are around those over their slots.
            _ if has_slots => OutputOrder::Gathered,
            _ if source.has_duplicates() => OutputOrder::Listed,
            order => order,
        }
    }

    /// Whether a loop comes to its coordinates in order, however it walks these operands.
    fn ascending<'a>(&'a self, operands: &'a [Access]) -> impl Fn(IndexVar) -> bool + 'a {
        move |v| !operands.iter().any(|a| self.is_unordered(a, v))
    }

    /// Whether a loop that walks an operand's level of a variable may not come to its coordinates in order.
    fn is_unordered(&self, access: &Access, var: IndexVar) -> bool {
        self.program.levels(access).into_iter().any(|(level, v)| {
            let p = level.kind.properties();
            v == var && !p.full && !(p.ordered && p.compact)
        })
    }

    /// Makes the task a copy of a temporary where that is better than to assemble the result itself
    /// in the order in which its entries come.
    ///
    /// Where entries store elements for others, what holds the entries anyway is better a tensor, of
    /// which it is known what it takes before the result is allocated.
    pub(super) fn assemble_elsewhere(&mut self, task: Task) -> Task {
        let format = self.program.storage(task.result).format.clone();
        let is_copy = task.is_copy();
        if format.is_full() && !self.is_written_often(&task) {
            return task;
        }
        let loops = self.best_order(&task, is_copy).vars;
        let written = self.written(&task, &loops);
        let elsewhere = match written {
            OutputOrder::InOrder => self.transposed_result(&task, &loops).map(|vars| {
                let format = Format::in_order(vec![DENSE; vars.len()]);
                (vars, Some(format))
            }),
            _ if format.spreads() && !is_copy => Some((task.vars.clone(), None)),
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
        let mut by_loops = task.vars.clone();
        by_loops.sort_by_key(|&v| self.depth(v, loops));
        let mut candidates = vec![by_loops];
        if let Expr::Access(_) = task.value {
            candidates.insert(0, self.storage_order(task));
        }
        candidates.into_iter().find_map(|vars| {
            let format = self.gathering_format(task, loops, &vars)?;
            Some((vars, format))
        })
    }

    /// The levels of a temporary over these variables, in which loops gather entries that then become the result
    /// without being listed.
    fn gathering_format(
        &self,
        task: &Task,
        loops: &[IndexVar],
        vars: &[IndexVar],
    ) -> Option<Format> {
        let rows = self.has_rows(vars, task);
        let first = if rows { DENSE } else { COMPRESSED };
        let kind = |k| if k == 0 { first } else { COMPRESSED };
        let format = Format::in_order((0..vars.len()).map(kind));
        let is_same = |tensor, indices: &[IndexVar]| {
            let own = self.program.level_vars(tensor, indices);
            self.program.storage(tensor).format == format && own == vars
        };
        let stays = is_same(task.result, &task.vars)
            || matches!(&task.value, Expr::Access(a) if is_same(a.tensor, &a.indices));
        let operands = distinct(&task.value);
        let visits = Visits { derived: &self.program.derived, loops };
        let gathered = OutputOrder::of(visits, &format, vars, &self.ascending(&operands));
        let of_rows = rows && loops.first() == vars.first();
        let taken = |a: &Access| self.is_gathered(a, of_rows.then_some(vars[0]));
        let gathers = !stays && gathered != OutputOrder::Listed;
        let taken = gathers && operands.iter().all(taken);
        (taken && self.becomes_result(vars, task, rows)).then_some(format)
    }

    /// Whether a temporary with levels of these variables becomes the result without being listed, perhaps
    /// by another one whose levels are in the result's order, or by loops over the result's blocks.
    fn becomes_result(&self, vars: &[IndexVar], task: &Task, rows: bool) -> bool {
        let own = self.storage_order(task);
        let written = |loops: &[IndexVar]| self.written_by(task, loops, &|_| true);
        let blocks = self.block_basis(task);
        let by_blocks = || {
            let follows = blocks.last() == vars.last() && !vars.contains(&blocks[0]);
            rows && follows && written(&blocks) == OutputOrder::Gathered
        };
        written(vars) != OutputOrder::Listed
            || by_blocks()
            || self.has_rows(&own, task) && written(&own) == OutputOrder::InOrder
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

    /// Whether loops come to the entries of an operand once each, or in the order of their coordinates, or at least
    /// to those of a row together.
    fn is_gathered(&self, access: &Access, row: Option<IndexVar>) -> bool {
        let format = &self.program.storage(access.tensor).format;
        let levels = self.program.levels(access);
        let ordered = levels.iter().all(|(l, _)| l.kind.properties().ordered);
        let in_order = ordered && !self.access_methods().is_revisited(std::iter::once(access));
        let of_row = |(l, v): &(LevelSpec, IndexVar)| {
            Some(*v) == row && l.kind.properties().full && l.kind.locates()
        };
        let is_whole = in_order || !format.has_duplicates() || levels.iter().any(of_row);
        is_whole && !access.is_sliced()
    }
}
