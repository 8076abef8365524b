//! Operators, and the properties that lowering may assume: identity, annihilator, commutativity.
//!
//! Intersections, unions and zero-skipping follow from these tables and from fill values alone:
//! `+`/`*` over 0 is one case, `min`/`+` over infinity another.

mod cbrt;
pub mod complex;
pub mod eval;
mod exp;
mod log;

use crate::datatype::{Register, Scalar};
use crate::ids::UserOp;
pub(crate) use exp::EXP_TERMS;
pub use exp::exp;
pub(crate) use log::LOG_TERMS;
pub use log::log;

/// A function of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// 1 where `x` is 0, else 0
    Not,
    /// absolute value
    Abs,
    /// square root
    Sqrt,
    /// cube root
    Cbrt,
    /// `x * x`
    Square,
    /// `x * x * x`
    Cube,
    /// e to the x
    Exp,
    /// natural logarithm
    Log,
    /// decimal logarithm
    Log10,
    /// sine
    Sin,
    /// cosine
    Cos,
    /// tangent
    Tan,
    /// inverse sine
    Asin,
    /// inverse cosine
    Acos,
    /// inverse tangent
    Atan,
    /// hyperbolic sine
    Sinh,
    /// hyperbolic cosine
    Cosh,
    /// hyperbolic tangent
    Tanh,
    /// inverse hyperbolic sine
    Asinh,
    /// inverse hyperbolic cosine
    Acosh,
    /// inverse hyperbolic tangent
    Atanh,
    /// complex conjugate
    Conj,
    /// real part
    Real,
    /// imaginary part
    Imag,
}

/// An operator or function of two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `x + y`
    Add,
    /// `x - y`
    Sub,
    /// `x * y`
    Mul,
    /// `x / y`; integers truncate toward zero, and `x / 0` is 0
    Div,
    /// the smaller; NaN if either is
    Min,
    /// the larger; NaN if either is
    Max,
    /// `x` to the power of `y`, in floating point
    Pow,
    /// `x - y * floor(x / y)`, exact for floats; for integers `x mod 0` is 0
    Mod,
    /// angle of the point `(y, x)`
    Atan2,
    /// step function: 0 below 0, `y` at 0, 1 above
    Heaviside,
    /// 1 where both differ from 0
    And,
    /// 1 where either differs from 0
    Or,
    /// 1 where exactly one differs from 0
    Xor,
    /// 1 where equal
    Eq,
    /// 1 where different
    Ne,
    /// 1 where less
    Lt,
    /// 1 where less or equal
    Le,
    /// 1 where greater
    Gt,
    /// 1 where greater or equal
    Ge,
    /// an operator that the user defined
    User(UserOp),
}

/// Which argument of a function makes the result 0 if it is an implicit 0, whatever the other argument is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZeroRule {
    /// Either: `0 * x` and `x * 0`.
    Either,
    /// The first: `0 / x`, also where `x` is 0 or no number.
    First,
    /// Neither: the function is computed.
    Neither,
}

/// How functions that the first argument decides ([`ZeroRule::First`]) treat an implicit 0 there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Strictness {
    /// It annihilates: loops over sparse numerators visit only stored elements.
    #[default]
    Sparse,
    /// It is a 0 like any other: `0 / 0` is a NaN, also for an implicit numerator. Loops over floats visit every
    /// coordinate. Products are as with [`Strictness::Sparse`].
    Ieee,
}

/// An operator that combines the values of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReduceOp {
    /// sum
    Add,
    /// product
    Mul,
    /// minimum
    Min,
    /// maximum
    Max,
    /// any
    Or,
    /// all
    And,
    /// a commutative and associative operator that the user defined
    User(UserOp),
}

impl UnaryOp {
    /// Every unary operator.
    pub const ALL: [UnaryOp; 25] = {
        use UnaryOp::*;
        [
            Neg, Not, Abs, Sqrt, Cbrt, Square, Cube, Exp, Log, Log10, Sin, Cos, Tan, Asin, Acos,
            Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Conj, Real, Imag,
        ]
    };

