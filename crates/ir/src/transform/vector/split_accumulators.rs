//! Splits sums in innermost loops over several accumulators, since each addition to a single one waits for the
//! previous; minima and maxima likewise.
//!
//! ```text
//! for p in lo..hi { s = fma(A[p], x[crd[p]], s) }
//!
//! if hi - lo >= 8 {
//!   mid = lo + (hi - lo) / 4 * 4
//!   s0 = 0; s1 = 0; s2 = 0; s3 = 0
//!   for p in lo..mid step 4 {
//!     j_2 = crd[p]; j_3 = crd[p + 1]; ..
//!     s0 = fma(A[p], x[j_2], s0); s1 = fma(A[p + 1], x[j_3], s1); ..
//!   }
//!   s = s + ((s0 + s2) + (s1 + s3))
//!   if even {
//!     for p in mid..hi { s = fma(A[p], x[crd[p]], s) }
//!   } else {
//!     p_left = min(mid, hi - 1)
//!     s = select(mid < hi, fma(A[p_left], x[crd[p_left]], s), s); ..
//!   }
//! } else {
//!   mid = lo
//!   if lo + 3 < hi {
//!     j_2 = crd[lo]; ..
//!     s = fma(A[lo], x[j_2], s); s = fma(A[lo + 1], ..); ..
//!     mid = lo + 4
//!   }
//!   for p in mid..hi { s = fma(A[p], x[crd[p]], s) }
//! }
//! ```
//!
//! In a short sum, combining several accumulators takes longer than the waits. The number of remaining entries of a
//! long sum is unpredictable: branchless code takes 0.9 of the time; if segments are as long as their neighbours, a
//! loop takes 0.7 of that. Processors with vectors of 256 bits hold the four accumulators in one,
//! `fma(A[p; 4], lanes(x[crd[p]], x[crd[p + 1]], ..), s0)`, which takes half as many instructions. If all operands are
//! contiguous, the accumulators are vectors of 512 bits, except on a GPU; if a schedule asks for vectors, also where
//! some operands are scattered. The split is the same for every processor, so that all of them compute the same bits.
//! The sum of vectors is multiplied by the common factors of its terms.

use crate::algebra::BinaryOp;
use crate::datatype::{Register, Scalar};
use crate::ids::Var;
use crate::ir::flow::mentions;
use crate::ir::{ArrayRole, Expr, Function, Stmt};
use crate::transform::affine::{Scattered, inlined, most_iterations};
use crate::transform::branchless::probe::Questions;
use crate::transform::branchless::short_sums;
use crate::transform::vector::sum::{Held, Left, Names, Sum, WAYS, widened_sum};
use crate::transform::vector::vectorize::lanes_within;
use crate::transform::{Target, for_each, rewrite};
use std::collections::BTreeMap;

/// Vector accumulators of a sum over contiguous operands, and the bytes of each.
const VECTORS: i64 = 2;
const VECTOR_BYTES: i64 = 64;

/// The pass.
pub(in crate::transform) fn split_accumulators(mut function: Function, target: Target) -> Function {
    let body = std::mem::take(&mut function.body);
    let mut questions = Questions::default();
    let mut loops: BTreeMap<Var, usize> = BTreeMap::new();
    for_each(&body, &mut |s| {
        if let Stmt::For { var, .. } = s {
            *loops.entry(*var).or_default() += 1;
        }
    });
    let several: Vec<Var> = loops.into_iter().filter(|(_, n)| *n > 1).map(|(var, _)| var).collect();
    let body =
        rewrite(body, &mut |s| split_loop(&mut function, &mut questions, (target, &several), s));
    Function { body: [questions.stmts, body].concat(), ..function }
}

