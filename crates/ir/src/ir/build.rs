//! Short spellings for building expressions and statements.

use super::{Expr, Stmt};
use crate::algebra::BinaryOp;
use crate::datatype::Scalar;
use crate::ids::{Array, Var};
use std::collections::BTreeSet;

/// Names in use, which functions under construction keep unique.
#[derive(Clone, Debug, Default)]
pub struct UniqueNames(BTreeSet<String>);

impl UniqueNames {
    /// The names that are already in use.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> UniqueNames {
        UniqueNames(names.into_iter().map(str::to_owned).collect())
    }

    /// The name if it is free, otherwise with a number behind it.
    pub fn fresh(&mut self, name: &str) -> String {
        let mut candidate = name.to_owned();
        let mut k = 1;
        while !self.0.insert(candidate.clone()) {
            k += 1;
            candidate = format!("{name}_{k}");
        }
        candidate
    }
}

/// An index constant.
pub fn int(x: i64) -> Expr {
    Expr::Const(Scalar::I64(x))
}

/// `a op b`.
pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

/// The bits that are set in both integers.
pub fn bit_and(a: Expr, b: Expr) -> Expr {
    Expr::BitAnd(Box::new(a), Box::new(b))
}

/// `a + b`, folded where one is a constant 0 index.
pub fn add(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Const(Scalar::I64(0)), _) => b,
        (_, Expr::Const(Scalar::I64(0))) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => int(x.wrapping_add(*y)),
        (Expr::Binary(BinaryOp::Add, x, y), Expr::Const(Scalar::I64(c))) => match **y {
            Expr::Const(Scalar::I64(d)) => add((**x).clone(), int(c.wrapping_add(d))),
            _ => binary(BinaryOp::Add, a, b),
        },
        _ => binary(BinaryOp::Add, a, b),
    }
}

/// `a * b`, folded where one is a constant index 0 or 1.
pub fn mul(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Const(Scalar::I64(1)), _) | (_, Expr::Const(Scalar::I64(0))) => b,
        (_, Expr::Const(Scalar::I64(1))) | (Expr::Const(Scalar::I64(0)), _) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => int(x.wrapping_mul(*y)),
        _ => binary(BinaryOp::Mul, a, b),
    }
}

/// `a - b`, folded where both are constant indices or `b` is 0.
pub fn sub(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (_, Expr::Const(Scalar::I64(0))) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => int(x.wrapping_sub(*y)),
        _ => binary(BinaryOp::Sub, a, b),
    }
}

/// `a / b` for a constant `b` other than 0, folded where it is 1 or `a` is constant too.
pub fn div(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (_, Expr::Const(Scalar::I64(1))) => a,
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) if *y > 0 => int(x / y),
        _ => binary(BinaryOp::Div, a, b),
    }
}

/// `a < b`.
pub fn lt(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Lt, a, b)
}

/// `a == b`.
pub fn eq(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Eq, a, b)
}

/// All of the conditions; later ones are evaluated only if the earlier ones hold.
pub fn all(conditions: impl IntoIterator<Item = Expr>) -> Expr {
    conditions
        .into_iter()
        .reduce(|a, b| Expr::AndThen(Box::new(a), Box::new(b)))
        .unwrap_or(Expr::Const(Scalar::Bool(true)))
}

/// One element of an array.
pub fn load(array: Array, index: Expr) -> Expr {
    Expr::Load { array, index: Box::new(index), lanes: 1 }
}

/// `array[index] = value`.
pub fn store(array: Array, index: Expr, value: Expr) -> Stmt {
    Stmt::Store { array, index, value }
}

/// `var = value`.
pub fn assign(var: Var, value: Expr) -> Stmt {
    Stmt::Assign { var, value }
}

/// Reserves the length that an array already has. The verifier then knows that it is reserved, although only some
/// paths to this point reserve it.
pub fn keep_room(array: Array) -> Stmt {
    Stmt::Reserve { array, len: Expr::Len(array) }
}

/// `for var in lo..hi`.
pub fn for_loop(var: Var, lo: Expr, hi: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::For { var, lo, hi, step: 1, body }
}

/// A block that runs only if the condition holds.
pub fn when(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, then, otherwise: vec![] }
}
