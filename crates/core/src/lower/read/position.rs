//! Loops over positions, and the coordinates at a position of an operand.
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
//! The coordinates of the levels above are searched before the loop, and tracked from there on: recover_track of
//! sparse iteration space transformations, section 6.2. In a tile of coordinates, the first position and the end are
//! searched before the first loop that counts the tile's positions.

use super::slice::Sliced;
use crate::cin::Relation;
use crate::lower::builder::advance;
use crate::lower::read::locate::first_from;
use crate::lower::read::recover::Bound;
use crate::lower::scope::{Reached, Scope};
use crate::lower::symbols::Symbols;
use crate::notation::Access;
use crate::plan::known::next_position;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, Var};
use tamis_ir::ir::build::{add, assign, binary, int, lt, mul, sub};
use tamis_ir::ir::{Expr, Stmt};

/// The range of positions of a level within which one is searched.
type Between<'b> = &'b mut dyn FnMut(&mut Symbols<'_>, usize) -> (Expr, Expr);

/// The levels and variables of a position variable.
pub(in crate::lower) struct Positions {
    access: Access,
    /// The first level whose coordinate is recovered, and the last.
    first: usize,
    last: usize,
    /// The variable that counts the positions; the scope has the tile's bounds for it.
    var: IndexVar,
}

impl Symbols<'_> {
    fn counted_by(&self, var: IndexVar) -> Option<Positions> {
        match self.program.derived.relation(var) {
            Some(Relation::Position { of, access, level, .. }) => {
                let first = level + 1 - of.len();
                Some(Positions { access: access.clone(), first, last: *level, var })
            }
            _ => None,
        }
    }

    /// The number of positions that a position variable counts. If the levels above are not known yet, these are the
    /// positions below all of their positions.
    pub(in crate::lower) fn positions_of(&mut self, var: IndexVar, scope: &Scope) -> Expr {
        let at = self.counted_by(var).expect("a variable that counts positions");
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
                // The first position of the whole level is 0.
                _ if p == int(0) => p,
                true => mul(p, arrays.levels[k].size.clone()),
                // The first child of the parent behind the last one is the end of the level.
                false => {
                    let bounds = spec.kind.pos_bounds(&arrays.levels[k], p);
                    bounds.expect("a level with positions has bounds").lo
                }
            };
            stretch = match scope.tiles.get(&at.var) {
                Some(&(lo, hi)) if k == at.first => (Expr::Var(lo), Expr::Var(hi)),
                _ => (below(stretch.0), below(stretch.1)),
            };
        }
        stretch
    }
}

impl Scope {
    /// Code before the first loop over positions in a tile of coordinates, if this loop is it: searches for the tile's
    /// first position and its end.
    pub(in crate::lower) fn enter_tile(
        &mut self,
        cx: &mut Symbols<'_>,
        own: IndexVar,
    ) -> Vec<Stmt> {
        let derived = &cx.program.derived;
        let Some(var) = derived.position(own).filter(|var| !self.tiles.contains_key(var)) else {
            return vec![];
        };
        let Some(Relation::Position { of, within: Some(within), access, .. }) =
            derived.relation(var)
        else {
            return vec![];
        };
        let (from, to) = self.coordinates_of(cx, *within, of[0]);
        let it = cx.iterator_at(access, self);
        let name = cx.name_of(it.position).to_owned();
        let [lo, hi] = ["first", "last"].map(|end| cx.temp(&format!("{name}_{end}")));
        self.tiles.insert(var, (lo, hi));
        if it.kind.properties().full {
            let size = it.arrays.size.clone();
            let at = |coordinate| add(mul(it.parent.position.clone(), size.clone()), coordinate);
            return vec![assign(lo, at(from)), assign(hi, at(to))];
        }
        let bounds = it.bounds();
        let mut stmts = vec![assign(lo, bounds.lo)];
        let before = |at: Var, coordinate: &Expr| lt(it.raw(at).coordinate, coordinate.clone());
        stmts.extend(first_from(cx, lo, &|at| before(at, &from), bounds.hi.clone()));
        stmts.push(assign(hi, Expr::Var(lo)));
        stmts.extend(first_from(cx, hi, &|at| before(at, &to), bounds.hi));
        stmts
    }
}

impl Scope {
    /// Computes variables that follow from positions; false if none does.
    pub(in crate::lower) fn recovered(&mut self, cx: &mut Symbols<'_>, bound: &mut Bound) -> bool {
        let program = cx.program;
        let is_bound = |v: IndexVar| self.bound.contains_key(&v);
        let behind = |access: &Access| self.reached(access).levels;
        let Some(var) = next_position(&program.derived, &is_bound, &behind) else { return false };
        let position = self.bound[&var];
        let Some(at) = cx.counted_by(var) else { return false };
        let (lo, _) = cx.stretch(&at, at.last, self);
        let mut here = add(Expr::Var(position), lo.clone());
        if lo != int(0) {
            let p = cx.position_var(&at.access, at.last);
            bound.stmts.push(assign(p, here));
            here = Expr::Var(p);
        }
        let reached = Reached { levels: at.last + 1, position: here.clone(), end: None };
        self.recover_levels(cx, &at, here, bound);
        self.reach(cx.planner(), &at.access, reached);
        true
    }

