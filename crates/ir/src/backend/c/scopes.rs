//! Where each variable is declared: in the innermost block that holds all its uses; outside of the
//! loops around it, if one iteration may read what another left.

use crate::ids::Var;
use crate::ir::flow::exposes;
use crate::ir::{Expr, Function, Param, Stmt};
use std::collections::BTreeMap;

/// A block, as the indices of the statements and branches that lead to it.
pub(in crate::backend) type Path = Vec<usize>;

/// The declaring block of each variable.
pub(in crate::backend) struct Scopes {
    home: BTreeMap<Var, Path>,
    params: Vec<Var>,
}

impl Scopes {
    pub(in crate::backend) fn of(function: &Function) -> Scopes {
        let mut scopes = Scopes { home: BTreeMap::new(), params: vec![] };
        for param in &function.params {
            if let Param::Scalar(v) = param {
                scopes.params.push(*v);
            }
        }
        scopes.block(&function.body, &mut vec![], &mut vec![]);
        for (var, home) in &mut scopes.home {
            hoist(&function.body, *var, home);
        }
        scopes
    }

    /// The variables that a block has to declare before its first statement: those that no
    /// statement directly in it assigns first.
    pub(in crate::backend) fn undeclared(&self, path: &[usize]) -> Vec<Var> {
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
                Stmt::For { var, .. } | Stmt::Parallel { var, .. } => loops.push(*var),
                _ => {}
            }
            for (b, block) in s.blocks().enumerate() {
                path.push(2 * k + b);
                self.block(block, path, loops);
                path.pop();
            }
            if let Stmt::For { .. } | Stmt::Parallel { .. } = s {
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

/// Moves a home within a loop out of it if its block may read the variable before it assigns it.
fn hoist(body: &[Stmt], var: Var, home: &mut Path) {
    let mut block = body;
    let mut outermost = None;
    for (depth, step) in home.iter().enumerate() {
        let s = &block[step / 2];
        let is_loop = matches!(s, Stmt::For { .. } | Stmt::Parallel { .. } | Stmt::While { .. });
        if outermost.is_none() && is_loop {
            outermost = Some(depth);
        }
        block = s.blocks().nth(step % 2).unwrap_or_default();
    }
    if let Some(depth) = outermost.filter(|_| exposes(block, var)) {
        home.truncate(depth);
    }
}