    /// The name in index notation (`-` for [`UnaryOp::Neg`]).
    pub fn name(self) -> &'static str {
        use UnaryOp::*;
        match self {
            Neg => "-",
            Not => "not",
            Abs => "abs",
            Sqrt => "sqrt",
            Cbrt => "cbrt",
            Square => "square",
            Cube => "cube",
            Exp => "exp",
            Log => "log",
            Log10 => "log10",
            Sin => "sin",
            Cos => "cos",
            Tan => "tan",
            Asin => "asin",
            Acos => "acos",
            Atan => "atan",
            Sinh => "sinh",
            Cosh => "cosh",
            Tanh => "tanh",
            Asinh => "asinh",
            Acosh => "acosh",
            Atanh => "atanh",
            Conj => "conj",
            Real => "real",
            Imag => "imag",
        }
    }

    /// Whether integers have to be converted to floats first.
    pub fn needs_float(self) -> bool {
        use UnaryOp::*;
        !matches!(self, Neg | Not | Abs | Square | Cube | Conj | Real | Imag)
    }

    /// Whether the function gives a part of a complex number; the imperative form has no such function.
    pub fn is_of_parts(self) -> bool {
        matches!(self, UnaryOp::Conj | UnaryOp::Real | UnaryOp::Imag)
    }

    /// Whether the function exists for complex numbers.
    pub fn is_complex(self) -> bool {
        use UnaryOp::*;
        self.is_of_parts()
            || matches!(self, Neg | Not | Abs | Square | Cube | Sqrt | Exp | Log | Log10)
            || matches!(self, Sin | Cos | Sinh | Cosh)
    }
}

impl BinaryOp {
    /// Every built-in binary operator.
    pub const ALL: [BinaryOp; 19] = {
        use BinaryOp::*;
        [
            Add, Sub, Mul, Div, Min, Max, Pow, Mod, Atan2, Heaviside, And, Or, Xor, Eq, Ne, Lt, Le,
            Gt, Ge,
        ]
    };

    /// The operator's sign or function name in index notation; empty for user operators, whose name is in the program.
    pub fn name(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            Min => "min",
            Max => "max",
            Pow => "pow",
            Mod => "mod",
            Atan2 => "atan2",
            Heaviside => "heaviside",
            And => "and",
            Or => "or",
            Xor => "xor",
            Eq => "==",
            Ne => "!=",
            Lt => "<",
            Le => "<=",
            Gt => ">",
            Ge => ">=",
            User(_) => "",
        }
    }

    /// Whether integers have to be converted to floats first.
    pub fn needs_float(self) -> bool {
        matches!(self, BinaryOp::Pow | BinaryOp::Atan2)
    }

    /// Whether the operator exists for complex numbers.
    pub fn is_complex(self) -> bool {
        use BinaryOp::*;
        matches!(self, Add | Sub | Mul | Div | Eq | Ne | And | Or | Xor)
    }

    /// Whether the result is a truth value.
    pub fn is_logical(self) -> bool {
        use BinaryOp::*;
        matches!(self, And | Or | Xor | Eq | Ne | Lt | Le | Gt | Ge)
    }

    /// Whether `x op y` equals `y op x`.
    pub fn is_commutative(self) -> bool {
        use BinaryOp::*;
        matches!(self, Add | Mul | Min | Max | And | Or | Xor | Eq | Ne)
    }

    /// Which argument makes the result 0 if it is an implicit 0.
    pub fn zero_rule(self) -> ZeroRule {
        use BinaryOp::*;
        match self {
            Mul | And => ZeroRule::Either,
            Div | Mod | Atan2 => ZeroRule::First,
            Add | Sub | Min | Max | Pow | Heaviside | Or | Xor => ZeroRule::Neither,
            Eq | Ne | Lt | Le | Gt | Ge | User(_) => ZeroRule::Neither,
        }
    }

    /// The constant that leaves every left operand unchanged: `x op id = x`.
    ///
    /// Logical operators have none, since `x or 0` is 1 for every other `x` than 0.
    pub fn right_identity(self, register: Register) -> Option<Scalar> {
        use BinaryOp::*;
        match self {
            Add | Sub => Some(Scalar::I64(0).convert(register)),
            Mul | Div => Some(Scalar::I64(1).convert(register)),
            Min => Some(largest(register)),
            Max => Some(smallest(register)),
            _ => None,
        }
    }

    /// The constant that leaves every right operand unchanged: `id op x = x`.
    pub fn left_identity(self, register: Register) -> Option<Scalar> {
        if self.is_commutative() { self.right_identity(register) } else { None }
    }

    /// The result of `c op x` for every `x`, if the constant `c` alone determines it.
    ///
    /// A fill value annihilates as in sparse computing: 0 times anything and 0 divided by anything are 0, infinity
    /// plus anything is infinity, whatever the other operand is.
    pub fn annihilated_left(self, c: Scalar) -> Option<Scalar> {
        use BinaryOp::*;
        match self {
            _ if c.is_zero() && self.zero_rule() != ZeroRule::Neither => Some(c),
            Or if !c.is_zero() => Some(Scalar::I64(1).computed(c.datatype())),
            Add | Sub if is_infinite(c) => Some(c),
            Min if c == smallest(c.register()) => Some(c),
            Max if c == largest(c.register()) => Some(c),
            _ => None,
        }
    }

    /// The result of `x op c` for every `x`, if the constant `c` alone determines it.
    pub fn annihilated_right(self, c: Scalar) -> Option<Scalar> {
        match self {
            BinaryOp::Sub if is_infinite(c) => Some(negated(c)),
            BinaryOp::Sub => None,
            _ if self.is_commutative() => self.annihilated_left(c),
            _ => None,
        }
    }
}

