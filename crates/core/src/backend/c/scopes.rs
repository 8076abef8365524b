//! Where each variable is declared: in the innermost block that holds all its uses.

use crate::ids::{Id, Var};
use crate::ir::{Expr, Function, Param, Stmt};
use std::collections::BTreeMap;

/// A block, as the places of the statements and branches that lead to it.
pub(super) type Path = Vec<usize>;

/// The declaring block of each variable.
pub(super) struct Scopes {
    home: BTreeMap<Var, Path>,
    params: Vec<Var>,
}

impl Scopes {
    pub(super) fn of(function: &Function) -> Scopes {
        let mut scopes = Scopes { home: BTreeMap::new(), params: vec![] };
        for param in &function.params {
            if let Param::Scalar(v) = param {
                scopes.params.push(*v);
            }
        }
        scopes.block(&function.body, &mut vec![], &mut vec![]);
        scopes
    }

    /// The variables that a block has to declare before its first statement: those that no
    /// statement directly in it assigns first.
    pub(super) fn undeclared(&self, path: &[usize]) -> Vec<Var> {
        self.home.iter().filter(|(_, home)| *home == path).map(|(v, _)| *v).collect()
    }

    fn block(&mut self, stmts: &[Stmt], path: &mut Path, loops: &mut Vec<Var>) {
        for (k, s) in stmts.iter().enumerate() {
            for e in s.exprs() {
                // A while's condition is evaluated around its body, so it counts as outside.
                self.uses(e, path, loops);
            }
            match s {
                Stmt::Assign { var, .. } => self.meet(*var, path, loops),
                Stmt::For { var, .. } => loops.push(*var),
                _ => {}
            }
            for (b, block) in s.blocks().enumerate() {
                path.push(2 * k + b);
                self.block(block, path, loops);
                path.pop();
            }
            if let Stmt::For { .. } = s {
                loops.pop();
            }
        }
    }

    fn uses(&mut self, e: &Expr, path: &Path, loops: &[Var]) {
        e.walk(&mut |e| {
            if let Expr::Var(v) = e {
                self.meet(*v, path, loops);
            }
        });
    }

    /// Widens a variable's home to hold a use. Within its own loop a loop variable is declared by
    /// the loop.
    fn meet(&mut self, var: Var, path: &Path, loops: &[Var]) {
        if loops.contains(&var) || self.params.contains(&var) {
            return;
        }
        let home = self.home.entry(var).or_insert_with(|| path.clone());
        let common = home.iter().zip(path).take_while(|(a, b)| a == b).count();
        home.truncate(common);
    }
}

/// A key for sets of variables.
pub(super) fn place(var: Var) -> usize {
    var.index()
}
