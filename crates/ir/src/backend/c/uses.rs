//! Which of its declarations a function uses, since compilers warn about unused ones.

use crate::ids::{Array, Var};
use crate::ir::{Expr, Function, Stmt};
use std::collections::BTreeSet;

/// The variables and arrays that statements use.
#[derive(Default)]
pub(in crate::backend) struct Uses {
    read: BTreeSet<Var>,
    touched: BTreeSet<Array>,
    sized: BTreeSet<Array>,
}

impl Uses {
    pub(in crate::backend) fn of(function: &Function) -> Uses {
        let mut uses = Uses::default();
        uses.block(&function.body);
        uses
    }

    /// Whether a variable is read.
    pub(in crate::backend) fn reads(&self, var: Var) -> bool {
        self.read.contains(&var)
    }

    /// Whether an array's elements are used, or the array is extended.
    pub(in crate::backend) fn touches(&self, array: Array) -> bool {
        self.touched.contains(&array)
    }

    /// Whether an array's length is used.
    pub(in crate::backend) fn sizes(&self, array: Array) -> bool {
        self.sized.contains(&array)
    }

    fn block(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            s.exprs().for_each(|e| self.expr(e));
            match s {
                Stmt::Store { array, .. }
                | Stmt::Update { array, .. }
                | Stmt::Fill { array, .. }
                | Stmt::Prefetch { array, .. } => {
                    self.touched.insert(*array);
                }
                Stmt::Reserve { array, .. } => {
                    self.touched.insert(*array);
                    self.sized.insert(*array);
                }
                Stmt::Sort { keys, carried, .. } => self.touched.extend(keys.iter().chain(carried)),
                _ => {}
            }
            s.blocks().for_each(|block| self.block(block));
        }
    }

    fn expr(&mut self, e: &Expr) {
        e.walk(&mut |e| {
            match e {
                Expr::Var(v) => self.read.insert(*v),
                Expr::Load { array, .. } => self.touched.insert(*array),
                Expr::Len(array) => self.sized.insert(*array),
                _ => false,
            };
        });
    }
}
