//! One `forall`: its iterators, its lattice, and the code of one case of its body.

use super::slice::Sliced;
use crate::cin::simplify::written;
use crate::cin::{Stmt, Walk};
use crate::format::LevelSpec;
use crate::iteration::lattice::Lattice;
use crate::level::{LevelArrays, LevelKind};
use crate::lower::read::locate::{distinct, given};
use crate::lower::write::output::{Assembler, Assembly, Plan, Rest};
use crate::lower::{Code, Lowerer, Reached, Scope};
use crate::notation::Access;
use std::slice::from_ref;
use tamis_ir::ids::{IndexVar, Var};
use tamis_ir::ir;
use tamis_ir::ir::build::{all, when};

/// One sparse operand at one index variable.
pub(in crate::lower) struct Iterator {
    pub(in crate::lower) access: Access,
    pub(in crate::lower) level: usize,
    pub(in crate::lower) kind: LevelKind,
    pub(in crate::lower) arrays: LevelArrays,
    pub(in crate::lower) parent: Reached,
    /// `pA2`, the position.
    pub(in crate::lower) position: Var,
    /// Whether positions of the same coordinate are taken together.
    pub(in crate::lower) segmented: bool,
    /// Which coordinates are met.
    pub(in crate::lower) sliced: Sliced,
    /// The first coordinate that is visited, and the end, where these are not all.
    pub(in crate::lower) window: Option<(ir::Expr, ir::Expr)>,
}

/// An operand, and the variable that holds its position.
pub(in crate::lower) type At<'i> = (&'i Iterator, Var);

/// A `forall` on its way to code.
pub(in crate::lower) struct Loop<'s> {
    /// The variable of the `forall`.
    pub(in crate::lower) own: IndexVar,
    /// The variable whose coordinates are visited.
    pub(in crate::lower) var: IndexVar,
    /// The first coordinate that is visited, and the end, where these are not all.
    pub(in crate::lower) window: Option<(ir::Expr, ir::Expr)>,
    /// The variable of the coordinate.
    pub(in crate::lower) index: Var,
    pub(in crate::lower) iterators: Vec<Iterator>,
    pub(in crate::lower) lattice: Lattice,
    pub(in crate::lower) scope: &'s Scope,
    /// The level of the result that this loop writes in order.
    pub(in crate::lower) result_level: Option<usize>,
    /// How many coordinates were visited, where one turn stands for all others.
    pub(in crate::lower) seen: Option<Var>,
}

