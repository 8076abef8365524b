//! Values of a block's variables, in terms of other variables.

use crate::ids::Var;
use crate::ir::flow::{assigned, mentions};
use crate::ir::{Expr, Stmt};
use std::collections::{BTreeMap, BTreeSet};

/// Values of variables on a path through a block, in terms of variables without a known value.
#[derive(Clone, Default)]
pub(super) struct Names(BTreeMap<Var, Expr>);

impl Names {
    /// An expression with variables replaced by their known values.
    pub(super) fn resolved(&self, e: &Expr) -> Expr {
        match e {
            Expr::Var(v) => self.0.get(v).unwrap_or(e).clone(),
            _ if self.0.is_empty() => e.clone(),
            _ => e.clone().map_children(&mut |child| self.resolved(&child)),
        }
    }

    /// Records the value of a variable.
    pub(super) fn assign(&mut self, var: Var, value: &Expr) {
        let value = self.resolved(value);
        self.0.retain(|v, value| *v != var && !mentions(value, var));
        if !mentions(&value, var) {
            self.0.insert(var, value);
        }
    }

    /// Forgets the values of variables that a block assigns.
    pub(super) fn forget(&mut self, block: &[Stmt]) {
        if !self.0.is_empty() {
            let mut changed = vec![];
            assigned(block, &mut changed);
            self.forget_vars(&changed.into_iter().collect());
        }
    }

    fn forget_vars(&mut self, vars: &BTreeSet<Var>) {
        if !vars.is_empty() {
            self.0.retain(|v, value| !vars.contains(v) && !mentions_any(value, vars));
        }
    }
}

fn mentions_any(e: &Expr, vars: &BTreeSet<Var>) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Var(v) if vars.contains(v)));
    found
}
