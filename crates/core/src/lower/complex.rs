//! Complex values: the imperative form is real, so they are pairs of expressions, variables and
//! arrays.
//!
//! ```text
//! y(i) = A(i,j) * x(j)            s, s_im: the real and imaginary part of the sum
//!
//! s = fma(A_vals[pA2 * 2], x_vals[j * 2], s)  ..  s_im = ..
//! ```
//!
//! Real values have no imaginary part, and stay single. [`tamis_ir::algebra::complex`] defines functions and
//! quotients.

use super::value::{Held, Vals, Value};
use super::values::Values;
use tamis_ir::algebra::complex::{self, Parts};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::{Register, Scalar};
use tamis_ir::ir::build::{assign, binary, for_loop, int, mul};
use tamis_ir::ir::{Expr, Stmt, Type};

/// The real and imaginary part of a value, computed by statements.
struct Code<'c, 'p> {
    values: &'c mut Values<'p>,
    prefix: &'c mut Vec<Stmt>,
}

impl Parts for Code<'_, '_> {
    type Part = Expr;

    fn constant(&mut self, x: f64) -> Expr {
        Expr::Const(Scalar::F64(x).convert(self.values.facts.register()))
    }

    fn unary(&mut self, op: UnaryOp, x: Expr) -> Expr {
        self.values.hold_part(Expr::Unary(op, Box::new(x)), self.prefix)
    }

    fn binary(&mut self, op: BinaryOp, x: Expr, y: Expr) -> Expr {
        let e = binary(op, x, y);
        match op.is_logical() {
            true => e,
            false => self.values.hold_part(e, self.prefix),
        }
    }

    fn select(&mut self, when: Expr, then: Expr, otherwise: Expr) -> Expr {
        let e = Expr::Select(Box::new(when), Box::new(then), Box::new(otherwise));
        self.values.hold_part(e, self.prefix)
    }
}

