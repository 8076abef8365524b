//! What the variables of a block stand for.

use crate::ids::Var;
use crate::ir::flow::{assigned, mentions, replace};
use crate::ir::{Expr, Stmt};

/// The values of variables, on the way through a block, in terms of others that keep theirs.
#[derive(Clone, Default)]
pub(super) struct Names(Vec<(Var, Expr)>);

impl Names {
    /// An expression in terms of what the variables stand for.
    pub(super) fn resolved(&self, e: &Expr) -> Expr {
        self.0.iter().fold(e.clone(), |e, (var, value)| match mentions(&e, *var) {
            true => replace(e, *var, value),
            false => e,
        })
    }

    /// A variable is given a value.
    pub(super) fn assign(&mut self, var: Var, value: &Expr) {
        let value = self.resolved(value);
        self.forget_var(var);
        if !mentions(&value, var) {
            self.0.push((var, value));
        }
    }

    /// Variables that a block assigns have other values around it.
    pub(super) fn forget(&mut self, block: &[Stmt]) {
        let mut changed = vec![];
        assigned(block, &mut changed);
        changed.into_iter().for_each(|var| self.forget_var(var));
    }

    fn forget_var(&mut self, var: Var) {
        self.0.retain(|(v, value)| *v != var && !mentions(value, var));
    }
}
