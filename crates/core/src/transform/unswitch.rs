//! What is the same in every turn of a loop is asked once, before it.
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
//! Only names may come before the question, so that little stands twice.

use super::affine::{reads_inputs_only, uses};
use crate::ir::flow::assigned;
use crate::ir::{Expr, Function, Stmt};

/// The pass.
pub(super) fn unswitch(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = block(&function, body);
    Function { body, ..function }
}

/// Inner loops first, so that a question leaves all loops that it does not depend on.
fn block(function: &Function, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let inner = |s: Stmt| s.map_children(&mut |e| e, &mut |b| block(function, b));
    stmts.into_iter().map(|s| asked_before(function, inner(s))).collect()
}

fn asked_before(function: &Function, s: Stmt) -> Stmt {
    let Stmt::For { var, lo, hi, step, body } = &s else { return s };
    let Some((Stmt::If { cond, then, otherwise }, names)) = body.split_last() else { return s };
    let mut changed = vec![*var];
    assigned(body, &mut changed);
    let same = !changed.iter().any(|v| uses(cond, *v)) && reads_nothing(cond);
    let named = names.iter().all(|s| match s {
        Stmt::Assign { value, .. } => reads_inputs_only(function, value),
        _ => false,
    });
    if !same || !named || otherwise.is_empty() {
        return s;
    }
    let [then, otherwise] = [then, otherwise].map(|rest| {
        let body = [names, rest].concat();
        let nest = Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: *step, body };
        vec![asked_before(function, nest)]
    });
    Stmt::If { cond: cond.clone(), then, otherwise }
}

/// Whether an expression has the same value however often it is asked, also where it was not.
fn reads_nothing(e: &Expr) -> bool {
    let mut nothing = true;
    e.walk(&mut |e| nothing &= !matches!(e, Expr::Load { .. } | Expr::Len(_)));
    nothing
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
    }

    #[test]
    fn others_stay() {
        for body in [
            "for i in 0..n { for j in 0..m { if j < 3 { y[i] = 1.0 } else { y[i] = 2.0 } } }",
            "for i in 0..n { for j in 0..m { if A[i] < 3.0 { y[i] = 1.0 } else { y[i] = 2.0 } } }",
            "for i in 0..n { for j in 0..m { y[j] = 0.0 if n < 3 { y[i] = 1.0 } else { y[i] = 2.0 } } }",
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
