//! Kernels whose outermost loop runs over a part of its coordinates, so that parts run in parallel.
//!
//! ```text
//! i_first = max(i_begin, 0);  i_last = max(i_first, min(i_end, y1_size))
//! for i in i_first..i_last ..
//! ```
//!
//! Whether a kernel is cut, and how, [`crate::plan`] says.

use super::binding::Binding;
use super::{Lowerer, Scope};
use crate::lower::read::forall::{Iterator, Loop};
use crate::lower::read::slice::Sliced;
use crate::plan::{Assembler, CutPoint, Join, Partition};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, Var};
use tamis_ir::ir::build::{assign, binary, lt};
use tamis_ir::ir::{self, Expr, Param};

/// The interval of a part in code.
#[derive(Clone)]
pub(super) struct Interval<'p> {
    pub(super) partition: &'p Partition,
    pub(super) first: Expr,
    pub(super) last: Expr,
}

impl<'p> Lowerer<'p> {
    /// Declares the part that a kernel computes.
    pub(super) fn cut_outermost(&mut self, partition: &'p Partition) {
        if matches!(partition.join, Join::Shared { .. } | Join::Overlap { .. }) {
            for array in self.cx.arrays(self.kernel.result).vals.arrays() {
                self.cx.values.builder.arrays[array].role = ir::Role::Shared;
            }
        }
        let (first, last) = self.interval(partition.var, partition.cut);
        self.interval = Some(Interval { partition, first, last });
    }

    /// The parameters with the interval, held within what there is.
    fn interval(&mut self, var: IndexVar, cut: CutPoint) -> (Expr, Expr) {
        let index = self.cx.index(var);
        let name = self.cx.name_of(index);
        let [begin, end] = [Binding::Begin, Binding::End].map(|binding| {
            let suffix = if binding == Binding::Begin { "begin" } else { "end" };
            let param = self.cx.temp(&format!("{name}_{suffix}"));
            self.cx.values.builder.params.push((Param::Scalar(param), binding));
            Expr::Var(param)
        });
        if cut.is_by_position() {
            return (begin, end);
        }
        let (lo, hi) = self.cx.range(var, &Scope::default());
        let (first, last) =
            (self.cx.temp(&format!("{name}_first")), self.cx.temp(&format!("{name}_last")));
        let within = binary(BinaryOp::Min, end, hi);
        self.cx.values.builder.prologue.push(assign(first, binary(BinaryOp::Max, begin, lo)));
        self.cx
            .values
            .builder
            .prologue
            .push(assign(last, binary(BinaryOp::Max, Expr::Var(first), within)));
        (Expr::Var(first), Expr::Var(last))
    }

    /// Whether a loop runs over a part of its coordinates.
    pub(super) fn is_cut(&self, nest: &Loop<'_>) -> bool {
        let interval = self.interval.as_ref();
        interval.is_some_and(|i| {
            i.partition.var == nest.plan.var && i.partition.cut == CutPoint::Coordinates
        })
    }

    /// The coordinates that a loop has to visit if nothing else is known.
    pub(super) fn turns(&mut self, nest: &Loop<'_>) -> (Expr, Expr) {
        let (true, Some(interval)) = (self.is_cut(nest), self.interval.clone()) else {
            return self.cx.range(nest.plan.var, nest.scope);
        };
        if nest.scope.bound.is_empty() {
            return (interval.first, interval.last);
        }
        let (lo, hi) = self.cx.range(nest.plan.var, nest.scope);
        (binary(BinaryOp::Max, interval.first, lo), binary(BinaryOp::Min, interval.last, hi))
    }

    /// Whether parts write elements of one array.
    pub(super) fn shares_result(&self) -> bool {
        let interval = self.interval.as_ref();
        interval
            .is_some_and(|i| matches!(i.partition.join, Join::Shared { .. } | Join::Overlap { .. }))
    }

    /// The part of the positions that a loop over them runs over.
    pub(super) fn cut_positions(&self, nest: &Loop<'_>, bounds: (Expr, Expr)) -> (Expr, Expr) {
        match &self.interval {
            Some(i) if nest.scope.bound.is_empty() && i.partition.cut.is_by_position() => (
                binary(BinaryOp::Max, i.first.clone(), bounds.0),
                binary(BinaryOp::Min, i.last.clone(), bounds.1),
            ),
            _ => bounds,
        }
    }

    /// The first coordinate of the part and the one behind its last, counted from the level's
    /// least, where the first level of the result is cut and every coordinate has a position there.
    pub(super) fn own_rows(&mut self) -> Option<(Expr, Expr)> {
        let Interval { partition, first, last } = self.interval.clone()?;
        let own = match partition.join {
            Join::Concatenate => matches!(self.assembler(0), Assembler::Place),
            Join::Shared { .. } => {
                self.cx.planner().fills_own_part(&self.plan.output, partition.var, partition.cut)
            }
            _ => false,
        };
        let level = own.then(|| self.cx.arrays(self.kernel.result).levels[0].clone())?;
        Some((level.from_least(first), level.from_least(last)))
    }

    /// What a part of a full result has in every element before the loops.
    pub(super) fn filled_part(&mut self) -> Vec<ir::Stmt> {
        let Some((lo, hi)) = self.own_rows() else { return vec![] };
        let result = self.kernel.result;
        let levels = 1..self.cx.arrays(result).levels.len();
        let lo = self.cx.positions_at(result, levels.clone(), lo);
        let hi = self.cx.positions_at(result, levels, hi);
        let (vals, initial) = (self.cx.arrays(result).vals, self.cx.planner().initial());
        self.cx.filled(vals, lo, hi, initial)
    }

    /// Sets an operand's position to the first coordinate of the part, and the end behind the
    /// last.
    pub(super) fn cut_to_part(&mut self, it: &Iterator) -> Vec<ir::Stmt> {
        let Some(Interval { first, last, .. }) = self.interval.clone() else { return vec![] };
        let before = |at: Var, bound: &Expr| match &it.sliced {
            Sliced::Whole => lt(it.raw(at).coordinate, bound.clone()),
            Sliced::Taken { view, .. } => lt(it.raw(at).coordinate, view.coordinate(bound.clone())),
            Sliced::Placed(_) => lt(it.coordinate(at), bound.clone()),
        };
        let (p, end) = (it.position, it.end(&mut self.cx));
        let mut stmts = self.first_from(p, &|at| before(at, &first), Expr::Var(end));
        let behind: Var = self.cx.temp_of(p, "_last");
        stmts.push(assign(behind, Expr::Var(p)));
        stmts.extend(self.first_from(behind, &|at| before(at, &last), Expr::Var(end)));
        stmts.push(assign(end, Expr::Var(behind)));
        stmts
    }
}
