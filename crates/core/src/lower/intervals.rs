//! Bounds of integer values, from the types of the operands (interval analysis).
//!
//! ```text
//! A_vals[i] * A_vals[i]      A: dense{i32}       0..=2^62
//! ```

use super::value::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::datatype::{DataType, Register};
use tamis_ir::ids::{Array, IdVec, Var};
use tamis_ir::ir::{ArrayDecl, Expr};

/// The integers that an expression may have as its value.
type Range = RangeInclusive<i128>;

/// The arrays that a function declares.
type Arrays = IdVec<Array, ArrayDecl>;

/// Bounds of integer values, from the types of the operands.
pub(super) struct Intervals {
    register: Register,
    /// The ranges of variables, where known.
    held: BTreeMap<Var, Range>,
}

impl Intervals {
    /// No bounds but those of a register type.
    pub(super) fn new(register: Register) -> Intervals {
        Intervals { register, held: BTreeMap::new() }
    }

    /// Records that a variable holds an operand's value of this type.
    pub(super) fn note(&mut self, value: &Value, datatype: DataType) {
        if let (Expr::Var(var), Some(range)) = (&value.re, datatype.integers()) {
            self.held.insert(*var, range);
        }
    }

    /// Records the range of a variable.
    pub(super) fn hold(&mut self, var: Var, range: Range) {
        self.held.insert(var, range);
    }

    /// The range of an expression of the compute type.
    pub(super) fn of(&self, e: &Expr, arrays: &Arrays) -> Range {
        let known = match e {
            Expr::Const(c) => c.integer().map(|x| x..=x),
            Expr::Var(v) => self.held.get(v).cloned(),
            Expr::Load { array, .. } => arrays[*array].elem.integers(),
            Expr::Convert(_, a) => match &**a {
                Expr::Binary(op, ..) if op.is_logical() => Some(0..=1),
                Expr::Unary(UnaryOp::Not, _) | Expr::Convert(Register::Bool, _) => Some(0..=1),
                Expr::Load { array, .. } => arrays[*array].elem.integers(),
                _ => None,
            },
            Expr::Select(_, a, b) => {
                let (a, b) = (self.of(a, arrays), self.of(b, arrays));
                Some(*a.start().min(b.start())..=*a.end().max(b.end()))
            }
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.of(a, arrays);
                Some(-*a.end()..=-*a.start())
            }
            Expr::Unary(UnaryOp::Abs, a) => {
                let a = self.of(a, arrays);
                Some(0..=a.start().abs().max(a.end().abs()))
            }
            Expr::Binary(op, a, b) => self.exact(*op, a, b, arrays),
            _ => None,
        };
        known.filter(|range| self.fits(range)).unwrap_or(self.all())
    }

    /// The range of an operator's value, if integers were unbounded.
    pub(super) fn exact(&self, op: BinaryOp, a: &Expr, b: &Expr, arrays: &Arrays) -> Option<Range> {
        let ([a, b], [c, d]) = (
            [a, b].map(|e| *self.of(e, arrays).start()),
            [a, b].map(|e| *self.of(e, arrays).end()),
        );
        // The ranges of the operands are `a..=c` and `b..=d`.
        Some(match op {
            BinaryOp::Add => a + b..=c + d,
            BinaryOp::Sub => a - d..=c - b,
            BinaryOp::Mul => {
                // `None` if 128 bits are too few.
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

    pub(super) fn fits(&self, range: &Range) -> bool {
        let all = self.all();
        all.contains(range.start()) && all.contains(range.end())
    }

    /// The full range of the compute type.
    fn all(&self) -> Range {
        self.register.datatype().integers().unwrap_or(0..=0)
    }
}
