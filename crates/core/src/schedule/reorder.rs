//! `reorder(i, j, k)`: directly nested loops in a new order.
//!
//! ```text
//! forall(i, forall(j, s))        reorder(j, i)        forall(j, forall(i, s))
//! ```
//!
//! All loops around an assignment combine values with its operator, which is associative and
//! commutative, so that any order of directly nested loops computes the same.

use super::nest::at_loops;
use super::scheduler::Scheduler;
use crate::cin::Stmt;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::IndexVar;

pub(super) fn reorder(s: &mut Scheduler<'_>, names: &[String]) -> Result<(), Diagnostic> {
    let mut vars = vec![];
    for (k, name) in names.iter().enumerate() {
        let var = s.loop_var(k, name)?;
        if vars.contains(&var) {
            let message = format!("reorder names {name} twice");
            return Err(s.refuse(k, message, "name each loop once".to_owned()));
        }
        vars.push(var);
    }
    let mut problem = None;
    let body = at_loops(s.kernel().body.clone(), &vars, &mut |nest| match between(&nest, &vars) {
        None => reordered(nest, &vars),
        Some(found) => {
            problem.get_or_insert(found);
            nest
        }
    });
    if let Some(between) = problem {
        return Err(not_nested(s, names, &vars, between));
    }
    s.kernel_mut().body = body;
    Ok(())
}

/// What is between loops that are not directly nested.
enum Between {
    /// Loops over other variables.
    Loops(Vec<IndexVar>),
    /// A statement with several parts, at most one of which contains this loop.
    Parts(IndexVar),
}

/// What is between the outermost of the loops and the others.
fn between(nest: &Stmt, vars: &[IndexVar]) -> Option<Between> {
    let mut missing = vars.to_vec();
    let mut others = vec![];
    let mut at = nest;
    while let Stmt::Forall { var, body } = at {
        match missing.iter().position(|v| v == var) {
            Some(k) => drop(missing.remove(k)),
            None if !missing.is_empty() => others.push(*var),
            None => break,
        }
        at = body;
    }
    match (missing.first(), others.is_empty()) {
        (Some(&var), _) => Some(Between::Parts(var)),
        (None, false) => Some(Between::Loops(others)),
        (None, true) => None,
    }
}

fn not_nested(
    s: &Scheduler<'_>,
    names: &[String],
    vars: &[IndexVar],
    between: Between,
) -> Diagnostic {
    let listed = names.join(", ");
    match between {
        Between::Loops(others) => {
            let others: Vec<&str> = others.iter().map(|&v| s.name(v)).collect();
            let others = others.join(" and ");
            let verb = if others.contains(" and ") { "stand" } else { "stands" };
            let message =
                format!("reorder needs {listed} directly nested; {others} {verb} between them");
            let all: Vec<&str> = names.iter().map(String::as_str).collect();
            let help = format!("name {others} too: reorder({}, {})", all.join(", "), others);
            s.refuse(usize::MAX, message, help.replace(" and ", ", "))
        }
        Between::Parts(var) => {
            let name = s.name(var).to_owned();
            let arg = vars.iter().position(|&v| v == var).unwrap_or(usize::MAX);
            let message = format!(
                "reorder needs {listed} directly nested; {name} is in another part of the kernel"
            );
            let help = "reorder loops before they are split, or name fewer".to_owned();
            s.refuse(arg, message, help)
        }
    }
}

/// Directly nested loops in another order.
fn reordered(nest: Stmt, vars: &[IndexVar]) -> Stmt {
    let mut body = nest;
    for _ in vars {
        if let Stmt::Forall { body: inner, .. } = body {
            body = *inner;
        }
    }
    Stmt::forall(vars, body)
}