    /// Recovers the coordinates of the levels from a position of the last level, from there upwards.
    fn recover_levels(
        &mut self,
        cx: &mut Symbols<'_>,
        at: &Positions,
        mut position: Expr,
        bound: &mut Bound,
    ) {
        let program = cx.program;
        let arrays = cx.arrays(at.access.tensor);
        let levels = program.storage(at.access.tensor).format.levels();
        let vars = program.level_vars(at.access.tensor, &at.access.indices);
        let needed = cx.planner().needed_levels(&at.access, at.first..at.last + 1);
        for k in (at.first..=at.last).rev() {
            if cx.planner().is_shared_level(&at.access, k) {
                self.like = Some(position.clone());
            }
            if k < needed {
                // This coordinate is not computed, since it is not needed.
                let index = cx.index(vars[k]);
                self.bound.insert(vars[k], index);
                continue;
            }
            let level = &arrays.levels[k];
            let full = levels[k].kind.properties().full;
            let here = position.clone();
            let parent = match (full, levels[k].kind.properties().branchless) {
                _ if k == at.first => self.reached(&at.access).position,
                _ if k == needed => int(0),
                (true, _) => binary(BinaryOp::Div, position, level.size.clone()),
                (_, true) => position,
                _ => Expr::Var(at.tracked(cx, k, position, &mut bound.stmts)),
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
            let sliced = cx.sliced(&at.access, k);
            let (coordinate, named) = match sliced {
                Sliced::Taken { ref view, .. } => {
                    let own = cx.temp(&format!("{}_own", program.vars[vars[k]]));
                    bound.stmts.push(assign(own, coordinate));
                    (Expr::Var(own), view.names(&Expr::Var(own)))
                }
                _ => (coordinate, vec![]),
            };
            bound.inside.extend(named);
            let index = cx.index(vars[k]);
            bound.stmts.push(assign(index, sliced.index(coordinate)));
            self.bound.insert(vars[k], index);
        }
    }
}

impl Positions {
    /// The parent of a position of a level, advanced from the parent of an earlier position.
    fn tracked(&self, cx: &mut Symbols<'_>, k: usize, position: Expr, into: &mut Vec<Stmt>) -> Var {
        let parent = cx.position_var(&self.access, k - 1);
        let behind = self.end_of(cx, k, Expr::Var(parent));
        let body = vec![advance(parent)];
        into.push(Stmt::While { cond: binary(BinaryOp::Le, behind, position), body });
        parent
    }

    /// The end of the children of a position of the level above `k`.
    fn end_of(&self, cx: &mut Symbols<'_>, k: usize, parent: Expr) -> Expr {
        let level = cx.arrays(self.access.tensor).levels[k].clone();
        let kind = cx.program.storage(self.access.tensor).format.levels()[k].kind;
        kind.pos_bounds(&level, parent).expect("a level with positions has bounds").hi
    }

    /// The parent of a position of level `k`: the first one between bounds whose children end behind that position.
    fn search_between(
        &self,
        cx: &mut Symbols<'_>,
        k: usize,
        position: Expr,
        (from, to): (Expr, Expr),
    ) -> Vec<Stmt> {
        let parent = cx.position_var(&self.access, k - 1);
        let (end, mid) = (cx.temp("end"), cx.temp("mid"));
        let half = add(Expr::Var(parent), Expr::Var(end));
        let behind = self.end_of(cx, k, Expr::Var(mid));
        let step = Stmt::If {
            cond: binary(BinaryOp::Le, behind, position),
            then: vec![assign(parent, add(Expr::Var(mid), int(1)))],
            otherwise: vec![assign(end, Expr::Var(mid))],
        };
        let half = assign(mid, binary(BinaryOp::Div, half, int(2)));
        let cond = lt(Expr::Var(parent), Expr::Var(end));
        vec![assign(parent, from), assign(end, to), Stmt::While { cond, body: vec![half, step] }]
    }
}

/// Searches for the parents of a position, in each level between bounds if these are known.
pub(in crate::lower) fn searched(
    cx: &mut Symbols<'_>,
    var: IndexVar,
    first: Expr,
    scope: &Scope,
    mut between: Option<Between<'_>>,
) -> Vec<Stmt> {
    let Some(at) = cx.counted_by(var) else { return vec![] };
    let program = cx.program;
    let levels = program.storage(at.access.tensor).format.levels();
    let (lo, _) = cx.stretch(&at, at.last, scope);
    let mut position = add(first, lo);
    let mut stmts = vec![];
    let needed = cx.planner().needed_levels(&at.access, at.first..at.last + 1);
    for k in (needed + 1..=at.last).rev() {
        let p = levels[k].kind.properties();
        position = match (p.full, p.branchless) {
            (true, _) => {
                let size = cx.arrays(at.access.tensor).levels[k].size.clone();
                binary(BinaryOp::Div, position, size)
            }
            (_, true) => position,
            _ => {
                let (from, to) = match &mut between {
                    Some(between) => between(cx, k - 1),
                    None => cx.stretch(&at, k - 1, scope),
                };
                let parent = cx.position_var(&at.access, k - 1);
                stmts.extend(at.search_between(cx, k, position, (from, to)));
                Expr::Var(parent)
            }
        };
    }
    stmts
}

/// The levels whose positions are searched for, and the variables that hold these.
pub(in crate::lower) fn searched_levels(cx: &mut Symbols<'_>, var: IndexVar) -> Vec<(usize, Var)> {
    let Some(at) = cx.counted_by(var) else { return vec![] };
    let needed = cx.planner().needed_levels(&at.access, at.first..at.last + 1);
    let levels = cx.program.storage(at.access.tensor).format.levels();
    let tracked = (needed + 1..=at.last).filter(|&k| {
        let p = levels[k].kind.properties();
        !p.full && !p.branchless
    });
    tracked.map(|k| (k - 1, cx.position_var(&at.access, k - 1))).collect()
}
