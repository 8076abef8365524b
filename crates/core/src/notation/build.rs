//! Index notation in Rust: expressions of overloaded operators that become a [`Program`].
//!
//! ```
//! use tamis_core::notation::build;
//!
//! let program = build(|b| {
//!     let [i, j] = b.vars(["i", "j"]);
//!     let [y, a, x] = b.tensors(["y", "A", "x"]);
//!     b.assign(y[i], 2.0 * a[[i, j]] * x[j]);
//! })?;
//! assert_eq!(program.to_string(), "y(i) = 2.0 * A(i,j) * x(j)");
//! # Ok::<(), tamis_ir::diagnostic::Diagnostic>(())
//! ```
//!
//! Everything that can be parsed can be built: [`Term`] has the functions and reductions, [`Builder::accumulate`] the
//! other assignments, and [`Operator`]s apply through [`Builder::operator`]. A built program is printed and parsed, so
//! it equals the program of its text, and its diagnostics point into that text.

mod index;

pub use index::ModeIndex;

use super::lex::is_name;
use super::syntax::MAX_DEPTH;
use super::{Expr, IndexVarDecl, Operator, OperatorProperties, Program, Statement};
use super::{check, parse_with};
use std::cell::{OnceCell, RefCell};
use std::ops::{Add, Div, Index, Mul, Neg, Not, Sub};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{IndexVar, UserOp};

/// The largest number of nodes of an expression: a term that is used twice is written twice.
const MAX_SIZE: usize = 100_000;

/// Builds a program; `build` refuses everything that parsing its text refuses.
pub fn build(statements: impl FnOnce(&Builder)) -> Result<Program, Diagnostic> {
    let builder = Builder::default();
    statements(&builder);
    let Builder { state } = builder;
    let State { mut program, terms: _, refused } = state.into_inner();
    if let Some(diagnostic) = refused {
        return Err(diagnostic);
    }
    for statement in &program.statements {
        check::indexed(&program, statement)?;
    }
    let operators: Vec<Operator> = std::mem::take(&mut program.operators).iter().cloned().collect();
    program.operators = operators.iter().cloned().collect();
    parse_with(&program.to_string(), &operators)
}

/// Collects names and statements.
#[derive(Default)]
pub struct Builder {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    program: Program,
    terms: Vec<Node>,
    /// The first refusal.
    refused: Option<Diagnostic>,
}

/// The expression of a term, and its size.
#[derive(Clone)]
struct Node {
    expr: Expr,
    size: usize,
    height: usize,
}

/// An index variable. As a value it counts from 0.
#[derive(Clone, Copy)]
pub struct Var<'b> {
    builder: &'b Builder,
    id: IndexVar,
}

/// A value.
#[derive(Clone, Copy)]
pub struct Term<'b> {
    builder: &'b Builder,
    at: usize,
}

/// A tensor, to be indexed: `y[i]`, `a[[i, j]]`; `alpha[[]]` if it is a scalar.
pub struct Tensor<'b> {
    builder: &'b Builder,
    name: String,
    uses: Uses<'b>,
}

/// The uses behind `a[[i, j]]`: a list that grows while its elements are borrowed.
#[derive(Default)]
struct Uses<'b>(OnceCell<Box<(Term<'b>, Uses<'b>)>>);

/// A user operator, to be applied.
#[derive(Clone, Copy)]
pub struct Function<'b> {
    builder: &'b Builder,
    id: UserOp,
}

impl Builder {
    /// Index variables by name.
    pub fn vars<const N: usize>(&self, names: [&str; N]) -> [Var<'_>; N] {
        names.map(|name| {
            self.check_name(name);
            let mut state = self.state.borrow_mut();
            let known = state.program.var(name);
            let decl = || IndexVarDecl { name: name.to_owned(), span: 0..0 };
            let id = known.unwrap_or_else(|| state.program.vars.push(decl()));
            Var { builder: self, id }
        })
    }

    /// Tensors by name; their indices determine how many modes they have.
    pub fn tensors<const N: usize>(&self, names: [&str; N]) -> [Tensor<'_>; N] {
        names.map(|name| {
            self.check_name(name);
            Tensor { builder: self, name: name.to_owned(), uses: Uses::default() }
        })
    }

