//! Loops of a statement: which there are, and how they are nested.

use crate::cin::Stmt;
use crate::ids::IndexVar;

/// The variable of every loop once, outermost first, consumers before producers.
pub(super) fn loops(s: &Stmt) -> Vec<IndexVar> {
    let mut found = vec![];
    collect(s, &mut found);
    found
}

fn collect(s: &Stmt, found: &mut Vec<IndexVar>) {
    match s {
        Stmt::Forall { var, body } => {
            if !found.contains(var) {
                found.push(*var);
            }
            collect(body, found);
        }
        Stmt::Where { consumer, producer } => {
            collect(consumer, found);
            collect(producer, found);
        }
        Stmt::Assign { .. } => {}
    }
}

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
        Stmt::Assign { .. } => s,
    }
}
