//! Checks lengths of arrays that are products: a length beyond 63 bits ends the call instead of wrapping around.
//!
//! ```text
//! B(i,j) = A(i,j)      B: (i: hashed, j: bitmap), j of 2^60 coordinates
//!
//! if 4e18 < f64(B1_width[0]) * f64(A2_size)  fail out_of_memory
//! reserve B2_mask, B1_width[0] * A2_size
//! ```
//!
//! An array that grows block by block, `(p + 1) * size`, is not checked: [`crate::level`] blocks fit 62 bits, and each
//! length is a reserved one plus one block.

use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{Register, Scalar};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{binary, lt, when};
use tamis_ir::ir::{Expr, Status, Stmt, Unit};

/// Up to this limit, lengths are exact, although their factors are rounded.
const MOST: f64 = 4e18;
/// No memory holds so many elements that this many times more exceed 63 bits.
const SMALL: i64 = 1 << 15;

/// A function's body with the checks. Code for a GPU has none: each would be a launch of its own.
pub(super) fn checked(body: Vec<Stmt>) -> Vec<Stmt> {
    if body.iter().any(is_on_gpu) { body } else { with_checks(body) }
}

fn is_on_gpu(s: &Stmt) -> bool {
    let is_unit = matches!(s, Stmt::Parallel { unit, .. } if *unit != Unit::Core);
    is_unit || s.blocks().flatten().any(is_on_gpu)
}

fn with_checks(body: Vec<Stmt>) -> Vec<Stmt> {
    let (mut tested, mut bounded) = (vec![], vec![]);
    let mut out = vec![];
    for s in body {
        match &s {
            Stmt::Reserve { len, .. } if may_wrap(len, &bounded) && !tested.contains(len) => {
                let beyond = lt(Expr::Const(Scalar::F64(MOST)), rounded(len));
                out.push(when(beyond, vec![Stmt::Fail(Status::OutOfMemory)]));
                tested.push(len.clone());
            }
            Stmt::Reserve { .. } | Stmt::Fill { .. } | Stmt::Comment(_) => {}
            Stmt::Assign { var, value } if is_quotient(value) => bounded.push(*var),
            _ => tested.clear(),
        }
        out.push(s.map_children(&mut |e| e, &mut with_checks));
    }
    out
}

/// Whether a number is limited by a constant divided by a size, as `min(n, 134217728 / size)`: its product with the
/// size fits.
fn is_quotient(value: &Expr) -> bool {
    let of_constant = |e: &Expr| match e {
        Expr::Binary(BinaryOp::Div, a, _) => matches!(**a, Expr::Const(_)),
        _ => false,
    };
    matches!(value, Expr::Binary(BinaryOp::Min, a, b) if of_constant(a) || of_constant(b))
}

/// Whether a length contains a product that may exceed 63 bits.
fn may_wrap(len: &Expr, bounded: &[Var]) -> bool {
    match len {
        Expr::Binary(BinaryOp::Mul, a, b) => {
            let is_small = |e: &Expr| matches!(e, Expr::Const(Scalar::I64(c)) if *c <= SMALL);
            let is_bounded = |e: &Expr| match e {
                Expr::Var(v) => bounded.contains(v),
                Expr::Binary(BinaryOp::Add, v, one) => {
                    matches!((&**v, &**one), (Expr::Var(_), Expr::Const(_)))
                }
                _ => false,
            };
            let is_exact = is_small(a) || is_small(b) || is_bounded(a);
            !is_exact || may_wrap(a, bounded) || may_wrap(b, bounded)
        }
        Expr::Binary(_, a, b) => may_wrap(a, bounded) || may_wrap(b, bounded),
        _ => false,
    }
}

/// A length computed in floating point.
fn rounded(len: &Expr) -> Expr {
    match len {
        Expr::Binary(op @ (BinaryOp::Mul | BinaryOp::Add), a, b) => {
            binary(*op, rounded(a), rounded(b))
        }
        len => Expr::Convert(Register::F64, Box::new(len.clone())),
    }
}