fn split_loop(
    function: &mut Function,
    questions: &mut Questions,
    (target, several): (Target, &[Var]),
    s: &Stmt,
) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let is_few = matches!(hi, Expr::Binary(BinaryOp::Min, _, most)
        if matches!(**most, Expr::Const(Scalar::I64(most)) if most < WAYS * 4));
    let asked = function.vars[*var].by_lanes;
    let (names, last) = inlined(body)?;
    let Stmt::Assign { var: total, value } = last else { return None };
    if is_few && !asked {
        return None;
    }
    let register = function.vars[total].ty.register;
    let float = register.is_float();
    let op = combining(&value, total)?;
    let own = names.contains(&total) || *var == total;
    if !float || own || !stays(function, &value) {
        return None;
    }
    let runs_by_lanes = function.vars.iter().any(|v| v.by_lanes);
    if op != BinaryOp::Add && runs_by_lanes && !asked {
        // A surrounding loop has enough lanes.
        return None;
    }
    let is_plain = target.gpu || target.vector_bytes == 0 || runs_by_lanes;
    let left = if is_plain { Left::Loop } else { Left::Selects };
    let is_held = !is_plain && register == Register::F64 && target.vector_bytes >= 32;
    let names = if target.hoists { Names::None } else { Names::Before };
    let held = if is_held { Held::Lanes(names) } else { Held::Scalars };
    let (lo, hi, body) = (lo.clone(), hi.clone(), body.clone());
    let sum = Sum { var: *var, lo, hi, total, op, value, body, left, held };
    let (lanes, vectors) = shape(function, &sum)?;
    let (factor, value) = sum.apart();
    let wide = match target.gpu {
        true => None,
        false => {
            let sum = Sum { value, ..sum.clone() };
            let contiguous = widened_sum(function, (&sum, Scattered::Refused), lanes as u16);
            // Scattered elements are loaded one by one; vectors do that only if a schedule asks for them.
            let asked = contiguous.is_none() && asked;
            let gathered =
                || widened_sum(function, (&sum, Scattered::Gathered), lanes as u16).map(|v| (v, 1));
            let contiguous = contiguous.map(|value| (value, vectors));
            contiguous.or_else(|| if asked { gathered() } else { None })
        }
    };
    Some(match wide {
        Some((value, vectors)) => {
            // This loop is now vectorised as requested; other loops over its variable may still have to be.
            function.vars[sum.var].by_lanes &= several.contains(&sum.var);
            sum.unrolled(function, (factor, value), vectors, lanes)
        }
        // Surrounding loops that are to be vectorised must not depend on a probe.
        None if is_plain || op != BinaryOp::Add => sum.over_scalars(function),
        None => short_sums::summed(function, questions, sum),
    })
}

/// The operator that combines a value with the total, if the value has the total nowhere else.
pub(super) fn combining(value: &Expr, total: Var) -> Option<BinaryOp> {
    let (op, total_first, others) = match value {
        Expr::Fma(a, b, c) => (BinaryOp::Add, **c == Expr::Var(total), vec![a, b]),
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Min | BinaryOp::Max), a, b) => {
            (*op, **a == Expr::Var(total), vec![b])
        }
        _ => return None,
    };
    (total_first && !others.into_iter().any(|e| mentions(e, total))).then_some(op)
}

/// The number of lanes of vectors, and the number of vectors. If a schedule asks for vectors, these have at most as
/// many lanes as the trip count of a short loop fills; `None` if that fills no vector.
fn shape(function: &Function, sum: &Sum) -> Option<(i64, i64)> {
    let bytes = function.vars[sum.total].ty.register.datatype().size() as i64;
    let lanes = VECTOR_BYTES / bytes;
    let most = most_iterations(&sum.lo, &sum.hi).filter(|_| function.vars[sum.var].by_lanes);
    let lanes = i64::from(lanes_within(lanes as usize, most)?);
    let vectors = if most.is_some_and(|most| most < lanes * VECTORS) { 1 } else { VECTORS };
    Some((lanes, vectors))
}

/// Whether an expression is invariant while a loop computes a sum: it reads inputs, and arguments of functions.
fn stays(function: &Function, e: &Expr) -> bool {
    let mut stays = true;
    e.walk(&mut |e| match e {
        Expr::Load { array, .. } => {
            let role = function.arrays[*array].role;
            stays &= matches!(role, ArrayRole::Input | ArrayRole::Local);
        }
        Expr::Len(_) => stays = false,
        _ => {}
    });
    stays
}
