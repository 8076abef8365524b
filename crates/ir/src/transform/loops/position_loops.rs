//! Rewrites loops that count the positions of a segment as loops over the positions themselves.
//!
//! ```text
//! for p in 0..pos[i + 1] - pos[i] {          for q in pos[i]..pos[i + 1] {
//!   q = p + pos[i]                             p = q - pos[i]
//!   s = s + A[q] * w[p]                        s = s + A[q] * w[p]
//! }                                          }
//! ```
//!
//! Later passes then see one form, whether a schedule names positions or not.

use crate::algebra::BinaryOp;
use crate::ids::Var;
use crate::ir::build::{assign, int, sub};
use crate::ir::flow::{assigned, mentions, uses};
use crate::ir::{Expr, Function, Stmt};
use crate::transform::affine::reads_inputs_only;
use crate::transform::rewrite;

/// The pass.
pub(in crate::transform) fn position_loops(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = rewrite(body, &mut |s| Some(vec![over_positions(&function, s)?]));
    Function { body, ..function }
}

fn over_positions(function: &Function, s: &Stmt) -> Option<Stmt> {
    let Stmt::For { var, lo: first, hi: count, step: 1, body } = s else { return None };
    let (Stmt::Assign { var: position, value }, rest) = body.split_first()? else { return None };
    let begin = added_to(value, *var)?;
    let Expr::Binary(BinaryOp::Sub, end, taken) = count else { return None };
    let mut changed = vec![*var, *position];
    assigned(rest, &mut changed);
    let stays = |e: &Expr| {
        reads_inputs_only(function, e) && !changed.iter().any(|changed| mentions(e, *changed))
    };
    let is_once = changed[2..].iter().all(|v| v != var && v != position);
    // A loop to be vectorised keeps its variable.
    let is_own = function.vars[*var].by_lanes;
    if *first != int(0) || **taken != *begin || !stays(begin) || !stays(end) || !is_once || is_own {
        return None;
    }
    let counted = rest.iter().any(|s| uses(s, *var));
    let counted = counted.then(|| assign(*var, sub(Expr::Var(*position), begin.clone())));
    let rest = rewrite(rest.to_vec(), &mut |s| Some(vec![over_positions(function, s)?]));
    let body = counted.into_iter().chain(rest).collect();
    let (lo, hi) = (begin.clone(), (**end).clone());
    Some(Stmt::For { var: *position, lo, hi, step: 1, body })
}

/// The operand to which a variable is added.
fn added_to(e: &Expr, var: Var) -> Option<&Expr> {
    let Expr::Binary(BinaryOp::Add, a, b) = e else { return None };
    match (&**a, &**b) {
        (&Expr::Var(v), other) | (other, &Expr::Var(v)) if v == var => Some(other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    fn check(body: &str, expect: &str) {
        let head = "fn f(n: i64, pos: in [i32], A: in [f64], w: out [f64]) {\n  \
                    var i, p, q: i64\n  var s: f64\n";
        let text = |body: &str| format!("{head}{body}\n}}\n");
        let parsed = |body: &str| parse(&text(body)).unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(position_loops(parsed(body)).to_string(), parsed(expect).to_string());
    }

    #[test]
    fn counted_positions_become_positions() {
        check(
            "for i in 0..n {\n for p in 0..pos[i + 1] - pos[i] {\n q = p + pos[i]\n w[p] = A[q]\n }\n }",
            "for i in 0..n {\n for q in pos[i]..pos[i + 1] {\n p = q - pos[i]\n w[p] = A[q]\n }\n }",
        );
        check(
            "for p in 0..pos[1] - pos[0] {\n q = pos[0] + p\n w[q] = A[q]\n }",
            "for q in pos[0]..pos[1] {\n w[q] = A[q]\n }",
        );
    }

    #[test]
    fn others_stay() {
        for body in [
            "for p in 1..pos[1] - pos[0] {\n q = p + pos[0]\n w[q] = A[q]\n }",
            "for p in 0..pos[1] - pos[0] {\n q = p + pos[1]\n w[q] = A[q]\n }",
            "for p in 0..pos[1] - pos[0] {\n q = p + pos[0]\n w[q] = A[q]\n q = q + 1\n }",
            "i = 0\n for p in 0..n - i {\n q = p + i\n w[q] = A[q]\n i = 2\n }",
        ] {
            check(body, body);
        }
    }
}
