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
//! A loop over offsets in a tile, with the tile known, visits the coordinates of the tiled variable
//! one after another from the tile's first on. Operands that are sparse there are walked between
//! the tile's bounds, which are searched.

use crate::cin::Relation;
use crate::lower::read::recover::Tile;
use crate::lower::{Lowerer, Scope};
use crate::plan::{self, Window};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::IndexVar;
use tamis_ir::ir::Expr;
use tamis_ir::ir::build::{add, binary, int, mul};

impl Lowerer<'_> {
    /// Between which coordinates a loop visits those of its variable, where these are not all.
    pub(in crate::lower) fn window(
        &mut self,
        plan: &plan::Loop,
        scope: &Scope,
    ) -> Option<(Expr, Expr)> {
        if plan.window == Window::Whole {
            return None;
        }
        let (mut at, mut lo) = (plan.own, int(0));
        while at != plan.var {
            let settled = self.settled(at, lo, scope);
            (at, lo) = settled.expect("a window moves in step with the loop");
        }
        // A window may be empty, but does not end before it begins.
        let count = binary(BinaryOp::Max, self.cx.range(plan.own, scope).1, int(0));
        Some((lo.clone(), add(lo, count)))
    }

    /// What runs before a loop that visits every value of a variable from the first on: the offsets
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
        let (of, tile, size) = self.cx.tile(var, scope)?;
        let other = self.program.derived.other_half(var)?;
        let other = Expr::Var(*scope.bound.get(&other)?);
        Some(match tile {
            Tile::Place => (of, add(mul(other, size), value)),
            Tile::Block => (of, add(mul(value, size), other)),
        })
    }
}