impl Lowerer<'_> {
    pub(in crate::lower) fn forall(&mut self, var: IndexVar, body: &Stmt, scope: &Scope) -> Code {
        let own = var;
        let level = self.result_level(own, body, scope);
        let window = match level {
            Some(_) if !self.is_in_tiles(own) => None,
            _ => self.window(var, body, scope),
        };
        let var = window.as_ref().map_or(var, |w| w.var);
        let window = window.and_then(|w| Some((w.bounds.clone()?.0, w.bounds?.1)));
        let result_level = level.or_else(|| self.result_level(var, body, scope));
        let mut iterators = self.iterators((own, var), body, scope, result_level.is_some());
        iterators.iter_mut().for_each(|it| it.window.clone_from(&window));
        let accesses: Vec<Access> = iterators.iter().map(|it| it.access.clone()).collect();
        let mut nest = Loop {
            own,
            var,
            window,
            index: self.index(var),
            lattice: Lattice::build(self.facts, body, &accesses),
            iterators,
            scope,
            result_level,
            seen: None,
        };
        let rest = self.taken_once(&mut nest);
        let code = self.merge(&nest);
        let code = match rest {
            Some(rest) => self.with_rest(&mut nest, code, &rest),
            None => code,
        };
        match nest.result_level {
            Some(level) => {
                let edges = self.edges(level, scope);
                Code { stmts: [code.stmts, edges].concat(), ..code }
            }
            None => code,
        }
    }

    /// The operands that a loop iterates to find their coordinates of a variable: those that cannot
    /// be located, or only one of those if it can only be iterated alone; the others are located
    /// or searched at each coordinate.
    pub(in crate::lower) fn iterators(
        &mut self,
        (own, var): (IndexVar, IndexVar),
        body: &Stmt,
        scope: &Scope,
        in_order: bool,
    ) -> Vec<Iterator> {
        let mut listed = vec![];
        let mut located = vec![];
        for access in given(body) {
            if self.next_var(&access, scope) != Some(var) {
                continue;
            }
            let it = self.iterator(access, scope);
            if it.kind.properties().full {
                continue;
            }
            if it.kind.locates() { located.push(it) } else { listed.push(it) }
        }
        if let Some(alone) = listed.iter().position(|it| self.stands_alone(it)) {
            return vec![listed.swap_remove(alone)];
        }
        if !listed.is_empty() {
            return listed;
        }
        let drives = |it: &Iterator| {
            let alone = std::slice::from_ref(&it.access);
            let ascends = it.kind.properties().ordered
                && self.program.walk(&it.access, it.level) != Walk::OutOfOrder;
            let comes = it.kind.walks() && (ascends || !in_order) && it.parent.end.is_none();
            let lattice = Lattice::build(self.facts, body, alone);
            // Parts are of coordinates where some of them have to be counted.
            let is_cut = self.kernel.chunked && scope.bound.is_empty();
            let is_plain = own == var && !in_order && !is_cut;
            let is_silent = |rest: &Stmt| is_plain && self.is_once(own, rest);
            comes && lattice.points.last().is_none_or(|p| p.present != 0 || is_silent(&p.body))
        };
        match located.iter().position(drives) {
            Some(driver) => vec![located.swap_remove(driver)],
            None => vec![],
        }
    }

    pub(in crate::lower) fn iterator(&mut self, access: Access, scope: &Scope) -> Iterator {
        let parent = scope.reached(&access);
        let level = parent.levels;
        let kind = self.program.storage(access.tensor).format.levels()[level].kind;
        let arrays = self.arrays(access.tensor).levels[level].clone();
        let position = self.position_var(&access, level);
        let repeats = !kind.properties().unique && !self.kernel.scatter;
        let segmented = repeats && !self.goes_by_entry(&access);
        let sliced = self.sliced(&access, level);
        let window = None;
        Iterator { access, level, kind, arrays, parent, position, segmented, sliced, window }
    }

    /// Whether each entry of an operand becomes one of the result, and nothing else does, so that equal
    /// coordinates need not be taken together: rows have places, and every entry moves the end of its
    /// row.
    fn goes_by_entry(&self, access: &Access) -> bool {
        let Plan::Assemble(Assembly { in_order, rest: Rest::Block, vars, .. }) = &self.plan else {
            return false;
        };
        let levels = self.program.storage(access.tensor).format.levels();
        let Some((last, above)) = levels.split_last() else { return false };
        let own = self.program.level_vars(access.tensor, &access.indices);
        let placed = |(k, level): (usize, &LevelSpec)| {
            level.kind.properties().unique || matches!(self.assembler(k), Assembler::Place)
        };
        distinct(&self.kernel.body) == [access.clone()]
            && access.slices.is_empty()
            && is_copy(&self.kernel.body)
            && !Lattice::build(self.facts, &self.kernel.body, from_ref(access)).is_universal()
            && *in_order == vars.len()
            && own == *vars
            && last.kind.properties().unique
            && above.iter().enumerate().all(placed)
    }

    /// Whether a level can be iterated only by itself: its coordinates come in no order, or again
    /// and again, or not at every position.
    pub(in crate::lower) fn only_alone(&self, kind: LevelKind) -> bool {
        let p = kind.properties();
        !p.ordered || !p.compact || (!p.unique && self.kernel.scatter)
    }

    /// The same of an operand, of which a slice may be used.
    fn stands_alone(&self, it: &Iterator) -> bool {
        let walk = self.program.walk(&it.access, it.level);
        self.only_alone(it.kind) || matches!(walk, Walk::WithGaps | Walk::OutOfOrder)
    }

    /// The code of one case: the coordinate is known, and these operands have a position.
    pub(in crate::lower) fn case(
        &mut self,
        nest: &Loop<'_>,
        present: &[At<'_>],
        body: &Stmt,
    ) -> Code {
        self.case_at(nest, present, body, nest.result_level)
    }

    /// The same at a level of the result, or in between.
    pub(in crate::lower) fn case_at(
        &mut self,
        nest: &Loop<'_>,
        present: &[At<'_>],
        body: &Stmt,
        level: Option<usize>,
    ) -> Code {
        let mut scope = nest.scope.clone();
        scope.loops.push(nest.own);
        if present.iter().any(|(it, _)| !it.kind.properties().unique && !it.segmented) {
            scope.repeating.push(nest.own);
        }
        // A tile may reach beyond what diagonals around it leave open.
        let exact = nest.is_universal() && nest.window.is_none();
        let bound = self.bind(nest.var, nest.index, &mut scope, exact);
        for (it, position) in present {
            let end = it.segmented.then(|| ir::Expr::Var(self.segment_end(*position)));
            let position = ir::Expr::Var(*position);
            let reached = Reached { levels: it.level + 1, position, end };
            self.reach(&it.access, reached, &mut scope);
        }
        let code = match level {
            Some(level) => {
                let own = self.level_vars(self.kernel.result)[level];
                let index = scope.bound.get(&own).copied().unwrap_or(nest.index);
                self.assembled(level, index, body, scope.clone(), nest.is_universal())
            }
            None => self.resolved(body, scope.clone()),
        };
        let mut code = self.as_tile(nest.own, code, &mut scope);
        if let Some(seen) = nest.seen {
            code.stmts.insert(0, self.advance(seen));
        }
        if bound.stmts.is_empty() || code.stmts.is_empty() {
            return code;
        }
        let mut stmts = bound.stmts;
        match bound.inside.is_empty() {
            true => stmts.extend(code.stmts),
            false => stmts.push(when(all(bound.inside.clone()), code.stmts)),
        }
        Code { stmts, covers: code.covers && bound.inside.is_empty() }
    }

    /// The level of the result that a loop over `var` writes in order here.
    fn result_level(&self, var: IndexVar, body: &Stmt, scope: &Scope) -> Option<usize> {
        if written(body) != self.kernel.result {
            return None;
        }
        let level = scope.result.levels;
        let Plan::Assemble(Assembly { in_order, loops, .. }) = &self.plan else { return None };
        (level < *in_order && loops[level] == var).then_some(level)
    }

    /// Whether a loop goes through the places of tiles of the result's first level.
    fn is_in_tiles(&self, var: IndexVar) -> bool {
        match &self.plan {
            Plan::Assemble(Assembly { vars, loops, .. }) => loops[0] == var && vars[0] != var,
            Plan::Full | Plan::Placed | Plan::Follow => false,
        }
    }
}

/// Whether a statement is loops around one assignment.
fn is_copy(s: &Stmt) -> bool {
    match s {
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } => is_copy(body),
        Stmt::Assign { op, .. } => op.is_none(),
        Stmt::Where { .. } | Stmt::Sequence(_) => false,
    }
}

impl Loop<'_> {
    /// Whether every coordinate is visited, so that all of them lie inside the tensors.
    pub(in crate::lower) fn is_universal(&self) -> bool {
        self.lattice.is_universal()
    }
}
