//! Loops over the part of an operand's level within a slice or a tile, whose first and last position are searched.

use super::forall::Iterator;
use super::slice::{Sliced, View};
use crate::lower::builder::Builder;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, assign, int};
use tamis_ir::ir::{Expr, Stmt};

impl Iterator {
    /// Sets an operand's position to the first coordinate of its slice, and its end behind the last one.
    pub(in crate::lower) fn clipped(&self, cx: &mut Builder) -> Vec<Stmt> {
        if let Some((lo, hi)) = &self.window {
            let (lo, hi) =
                (&self.sliced.first_from(lo.clone()), self.sliced.first_from(hi.clone()));
            let from = (*lo != int(0)).then(|| lo.clone());
            return self.between(cx, from, Some(hi));
        }
        let Sliced::Taken { view, checked: false } = &self.sliced else { return vec![] };
        let View::Steps { first, count, to_end, .. } = view else { return vec![] };
        let from = (*first != int(0)).then(|| first.clone());
        let to = (!to_end).then(|| add(count.clone(), first.clone()));
        self.between(cx, from, to)
    }

    /// Sets an operand's position to the first coordinate not below `from`, and its end to the first not below `to`.
    fn between(&self, cx: &mut Builder, from: Option<Expr>, to: Option<Expr>) -> Vec<Stmt> {
        let (p, end) = (self.position, self.end(cx));
        let mut stmts = vec![];
        if let Some(from) = from {
            stmts.extend(self.lower_bound(cx, p, from));
        }
        if let Some(to) = to {
            let last = cx.temp_of(p, "_last");
            stmts.push(assign(last, Expr::Var(p)));
            stmts.extend(self.lower_bound(cx, last, to));
            stmts.push(assign(end, Expr::Var(last)));
        }
        stmts
    }
}

impl Iterator {
    /// Whether only positions between two coordinates are walked.
    pub(in crate::lower) fn is_clipped(&self) -> bool {
        self.window.is_some() || matches!(self.sliced, Sliced::Taken { checked: false, .. })
    }

    /// The coordinate of the level at a position, where the value of the index variable is known.
    pub(in crate::lower) fn stored(&self, position: Var, index: Var) -> Expr {
        match self.sliced {
            Sliced::Whole => Expr::Var(index),
            _ => self.raw(position).coordinate,
        }
    }
}
