//! Where each variable is declared: in the innermost block with all its uses, but outside of loops of which one
//! iteration may read the value of an earlier one.

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

    /// The variables that a block has to declare before its first statement: those whose first assignment is not
    /// directly in the block.
    pub(in crate::backend) fn undeclared(&self, path: &[usize]) -> Vec<Var> {
        self.home.iter().filter(|(_, home)| *home == path).map(|(v, _)| *v).collect()
    }

    fn block(&mut self, stmts: &[Stmt], path: &mut Path, loops: &mut Vec<Var>) {
        for (k, s) in stmts.iter().enumerate() {
            for e in s.exprs() {
                // The condition of a `while` is evaluated outside of its body.
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

    /// Widens the declaring block of a variable to include a use. Within its own loop, a loop variable is declared by
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

/// Moves a declaring block out of a loop if its statements may read the variable before they assign it.
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
