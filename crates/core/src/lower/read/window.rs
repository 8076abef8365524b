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
//! A loop over offsets in a known tile visits consecutive coordinates of the tiled variable, from the tile's first one
//! on. Operands that are sparse there are walked between the tile's bounds, which are searched.

use crate::cin::Relation;
use crate::lower::read::recover::Tile;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::plan::{self, Window};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::IndexVar;
use tamis_ir::ir::Expr;
use tamis_ir::ir::build::{add, binary, int, mul};

impl Scope {
    /// The first visited coordinate of a loop and the end, if not all are visited.
    pub(in crate::lower) fn window(
        &self,
        cx: &mut Symbols<'_>,
        plan: &plan::Loop,
    ) -> Option<(Expr, Expr)> {
        if plan.window != Window::Part {
            return None;
        }
        Some(self.coordinates_of(cx, plan.own, plan.var))
    }

    /// The range of another variable's coordinates that a variable in step with it covers.
    pub(in crate::lower) fn coordinates_of(
        &self,
        cx: &mut Symbols<'_>,
        var: IndexVar,
        of: IndexVar,
    ) -> (Expr, Expr) {
        let (mut at, mut lo) = (var, int(0));
        while at != of {
            let settled = self.settled(cx, at, lo);
            (at, lo) = settled.expect("a window moves in step with the loop");
        }
        // A window may be empty, but must not end before it begins.
        let count = binary(BinaryOp::Max, cx.range(var, self).1, int(0));
        (lo.clone(), add(lo, count))
    }

    /// The variable that becomes known together with `var`, and its value.
    pub(in crate::lower) fn settled(
        &self,
        cx: &mut Symbols<'_>,
        var: IndexVar,
        value: Expr,
    ) -> Option<(IndexVar, Expr)> {
        if let Some(&Relation::Same { of, .. }) = cx.program.derived.relation(var) {
            return Some((of, value));
        }
        let (of, tile, size) = cx.tile(var, self)?;
        let other = cx.program.derived.other_half(var)?;
        let other = Expr::Var(*self.bound.get(&other)?);
        Some(match tile {
            Tile::Place => (of, add(mul(other, size), value)),
            Tile::Block => (of, add(mul(value, size), other)),
        })
    }
}