    /// Tensors of order 0 by name.
    pub fn scalars<const N: usize>(&self, names: [&str; N]) -> [Term<'_>; N] {
        self.tensors(names).map(|tensor| tensor[[]])
    }

    /// Adds an operator, to apply and to reduce with.
    pub fn operator(&self, operator: &Operator) -> Function<'_> {
        let id = self.state.borrow_mut().program.operators.push(operator.clone());
        Function { builder: self, id }
    }

    /// `result = value`.
    pub fn assign<'b>(&'b self, result: Term<'b>, value: impl Operand<'b>) {
        self.statement(result, None, value);
    }

    /// `result += value`, or with another operator.
    pub fn accumulate<'b>(&'b self, op: ReduceOp, result: Term<'b>, value: impl Operand<'b>) {
        self.statement(result, Some(op), value);
    }

    fn statement<'b>(
        &'b self,
        result: Term<'b>,
        accumulate: Option<ReduceOp>,
        value: impl Operand<'b>,
    ) {
        let value = self.node(value.term(self)).expr;
        match self.node(result).expr {
            Expr::Access(result) => {
                let statement = Statement { result, accumulate, value, span: 0..0 };
                self.state.borrow_mut().program.statements.push(statement);
            }
            _ => self.refuse(
                Code::Syntax,
                "the left side of a statement is an access",
                "assign to y[i], and the like",
            ),
        }
    }

    /// Checks a name before it becomes part of the text, where other characters would change the meaning.
    fn check_name(&self, name: &str) {
        if !is_name(name) {
            let message = format!("{name:?} cannot be a name");
            self.refuse(Code::Syntax, message, "a name is made of letters, digits and _");
        }
    }

    fn refuse(&self, code: Code, message: impl Into<String>, help: &str) {
        let diagnostic = Diagnostic::new(code, message).help(help);
        self.state.borrow_mut().refused.get_or_insert(diagnostic);
    }

    fn node(&self, term: Term) -> Node {
        self.state.borrow().terms[term.at].clone()
    }

    fn term(&self, expr: Expr, operands: &[&Node]) -> Term<'_> {
        let size = 1 + operands.iter().map(|node| node.size).sum::<usize>();
        let height = 1 + operands.iter().map(|node| node.height).max().unwrap_or(0);
        let fits = size <= MAX_SIZE && height <= MAX_DEPTH;
        let node = match fits {
            true => Node { expr, size, height },
            false => Node { expr: Expr::Literal(Scalar::I64(0)), size: 1, height: 1 },
        };
        if !fits {
            let message = "the expression is nested too deep or too large";
            self.refuse(Code::TooLarge, message, "split it into several statements");
        }
        let mut state = self.state.borrow_mut();
        state.terms.push(node);
        Term { builder: self, at: state.terms.len() - 1 }
    }

    fn apply1(&self, operand: Term, make: impl FnOnce(Box<Expr>) -> Expr) -> Term<'_> {
        let node = self.node(operand);
        self.term(make(Box::new(node.expr.clone())), &[&node])
    }

    fn apply2(&self, op: BinaryOp, left: Term, right: Term) -> Term<'_> {
        let (left, right) = (self.node(left), self.node(right));
        let expr = Expr::Binary(op, Box::new(left.expr.clone()), Box::new(right.expr.clone()));
        self.term(expr, &[&left, &right])
    }
}

