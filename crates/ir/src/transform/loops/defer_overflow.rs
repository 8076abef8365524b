//! Moves tests for integer overflow behind loops, which are branchless then.
//!
//! ```text
//! for p in lo..hi { part = A[p] * x[crd[p]]; if LEAVES(s + part)  fail integer_overflow; s = s + part }
//!
//! high = s >> 32
//! for p in lo..hi { part = A[p] * x[crd[p]]; s = s + part; high = high + (part >> 32) }
//! carry = (s >> 32) - high
//! if carry >> 32 != 0  fail integer_overflow
//! ```
//!
//! The carry out of the low halves of fewer than 2^32 terms is at least 0 and below 2^32; it is off by a multiple of
//! 2^32 if and only if the total wrapped. Both sums are plain reductions, which compilers vectorise, and a total that
//! fits is exact, whatever its partial sums are. For other operations, overflows are counted:
//!
//! ```text
//! for k in 0..n { part = w[k]; beyond = beyond + LEAVES(part + part_2); w[k] = part + part_2 }
//! if 0 < beyond  fail integer_overflow
//! ```

use crate::algebra::BinaryOp;
use crate::datatype::{Register, Scalar};
use crate::ids::Var;
use crate::ir::build::{add, assign, binary, int, lt, sub, when};
use crate::ir::flow::{mentions, uses};
use crate::ir::{self, Expr, Function, Status, Stmt};
use crate::transform::fresh;

/// With this many terms the carry could be 2^32.
const TERMS: i64 = 1 << 32;

/// The function with its tests after the loops.
pub(in crate::transform) fn defer_overflow(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let summed = summed(&mut function, body);
    function.body = counted(&mut function, summed);
    function
}

/// Sums the high halves of terms in the innermost loops of a block.
fn summed(function: &mut Function, block: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = vec![];
    for s in block {
        let s = s.map_children(&mut |e| e, &mut |b| summed(function, b));
        match by_halves(function, &s) {
            Some(halved) => out.extend(halved),
            None => out.push(s),
        }
    }
    out
}

fn by_halves(function: &mut Function, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let (mut before, mut after) = (vec![], vec![]);
    let mut halved = body.clone();
    for (at, total, term) in terms(body) {
        let ty = function.vars[total].ty;
        let high = fresh(function, "high", ty);
        let half = |e: Expr| ir::high(e, ty.register);
        before.push(assign(high, half(Expr::Var(total))));
        halved.swap(at, at + 1);
        halved[at + 1] = assign(high, add(Expr::Var(high), half(term)));
        let carry = fresh(function, "carry", ty);
        after.push(assign(carry, sub(half(Expr::Var(total)), Expr::Var(high))));
        let none = Expr::Const(Scalar::I64(0).convert(ty.register));
        after.push(ends(binary(BinaryOp::Ne, half(Expr::Var(carry)), none)));
    }
    if before.is_empty() {
        return None;
    }
    let sum = Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: 1, body: halved };
    let then = [before, vec![sum], after].concat();
    if is_short(function, lo, hi) {
        return Some(then);
    }
    let cond = lt(sub(hi.clone(), lo.clone()), int(TERMS));
    Some(vec![Stmt::If { cond, then, otherwise: vec![s.clone()] }])
}

/// The statements of a loop that test a sum, followed by the sum: their indices, totals and terms.
fn terms(body: &[Stmt]) -> Vec<(usize, Var, Expr)> {
    let mut found = vec![];
    for (k, pair) in body.windows(2).enumerate() {
        let (Some(cond), Stmt::Assign { var: total, value }) = (tested(&pair[0]), &pair[1]) else {
            continue;
        };
        let Expr::Binary(BinaryOp::Add, a, term) = value else { continue };
        let old = Expr::Var(*total);
        let is_sum = **a == old && !mentions(term, *total);
        let tested = *cond == ir::leaves(&old, term) || *cond == lt(value.clone(), old);
        let mut others = body[..k].iter().chain(&body[k + 2..]);
        if is_sum && tested && !others.any(|s| uses(s, *total)) {
            found.push((k, *total, (**term).clone()));
        }
    }
    found
}

/// Whether a loop certainly has fewer than `TERMS` iterations: over constants, or positions of 32 bits.
fn is_short(function: &Function, lo: &Expr, hi: &Expr) -> bool {
    let narrow = |e: &Expr| match e {
        Expr::Load { array, .. } => function.arrays[*array].elem.size() <= 4,
        Expr::Const(Scalar::I64(c)) => (0..TERMS).contains(c),
        _ => false,
    };
    narrow(lo) && narrow(hi)
}

/// Counts overflows of 64 bits in the loops of a block.
fn counted(function: &mut Function, block: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = vec![];
    for s in block {
        let is_loop = matches!(s, Stmt::For { .. } | Stmt::While { .. });
        if !is_loop || !is_arithmetic(&s) || !has_test(&s) {
            out.push(s.map_children(&mut |e| e, &mut |b| counted(function, b)));
            continue;
        }
        let beyond = fresh(function, "beyond", ir::Type::INDEX);
        out.push(assign(beyond, int(0)));
        out.push(counting(s, beyond));
        out.push(ends(lt(int(0), Expr::Var(beyond))));
    }
    out
}

fn counting(s: Stmt, beyond: Var) -> Stmt {
    if let Some(cond) = tested(&s) {
        let one = Expr::Convert(Register::I64, Box::new(cond.clone()));
        return assign(beyond, add(Expr::Var(beyond), one));
    }
    s.map_children(&mut |e| e, &mut |b| b.into_iter().map(|s| counting(s, beyond)).collect())
}

/// Whether the call may end after a statement instead of within it: the statement only computes and stores numbers.
fn is_arithmetic(s: &Stmt) -> bool {
    let other = matches!(
        s,
        Stmt::Fail(_) | Stmt::Parallel { .. } | Stmt::Reserve { .. } | Stmt::Sort { .. }
    );
    tested(s).is_some() || !other && s.blocks().flatten().all(is_arithmetic)
}

fn has_test(s: &Stmt) -> bool {
    tested(s).is_some() || s.blocks().flatten().any(has_test)
}

/// The condition for overflow, if a statement only tests that and ends the call.
fn tested(s: &Stmt) -> Option<&Expr> {
    match s {
        Stmt::If { cond, then, otherwise }
            if otherwise.is_empty()
                && matches!(then[..], [Stmt::Fail(Status::IntegerOverflow)]) =>
        {
            Some(cond)
        }
        _ => None,
    }
}

fn ends(cond: Expr) -> Stmt {
    when(cond, vec![Stmt::Fail(Status::IntegerOverflow)])
}
