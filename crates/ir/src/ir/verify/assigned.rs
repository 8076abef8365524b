//! `assigned`: variables are assigned on every path before they are read.

use super::{Broken, Checked, check as check_that};
use crate::ids::{Id, Var};
use crate::ir::flow::assigned;
use crate::ir::{Expr, Function, Param, Stmt};

/// The variables that have a value on every path to a point; `None` where no path leads, since
/// the call has ended.
type Known = Option<Vec<bool>>;

/// Checks every read of a function.
pub(super) fn check(function: &Function) -> Checked {
    let mut known = vec![false; function.vars.len()];
    for param in &function.params {
        if let Param::Scalar(v) = param {
            known[v.index()] = true;
        }
    }
    block(function, &function.body, Some(known)).map(|_| ())
}

fn block(function: &Function, stmts: &[Stmt], known: Known) -> Result<Known, Broken> {
    stmts.iter().try_fold(known, |known, s| stmt(function, s, known).map_err(|b| b.at(function, s)))
}

fn stmt(function: &Function, s: &Stmt, known: Known) -> Result<Known, Broken> {
    if !matches!(s, Stmt::While { .. }) {
        s.exprs().try_for_each(|e| reads(function, e, &known))?;
    }
    Ok(match s {
        Stmt::Assign { var, .. } => with(known, *var, true),
        Stmt::For { var, body, .. } => {
            let known = with(without_loops(known, body), *var, false);
            block(function, body, with(known.clone(), *var, true))?;
            known
        }
        Stmt::Parallel { var, combined, body, .. } => {
            combined.iter().try_for_each(|c| reads(function, &Expr::Var(c.var), &known))?;
            let mut own = vec![*var];
            assigned(body, &mut own);
            own.retain(|v| combined.iter().all(|c| c.var != *v));
            let known = own.iter().fold(known, |known, &v| with(known, v, false));
            block(function, body, with(known.clone(), *var, true))?;
            known
        }
        Stmt::While { cond, body } => {
            let known = without_loops(known, body);
            reads(function, cond, &known)?;
            block(function, body, known.clone())?;
            known
        }
        Stmt::If { then, otherwise, .. } => {
            let then = block(function, then, known.clone())?;
            meet(then, block(function, otherwise, known)?)
        }
        Stmt::InOrder { body } => block(function, body, known)?,
        Stmt::Fail(_) => None,
        _ => known,
    })
}

fn reads(function: &Function, e: &Expr, known: &Known) -> Checked {
    let Some(known) = known else { return Ok(()) };
    let mut missing = None;
    e.walk(&mut |e| {
        if let Expr::Var(v) = e
            && !known[v.index()]
        {
            missing = missing.or(Some(*v));
        }
    });
    let name = || missing.map_or("", |v| &function.vars[v].name);
    check_that(missing.is_none(), "assigned", || {
        format!("{} is read where it may have no value", name())
    })
}

fn with(known: Known, var: Var, value: bool) -> Known {
    known.map(|mut known| {
        known[var.index()] = value;
        known
    })
}

/// The state at the start of every iteration of a body: inner loops may have unassigned variables.
fn without_loops(known: Known, body: &[Stmt]) -> Known {
    body.iter().fold(known, |known, s| {
        let known = match s {
            Stmt::For { var, .. } | Stmt::Parallel { var, .. } => with(known, *var, false),
            _ => known,
        };
        s.blocks().fold(known, without_loops)
    })
}

/// The state where two paths meet.
fn meet(a: Known, b: Known) -> Known {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.into_iter().zip(b).map(|(a, b)| a && b).collect()),
        (only, None) | (None, only) => only,
    }
}