impl ReduceOp {
    /// Every built-in reduction.
    pub const ALL: [ReduceOp; 6] =
        [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::Or, ReduceOp::And];

    /// Whether repeating a term does not change the result.
    pub fn is_idempotent(self) -> bool {
        matches!(self, ReduceOp::Min | ReduceOp::Max | ReduceOp::Or | ReduceOp::And)
    }

    /// The name of the reduction in index notation: `sum`, `prod`, `min`, `max`, `any`, `all`.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Add => "sum",
            ReduceOp::Mul => "prod",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::Or => "any",
            ReduceOp::And => "all",
            ReduceOp::User(_) => "",
        }
    }

    /// The operator that combines two values.
    pub fn binary(self) -> BinaryOp {
        match self {
            ReduceOp::Add => BinaryOp::Add,
            ReduceOp::Mul => BinaryOp::Mul,
            ReduceOp::Min => BinaryOp::Min,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::Or => BinaryOp::Or,
            ReduceOp::And => BinaryOp::And,
            ReduceOp::User(op) => BinaryOp::User(op),
        }
    }

    /// The result of an empty reduction; `None` for user operators, whose identity is in the program.
    pub fn identity(self, register: Register) -> Option<Scalar> {
        match self {
            ReduceOp::Or => Some(Scalar::I64(0).convert(register)),
            ReduceOp::And => Some(Scalar::I64(1).convert(register)),
            ReduceOp::User(_) => None,
            _ => self.binary().right_identity(register),
        }
    }
}

/// The largest value of a type: the identity of `min`.
pub fn largest(register: Register) -> Scalar {
    match register {
        Register::Bool => Scalar::Bool(true),
        Register::I64 => Scalar::I64(i64::MAX),
        Register::U64 => Scalar::U64(u64::MAX),
        Register::F32 => Scalar::F32(f32::INFINITY),
        Register::F64 => Scalar::F64(f64::INFINITY),
    }
}

/// The smallest value of a type: the identity of `max`.
pub fn smallest(register: Register) -> Scalar {
    match register {
        Register::Bool => Scalar::Bool(false),
        Register::I64 => Scalar::I64(i64::MIN),
        Register::U64 => Scalar::U64(u64::MIN),
        Register::F32 => Scalar::F32(f32::NEG_INFINITY),
        Register::F64 => Scalar::F64(f64::NEG_INFINITY),
    }
}

fn is_infinite(c: Scalar) -> bool {
    c.register().is_float() && !c.is_complex() && c.as_f64().is_infinite()
}

fn negated(c: Scalar) -> Scalar {
    match c {
        Scalar::Bool(b) => Scalar::Bool(b),
        Scalar::I64(x) => Scalar::I64(x.wrapping_neg()),
        Scalar::U64(x) => Scalar::U64(x.wrapping_neg()),
        Scalar::F32(x) => Scalar::F32(-x),
        Scalar::F64(x) => Scalar::F64(-x),
        Scalar::C64(z) => Scalar::C64(z.map(|x| -x)),
        Scalar::C128(z) => Scalar::C128(z.map(|x| -x)),
    }
}
