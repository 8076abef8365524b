//! Rewrites statements at their loops.

use crate::cin::Stmt;
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

/// The statement with `f` applied to each outermost loop over one of the variables.
pub(super) fn at_loops(s: Stmt, vars: &[IndexVar], f: &mut dyn FnMut(Stmt) -> Stmt) -> Stmt {
    match s {
        Stmt::Forall { var, .. } if vars.contains(&var) => f(s),
        s => s.map_children(&mut |child| at_loops(child, vars, f)),
    }
}

/// The statement with each loop over a variable replaced by what `f` makes of its body.
pub(super) fn replaced(s: Stmt, var: IndexVar, f: &dyn Fn(Stmt) -> Stmt) -> Stmt {
    at_loops(s, &[var], &mut |nest| match nest {
        Stmt::Forall { body, .. } => f(*body),
        other => other,
    })
}

/// For each loop over a variable, the loops around it.
pub(super) fn around(s: &Stmt, var: IndexVar) -> Vec<Vec<IndexVar>> {
    let mut found = vec![];
    collect(s, var, &mut vec![], &mut found);
    found
}

fn collect(s: &Stmt, var: IndexVar, outer: &mut Vec<IndexVar>, found: &mut Vec<Vec<IndexVar>>) {
    let own = match s {
        Stmt::Forall { var, .. } => Some(*var),
        _ => None,
    };
    if own == Some(var) {
        found.push(outer.clone());
    }
    outer.extend(own);
    s.children().into_iter().for_each(|child| collect(child, var, outer, found));
    outer.truncate(outer.len() - usize::from(own.is_some()));
}

/// Calls `f` for each assignment in loops over a variable, and whether it is to a temporary that is initialised within
/// the loop.
pub(super) fn assignments_within(s: &Stmt, var: IndexVar, f: &mut dyn FnMut(&Access, bool)) {
    within(s, var, (false, false), f);
}

/// `inside`: whether the statement is in the loop, and in a producer in the loop.
fn within(s: &Stmt, var: IndexVar, inside: (bool, bool), f: &mut dyn FnMut(&Access, bool)) {
    match s {
        Stmt::Forall { var: v, body } => within(body, var, (inside.0 || *v == var, inside.1), f),
        Stmt::Where { consumer, producer } => {
            within(producer, var, (inside.0, inside.0), f);
            within(consumer, var, inside, f);
        }
        Stmt::Assign { lhs, .. } if inside.0 => f(lhs, inside.1),
        _ => s.children().into_iter().for_each(|child| within(child, var, inside, f)),
    }
}

/// Calls `f` with each assignment and the loops around it.
pub(super) fn assignments(
    s: &Stmt,
    outer: &mut Vec<IndexVar>,
    f: &mut dyn FnMut(&Stmt, &[IndexVar]),
) {
    match s {
        Stmt::Forall { var, body } => {
            outer.push(*var);
            assignments(body, outer, f);
            outer.pop();
        }
        Stmt::Assign { .. } => f(s, outer),
        _ => s.children().into_iter().for_each(|child| assignments(child, outer, f)),
    }
}
