//! Loops over positions: the coordinates at a position of an operand.
//!
//! ```text
//! pos(j, p, A)          for p in 0..(A2_pos[i + 1] - A2_pos[i])
//!                         pA2 = A2_pos[i] + p;  j = A2_crd[pA2]
//!
//! fuse(i, j, f), pos(f, p, A)
//!                       pA1 = the last position whose children begin at or before the first
//!                       for p in 0..A2_pos[A1_size]
//!                         j = A2_crd[p]
//!                         while A2_pos[pA1 + 1] <= p   pA1 = pA1 + 1
//!                         i = pA1
//! ```
//!
//! The coordinates above are found by a search where the loop begins, and tracked from there on:
//! recover_track of sparse iteration space transformations, section 6.2.

use super::slice::Sliced;
use crate::cin::Relation;
use crate::lower::builder::advance;
use crate::lower::read::recover::Bound;
use crate::lower::symbols::Symbols;
use crate::lower::{Lowerer, Reached, Scope};
use crate::notation::Access;
use crate::plan::known::next_position;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, Var};
use tamis_ir::ir::build::{add, assign, binary, int, lt, mul, sub};
use tamis_ir::ir::{Expr, Stmt};

/// The parts of a position variable.
struct Positions {
    access: Access,
    /// The first level that is recovered, and the last.
    first: usize,
    last: usize,
}

impl Symbols<'_> {
    fn counted_by(&self, var: IndexVar) -> Option<Positions> {
        match self.program.derived.relation(var) {
            Some(Relation::Position { of, access, level, .. }) => {
                let first = level + 1 - of.len();
                Some(Positions { access: access.clone(), first, last: *level })
            }
            _ => None,
        }
    }

    /// How many positions a position variable counts; where the levels above are not known yet,
    /// those under all of them together.
    pub(in crate::lower) fn positions_of(&mut self, var: IndexVar, scope: &Scope) -> Expr {
        let Some(at) = self.counted_by(var) else { return int(0) };
        if scope.reached(&at.access).levels < at.first {
            return self.positions_at(at.access.tensor, 0..at.last + 1, int(1));
        }
        let (lo, hi) = self.stretch(&at, at.last, scope);
        sub(hi, lo)
    }

    /// The positions of a level below the known levels.
    fn stretch(&mut self, at: &Positions, level: usize, scope: &Scope) -> (Expr, Expr) {
        let arrays = self.arrays(at.access.tensor);
        let levels = self.program.storage(at.access.tensor).format.levels();
        let reached = scope.reached(&at.access);
        let next = reached.end.unwrap_or_else(|| add(reached.position.clone(), int(1)));
        let mut stretch = (reached.position, next);
        for (k, spec) in levels.iter().enumerate().take(level + 1).skip(at.first) {
            let below = |p: Expr| match spec.kind.properties().full {
                // The first of all positions is 0.
                _ if p == int(0) => p,
                true => mul(p, arrays.levels[k].size.clone()),
                // The first child of the parent behind the last one is the end of all.
                false => {
                    let bounds = spec.kind.pos_bounds(&arrays.levels[k], p);
                    bounds.expect("a level with positions has bounds").lo
                }
            };
            stretch = (below(stretch.0), below(stretch.1));
        }
        stretch
    }
}

