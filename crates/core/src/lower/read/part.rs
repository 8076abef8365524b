//! Loops over the part of their coordinates, or positions, that a call computes.

use super::forall::{Iterator, LoopEmitter};
use super::locate::first_from;
use super::slice::Sliced;
use crate::lower::builder::Builder;
use crate::lower::partition::Interval;
use crate::lower::symbols::Symbols;
use crate::plan::CutBy;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{assign, binary, lt};
use tamis_ir::ir::{Expr, Stmt};

impl LoopEmitter<'_> {
    /// Whether a loop runs over a part of its coordinates.
    pub(in crate::lower) fn is_cut(&self) -> bool {
        let interval = self.interval.as_ref();
        interval.is_some_and(|i| {
            i.partition.var == self.plan.var && i.partition.cut == CutBy::Coordinates
        })
    }

    /// The range of coordinates that a loop visits, without further restrictions.
    pub(in crate::lower) fn coordinate_range(&self, cx: &mut Symbols<'_>) -> (Expr, Expr) {
        let (true, Some(interval)) = (self.is_cut(), self.interval.clone()) else {
            return cx.range(self.plan.var, self.scope);
        };
        if self.scope.bound.is_empty() {
            return (interval.first, interval.last);
        }
        let (lo, hi) = cx.range(self.plan.var, self.scope);
        (binary(BinaryOp::Max, interval.first, lo), binary(BinaryOp::Min, interval.last, hi))
    }

    /// The part of the positions that a loop over positions visits.
    pub(in crate::lower) fn cut_positions(&self, bounds: (Expr, Expr)) -> (Expr, Expr) {
        match &self.interval {
            Some(i)
                if self.scope.bound.is_empty()
                    && i.partition.var == self.plan.var
                    && i.partition.cut.is_by_position() =>
            {
                (
                    binary(BinaryOp::Max, i.first.clone(), bounds.0),
                    binary(BinaryOp::Min, i.last.clone(), bounds.1),
                )
            }
            _ => bounds,
        }
    }
}

impl Iterator {
    /// Sets an operand's position to the first coordinate of the part, and its end behind the last one.
    pub(in crate::lower) fn cut_to(&self, cx: &mut Builder, part: &Interval<'_>) -> Vec<Stmt> {
        let before = |at: Var, bound: &Expr| match &self.sliced {
            Sliced::Whole => lt(self.raw(at).coordinate, bound.clone()),
            Sliced::Taken { view, .. } => {
                lt(self.raw(at).coordinate, view.coordinate(bound.clone()))
            }
            Sliced::Placed(_) => lt(self.coordinate(at), bound.clone()),
        };
        let (p, end) = (self.position, self.end(cx));
        let mut stmts = first_from(cx, p, &|at| before(at, &part.first), Expr::Var(end));
        let behind = cx.temp_of(p, "_last");
        stmts.push(assign(behind, Expr::Var(p)));
        stmts.extend(first_from(cx, behind, &|at| before(at, &part.last), Expr::Var(end)));
        stmts.push(assign(end, Expr::Var(behind)));
        stmts
    }
}
