//! Reserves memory for everything that a loop appends once, before the loop.
//!
//! ```text
//! for p in lo..hi { reserve C_vals, pC + 1; C_vals[pC] = ..; pC = pC + 1 }
//!
//! more = max(hi - lo, 0)
//! reserve C_vals, pC + more
//! for p in lo..hi { C_vals[pC] = ..; pC = pC + 1 }
//! ```
//!
//! Only memory that is used is reserved, with one exception: in a loop over one row of an operand that skips entries
//! by a condition, memory is reserved for all entries of the row.

use crate::algebra::BinaryOp;
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, int, sub};
use crate::ir::flow::assigned;
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::fresh;

/// The pass.
pub(in crate::transform) fn reserve_once(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = block(&mut function, body);
    Function { body, ..function }
}

/// Inner loops first.
fn block(function: &mut Function, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = vec![];
    for s in stmts {
        let s = s.map_children(&mut |e| e, &mut |b| block(function, b));
        out.extend(made_before(function, &s).unwrap_or_else(|| vec![s]));
    }
    out
}

/// A loop with its reservations before it, if any can be moved.
fn made_before(function: &mut Function, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let mut changed = vec![];
    assigned(body, &mut changed);
    let mut wanted = vec![];
    let mut kept = without_requests(body, &changed, &mut wanted);
    if walks_row(lo, hi) {
        for s in &mut kept {
            if let Stmt::If { then, otherwise, .. } = s
                && otherwise.is_empty()
            {
                *then = without_requests(then, &changed, &mut wanted);
            }
        }
    }
    if wanted.is_empty() {
        return None;
    }
    let more = fresh(function, "more", Type::INDEX);
    let iterations = binary(BinaryOp::Max, sub(hi.clone(), lo.clone()), int(0));
    let mut out = vec![assign(more, iterations)];
    out.extend(wanted.into_iter().map(|(array, counter)| {
        let len = add(Expr::Var(counter), Expr::Var(more));
        Stmt::Reserve { array, len }
    }));
    out.push(Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: 1, body: kept });
    Some(out)
}

/// The statements of an iteration without the reservations that can be moved before the loop.
fn without_requests(body: &[Stmt], changed: &[Var], wanted: &mut Vec<(Array, Var)>) -> Vec<Stmt> {
    let mut kept = vec![];
    for (at, s) in body.iter().enumerate() {
        let request = match s {
            Stmt::Reserve { array, len } => {
                counts(len, &body[at + 1..], changed).map(|counter| (*array, counter))
            }
            _ => None,
        };
        match request {
            Some(request) => wanted.push(request),
            None => kept.push(s.clone()),
        }
    }
    kept
}

/// Whether a loop is over the positions of one row of an operand, not over all of its entries.
fn walks_row(lo: &Expr, hi: &Expr) -> bool {
    let is_of_row = |bound: &Expr| match bound {
        Expr::Load { index, .. } => !matches!(**index, Expr::Const(_)),
        _ => false,
    };
    is_of_row(lo) && is_of_row(hi)
}

/// The variable that becomes `len` in the rest of the iteration, and is not assigned elsewhere in the loop.
fn counts(len: &Expr, rest: &[Stmt], changed: &[Var]) -> Option<Var> {
    let Expr::Binary(BinaryOp::Add, counter, one) = len else { return None };
    let Expr::Var(counter) = **counter else { return None };
    let advances =
        |s: &Stmt| matches!(s, Stmt::Assign { var, value } if *var == counter && value == len);
    let once = changed.iter().filter(|v| **v == counter).count() == 1;
    (**one == int(1) && once && rest.iter().any(advances)).then_some(counter)
}
