//! Rewriting at loops of a statement.

use crate::cin::Stmt;
use crate::ids::IndexVar;

/// The statement with `f` applied to each outermost loop over one of the variables.
pub(super) fn at_loops(s: Stmt, vars: &[IndexVar], f: &mut dyn FnMut(Stmt) -> Stmt) -> Stmt {
    match s {
        Stmt::Forall { var, .. } if vars.contains(&var) => f(s),
        Stmt::Forall { var, body } => {
            Stmt::Forall { var, body: Box::new(at_loops(*body, vars, f)) }
        }
        Stmt::Where { consumer, producer } => Stmt::Where {
            consumer: Box::new(at_loops(*consumer, vars, f)),
            producer: Box::new(at_loops(*producer, vars, f)),
        },
        Stmt::Sequence(parts) => {
            Stmt::Sequence(parts.into_iter().map(|part| at_loops(part, vars, f)).collect())
        }
        Stmt::Assign { .. } => s,
    }
}
