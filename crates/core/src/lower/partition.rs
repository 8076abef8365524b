//! Kernels whose outermost loop runs over a part of its range, so that parts run in parallel.
//!
//! ```text
//! i_first = max(i_begin, 0);  i_last = max(i_first, min(i_end, y1_size))
//! for i in i_first..i_last ..
//! ```
//!
//! [`crate::plan`] decides whether and how a kernel is cut.

use super::binding::Binding;
use super::scope::Scope;
use super::symbols::Symbols;
use crate::plan::{Assembler, Join, Output, Partition};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ir::build::{assign, binary};
use tamis_ir::ir::{self, Expr, Param};

/// The interval of a part in code.
#[derive(Clone)]
pub(super) struct Interval<'p> {
    pub(super) partition: &'p Partition,
    pub(super) first: Expr,
    pub(super) last: Expr,
}

impl<'p> Interval<'p> {
    /// Declares the part that a kernel computes: parameters, clamped to the loop's range.
    pub(super) fn declared(cx: &mut Symbols<'_>, partition: &'p Partition) -> Interval<'p> {
        if matches!(partition.join, Join::Shared { .. } | Join::Overlap { .. }) {
            for array in cx.result().vals.arrays() {
                cx.arrays[array].role = ir::ArrayRole::Shared;
            }
        }
        let index = cx.index(partition.var);
        let [begin, end] =
            [(Binding::Begin, "_begin"), (Binding::End, "_end")].map(|(b, suffix)| {
                let param = cx.temp_of(index, suffix);
                cx.params.push((Param::Scalar(param), b));
                Expr::Var(param)
            });
        if partition.cut.is_by_position() {
            return Interval { partition, first: begin, last: end };
        }
        let (lo, hi) = cx.range(partition.var, &Scope::default());
        let (first, last) = (cx.temp_of(index, "_first"), cx.temp_of(index, "_last"));
        let within = binary(BinaryOp::Min, end, hi);
        cx.prologue.push(assign(first, binary(BinaryOp::Max, begin, lo)));
        cx.prologue.push(assign(last, binary(BinaryOp::Max, Expr::Var(first), within)));
        Interval { partition, first: Expr::Var(first), last: Expr::Var(last) }
    }

    /// Whether parts write to one shared array.
    pub(super) fn shares_result(&self) -> bool {
        matches!(self.partition.join, Join::Shared { .. } | Join::Overlap { .. })
    }

    /// The range of first-level coordinates of the part, counted from the lowest one, if the first level of the result
    /// is cut and every coordinate has a position there.
    pub(super) fn own_rows(&self, cx: &mut Symbols<'_>, output: &Output) -> Option<(Expr, Expr)> {
        let Interval { partition, first, last } = self;
        let planner = cx.planner();
        let own = match partition.join {
            Join::Concatenate => matches!(cx.levels().assembler(0), Assembler::Place),
            Join::Shared { .. } => planner.fills_own_part(output, partition.var, partition.cut),
            _ => false,
        };
        let level = own.then(|| cx.result().levels[0].clone())?;
        Some((level.from_least(first.clone()), level.from_least(last.clone())))
    }

    /// Initialises the elements of a part of a full result.
    pub(super) fn filled(&self, cx: &mut Symbols<'_>, output: &Output) -> Vec<ir::Stmt> {
        let Some((lo, hi)) = self.own_rows(cx, output) else { return vec![] };
        let (result, arrays) = (cx.kernel.result, cx.result());
        let levels = 1..arrays.levels.len();
        let lo = cx.positions_at(result, levels.clone(), lo);
        let hi = cx.positions_at(result, levels, hi);
        let initial = cx.planner().initial();
        cx.values.filled(arrays.vals, lo, hi, initial)
    }
}
