//! What the variables of a block stand for.

use crate::ids::Var;
use crate::ir::flow::{assigned, mentions};
use crate::ir::{Expr, Stmt};
use std::collections::{BTreeMap, BTreeSet};

/// The values of variables, on the way through a block, in terms of others that keep theirs: no value
/// names a variable that has one.
#[derive(Clone, Default)]
pub(super) struct Names(BTreeMap<Var, Expr>);

impl Names {
    /// An expression in terms of what the variables stand for.
    pub(super) fn resolved(&self, e: &Expr) -> Expr {
        match e {
            Expr::Var(v) => self.0.get(v).unwrap_or(e).clone(),
            _ if self.0.is_empty() => e.clone(),
            _ => e.clone().map_children(&mut |child| self.resolved(&child)),
        }
    }

    /// A variable is given a value.
    pub(super) fn assign(&mut self, var: Var, value: &Expr) {
        let value = self.resolved(value);
        self.0.retain(|v, value| *v != var && !mentions(value, var));
        if !mentions(&value, var) {
            self.0.insert(var, value);
        }
    }

    /// Variables that a block assigns have other values around it.
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