impl Values<'_> {
    /// Fills the positions `lo..hi` of values with a constant.
    pub(super) fn filled(&mut self, vals: Vals, lo: Expr, hi: Expr, c: Scalar) -> Vec<Stmt> {
        let [re, im] = c.parts();
        let value = Expr::Const(re);
        match vals {
            Vals::Real(array) => vec![Stmt::Fill { array, lo, hi, value }],
            Vals::Pairs(array) if re == im => {
                let (lo, hi) = (mul(lo, int(2)), mul(hi, int(2)));
                vec![Stmt::Fill { array, lo, hi, value }]
            }
            vals => {
                let p = self.temp("p");
                let value = Value { re: value, im: Some(Expr::Const(im)) };
                let zero = Expr::Const(im);
                vec![for_loop(p, lo, hi, vals.store(&Expr::Var(p), value, zero))]
            }
        }
    }

    /// New variables for a value.
    pub(super) fn held_vars(&mut self, name: &str, is_complex: bool) -> Held {
        let ty = Type::scalar(self.facts.register());
        let re = self.builder.var(name, ty);
        let im = is_complex.then(|| self.builder.var(&format!("{name}_im"), ty));
        Held { re, im }
    }

    /// `held = value`, where the value may read the old `held`.
    pub(super) fn assigned(&mut self, held: Held, value: Value) -> Vec<Stmt> {
        let Some(im) = held.im else { return vec![assign(held.re, value.re)] };
        let value_im = value.im.unwrap_or_else(|| self.zero());
        let mut names = false;
        value_im.walk(&mut |e| names |= *e == Expr::Var(held.re));
        if !names {
            return vec![assign(held.re, value.re), assign(im, value_im)];
        }
        let next = self.builder.var("next", Type::scalar(self.facts.register()));
        vec![assign(next, value.re), assign(im, value_im), assign(held.re, Expr::Var(next))]
    }

    /// A value that may be read several times, in variables if it is complex.
    pub(super) fn hold(&mut self, value: Value, prefix: &mut Vec<Stmt>) -> Value {
        let Value { re, im: Some(im) } = value else { return value };
        Value { re: self.hold_part(re, prefix), im: Some(self.hold_part(im, prefix)) }
    }

    fn hold_part(&mut self, e: Expr, prefix: &mut Vec<Stmt>) -> Expr {
        if matches!(e, Expr::Var(_) | Expr::Const(_)) {
            return e;
        }
        let var = self.builder.var("part", Type::scalar(self.facts.register()));
        prefix.push(assign(var, e));
        Expr::Var(var)
    }

    pub(super) fn zero(&self) -> Expr {
        Expr::Const(Scalar::F64(0.0).convert(self.facts.register()))
    }

    /// A function of one operand other than `not`.
    pub(super) fn function(&mut self, op: UnaryOp, a: Value, prefix: &mut Vec<Stmt>) -> Value {
        let negative = |e: Expr| Expr::Unary(UnaryOp::Neg, Box::new(e));
        match (op, &a.im) {
            (UnaryOp::Real, _) | (UnaryOp::Conj, None) => a.re.into(),
            (UnaryOp::Imag, _) => a.im.unwrap_or_else(|| self.zero()).into(),
            (_, None) => self.function_of(op, a.re, prefix).into(),
            (UnaryOp::Conj, Some(_)) => Value { re: a.re, im: a.im.map(negative) },
            (UnaryOp::Neg, Some(_)) => Value { re: negative(a.re), im: a.im.map(negative) },
            (UnaryOp::Square, Some(_)) => {
                let a = self.hold(a, prefix);
                self.product(a.clone(), a, prefix)
            }
            (UnaryOp::Cube, Some(_)) => {
                let a = self.hold(a, prefix);
                let square = self.product(a.clone(), a.clone(), prefix);
                self.product(square, a, prefix)
            }
            (UnaryOp::Abs, Some(im)) => {
                let z = [a.re, im.clone()];
                complex::absolute(&mut Code { values: self, prefix }, z).into()
            }
            (_, Some(im)) => {
                let z = self.hold(Value { re: a.re, im: Some(im.clone()) }, prefix).parts();
                let z = [z[0].clone(), z[1].clone()];
                let parts = complex::elementary(&mut Code { values: self, prefix }, op, z);
                let [re, im] = parts.unwrap_or_else(|| unreachable!("{} of complex", op.name()));
                Value { re, im: Some(im) }
            }
        }
    }

    /// An operator of two operands that is neither logical nor the user's.
    pub(super) fn operator(
        &mut self,
        op: BinaryOp,
        a: Value,
        b: Value,
        prefix: &mut Vec<Stmt>,
    ) -> Value {
        let re = |a: Value, b: Value| binary(op, a.re, b.re);
        match (op, &a.im, &b.im) {
            (_, None, None) => self.arithmetic(op, a.re, b.re, prefix).into(),
            _ if !op.is_complex() => unreachable!("{} of complex numbers", op.name()),
            (BinaryOp::Mul, ..) => self.product(a, b, prefix),
            (BinaryOp::Div, ..) => self.quotient(a, b, prefix),
            // Computed as if real values were complex: 0 - 0 and -0 differ in sign.
            (_, None, Some(y)) => {
                Value { im: Some(binary(op, self.zero(), y.clone())), re: re(a, b) }
            }
            (_, Some(x), None) => Value { im: Some(x.clone()), re: re(a, b) },
            (_, Some(x), Some(y)) => {
                Value { im: Some(binary(op, x.clone(), y.clone())), re: re(a, b) }
            }
        }
    }

    fn product(&mut self, a: Value, b: Value, prefix: &mut Vec<Stmt>) -> Value {
        use BinaryOp::{Add, Mul, Sub};
        let times = |x: &Expr, y: &Expr| binary(Mul, x.clone(), y.clone());
        match (a.im.is_some(), b.im.is_some()) {
            (false, true) => {
                let a = self.hold_part(a.re, prefix);
                Value { re: times(&a, &b.re), im: b.im.map(|y| times(&a, &y)) }
            }
            (_, false) => {
                let b = if a.im.is_some() { self.hold_part(b.re, prefix) } else { b.re };
                Value { re: times(&a.re, &b), im: a.im.map(|x| times(&x, &b)) }
            }
            (true, true) => {
                let (a, b) = (self.hold(a, prefix).parts(), self.hold(b, prefix).parts());
                let re = binary(Sub, times(&a[0], &b[0]), times(&a[1], &b[1]));
                let im = binary(Add, times(&a[0], &b[1]), times(&a[1], &b[0]));
                Value { re, im: Some(im) }
            }
        }
    }

    fn quotient(&mut self, a: Value, b: Value, prefix: &mut Vec<Stmt>) -> Value {
        let d = b.im.unwrap_or_else(|| self.zero());
        let divisor = [self.hold_part(b.re, prefix), self.hold_part(d, prefix)];
        let x = self.hold_part(a.re, prefix);
        let y = self.hold_part(a.im.unwrap_or_else(|| self.zero()), prefix);
        let [re, im] = complex::quotient(&mut Code { values: self, prefix }, [x, y], divisor);
        Value { re, im: Some(im) }
    }

    /// Whether two values are equal, or different.
    pub(super) fn comparison(&mut self, op: BinaryOp, a: Value, b: Value) -> Expr {
        let (x, y) = match (a.im, b.im) {
            (None, None) => return binary(op, a.re, b.re),
            (x, y) => (x.unwrap_or_else(|| self.zero()), y.unwrap_or_else(|| self.zero())),
        };
        let both = if op == BinaryOp::Eq { BinaryOp::And } else { BinaryOp::Or };
        binary(both, binary(op, a.re, b.re), binary(op, x, y))
    }

    /// Whether a value differs from 0.
    pub(super) fn is_true(&self, value: Value) -> Expr {
        let truth = |e: Expr| Expr::Convert(Register::Bool, Box::new(e));
        match value.im {
            None => truth(value.re),
            Some(im) => binary(BinaryOp::Or, truth(value.re), truth(im)),
        }
    }

    /// `old + value`, with products fused into the sum.
    fn summed_up(&self, old: Value, value: Value) -> Value {
        let im = match (old.im, value.im) {
            (Some(old), Some(im)) => Some(fused(old, im)),
            (old, im) => old.or(im),
        };
        Value { re: fused(old.re, value.re), im }
    }

    /// `old op value` where one of them is complex.
    pub(super) fn combined_parts(
        &mut self,
        op: ReduceOp,
        old: Value,
        value: Value,
        prefix: &mut Vec<Stmt>,
    ) -> Value {
        match op {
            ReduceOp::Add => self.summed_up(old, value),
            _ => self.operator(op.binary(), old, value, prefix),
        }
    }
}

/// `old + e`, where `e` may be the real or imaginary part of a complex product.
fn fused(old: Expr, e: Expr) -> Expr {
    use BinaryOp::{Add, Mul, Sub};
    match e {
        Expr::Binary(Mul, a, b) => Expr::Fma(a, b, Box::new(old)),
        Expr::Binary(op @ (Add | Sub), x, y) => match (*x, *y) {
            (x @ Expr::Binary(Mul, ..), Expr::Binary(Mul, a, b)) => {
                let a = match op {
                    Sub => Box::new(Expr::Unary(UnaryOp::Neg, a)),
                    _ => a,
                };
                Expr::Fma(a, b, Box::new(fused(old, x)))
            }
            (x, y) => binary(Add, old, binary(op, x, y)),
        },
        e => binary(Add, old, e),
    }
}
