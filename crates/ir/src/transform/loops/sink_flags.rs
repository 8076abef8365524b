//! Sinks assignments of constants that every iteration repeats out of loops: they run once, after the loop.
//!
//! ```text
//! for p in lo..hi { any = true; s = fma(A[p], x[crd[p]], s) }
//!
//! for p in lo..hi { s = fma(A[p], x[crd[p]], s) }
//! if lo < hi { any = true }
//! ```
//!
//! Later passes look for loops that only sum.

use crate::ids::Var;
use crate::ir::build::{all, lt, when};
use crate::ir::flow::{assigned, mentions};
use crate::ir::{ArrayRole, Expr, Function, Stmt};

/// The pass.
pub(in crate::transform) fn sink_flags(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = block(&function, body);
    Function { body, ..function }
}

/// Inner loops first, so that sunk assignments move on.
fn block(function: &Function, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = vec![];
    for s in stmts {
        match s.map_children(&mut |e| e, &mut |b| block(function, b)) {
            Stmt::For { var, lo, hi, step, body } => {
                let (settings, body) = taken_out(function, var, [&lo, &hi], body);
                out.push(Stmt::For { var, lo: lo.clone(), hi: hi.clone(), step, body });
                for (conditions, setting) in settings {
                    let iterations = lt(lo.clone(), hi.clone());
                    let conditions = std::iter::once(iterations).chain(conditions);
                    out.push(when(all(conditions), vec![setting]));
                }
            }
            s => out.push(s),
        }
    }
    out
}

/// The assignments that can be sunk out of a loop, their condition, and the rest of the loop.
fn taken_out(
    function: &Function,
    var: Var,
    bounds: [&Expr; 2],
    body: Vec<Stmt>,
) -> (Vec<(Option<Expr>, Stmt)>, Vec<Stmt>) {
    let mut changed = vec![var];
    assigned(&body, &mut changed);
    let fixed = |e: &Expr| {
        let mut fixed = changed.iter().all(|v| !mentions(e, *v));
        e.walk(&mut |e| match e {
            Expr::Load { array, .. } => {
                fixed &= function.arrays[*array].role == ArrayRole::Input;
            }
            Expr::Len(_) => fixed = false,
            _ => {}
        });
        fixed
    };
    let sets = |s: &Stmt| {
        let Stmt::Assign { var, value: value @ Expr::Const(_) } = s else { return false };
        agrees(&body, *var, value)
    };
    if !bounds.into_iter().all(fixed) {
        return (vec![], body);
    }
    let (mut settings, mut rest) = (vec![], vec![]);
    for s in &body {
        match s {
            s if sets(s) => settings.push((None, s.clone())),
            Stmt::If { cond, then, otherwise } if otherwise.is_empty() && fixed(cond) => {
                match &then[..] {
                    [setting] if sets(setting) => {
                        settings.push((Some(cond.clone()), setting.clone()));
                    }
                    _ => rest.push(s.clone()),
                }
            }
            s => rest.push(s.clone()),
        }
    }
    (settings, rest)
}

/// Whether a block uses a variable only to assign this value to it.
fn agrees(block: &[Stmt], var: Var, value: &Expr) -> bool {
    block.iter().all(|s| {
        let same = match s {
            Stmt::Assign { var: v, value: x } if *v == var => x == value,
            Stmt::For { var: v, .. } => *v != var,
            _ => true,
        };
        same && s.exprs().all(|e| !mentions(e, var)) && s.blocks().all(|b| agrees(b, var, value))
    })
}
