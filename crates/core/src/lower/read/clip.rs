//! Loops over the part of an operand's level that a slice or a tile names: its first and last position are searched.

use super::forall::Iterator;
use super::slice::{Sliced, View};
use crate::lower::Lowerer;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, assign, int};
use tamis_ir::ir::{Expr, Stmt};

impl Lowerer<'_> {
    /// Sets an operand's position to the first coordinate of its slice, and the end behind the
    /// last.
    pub(in crate::lower) fn clipped(&mut self, it: &Iterator) -> Vec<Stmt> {
        if let Some((lo, hi)) = &it.window {
            let (lo, hi) = (&it.sliced.first_from(lo.clone()), it.sliced.first_from(hi.clone()));
            let from = (*lo != int(0)).then(|| lo.clone());
            return self.between(it, from, Some(hi));
        }
        let Sliced::Taken { view, checked: false } = &it.sliced else { return vec![] };
        let View::Steps { first, count, to_end, .. } = view else { return vec![] };
        let from = (*first != int(0)).then(|| first.clone());
        let to = (!to_end).then(|| add(count.clone(), first.clone()));
        self.between(it, from, to)
    }

    /// Sets an operand's position to the first coordinate from one on, and the end before another.
    fn between(&mut self, it: &Iterator, from: Option<Expr>, to: Option<Expr>) -> Vec<Stmt> {
        let (p, end) = (it.position, it.end(&mut self.cx));
        let mut stmts = vec![];
        if let Some(from) = from {
            stmts.extend(self.lower_bound(it, p, from));
        }
        if let Some(to) = to {
            let last = self.cx.temp_of(p, "_last");
            stmts.push(assign(last, Expr::Var(p)));
            stmts.extend(self.lower_bound(it, last, to));
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

    /// The coordinate of the level at a position, where the index variable's value there is known.
    pub(in crate::lower) fn stored(&self, position: Var, index: Var) -> Expr {
        match self.sliced {
            Sliced::Whole => Expr::Var(index),
            _ => self.raw(position).coordinate,
        }
    }
}