impl<'b> Uses<'b> {
    fn push(&self, term: Term<'b>) -> &Term<'b> {
        let mut end = self;
        while let Some(full) = end.0.get() {
            end = &full.1;
        }
        &end.0.get_or_init(|| Box::new((term, Uses::default()))).0
    }
}

impl<'b> Index<Var<'b>> for Tensor<'b> {
    type Output = Term<'b>;
    fn index(&self, index: Var<'b>) -> &Term<'b> {
        &self[[index]]
    }
}

impl<'b, const N: usize> Index<[Var<'b>; N]> for Tensor<'b> {
    type Output = Term<'b>;
    fn index(&self, indices: [Var<'b>; N]) -> &Term<'b> {
        self.uses.push(self.at(indices))
    }
}

/// Operands of operators: terms, index variables, numbers.
pub trait Operand<'b> {
    /// The operand as a term.
    fn term(self, builder: &'b Builder) -> Term<'b>;
}

impl<'b> Operand<'b> for Term<'b> {
    fn term(self, _: &'b Builder) -> Term<'b> {
        self
    }
}

impl<'b> Operand<'b> for Var<'b> {
    fn term(self, builder: &'b Builder) -> Term<'b> {
        builder.term(Expr::Index(self.id), &[])
    }
}

impl<'b> Operand<'b> for f64 {
    fn term(self, builder: &'b Builder) -> Term<'b> {
        if self.is_nan() {
            builder.refuse(Code::Syntax, "not-a-number cannot be written", "use a scalar tensor");
        }
        builder.term(Expr::Literal(Scalar::F64(self)), &[])
    }
}

impl<'b> Operand<'b> for i64 {
    fn term(self, builder: &'b Builder) -> Term<'b> {
        builder.term(Expr::Literal(Scalar::I64(self)), &[])
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl<'b, R: Operand<'b>> $trait<R> for Term<'b> {
            type Output = Term<'b>;
            fn $method(self, right: R) -> Term<'b> {
                self.with(BinaryOp::$op, right)
            }
        }
        impl<'b, R: Operand<'b>> $trait<R> for Var<'b> {
            type Output = Term<'b>;
            fn $method(self, right: R) -> Term<'b> {
                self.value().with(BinaryOp::$op, right)
            }
        }
        operators!($trait $method $op f64 Term);
        operators!($trait $method $op i64 Term);
        operators!($trait $method $op f64 Var);
        operators!($trait $method $op i64 Var);
    )*};
    ($trait:ident $method:ident $op:ident $number:ident $right:ident) => {
        impl<'b> $trait<$right<'b>> for $number {
            type Output = Term<'b>;
            fn $method(self, right: $right<'b>) -> Term<'b> {
                self.term(right.builder).with(BinaryOp::$op, right)
            }
        }
    };
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
}

impl<'b> Neg for Term<'b> {
    type Output = Term<'b>;
    fn neg(self) -> Term<'b> {
        self.apply(UnaryOp::Neg)
    }
}

/// 1 where the value is 0, else 0.
impl<'b> Not for Term<'b> {
    type Output = Term<'b>;
    fn not(self) -> Term<'b> {
        self.apply(UnaryOp::Not)
    }
}

impl<'b> Var<'b> {
    /// The variable as a value, from 0.
    pub fn value(self) -> Term<'b> {
        self.term(self.builder)
    }
}

