//! Products of tensors as their factors.

use crate::notation::{Access, Expr, Slicing};
use tamis_ir::algebra::BinaryOp;

/// The factors of a product of tensors, and of slices that are read forwards; false if it is more than that.
pub(super) fn flatten<'e>(e: &'e Expr, into: &mut Vec<&'e Access>) -> bool {
    match e {
        Expr::Binary(BinaryOp::Mul, a, b) => flatten(a, into) && flatten(b, into),
        Expr::Access(a) => {
            into.push(a);
            let is_read_forwards = |s: &Slicing| matches!(s, Slicing::Taken(_)) && s.ascends();
            a.slices.values().all(is_read_forwards)
        }
        _ => false,
    }
}

/// The product of factors.
pub(super) fn product(factors: Vec<Expr>) -> Expr {
    let times = |a, b| Expr::Binary(BinaryOp::Mul, Box::new(a), Box::new(b));
    factors.into_iter().reduce(times).expect("both sides have factors")
}
