//! Loops over a part of the coordinates of another variable: tiles of an operand's level.
//!
//! ```text
//! split(j, j0, j1, 32)      A's level 2 is compressed, over j
//!
//! for j0 in ..
//!   pA2 = first position of A2 from j0 * 32 on
//!   while pA2 < A2_pos[i + 1] and A2_crd[pA2] < j0 * 32 + 32
//! ```
//!
//! A loop over places in a tile, with the tile known, visits the coordinates of the tiled variable
//! one after another from the tile's first on. Operands that are sparse there are walked between
//! the tile's bounds, which are searched.

use super::forall::Loop;
use crate::cin::simplify::written;
use crate::cin::{Relation, Stmt, Walk};
use crate::format::LevelMap;
use crate::level::LevelKind;
use crate::lower::read::locate::given;
use crate::lower::read::recover::Tile;
use crate::lower::{Lowerer, Scope};
use crate::notation::Access;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, TensorId};
use tamis_ir::ir::Expr;
use tamis_ir::ir::build::{add, binary, int, mul};

/// The coordinates of a variable that a loop over another visits.
#[derive(Clone)]
pub(in crate::lower) struct Window {
    /// The variable whose coordinates are visited.
    pub(in crate::lower) var: IndexVar,
    /// The first one and the end, where these are not all.
    pub(in crate::lower) bounds: Option<(Expr, Expr)>,
}

