//! Gives sums over the rows of an operand, within a larger sum, accumulators of their own.
//!
//! ```text
//! for i in 0..n { for p in pos[i]..pos[i + 1] { s = fma(A[p] * x[i], x[crd[p]], s) } }
//!
//! for i in 0..n {
//!   s_own = 0
//!   for p in pos[i]..pos[i + 1] { s_own = fma(A[p] * x[i], x[crd[p]], s_own) }
//!   s = s + s_own
//! }
//! ```
//!
//! Each addition waits for the previous one. Rows are often too short for several accumulators
//! ([`super::split_accumulators`]), but sums of different rows need not wait for each other: the processor overlaps
//! some of them, which takes half of the time if rows have five to eight entries.

use super::split_accumulators::combining;
use crate::algebra::BinaryOp;
use crate::datatype::Scalar;
use crate::ids::Var;
use crate::ir::build::{add, assign};
use crate::ir::flow::{replace, uses};
use crate::ir::{Expr, Function, Stmt};
use crate::transform::affine::inlined;
use crate::transform::{Target, fresh};

/// The pass. Threads of a GPU run concurrently in any case.
pub(in crate::transform) fn privatize_sums(mut function: Function, target: Target) -> Function {
    if target.gpu {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let body = block(&mut function, body);
    Function { body, ..function }
}

fn block(function: &mut Function, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let each = stmts.into_iter().map(|s| {
        let s = s.map_children(&mut |e| e, &mut |b| block(function, b));
        let Stmt::For { var, lo, hi, step, body } = s else { return s };
        Stmt::For { var, lo, hi, step, body: with_own_sums(function, body) }
    });
    each.collect()
}

/// The body of a loop, with an accumulator for each sum in it that continues in the next iteration.
fn with_own_sums(function: &mut Function, body: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = vec![];
    for (k, s) in body.iter().enumerate() {
        let is_elsewhere = |total| body.iter().enumerate().any(|(q, s)| q != k && uses(s, total));
        match total_over_row(function, s).filter(|total| !is_elsewhere(*total)) {
            Some(total) => out.extend(with_own_sum(function, s.clone(), total)),
            None => out.push(s.clone()),
        }
    }
    out
}

/// The floating-point variable to which a loop over a row adds, if that is the loop's only use of it.
fn total_over_row(function: &Function, s: &Stmt) -> Option<Var> {
    let Stmt::For { var, lo: Expr::Load { .. }, hi: Expr::Load { .. }, step: 1, body } = s else {
        return None;
    };
    let (names, Stmt::Assign { var: total, value }) = inlined(body)? else { return None };
    let is_sum = combining(&value, total) == Some(BinaryOp::Add);
    let ty = function.vars[total].ty;
    let is_own = names.contains(&total) || *var == total;
    (is_sum && !is_own && ty.register.is_float() && ty.lanes == 1).then_some(total)
}

fn with_own_sum(function: &mut Function, row: Stmt, total: Var) -> [Stmt; 3] {
    let ty = function.vars[total].ty;
    let name = format!("{}_own", function.vars[total].name);
    let own = fresh(function, &name, ty);
    let zero = Expr::Const(Scalar::I64(0).convert(ty.register));
    [
        assign(own, zero),
        renamed(row, total, own),
        assign(total, add(Expr::Var(total), Expr::Var(own))),
    ]
}

/// A statement with one variable in place of another.
fn renamed(s: Stmt, from: Var, to: Var) -> Stmt {
    let s = s.map_children(&mut |e| replace(e, from, &Expr::Var(to)), &mut |b| {
        b.into_iter().map(|s| renamed(s, from, to)).collect()
    });
    match s {
        Stmt::Assign { var, value } if var == from => assign(to, value),
        s => s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::transform::random;

    const TARGET: Target = Target { vector_bytes: 32, ..Target::SCALAR };

    fn function(body: &str) -> Function {
        parse(&format!(
            "fn f(pos: in [i64], crd: in [i32], A: in [f64], x: in [f64], y: out [f64], n: i64) {{
               var i, p, j, k: i64 var s: f64 var t: i64 {body} }}"
        ))
        .unwrap()
    }

    #[test]
    fn rows_of_a_larger_sum_have_their_own() {
        let sum = "for p in pos[i]..pos[i + 1] { j = crd[p] s = fma(A[p] * x[i], x[j], s) }";
        let before = function(&format!("s = 1.0 for i in 0..n {{ {sum} }} y[0] = s"));
        let after = privatize_sums(before.clone(), TARGET).to_string();
        let wanted = "for i in 0..n {
    s_own = 0.0
    for p in pos[i]..pos[i + 1] {
      j = crd[p]
      s_own = fma(A[p] * x[i], x[j], s_own)
    }
    s = s + s_own
  }";
        assert!(after.contains(wanted), "{after}");
        assert_eq!(privatize_sums(before.clone(), Target::GPU), before);
    }

    #[test]
    fn other_sums_stay() {
        for body in [
            // Over one row; with other uses in the surrounding loop; of integers; over a known range.
            "s = 0.0 for p in pos[0]..pos[1] { s = s + A[p] } y[0] = s",
            "for i in 0..n { s = 0.0 for p in pos[i]..pos[i + 1] { s = s + A[p] } y[i] = s }",
            "s = 0.0 for i in 0..n { for p in pos[i]..pos[i + 1] { s = s + A[p] } y[i] = s }",
            "t = 0 for i in 0..n { for p in pos[i]..pos[i + 1] { t = t + i64(crd[p]) } } y[0] = f64(t)",
            "s = 0.0 for i in 0..n { for p in 0..4 { s = s + A[p] } } y[0] = s",
            "s = 0.0 for i in 0..n { for p in pos[i]..pos[i + 1] { s = s * A[p] } } y[0] = s",
        ] {
            let function = function(body);
            assert_eq!(privatize_sums(function.clone(), TARGET), function);
        }
        random::check(|f, _| privatize_sums(f, TARGET), TARGET, 300);
    }
}
