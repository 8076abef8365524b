//! The imperative intermediate form: what every backend and the interpreter run.
//!
//! # Semantics
//!
//! **Types.** Expressions have a [`Register`] type and a number of lanes (1 unless a vector was
//! asked for). Arrays have a [`DataType`](crate::datatype::DataType) of their elements. A load widens (`bool` and integers
//! under 64 bit give `i64`, floats of 16 bits `f32`, the others stay); a store of an `i64` into an
//! array of those narrows, and whoever lowers has made sure that it fits (`bool`: the value is 0 or
//! 1); a store of an `f32`, or of a single `f64` (not a vector), into an array of floats of 16 bits rounds as [`crate::half`] does. Operands of an
//! operator have the same register type and lanes; nothing converts implicitly.
//!
//! **Integers** are 64-bit, two's complement (`i64`) or without sign (`u64`), and wrap; `x / 0` and
//! `x mod 0` are 0; `/` truncates toward zero, `mod` floors (the sign of the divisor).
//! **Floats** are IEEE; nothing is reassociated or contracted: [`Expr::Fma`] is the only fused
//! multiply-add, [`Expr::Reduce`] says the order in which lanes are combined. `min(a, b)` is
//! `select(a < b || a != a, a, b)` and `max(a, b)` is `select(a > b || a != a, a, b)`, so a NaN
//! comes through. Comparisons with NaN are false but for `!=`. `square(x)` is `x * x`, `cube(x)`
//! is `x * x * x`, float `mod` is the exact remainder with the sign of y, `heaviside(x, y)` is
//! `select(x < 0, 0, select(x == 0, y, select(x > 0, 1, x)))`. With `a` for `abs(x)`, `asinh(x)` is
//! `log1p(a + a / (hypot(1, 1 / a) + 1 / a))` and `atanh(x)` is `log1p(2 * a / (1 - a)) / 2`, both
//! with the sign of `x`; `acosh(x)` is `log(x + sqrt(x - 1) * sqrt(x + 1))`, and NaN below 1; above 1 by the least normal
//! number `asinh` and `acosh` of `a` are `log(a) + log(2)`. `exp`, `log` and
//! `cbrt` are those of [`crate::algebra::eval`], within one ulp; `f32` is rounded from them. The other
//! functions, and those within these formulas, are the platform's libm, of the operand's precision.
//! Comparisons and `and or xor not` of [`Register::Bool`] give `Bool`; the latter evaluate both
//! operands. Conversion from float to an integer truncates toward zero, saturates, and gives 0 for
//! NaN; between integers it keeps the bits; to `Bool` it asks `!= 0`; from `Bool` it gives 0 or 1.
//!
//! **Evaluation** is in the order of the text. [`Expr::Select`] evaluates both branches, so both
//! must be safe to evaluate; conditions of [`Stmt::If`] and [`Stmt::While`] that need
//! short-circuit evaluation use [`Expr::AndThen`].
//!
//! **Arrays** never alias each other. A [`ArrayRole::Input`] array is never written. Every index of a
//! load or store lies within the array: lowering guarantees it, the interpreter checks it.
//! A [`ArrayRole::Output`] array has a size fixed by the caller and undefined contents on entry.
//! A [`ArrayRole::Shared`] array is an output whose elements have a value on entry.
//! A [`ArrayRole::Result`], [`ArrayRole::Local`] or [`ArrayRole::Common`] array is empty on entry, or what an earlier call left, and
//! is allocated by [`Stmt::Reserve`]; the caller owns a result afterwards, a local one is the
//! caller's to give to another call or to free.
//!
//! **Parallel loops.** Iterations of [`Stmt::Parallel`] may run in any order or at the same time. A
//! variable that the body assigns has no value at the beginning of an iteration and none after the
//! loop, but for those that iterations combine ([`Reduction`]). Iterations do not store to the same
//! element but by [`Stmt::Update`], nor read what others store. A processor runs them in order; a
//! GPU combines values of threads in pairs, so its floats may differ in the last bits. Loops over
//! warps are in loops over blocks, those over threads in either, and none in another of its unit;
//! a loop over cores, the threads of a processor, is in none and holds none. What its iterations do in order
//! ([`Stmt::InOrder`]) may read and store what earlier ones did there.
//!
//! **Failure.** [`Stmt::Fail`] (and a `Reserve` that cannot be met) ends the call with a
//! [`Status`]; what was computed is void.
//!
//! What of this can be seen without running is checked by [`verify`], which lists it.

