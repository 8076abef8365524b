//! Unrolls loops that add to vectors in registers twice.
//!
//! ```text
//! for p in lo..hi { k = crd[p]; t0 = fma(splat(A[p]), B[k * n; 2], t0); t1 = .. }
//!
//! mid = lo + (hi - lo) / 2 * 2
//! for p in lo..mid step 2 {
//!   k = crd[p]; t0 = fma(splat(A[p]), B[k * n; 2], t0); t1 = ..
//!   k = crd[p + 1]; t0 = fma(splat(A[p + 1]), B[k * n; 2], t0); t1 = ..
//! }
//! for p in mid..hi { k = crd[p]; t0 = .. }
//! ```
//!
//! In machine code for narrow vectors, an accumulator ends an iteration in another register than the one where it
//! began, and is copied. Elsewhere, counting and jumping are a large part of iterations with few accumulators: SpMM
//! with 32 columns is 1.2 times as fast. Further unrolling gains nothing.

use std::ops::RangeInclusive;

use crate::ir::{Expr, Function, Stmt};
use crate::transform::affine::shifted;
use crate::transform::{Target, by_iterations, rewrite};

/// The smallest number of accumulators that is worth unrolling where they are copied, and the largest elsewhere.
const FEW: usize = 4;

/// The bytes of vectors in code that copies accumulators.
const NARROW: u16 = 16;

/// The pass.
pub(in crate::transform) fn unroll_twice(mut function: Function, target: Target) -> Function {
    let worth = if target.vector_bytes == NARROW { FEW..=usize::MAX } else { 1..=FEW };
    let body = std::mem::take(&mut function.body);
    let body = rewrite(body, &mut |s| paired(&mut function, s, &worth));
    Function { body, ..function }
}

fn paired(function: &mut Function, s: &Stmt, worth: &RangeInclusive<usize>) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let accumulates = |s: &&Stmt| match s {
        Stmt::Assign { var, value: Expr::Fma(_, _, total) } => {
            **total == Expr::Var(*var) && function.vars[*var].ty.lanes > 1
        }
        _ => false,
    };
    let straight = body.iter().all(|s| matches!(s, Stmt::Assign { .. } | Stmt::Prefetch { .. }));
    if !straight || !worth.contains(&body.iter().filter(accumulates).count()) {
        return None;
    }
    let next = |s: &Stmt| s.clone().map_children(&mut |e| shifted(e, *var, 1), &mut |b| b);
    let both = body.iter().cloned().chain(body.iter().map(next)).collect();
    Some(by_iterations(function, (*var, lo, hi), (2, both), body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    const TARGET: Target = Target { vector_bytes: 16, hoists: true, ..Target::SCALAR };

    fn paired(body: &str) -> String {
        transformed(body, TARGET)
    }

    fn transformed(body: &str, target: Target) -> String {
        let head = "fn f(n: i64, crd: in [i32], A: in [f64], y: out [f64]) {\n  \
                    var k, p: i64\n  var s, t, u, v, w: f64x2\n";
        let function = parse(&format!("{head}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"));
        let text = unroll_twice(function, target).to_string();
        let lines = text.lines().map(str::trim).filter(|l| !l.starts_with("var"));
        lines.skip(1).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn two_iterations_are_taken_at_once() {
        let sums = |p: &str| {
            let sum = |t: &str| format!("{t} = fma(splat(A[{p}], 2), A[k; 2], {t})");
            format!("k = crd[{p}] {} {} {} {}", sum("t"), sum("u"), sum("v"), sum("w"))
        };
        assert_eq!(
            paired(&format!("for p in 3..n {{ {} }}", sums("p"))),
            format!(
                "p_first = 3 p_hi = n p_mid = p_first + (p_hi - p_first) / 2 * 2 \
                 for p in p_first..p_mid step 2 {{ {} {} }} for p in p_mid..p_hi {{ {} }} }}",
                sums("p"),
                sums("p + 1"),
                sums("p")
            )
        );
        // In C, more accumulators gain nothing.
        let in_c = Target { vector_bytes: 64, ..TARGET };
        let four = format!("for p in 3..n {{ {} }}", sums("p"));
        assert_eq!(transformed(&four, in_c), paired(&four));
        let five = format!("for p in 3..n {{ {} s = fma(splat(A[p], 2), A[k; 2], s) }}", sums("p"));
        assert_eq!(transformed(&five, in_c), format!("{five} }}"));
        // An iteration with other effects than additions.
        let more = format!("for p in 3..n {{ {} y[p] = 0.0 }}", sums("p"));
        assert_eq!(paired(&more), format!("{more} }}"));
    }
}