macro_rules! functions {
    (
        [$($unary:ident $unary_op:ident,)*]
        [$($binary:ident $binary_op:ident,)*]
        [$($reduce:ident $reduce_op:ident,)*]
    ) => {
        impl<'b> Term<'b> {
            $(
                #[doc = concat!("See [`UnaryOp::", stringify!($unary_op), "`].")]
                pub fn $unary(self) -> Term<'b> {
                    self.apply(UnaryOp::$unary_op)
                }
            )*
            $(
                #[doc = concat!("See [`BinaryOp::", stringify!($binary_op), "`].")]
                pub fn $binary(self, right: impl Operand<'b>) -> Term<'b> {
                    self.with(BinaryOp::$binary_op, right)
                }
            )*
            $(
                #[doc = concat!("Reduces over variables; see [`ReduceOp::", stringify!($reduce_op), "`].")]
                pub fn $reduce<const N: usize>(self, vars: [Var<'b>; N]) -> Term<'b> {
                    self.reduce(ReduceOp::$reduce_op, vars)
                }
            )*
        }
    };
}

functions! {
    [
        abs Abs, sqrt Sqrt, cbrt Cbrt, square Square, cube Cube, exp Exp, log Log, log10 Log10,
        sin Sin, cos Cos, tan Tan, asin Asin, acos Acos, atan Atan, sinh Sinh, cosh Cosh,
        tanh Tanh, asinh Asinh, acosh Acosh, atanh Atanh,
    ]
    [
        min Min, max Max, pow Pow, modulo Mod, atan2 Atan2, heaviside Heaviside, and And, or Or,
        xor Xor, eq Eq, ne Ne, lt Lt, le Le, gt Gt, ge Ge,
    ]
    [
        sum_over Add, prod_over Mul, min_over Min, max_over Max, any_over Or, all_over And,
    ]
}

impl<'b> Term<'b> {
    /// A function of one operand.
    pub fn apply(self, op: UnaryOp) -> Term<'b> {
        match (op, self.builder.node(self).expr) {
            // A minus sign before a number belongs to the number.
            (UnaryOp::Neg, Expr::Literal(Scalar::I64(x))) if x >= 0 => (-x).term(self.builder),
            (UnaryOp::Neg, Expr::Literal(Scalar::F64(x))) if x.is_sign_positive() => {
                (-x).term(self.builder)
            }
            _ => self.builder.apply1(self, |operand| Expr::Unary(op, operand)),
        }
    }

    /// An operator or function of two operands.
    pub fn with(self, op: BinaryOp, right: impl Operand<'b>) -> Term<'b> {
        self.builder.apply2(op, self, right.term(self.builder))
    }

    /// Reduces over variables: `sum(j, ...)` and the like.
    pub fn reduce<const N: usize>(self, op: ReduceOp, vars: [Var<'b>; N]) -> Term<'b> {
        let vars: Vec<IndexVar> = vars.map(|var| var.id).to_vec();
        if vars.is_empty() {
            let message = "a reduction needs the variables that it reduces";
            self.builder.refuse(Code::ArgumentCount, message, "name at least one");
        }
        self.builder.apply1(self, |body| Expr::Reduce { op, vars, body })
    }
}

impl<'b> Function<'b> {
    /// Applies the operator to as many operands as it has.
    pub fn of<const N: usize>(self, operands: [Term<'b>; N]) -> Term<'b> {
        let builder = self.builder;
        let arity = builder.state.borrow().program.operators[self.id].arity;
        match operands[..] {
            [only] if arity == 1 => builder.apply1(only, |e| Expr::UserUnary(self.id, e)),
            [left, right] if arity == 2 => builder.apply2(BinaryOp::User(self.id), left, right),
            _ => {
                let message = format!("an operator of {arity} operands is applied to {N}");
                builder.refuse(Code::ArgumentCount, message, "give as many as it has");
                builder.term(Expr::Literal(Scalar::I64(0)), &[])
            }
        }
    }

    /// Reducing and accumulating with the operator.
    pub fn reduction(self) -> ReduceOp {
        ReduceOp::User(self.id)
    }
}

impl Operator {
    /// An operator of one operand.
    ///
    /// ```
    /// use tamis_core::notation::{Operator, OperatorProperties, parse_with};
    /// let double = Operator::unary("double", OperatorProperties::default(), |x| x + x)?;
    /// let program = parse_with("y(i) = double(x(i))", &[double])?;
    /// assert_eq!(program.to_string(), "y(i) = double(x(i))");
    /// # Ok::<(), tamis_ir::diagnostic::Diagnostic>(())
    /// ```
    pub fn unary(
        name: &str,
        properties: OperatorProperties,
        body: impl for<'b> FnOnce(Term<'b>) -> Term<'b>,
    ) -> Result<Operator, Diagnostic> {
        let builder = Builder::default();
        let [x] = builder.params();
        let body = builder.node(body(x)).expr;
        builder.finish(Operator { name: name.to_owned(), arity: 1, body, properties })
    }

    /// An operator of two operands.
    pub fn binary(
        name: &str,
        properties: OperatorProperties,
        body: impl for<'b> FnOnce(Term<'b>, Term<'b>) -> Term<'b>,
    ) -> Result<Operator, Diagnostic> {
        let builder = Builder::default();
        let [x, y] = builder.params();
        let body = builder.node(body(x, y)).expr;
        builder.finish(Operator { name: name.to_owned(), arity: 2, body, properties })
    }
}

impl Builder {
    fn params<const N: usize>(&self) -> [Term<'_>; N] {
        std::array::from_fn(|k| self.term(Expr::Param(k), &[]))
    }

    /// The operator, if its body is valid.
    fn finish(self, operator: Operator) -> Result<Operator, Diagnostic> {
        if let Some(diagnostic) = self.state.into_inner().refused {
            return Err(diagnostic);
        }
        check::operator(&operator, &[])?;
        Ok(operator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::Commutativity;

    fn check(statements: impl FnOnce(&Builder), expect: &str) {
        let program = build(statements).unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(program.to_string(), expect);
        assert_eq!(program.source, expect);
    }

    #[test]
    fn operators_functions_and_reductions() {
        check(
            |b| {
                let [i, j] = b.vars(["i", "j"]);
                let [y, a, x] = b.tensors(["y", "A", "x"]);
                let [alpha] = b.scalars(["alpha"]);
                b.assign(y[i], alpha * (a[[i, j]] * x[j]) - 2 * y[i] / 4.0 + i);
                b.accumulate(ReduceOp::Max, y[i], (a[[i, j]] * -x[j]).max_over([j]).exp());
            },
            "y(i) = alpha * (A(i,j) * x(j)) - 2 * y(i) / 4.0 + i; \
             y(i) max= exp(max(j, A(i,j) * -x(j)))",
        );
        check(
            |b| {
                let [i, j] = b.vars(["i", "j"]);
                let [a] = b.tensors(["a"]);
                b.assign(a[[i, j]], (i - j).abs().min(3).lt(1 + j) * !a[[i, j]].gt(0));
            },
            "a(i,j) = (min(abs(i - j), 3) < 1 + j) * not(a(i,j) > 0)",
        );
    }

    #[test]
    fn user_operators() {
        let properties = OperatorProperties {
            identity: Some(0.0),
            annihilator: None,
            commutative: Commutativity::Commutative,
        };
        let hypot = Operator::binary("hypot", properties, |x, y| (x * x + y * y).sqrt()).unwrap();
        check(
            |b| {
                let [i, j] = b.vars(["i", "j"]);
                let [y, a, x] = b.tensors(["y", "A", "x"]);
                let hypot = b.operator(&hypot);
                b.assign(y[i], hypot.of([x[i], a[[i, j]].reduce(hypot.reduction(), [j])]));
                b.accumulate(hypot.reduction(), y[i], a[[i, i]]);
            },
            "y(i) = hypot(x(i), hypot(j, A(i,j))); y(i) hypot= A(i,i)",
        );
    }

    fn refused(statements: impl FnOnce(&Builder), code: Code) {
        assert_eq!(build(statements).unwrap_err().code, code);
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        refused(|_| {}, Code::Syntax);
        refused(|b| b.assign(b.scalars(["a; b"])[0], 1), Code::Syntax);
        refused(|b| b.assign(b.scalars(["exp"])[0], 1), Code::Syntax);
        refused(|b| b.assign(b.scalars(["a"])[0], f64::NAN), Code::Syntax);
        refused(|b| b.assign(b.scalars(["a"])[0] + 1, 2), Code::Syntax);
        refused(
            |b| {
                let [a] = b.scalars(["a"]);
                b.assign(a, (0..30).fold(a, |sum, _| sum + sum));
            },
            Code::TooLarge,
        );
        refused(
            |b| {
                let ([i], [a]) = (b.vars(["i"]), b.tensors(["a"]));
                b.assign(a[i], a[[i, i]]);
            },
            Code::OrderMismatch,
        );
        refused(
            |b| {
                let ([i, j], [a]) = (b.vars(["i", "j"]), b.tensors(["a"]));
                b.assign(a[i], (i + j).max_over([j]));
            },
            Code::DimensionUnknown,
        );
        let name = Operator::unary("sin", OperatorProperties::default(), |x| x);
        assert_eq!(name.unwrap_err().code, Code::Syntax);
    }
}
