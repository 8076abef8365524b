//! Integer arithmetic of statements whose results have fewer than 64 bits: a step that leaves 64 bits
//! ends the call, as a result does that does not fit.
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
//! Steps are not checked where the types of the operands bound them (interval analysis). A sum of terms
//! of 32 bits is checked where it may have very many ([`crate::cin::terms`]).

use super::Lowerer;
use super::complex::Value;
use std::ops::RangeInclusive;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::ir::build::{assign, binary, eq, lt, when};
use tamis_ir::ir::{self, Expr, Status};

/// The integers that an expression may have as its value.
type Range = RangeInclusive<i128>;

impl Lowerer<'_> {
    /// `a op b` in the compute type.
    pub(super) fn arithmetic(
        &mut self,
        op: BinaryOp,
        a: Expr,
        b: Expr,
        prefix: &mut Vec<ir::Stmt>,
    ) -> Expr {
        if !self.planner().is_checked() || self.exact(op, &a, &b).is_some_and(|r| self.fits(&r)) {
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

    /// Whether a reduction of such values may leave 64 bits and is to be checked.
    pub(super) fn may_leave(&self, op: ReduceOp, value: &Expr) -> bool {
        let is_small = |r: Range| *r.start() >= -(1 << 31) && *r.end() <= 1 << 32;
        let is_bounded = || !self.kernel.long_sums && is_small(self.integers_of(value));
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
        self.exact(op, a, b).is_some_and(|r| self.fits(&r))
    }

    /// A value that is used several times.
    fn named(&mut self, e: Expr, prefix: &mut Vec<ir::Stmt>) -> Expr {
        if matches!(e, Expr::Var(_) | Expr::Const(_)) {
            return e;
        }
        let range = self.integers_of(&e);
        let var = self.builder.var("part", ir::Type::scalar(self.facts.register()));
        self.ranges.insert(var, range);
        prefix.push(assign(var, e));
        Expr::Var(var)
    }

    /// When the value of an operator is beyond 64 bits. A product with the wrong sign, or far beyond
    /// by its rounded value, is.
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

    fn fits(&self, range: &Range) -> bool {
        let all = self.all();
        all.contains(range.start()) && all.contains(range.end())
    }

    /// Everything that a value of the compute type may be.
    fn all(&self) -> Range {
        self.facts.register().datatype().integers().unwrap_or(0..=0)
    }

    /// What an expression of the compute type may be.
    fn integers_of(&self, e: &Expr) -> Range {
        let known = match e {
            Expr::Const(c) => c.integer().map(|x| x..=x),
            Expr::Var(v) => self.ranges.get(v).cloned(),
            Expr::Load { array, .. } => self.builder.arrays[*array].elem.integers(),
            Expr::Convert(_, a) => match &**a {
                Expr::Binary(op, ..) if op.is_logical() => Some(0..=1),
                Expr::Unary(UnaryOp::Not, _) | Expr::Convert(Register::Bool, _) => Some(0..=1),
                Expr::Load { array, .. } => self.builder.arrays[*array].elem.integers(),
                _ => None,
            },
            Expr::Select(_, a, b) => {
                let (a, b) = (self.integers_of(a), self.integers_of(b));
                Some(*a.start().min(b.start())..=*a.end().max(b.end()))
            }
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.integers_of(a);
                Some(-*a.end()..=-*a.start())
            }
            Expr::Unary(UnaryOp::Abs, a) => {
                let a = self.integers_of(a);
                Some(0..=a.start().abs().max(a.end().abs()))
            }
            Expr::Binary(op, a, b) => self.exact(*op, a, b),
            _ => None,
        };
        known.filter(|range| self.fits(range)).unwrap_or(self.all())
    }

    /// What an operator gives, were there no end to integers.
    fn exact(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Option<Range> {
        let ([a, b], [c, d]) = (
            [a, b].map(|e| *self.integers_of(e).start()),
            [a, b].map(|e| *self.integers_of(e).end()),
        );
        // Here `a..=c` and `b..=d` are the operands.
        Some(match op {
            BinaryOp::Add => a + b..=c + d,
            BinaryOp::Sub => a - d..=c - b,
            BinaryOp::Mul => {
                // None where even 128 bits are too few.
                let products = [(a, b), (a, d), (c, b), (c, d)].map(|(x, y)| x.checked_mul(y));
                let least = products.into_iter().min()??;
                least..=products.into_iter().max()??
            }
            BinaryOp::Min => a.min(b)..=c.min(d),
            BinaryOp::Max => a.max(b)..=c.max(d),
            BinaryOp::Div => {
                let most = a.abs().max(c.abs());
                let least = if a >= 0 && b >= 0 { 0 } else { -most };
                let negates = b <= -1;
                least..=if negates { most } else { c.max(0) }
            }
            BinaryOp::Mod => {
                let most = b.abs().max(d.abs());
                if b >= 0 { 0..=most } else { -most..=most }
            }
            BinaryOp::Heaviside => b.min(0)..=d.max(1),
            op if op.is_logical() => 0..=1,
            _ => return None,
        })
    }

    /// A value of an operand that a variable holds.
    pub(super) fn note_range(&mut self, value: &Value, datatype: DataType) {
        if let (Expr::Var(var), Some(range)) = (&value.re, datatype.integers()) {
            self.ranges.insert(*var, range);
        }
    }
}
