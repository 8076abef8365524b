//! Tests a loop-invariant condition once, before the loop.
//!
//! ```text
//! for p in lo..hi { j = crd[p]; if n - i < 3 { .. } else { .. } }
//!
//! if n - i < 3 {
//!   for p in lo..hi { j = crd[p]; .. }
//! } else {
//!   for p in lo..hi { j = crd[p]; .. }
//! }
//! ```
//!
//! Only assignments and stores may be beside the condition, so that little code is duplicated.

use crate::ir::flow::{assigned, mentions};
use crate::ir::{Expr, Function, Stmt};
use crate::transform::affine::loads;

/// The pass.
pub(in crate::transform) fn unswitch(function: Function) -> Function {
    Function { body: block(function.body), ..function }
}

/// Inner loops first, so that a condition moves out of all loops that it does not depend on.
fn block(stmts: Vec<Stmt>) -> Vec<Stmt> {
    let inner = |s: Stmt| s.map_children(&mut |e| e, &mut block);
    stmts.into_iter().map(|s| asked_before(inner(s))).collect()
}

fn asked_before(s: Stmt) -> Stmt {
    let Stmt::For { var, lo, hi, step, body } = &s else { return s };
    let mut changed = vec![*var];
    assigned(body, &mut changed);
    let fixed = |e: &Expr| !loads(e) && !changed.iter().any(|v| mentions(e, *v));
    let asks = |s: &Stmt| matches!(s, Stmt::If { cond, otherwise, .. } if fixed(cond) && !otherwise.is_empty());
    let Some(at) = body.iter().position(asks) else { return s };
    let [before, rest] = [&body[..at], &body[at + 1..]];
    let short = |s: &Stmt| matches!(s, Stmt::Assign { .. } | Stmt::Store { .. });
    let Stmt::If { cond, then, otherwise } = &body[at] else { return s };
    if !before.iter().chain(rest).all(short) {
        return s;
    }
    let [then, otherwise] = [then, otherwise].map(|branch| {
        let body = [before, branch, rest].concat();
        let nest = Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: *step, body };
        vec![asked_before(nest)]
    });
    Stmt::If { cond: cond.clone(), then, otherwise }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::transform::{Target, random};

    fn check(body: &str, expect: &str) {
        let head = "fn f(n: i64, m: i64, crd: in [i32], A: in [f64], y: out [f64]) {\n  var i, j, k: i64\n";
        let text = |body: &str| format!("{head}{body}\n}}\n");
        let read = |body: &str| parse(&text(body)).unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(unswitch(read(body)).to_string(), read(expect).to_string());
    }

    #[test]
    fn questions_leave_the_loops_that_they_do_not_depend_on() {
        check(
            "for i in 0..n { for j in 0..m { k = i64(crd[j]) if n - i < 3 { y[k] = 1.0 } \
             else { y[k] = 2.0 } } }",
            "for i in 0..n { if n - i < 3 { for j in 0..m { k = i64(crd[j]) y[k] = 1.0 } } \
             else { for j in 0..m { k = i64(crd[j]) y[k] = 2.0 } } }",
        );
        check(
            "for i in 0..n { for j in 0..m { if i < 3 { if n < 3 { y[j] = 1.0 } else { y[i] = 2.0 } } \
             else { y[i] = 3.0 } } }",
            "for i in 0..n { if i < 3 { if n < 3 { for j in 0..m { y[j] = 1.0 } } \
             else { for j in 0..m { y[i] = 2.0 } } } else { for j in 0..m { y[i] = 3.0 } } }",
        );
        check(
            "for i in 0..n { for j in 0..m { if n < 3 { y[j] = 1.0 } else { y[i] = 2.0 } } }",
            "if n < 3 { for i in 0..n { for j in 0..m { y[j] = 1.0 } } } \
             else { for i in 0..n { for j in 0..m { y[i] = 2.0 } } }",
        );
        check(
            "for i in 0..n { y[i] = 0.0 if n < 3 { k = 1 } else { k = 2 } y[k] = 3.0 }",
            "if n < 3 { for i in 0..n { y[i] = 0.0 k = 1 y[k] = 3.0 } } \
             else { for i in 0..n { y[i] = 0.0 k = 2 y[k] = 3.0 } }",
        );
    }

    #[test]
    fn others_stay() {
        for body in [
            "for i in 0..n { for j in 0..m { if j < 3 { y[i] = 1.0 } else { y[i] = 2.0 } } }",
            "for i in 0..n { for j in 0..m { if A[i] < 3.0 { y[i] = 1.0 } else { y[i] = 2.0 } } }",
            "for i in 0..n { for j in 0..m { for k in 0..m { y[k] = 0.0 } \
             if n < 3 { y[i] = 1.0 } else { y[i] = 2.0 } } }",
            "for i in 0..n { for j in 0..m { if n < 3 { y[i] = 1.0 } } }",
        ] {
            check(body, body);
        }
    }

    #[test]
    fn random_functions_stay_the_same() {
        random::check(|f, _| unswitch(f), Target::SCALAR, 1000);
    }
}
