//! Integer arithmetic of statements whose results have fewer than 64 bits: overflow of 64 bits ends the call, like a
//! result that does not fit its type.
//!
//! ```text
//! y(i) = A(i) * A(i) * A(i)       A: dense{i32}
//!
//! part = A_vals[i] * A_vals[i]                                  fits, by the types
//! part_2 = A_vals[i]
//! if abs(f64(part) * f64(part_2)) > 1.2e19 or (.. < 0.0 xor part * part_2 < 0)  fail integer_overflow
//! .. = part * part_2
//! ```
//!
//! Operations are not checked if the types of the operands bound their values (interval analysis). A sum of 32-bit
//! terms is checked if it may have very many terms ([`crate::cin::terms`]).

use super::values::Values;
use crate::cin::Overflow;
use std::ops::RangeInclusive;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::{Register, Scalar};
use tamis_ir::ir::build::{assign, binary, eq, lt, when};
use tamis_ir::ir::{self, Expr, Status};

impl Values<'_> {
    /// `a op b` in the compute type.
    pub(super) fn arithmetic(
        &mut self,
        op: BinaryOp,
        a: Expr,
        b: Expr,
        prefix: &mut Vec<ir::Stmt>,
    ) -> Expr {
        if !self.planner().is_checked() || self.is_exact(op, &a, &b) {
            return binary(op, a, b);
        }
        let (a, b) = (self.named(a, prefix), self.named(b, prefix));
        let value = binary(op, a.clone(), b.clone());
        if let Some(beyond) = self.beyond(op, [a, b], &value) {
            prefix.push(when(beyond, vec![ir::Stmt::Fail(Status::IntegerOverflow)]));
        }
        value
    }

    /// `old op value` in the compute type, for reductions of real numbers.
    pub(super) fn accumulated(
        &mut self,
        op: ReduceOp,
        old: Expr,
        value: Expr,
        prefix: &mut Vec<ir::Stmt>,
    ) -> Expr {
        match self.may_leave(op, &value) {
            true => self.arithmetic(op.binary(), old, value, prefix),
            false => binary(op.binary(), old, value),
        }
    }

    /// Whether a reduction of such values may overflow 64 bits and has to be checked.
    pub(super) fn may_leave(&self, op: ReduceOp, value: &Expr) -> bool {
        let is_small = |r: RangeInclusive<i128>| *r.start() >= -(1 << 31) && *r.end() <= 1 << 32;
        let is_bounded = || {
            self.kernel.overflow != Overflow::CheckedLong
                && is_small(self.intervals.of(value, &self.builder.arrays))
        };
        match op {
            ReduceOp::Add => self.planner().is_checked() && !is_bounded(),
            ReduceOp::Mul => self.planner().is_checked(),
            _ => false,
        }
    }

    /// A function of a real number.
    pub(super) fn function_of(&mut self, op: UnaryOp, a: Expr, prefix: &mut Vec<ir::Stmt>) -> Expr {
        let plain = |a| Expr::Unary(op, Box::new(a));
        let zero = self.zero();
        match op {
            _ if !self.planner().is_checked() => plain(a),
            UnaryOp::Neg if !self.is_exact(BinaryOp::Sub, &zero, &a) => {
                self.arithmetic(BinaryOp::Sub, zero, a, prefix)
            }
            UnaryOp::Abs if !self.is_exact(BinaryOp::Sub, &zero, &a) && self.is_signed() => {
                let a = self.named(a, prefix);
                let beyond = eq(a.clone(), Expr::Const(Scalar::I64(i64::MIN)));
                prefix.push(when(beyond, vec![ir::Stmt::Fail(Status::IntegerOverflow)]));
                plain(a)
            }
            UnaryOp::Square | UnaryOp::Cube => {
                let a = self.named(a, prefix);
                let square = self.arithmetic(BinaryOp::Mul, a.clone(), a.clone(), prefix);
                match op {
                    UnaryOp::Square => square,
                    _ => self.arithmetic(BinaryOp::Mul, square, a, prefix),
                }
            }
            _ => plain(a),
        }
    }

    fn is_signed(&self) -> bool {
        self.facts.register() == Register::I64
    }

    fn is_exact(&self, op: BinaryOp, a: &Expr, b: &Expr) -> bool {
        self.intervals
            .exact(op, a, b, &self.builder.arrays)
            .is_some_and(|r| self.intervals.fits(&r))
    }

    /// A variable for a value that is read several times.
    fn named(&mut self, e: Expr, prefix: &mut Vec<ir::Stmt>) -> Expr {
        if matches!(e, Expr::Var(_) | Expr::Const(_)) {
            return e;
        }
        let range = self.intervals.of(&e, &self.builder.arrays);
        let var = self.builder.var("part", ir::Type::scalar(self.facts.register()));
        self.intervals.hold(var, range);
        prefix.push(assign(var, e));
        Expr::Var(var)
    }

    /// The condition for an operator's value to exceed 64 bits. A product does if it has the wrong sign, or if its
    /// rounded value is far beyond.
    fn beyond(&self, op: BinaryOp, [a, b]: [Expr; 2], value: &Expr) -> Option<Expr> {
        let (signed, zero) = (self.is_signed(), self.zero());
        let differ = |x, y| binary(BinaryOp::Xor, x, y);
        let float = |e: Expr| Expr::Convert(Register::F64, Box::new(e));
        let number = |x: f64| Expr::Const(Scalar::F64(x));
        let product = || binary(BinaryOp::Mul, float(a.clone()), float(b.clone()));
        Some(match op {
            BinaryOp::Add if signed => ir::leaves(&a, &b),
            BinaryOp::Sub if signed => differ(lt(b, zero), lt(a, value.clone())),
            BinaryOp::Mul if signed => {
                let far = lt(number(1.2e19), Expr::Unary(UnaryOp::Abs, Box::new(product())));
                let wrong = differ(lt(product(), number(0.0)), lt(value.clone(), zero));
                binary(BinaryOp::Or, far, wrong)
            }
            BinaryOp::Div if signed => {
                let is = |e: Expr, c: i64| eq(e, Expr::Const(Scalar::I64(c)));
                binary(BinaryOp::And, is(a, i64::MIN), is(b, -1))
            }
            BinaryOp::Add => lt(value.clone(), a),
            BinaryOp::Sub => lt(a, b),
            BinaryOp::Mul => {
                let far = lt(number(1.9e19), product());
                let half = Expr::Const(Scalar::U64(1 << 63));
                let near = lt(number(1.8e19), product());
                let wrong = binary(BinaryOp::And, near, lt(value.clone(), half));
                binary(BinaryOp::Or, far, wrong)
            }
            _ => return None,
        })
    }
}