mod arrays;
pub mod build;
pub mod flow;
pub mod number;
mod overflow;
pub mod pair;
pub mod parallel;
pub mod parse;
pub mod print;
mod status;
pub mod verify;

use crate::algebra::{BinaryOp, ReduceOp, UnaryOp};
use crate::datatype::{Register, Scalar};
use crate::ids::{Array, IdVec, Var};
pub use arrays::{ArrayDecl, ArrayRole};
pub use overflow::{high, leaves};
pub use parallel::{Reduction, Unit};
pub use status::Status;

/// A kernel: parameters in the order of the calling convention, declarations, and a body.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// The name, an identifier in every backend's language.
    pub name: String,
    /// What the caller passes, in order.
    pub params: Vec<Param>,
    /// Scalar and vector variables, parameters included. Names are unique among vars and arrays.
    pub vars: IdVec<Var, VarDecl>,
    /// Arrays, parameters included.
    pub arrays: IdVec<Array, ArrayDecl>,
    /// The statements.
    pub body: Vec<Stmt>,
}

/// One parameter.
///
/// In the calling convention a kernel receives a pointer to 8-byte slots: a scalar takes one slot
/// (its bits), an array two (the address, and its length in elements; for a [`ArrayRole::Result`] the
/// kernel updates both). Each array of its own ([`ArrayRole::is_own`]) takes two slots behind the parameters, in
/// order of declaration; the caller zeroes them before and frees them after the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Param {
    /// A scalar by value.
    Scalar(Var),
    /// An array by reference.
    Array(Array),
}

/// A scalar or vector variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VarDecl {
    /// An identifier.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether loops over it are to be vectorised, which a pass sees to: this changes no
    /// meaning.
    pub by_lanes: bool,
}

impl VarDecl {
    /// A variable of this name and type.
    pub fn new(name: &str, ty: Type) -> VarDecl {
        VarDecl { name: name.to_owned(), ty, by_lanes: false }
    }
}

/// The type of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// The type of each lane.
    pub register: Register,
    /// 1 for a scalar; otherwise a power of two.
    pub lanes: u16,
}

