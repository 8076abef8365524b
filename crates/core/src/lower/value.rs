//! Values in code: real ones are expressions, complex ones pairs of expressions, variables and arrays.

use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, int, load, mul, store};
use tamis_ir::ir::{Expr, Stmt};

/// A real expression, or the parts of a complex value.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) re: Expr,
    pub(super) im: Option<Expr>,
}

/// The variables of a value.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) re: Var,
    pub(super) im: Option<Var>,
}

/// Where values are stored: the parts of complex values in pairs, or in separate arrays.
#[derive(Clone, Copy)]
pub(super) enum Vals {
    /// One number per position.
    Real(Array),
    /// Two numbers per position.
    Pairs(Array),
    /// One number per position in each array.
    Split(Array, Array),
}

impl From<Expr> for Value {
    fn from(re: Expr) -> Value {
        Value { re, im: None }
    }
}

impl Value {
    /// A constant.
    pub(super) fn constant(c: Scalar) -> Value {
        let [re, im] = c.parts().map(Expr::Const);
        Value { re, im: c.is_complex().then_some(im) }
    }

    pub(super) fn parts(self) -> Vec<Expr> {
        std::iter::once(self.re).chain(self.im).collect()
    }
}

impl Held {
    /// The value that the variables hold.
    pub(super) fn value(self) -> Value {
        Value { re: Expr::Var(self.re), im: self.im.map(Expr::Var) }
    }
}

impl Vals {
    /// The arrays.
    pub(super) fn arrays(self) -> Vec<Array> {
        match self {
            Vals::Real(array) | Vals::Pairs(array) => vec![array],
            Vals::Split(re, im) => vec![re, im],
        }
    }

    /// Reserves memory for `len` values.
    pub(super) fn reserve(self, len: &Expr) -> Vec<Stmt> {
        let len = match self {
            Vals::Pairs(_) => mul(len.clone(), int(2)),
            _ => len.clone(),
        };
        self.arrays().into_iter().map(|array| Stmt::Reserve { array, len: len.clone() }).collect()
    }

    /// The value at a position.
    pub(super) fn load(self, position: &Expr) -> Value {
        let at = |array| load(array, position.clone());
        let pair = || mul(position.clone(), int(2));
        match self {
            Vals::Real(array) => at(array).into(),
            Vals::Pairs(array) => {
                Value { re: load(array, pair()), im: Some(load(array, add(pair(), int(1)))) }
            }
            Vals::Split(re, im) => Value { re: at(re), im: Some(at(im)) },
        }
    }

    /// Stores a value at a position; `zero` is the imaginary part of a real value.
    pub(super) fn store(self, position: &Expr, value: Value, zero: Expr) -> Vec<Stmt> {
        let pair = || mul(position.clone(), int(2));
        match self {
            Vals::Real(array) => vec![store(array, position.clone(), value.re)],
            Vals::Pairs(array) => vec![
                store(array, pair(), value.re),
                store(array, add(pair(), int(1)), value.im.unwrap_or(zero)),
            ],
            Vals::Split(re, im) => vec![
                store(re, position.clone(), value.re),
                store(im, position.clone(), value.im.unwrap_or(zero)),
            ],
        }
    }
}