impl Lowerer<'_> {
    /// Gives variables values that follow from positions; false if none does.
    pub(in crate::lower) fn recovered(&mut self, scope: &mut Scope, bound: &mut Bound) -> bool {
        let program = self.program;
        let is_bound = |v: IndexVar| scope.bound.contains_key(&v);
        let behind = |access: &Access| scope.reached(access).levels;
        let Some(var) = next_position(&program.derived, &is_bound, &behind) else { return false };
        let position = scope.bound[&var];
        let Some(at) = self.cx.counted_by(var) else { return false };
        let (lo, _) = self.cx.stretch(&at, at.last, scope);
        let mut here = add(Expr::Var(position), lo.clone());
        if lo != int(0) {
            let p = self.cx.position_var(&at.access, at.last);
            bound.stmts.push(assign(p, here));
            here = Expr::Var(p);
        }
        let reached = Reached { levels: at.last + 1, position: here.clone(), end: None };
        self.recover_levels(&at, here, scope, bound);
        scope.reach(self.cx.planner(), &at.access, reached);
        true
    }

    /// The coordinates of the levels at a position of the last one, from there upwards.
    fn recover_levels(
        &mut self,
        at: &Positions,
        mut position: Expr,
        scope: &mut Scope,
        bound: &mut Bound,
    ) {
        let program = self.program;
        let arrays = self.cx.arrays(at.access.tensor);
        let levels = program.storage(at.access.tensor).format.levels();
        let vars = program.level_vars(at.access.tensor, &at.access.indices);
        let needed = self.cx.planner().needed_levels(&at.access, at.first..at.last + 1);
        for k in (at.first..=at.last).rev() {
            if self.cx.planner().is_shared_level(&at.access, k) {
                scope.like = Some(position.clone());
            }
            if k < needed {
                // It has no value, and nobody asks for one.
                let index = self.cx.index(vars[k]);
                scope.bound.insert(vars[k], index);
                continue;
            }
            let level = &arrays.levels[k];
            let full = levels[k].kind.properties().full;
            let here = position.clone();
            let parent = match (full, levels[k].kind.properties().branchless) {
                _ if k == at.first => scope.reached(&at.access).position,
                _ if k == needed => int(0),
                (true, _) => binary(BinaryOp::Div, position, level.size.clone()),
                (_, true) => position,
                _ => Expr::Var(self.tracked(at, k, position, &mut bound.stmts)),
            };
            let coordinate = match full {
                true if k == at.first => sub(here, mul(parent.clone(), level.size.clone())),
                true => binary(BinaryOp::Mod, here, level.size.clone()),
                false => {
                    let labelled = levels[k].kind.pos_access(level, parent.clone(), here);
                    let labelled = labelled.expect("a level with positions has coordinates");
                    bound.inside.extend(labelled.found);
                    labelled.coordinate
                }
            };
            position = parent;
            let sliced = self.cx.sliced(&at.access, k);
            let (coordinate, named) = match sliced {
                Sliced::Taken { ref view, .. } => {
                    let own = self.cx.temp(&format!("{}_own", program.vars[vars[k]]));
                    bound.stmts.push(assign(own, coordinate));
                    (Expr::Var(own), view.names(&Expr::Var(own)))
                }
                _ => (coordinate, vec![]),
            };
            bound.inside.extend(named);
            let index = self.cx.index(vars[k]);
            bound.stmts.push(assign(index, sliced.index(coordinate)));
            scope.bound.insert(vars[k], index);
        }
    }

    /// The parent of a position of a level, moved on from the parent of an earlier one.
    fn tracked(&mut self, at: &Positions, k: usize, position: Expr, into: &mut Vec<Stmt>) -> Var {
        let parent = self.cx.position_var(&at.access, k - 1);
        let behind = self.end_of(at, k, Expr::Var(parent));
        let body = vec![advance(parent)];
        into.push(Stmt::While { cond: binary(BinaryOp::Le, behind, position), body });
        parent
    }

    /// The end of the children of a position of the level above `k`.
    fn end_of(&mut self, at: &Positions, k: usize, parent: Expr) -> Expr {
        let level = self.cx.arrays(at.access.tensor).levels[k].clone();
        let kind = self.program.storage(at.access.tensor).format.levels()[k].kind;
        kind.pos_bounds(&level, parent).expect("a level with positions has bounds").hi
    }

    /// What runs before a loop that visits positions from `first` on: searches for the parents of
    /// the first one.
    pub(in crate::lower) fn found_first(
        &mut self,
        var: IndexVar,
        first: Expr,
        scope: &Scope,
    ) -> Vec<Stmt> {
        let tile = self.tile_around(var, scope);
        self.searched(var, first, scope, tile)
    }

    /// Searches for the parents of a position, between those of a tile around it if there is one.
    pub(in crate::lower) fn searched(
        &mut self,
        var: IndexVar,
        first: Expr,
        scope: &Scope,
        tile: Option<Var>,
    ) -> Vec<Stmt> {
        let Some(at) = self.cx.counted_by(var) else { return vec![] };
        let program = self.program;
        let levels = program.storage(at.access.tensor).format.levels();
        let (lo, _) = self.cx.stretch(&at, at.last, scope);
        let mut position = add(first, lo);
        let mut stmts = vec![];
        let needed = self.cx.planner().needed_levels(&at.access, at.first..at.last + 1);
        for k in (needed + 1..=at.last).rev() {
            let p = levels[k].kind.properties();
            position = match (p.full, p.branchless) {
                (true, _) => {
                    let size = self.cx.arrays(at.access.tensor).levels[k].size.clone();
                    binary(BinaryOp::Div, position, size)
                }
                (_, true) => position,
                _ => {
                    let (from, to) = match tile {
                        Some(tile) => self.bounds_in_tile(var, k - 1, tile),
                        None => self.cx.stretch(&at, k - 1, scope),
                    };
                    let parent = self.cx.position_var(&at.access, k - 1);
                    stmts.extend(self.search_between(&at, k, position, (from, to)));
                    Expr::Var(parent)
                }
            };
        }
        stmts
    }

    /// The parent of a position of level `k`, the first between bounds whose children end behind it.
    fn search_between(
        &mut self,
        at: &Positions,
        k: usize,
        position: Expr,
        (from, to): (Expr, Expr),
    ) -> Vec<Stmt> {
        let parent = self.cx.position_var(&at.access, k - 1);
        let (end, mid) = (self.cx.temp("end"), self.cx.temp("mid"));
        let half = add(Expr::Var(parent), Expr::Var(end));
        let behind = self.end_of(at, k, Expr::Var(mid));
        let step = Stmt::If {
            cond: binary(BinaryOp::Le, behind, position),
            then: vec![assign(parent, add(Expr::Var(mid), int(1)))],
            otherwise: vec![assign(end, Expr::Var(mid))],
        };
        let half = assign(mid, binary(BinaryOp::Div, half, int(2)));
        let cond = lt(Expr::Var(parent), Expr::Var(end));
        vec![assign(parent, from), assign(end, to), Stmt::While { cond, body: vec![half, step] }]
    }

    /// The levels whose positions are searched for, and the variables that hold them.
    pub(in crate::lower) fn searched_levels(&mut self, var: IndexVar) -> Vec<(usize, Var)> {
        let Some(at) = self.cx.counted_by(var) else { return vec![] };
        let needed = self.cx.planner().needed_levels(&at.access, at.first..at.last + 1);
        let levels = self.program.storage(at.access.tensor).format.levels();
        let tracked = (needed + 1..=at.last).filter(|&k| {
            let p = levels[k].kind.properties();
            !p.full && !p.branchless
        });
        tracked.map(|k| (k - 1, self.cx.position_var(&at.access, k - 1))).collect()
    }
}