impl Type {
    /// A scalar type.
    pub const fn scalar(register: Register) -> Type {
        Type { register, lanes: 1 }
    }
    /// The type of positions, coordinates and sizes.
    pub const INDEX: Type = Type::scalar(Register::I64);
    /// The type of conditions.
    pub const BOOL: Type = Type::scalar(Register::Bool);
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// `v = value`: gives a variable its (next) value. Declared on first assignment in a scope.
    Assign {
        /// The variable.
        var: Var,
        /// Its value.
        value: Expr,
    },
    /// `array[index] = value`; a vector value stores its lanes to consecutive elements.
    Store {
        /// Where.
        array: Array,
        /// The first element.
        index: Expr,
        /// What.
        value: Expr,
    },
    /// `for var in lo..hi step step`: bounds are evaluated once; `var` is not assigned within
    /// and has no value after the loop.
    For {
        /// The loop variable, an `i64`.
        var: Var,
        /// First value.
        lo: Expr,
        /// Bound, exclusive.
        hi: Expr,
        /// Increment, at least 1.
        step: i64,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// `for var in lo..hi` by several at a time.
    Parallel {
        /// Who runs iterations.
        unit: Unit,
        /// The loop variable, an `i64`.
        var: Var,
        /// First value.
        lo: Expr,
        /// Bound, exclusive.
        hi: Expr,
        /// What iterations combine.
        combined: Vec<Reduction>,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// `array[index] = array[index] op value`, of which no other iteration of a parallel loop sees
    /// a half. The operator is one of [`ReduceOp::ALL`].
    Update {
        /// Where.
        array: Array,
        /// The element, as wide as a register.
        index: Expr,
        /// How the value is combined with the stored value.
        op: ReduceOp,
        /// What.
        value: Expr,
    },
    /// Repeats while the condition holds.
    While {
        /// A `Bool`.
        cond: Expr,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// One of two blocks.
    If {
        /// A `Bool`.
        cond: Expr,
        /// When it holds.
        then: Vec<Stmt>,
        /// When it does not; may be empty.
        otherwise: Vec<Stmt>,
    },
    /// Makes a result or local array at least `len` elements long, keeping its contents (new
    /// elements are undefined). When it must grow it at least doubles, so that appending is
    /// linear. Fails with [`Status::OutOfMemory`] when `len` is negative or cannot be had.
    Reserve {
        /// The array.
        array: Array,
        /// The least length.
        len: Expr,
    },
    /// `array[lo..hi] = value` for every element.
    Fill {
        /// The array.
        array: Array,
        /// First element.
        lo: Expr,
        /// End, exclusive.
        hi: Expr,
        /// The value.
        value: Expr,
    },
    /// Sorts the records `lo..hi`, one element of each array a record, by the keys, first key
    /// first. Stable: records with equal keys keep their order.
    Sort {
        /// Integer arrays to sort by.
        keys: Vec<Array>,
        /// Arrays that travel along.
        carried: Vec<Array>,
        /// First record.
        lo: Expr,
        /// End, exclusive.
        hi: Expr,
    },
    /// A hint that the element will be read soon. It has no effect on results, and the index may
    /// lie outside the array, as the end of a stream of elements does.
    Prefetch {
        /// Where.
        array: Array,
        /// The element.
        index: Expr,
        /// Whether so much is read before it that it is to wait in the second level of cache.
        far: bool,
    },
    /// Inside of a loop over cores, outside of other statements: what iterations do one after another, in their order.
    InOrder {
        /// What they do.
        body: Vec<Stmt>,
    },
    /// Ends the call with a status.
    Fail(Status),
    /// A remark for the reader.
    Comment(String),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A scalar constant.
    Const(Scalar),
    /// The value of a variable.
    Var(Var),
    /// `lanes` consecutive elements from `index` on, widened.
    Load {
        /// From where.
        array: Array,
        /// The first element.
        index: Box<Expr>,
        /// How many.
        lanes: u16,
    },
    /// A function of one operand; on `Bool` only `not`.
    Unary(UnaryOp, Box<Expr>),
    /// An operator of two operands; never [`BinaryOp::User`]. `and or xor` take `Bool`,
    /// comparisons give `Bool`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// The bits that both integers have.
    BitAnd(Box<Expr>, Box<Expr>),
    /// The second operand, a `Bool`, is evaluated only if the first holds.
    AndThen(Box<Expr>, Box<Expr>),
    /// Where the condition holds the first, else the second; both are evaluated. The condition is
    /// one for all lanes, or has as many lanes as they.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `a * b + c` rounded once; floats only.
    Fma(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The operand in another register type.
    Convert(Register, Box<Expr>),
    /// A scalar in every lane.
    Splat(Box<Expr>, u16),
    /// Scalars side by side, one in each lane: elements that do not follow each other.
    Lanes(Vec<Expr>),
    /// The lanes combined by `+`, min or max, halves first: lane `k` with lane `k + n/2`, then again.
    Reduce(BinaryOp, Box<Expr>),
    /// The current length of an array in elements (of a result or local: what is reserved).
    Len(Array),
}

impl Expr {
    /// The same expression with `f` applied to each operand.
    pub fn map_children(self, f: &mut impl FnMut(Expr) -> Expr) -> Expr {
        // Boxes are used again: passes map every expression of a function.
        let mut go = |mut e: Box<Expr>| {
            let operand = std::mem::replace(&mut *e, Expr::Const(Scalar::Bool(false)));
            *e = f(operand);
            e
        };
        match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Len(_) => self,
            Expr::Load { array, index, lanes } => Expr::Load { array, index: go(index), lanes },
            Expr::Unary(op, a) => Expr::Unary(op, go(a)),
            Expr::Binary(op, a, b) => Expr::Binary(op, go(a), go(b)),
            Expr::BitAnd(a, b) => Expr::BitAnd(go(a), go(b)),
            Expr::AndThen(a, b) => Expr::AndThen(go(a), go(b)),
            Expr::Select(c, a, b) => Expr::Select(go(c), go(a), go(b)),
            Expr::Fma(a, b, c) => Expr::Fma(go(a), go(b), go(c)),
            Expr::Convert(to, a) => Expr::Convert(to, go(a)),
            Expr::Splat(a, lanes) => Expr::Splat(go(a), lanes),
            Expr::Lanes(all) => Expr::Lanes(all.into_iter().map(|e| *go(Box::new(e))).collect()),
            Expr::Reduce(op, a) => Expr::Reduce(op, go(a)),
        }
    }

    /// Calls `f` on each operand.
    pub fn for_each_child<'e>(&'e self, f: &mut impl FnMut(&'e Expr)) {
        match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Len(_) => {}
            Expr::Load { index: a, .. }
            | Expr::Unary(_, a)
            | Expr::Convert(_, a)
            | Expr::Splat(a, _)
            | Expr::Reduce(_, a) => f(a),
            Expr::Lanes(all) => all.iter().for_each(f),
            Expr::Binary(_, a, b) | Expr::BitAnd(a, b) | Expr::AndThen(a, b) => {
                f(a);
                f(b);
            }
            Expr::Select(a, b, c) | Expr::Fma(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
        }
    }

    /// Calls `f` on this expression and everything in it, outermost first.
    pub fn walk<'e>(&'e self, f: &mut impl FnMut(&'e Expr)) {
        f(self);
        self.for_each_child(&mut |e| e.walk(f));
    }
}

impl Stmt {
    /// The same statement with `block` applied to each nested block and `expr` to each expression
    /// that stands directly in it.
    pub fn map_children(
        self,
        expr: &mut impl FnMut(Expr) -> Expr,
        block: &mut impl FnMut(Vec<Stmt>) -> Vec<Stmt>,
    ) -> Stmt {
        match self {
            Stmt::Assign { var, value } => Stmt::Assign { var, value: expr(value) },
            Stmt::Store { array, index, value } => {
                Stmt::Store { array, index: expr(index), value: expr(value) }
            }
            Stmt::For { var, lo, hi, step, body } => {
                Stmt::For { var, lo: expr(lo), hi: expr(hi), step, body: block(body) }
            }
            Stmt::Parallel { unit, var, lo, hi, combined, body } => {
                let (lo, hi) = (expr(lo), expr(hi));
                Stmt::Parallel { unit, var, lo, hi, combined, body: block(body) }
            }
            Stmt::Update { array, index, op, value } => {
                Stmt::Update { array, index: expr(index), op, value: expr(value) }
            }
            Stmt::While { cond, body } => Stmt::While { cond: expr(cond), body: block(body) },
            Stmt::If { cond, then, otherwise } => {
                Stmt::If { cond: expr(cond), then: block(then), otherwise: block(otherwise) }
            }
            Stmt::Reserve { array, len } => Stmt::Reserve { array, len: expr(len) },
            Stmt::Fill { array, lo, hi, value } => {
                Stmt::Fill { array, lo: expr(lo), hi: expr(hi), value: expr(value) }
            }
            Stmt::Sort { keys, carried, lo, hi } => {
                Stmt::Sort { keys, carried, lo: expr(lo), hi: expr(hi) }
            }
            Stmt::Prefetch { array, index, far } => {
                Stmt::Prefetch { array, index: expr(index), far }
            }
            Stmt::InOrder { body } => Stmt::InOrder { body: block(body) },
            Stmt::Fail(_) | Stmt::Comment(_) => self,
        }
    }

    /// The expressions that stand directly in the statement.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let exprs = match self {
            Stmt::Assign { value: a, .. }
            | Stmt::While { cond: a, .. }
            | Stmt::If { cond: a, .. }
            | Stmt::Reserve { len: a, .. }
            | Stmt::Prefetch { index: a, .. } => [Some(a), None, None],
            Stmt::Store { index: a, value: b, .. }
            | Stmt::Update { index: a, value: b, .. }
            | Stmt::For { lo: a, hi: b, .. }
            | Stmt::Parallel { lo: a, hi: b, .. }
            | Stmt::Sort { lo: a, hi: b, .. } => [Some(a), Some(b), None],
            Stmt::Fill { lo, hi, value, .. } => [Some(lo), Some(hi), Some(value)],
            Stmt::InOrder { .. } | Stmt::Fail(_) | Stmt::Comment(_) => [None, None, None],
        };
        exprs.into_iter().flatten()
    }

    /// The variables and arrays that stand in the statement outside its expressions.
    pub fn named(&self) -> (Vec<Var>, Vec<Array>) {
        match self {
            Stmt::Assign { var, .. } | Stmt::For { var, .. } => (vec![*var], vec![]),
            Stmt::Parallel { var, combined, .. } => {
                (combined.iter().map(|c| c.var).chain([*var]).collect(), vec![])
            }
            Stmt::Store { array, .. }
            | Stmt::Update { array, .. }
            | Stmt::Reserve { array, .. }
            | Stmt::Fill { array, .. }
            | Stmt::Prefetch { array, .. } => (vec![], vec![*array]),
            Stmt::Sort { keys, carried, .. } => (vec![], [&keys[..], carried].concat()),
            Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::InOrder { .. }
            | Stmt::Fail(_)
            | Stmt::Comment(_) => (vec![], vec![]),
        }
    }

    /// The blocks nested directly in the statement.
    pub fn blocks(&self) -> impl Iterator<Item = &[Stmt]> {
        let blocks: [Option<&[Stmt]>; 2] = match self {
            Stmt::For { body, .. }
            | Stmt::Parallel { body, .. }
            | Stmt::While { body, .. }
            | Stmt::InOrder { body } => [Some(body), None],
            Stmt::If { then, otherwise, .. } => [Some(then), Some(otherwise)],
            _ => [None, None],
        };
        blocks.into_iter().flatten()
    }
}

impl Function {
    /// The type of an expression of this function.
    pub fn type_of(&self, e: &Expr) -> Type {
        match e {
            Expr::Const(c) => Type::scalar(c.register()),
            Expr::Var(v) => self.vars[*v].ty,
            Expr::Load { array, lanes, .. } => {
                Type { register: self.arrays[*array].elem.register(), lanes: *lanes }
            }
            Expr::Unary(_, a) => self.type_of(a),
            Expr::Binary(op, a, _) => {
                let ty = self.type_of(a);
                if op.is_logical() { Type { register: Register::Bool, ..ty } } else { ty }
            }
            Expr::AndThen(..) => Type::BOOL,
            Expr::BitAnd(a, _) | Expr::Select(_, a, _) | Expr::Fma(a, _, _) => self.type_of(a),
            Expr::Convert(to, a) => Type { register: *to, lanes: self.type_of(a).lanes },
            Expr::Splat(a, lanes) => Type { lanes: *lanes, ..self.type_of(a) },
            Expr::Lanes(all) => Type { lanes: all.len() as u16, ..self.type_of(&all[0]) },
            Expr::Reduce(_, a) => Type { lanes: 1, ..self.type_of(a) },
            Expr::Len(_) => Type::INDEX,
        }
    }

    /// The kernel's own arrays in the order of their slots.
    pub fn locals(&self) -> impl Iterator<Item = Array> {
        self.arrays.enumerate().filter(|(_, a)| a.role.is_own()).map(|(id, _)| id)
    }
}