impl Lowerer<'_> {
    /// The variables that move with a loop variable in steps of one, each with its value where the
    /// loop variable is 0.
    fn in_step(&mut self, var: IndexVar, scope: &Scope) -> Vec<(IndexVar, Expr)> {
        let mut found = vec![(var, int(0))];
        loop {
            let (at, offset) = found[found.len() - 1].clone();
            let next = match self.program.derived.relation(at) {
                Some(&Relation::Same { of, .. }) => Some((of, offset)),
                _ => match self.tile(at, scope) {
                    Some((_, Tile::Place, _)) => self.settled(at, offset, scope),
                    _ => None,
                },
            };
            match next {
                Some(next) if !scope.bound.contains_key(&next.0) => found.push(next),
                _ => return found,
            }
        }
    }

    /// The variable of the places in a block, or of the block that a place is in.
    fn other_half(&self, var: IndexVar) -> Option<IndexVar> {
        let derived = &self.program.derived;
        match (derived.relation(var), derived.map(var)) {
            (
                Some(&(Relation::Place { part: other, .. } | Relation::Part { place: other, .. })),
                _,
            ) => Some(other),
            (None, Some(LevelMap::Mod(i, size))) => derived.var(LevelMap::Div(i, size)),
            (None, Some(LevelMap::Div(i, size))) => derived.var(LevelMap::Mod(i, size)),
            _ => None,
        }
    }

    /// The variable that a loop over tiles and one over the places in each visit together.
    pub(in crate::lower) fn tiled(&self, tile: IndexVar, place: IndexVar) -> Option<IndexVar> {
        let derived = &self.program.derived;
        let of = match (derived.relation(tile), derived.map(tile)) {
            (Some(&Relation::Part { of, .. }), _) => of,
            (None, Some(LevelMap::Div(of, _))) => of,
            _ => return None,
        };
        (derived.is_scheduled(tile) && self.other_half(tile) == Some(place)).then_some(of)
    }

    /// The variable over which operands are walked in a loop over another, and between which
    /// coordinates; `None` if the loop variable is that of the operands, or of none.
    pub(in crate::lower) fn window(
        &mut self,
        var: IndexVar,
        body: &Stmt,
        scope: &Scope,
    ) -> Option<Window> {
        if !self.program.derived.is_scheduled(var) {
            return None;
        }
        let moving = self.in_step(var, scope);
        let mut walked: Vec<(Access, IndexVar, Expr)> = vec![];
        for access in given(body) {
            let Some(next) = self.next_var(&access, scope) else { continue };
            let found = moving[1..].iter().find(|(v, _)| *v == next);
            walked.extend(found.map(|(v, offset)| (access, *v, offset.clone())));
        }
        walked.retain(|(access, ..)| !self.kind_of_next(access, scope).locates());
        let (_, of, lo) = walked.first()?.clone();
        // What cannot be walked between bounds is searched at each coordinate.
        let between = |access: &Access| {
            let p = self.kind_of_next(access, scope).properties();
            let k = scope.reached(access).levels;
            p.ordered && p.compact && self.program.walk(access, k) != Walk::OutOfOrder
        };
        if self.kernel.scatter || !walked.iter().all(|(access, v, _)| *v == of && between(access)) {
            return None;
        }
        if lo == int(0) && self.program.derived.map(var).is_none() && self.is_same(var, of) {
            return Some(Window { var: of, bounds: None });
        }
        // A window may be empty, but does not end before it begins.
        let count = binary(BinaryOp::Max, self.range(var, scope).1, int(0));
        Some(Window { var: of, bounds: Some((lo.clone(), add(lo, count))) })
    }

    /// The level format of the first level that an access has not descended.
    fn kind_of_next(&self, access: &Access, scope: &Scope) -> LevelKind {
        let k = scope.reached(access).levels;
        self.program.storage(access.tensor).format.levels()[k].kind
    }

    /// Whether a variable is another under a new name.
    fn is_same(&self, var: IndexVar, of: IndexVar) -> bool {
        match self.program.derived.relation(var) {
            _ if var == of => true,
            Some(&Relation::Same { of: next, .. }) => self.is_same(next, of),
            _ => false,
        }
    }

    /// What runs before a loop that visits every value of a variable from the first on: the places
    /// from which coordinates at positions are tracked.
    pub(in crate::lower) fn tracking(
        &mut self,
        var: IndexVar,
        first: &Expr,
        scope: &Scope,
    ) -> Vec<tamis_ir::ir::Stmt> {
        let (mut at, mut value) = (var, first.clone());
        loop {
            if let Some(Relation::Position { .. }) = self.program.derived.relation(at) {
                return self.found_first(at, value, scope);
            }
            match self.settled(at, value, scope) {
                Some((of, next)) if !scope.bound.contains_key(&of) => (at, value) = (of, next),
                _ => return vec![],
            }
        }
    }

    /// The variable of which a value of another one is the last part that was not known, and its
    /// value then.
    fn settled(&mut self, var: IndexVar, value: Expr, scope: &Scope) -> Option<(IndexVar, Expr)> {
        if let Some(&Relation::Same { of, .. }) = self.program.derived.relation(var) {
            return Some((of, value));
        }
        let (of, tile, size) = self.tile(var, scope)?;
        let other = self.other_half(var)?;
        let other = Expr::Var(*scope.bound.get(&other)?);
        Some(match tile {
            Tile::Place => (of, add(mul(other, size), value)),
            Tile::Block => (of, add(mul(value, size), other)),
        })
    }

    /// Whether a loop over a variable visits positions, and what is stored there alone.
    pub(in crate::lower) fn visits_positions(&self, var: IndexVar) -> bool {
        self.program.derived.position(var).is_some()
    }

    /// Whether a loop over positions writes what has other elements too: all but workspaces with an
    /// element for each of these positions.
    pub(in crate::lower) fn leaves_gaps(&self, nest: &Loop<'_>) -> bool {
        let Some(counted) = self.program.derived.position(nest.var) else { return false };
        if self.counts_shared(counted) {
            return false;
        }
        let mut bodies = nest.lattice.points.iter().map(|point| written(&point.body));
        let modes = |tensor: TensorId| self.program.tensors[tensor].modes.iter();
        !bodies.all(|tensor| modes(tensor).any(|&mode| self.is_same(mode, counted)))
    }
}
