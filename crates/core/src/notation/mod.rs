//! Index notation: what to compute.
//!
//! `y(i) = A(i,j) * x(j)` names tensors, index variables and operators. A variable that the left side lacks is summed:
//! the sum is around the smallest product that has all its uses within a term.
//! [`parse()`] reads the text, [`Display`](std::fmt::Display) writes it, [`build()`] spells it in
//! Rust, and [`make_explicit`] writes the sums out.

mod beside;
mod bracket;
mod build;
mod check;
mod foreign;
mod lex;
mod not_an_index;
mod parse;
mod print;
mod reductions;
mod slice;
mod syntax;
#[cfg(test)]
mod tests;
mod words;

pub use build::{Builder, Function, ModeIndex, Operand, Tensor, Term, Var, build};
pub use foreign::constant;
pub use parse::{parse, parse_with};
pub use print::Shown;
pub use reductions::make_explicit;
pub use slice::{Slice, Slicing};

use std::collections::BTreeMap;
use std::ops::Range;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{Id, IdVec, IndexVar, Mode, TensorId, UserOp};

/// Statements in order, and the names they use.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The text the program was read from, or its printed form; spans point into it.
    pub source: String,
    /// What is computed, in order.
    pub statements: Vec<Statement>,
    /// Every tensor that occurs.
    pub tensors: IdVec<TensorId, TensorDecl>,
    /// Every index variable that occurs. The same name in two statements is the same variable.
    pub vars: IdVec<IndexVar, IndexVarDecl>,
    /// Operators that the user defined.
    pub operators: IdVec<UserOp, Operator>,
}

/// A tensor by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorDecl {
    /// The name as the user writes it.
    pub name: String,
    /// The number of modes.
    pub order: usize,
    /// The first use of the name.
    pub span: Range<usize>,
}

/// An index variable by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexVarDecl {
    /// The name as the user writes it.
    pub name: String,
    /// The first use of the name.
    pub span: Range<usize>,
}

/// An operator that the user defined, by an expression over its parameters.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The name of the function in index notation.
    pub name: String,
    /// How many operands: 1 or 2.
    pub arity: usize,
    /// The value, an expression over [`Expr::Param`] and literals.
    pub body: Expr,
    /// Which laws the operator obeys.
    pub properties: OperatorProperties,
}

/// What lowering may assume of a user operator.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OperatorProperties {
    /// `x op identity = identity op x = x`; a reduction with this operator starts from it.
    pub identity: Option<f64>,
    /// `x op annihilator = annihilator op x = annihilator`.
    pub annihilator: Option<f64>,
    /// Whether `x op y = y op x`.
    pub commutative: Commutativity,
}

/// Whether the order of operands matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Commutativity {
    /// `x op y = y op x`.
    Commutative,
    /// The order matters.
    #[default]
    Ordered,
}

/// `result = value`, or `result op= value`.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What is written.
    pub result: Access,
    /// The operator of `+=`, `*=`, `min=`, ...; `None` for `=`.
    pub accumulate: Option<ReduceOp>,
    /// What is computed.
    pub value: Expr,
    /// The location of the statement.
    pub span: Range<usize>,
}

/// A use of a tensor: `A(i,j)`; a scalar has no indices.
#[derive(Clone, Debug)]
pub struct Access {
    /// The tensor.
    pub tensor: TensorId,
    /// One variable per mode.
    pub indices: Vec<IndexVar>,
    /// The modes that are sliced.
    pub slices: BTreeMap<Mode, Slicing>,
    /// The location of the use.
    pub span: Range<usize>,
}

/// Uses are equal wherever they are in the text.
impl PartialEq for Access {
    fn eq(&self, other: &Self) -> bool {
        self.tensor == other.tensor && self.indices == other.indices && self.slices == other.slices
    }
}

impl Access {
    /// A use of whole modes, without a location in the text.
    pub fn of(tensor: TensorId, indices: Vec<IndexVar>) -> Access {
        Access { tensor, indices, slices: BTreeMap::new(), span: 0..0 }
    }

    /// Whether a mode is sliced.
    pub fn is_sliced(&self) -> bool {
        self.slices.values().any(|slicing| !slicing.slice().is_whole())
    }

    /// Whether a variable indexes several modes: a diagonal.
    pub fn is_diagonal(&self) -> bool {
        let repeats = |(k, var)| self.indices[..k].contains(var);
        self.indices.iter().enumerate().any(repeats)
    }

    /// The same use, without slices that span a whole mode.
    pub fn without_whole_slices(mut self) -> Access {
        self.slices.retain(|_, slicing| !slicing.slice().is_whole());
        self
    }

    /// How a mode is sliced, if it is.
    pub fn slicing(&self, mode: usize) -> Option<&Slicing> {
        self.slices.get(&Mode::new(mode))
    }
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A number: [`Scalar::I64`], or [`Scalar::U64`] beyond its range, when written without
    /// point or exponent, else [`Scalar::F64`].
    Literal(Scalar),
    /// An element of a tensor.
    Access(Access),
    /// The value of an index variable, from 0.
    Index(IndexVar),
    /// A parameter of a user operator's body.
    Param(usize),
    /// A function of one operand.
    Unary(UnaryOp, Box<Expr>),
    /// A user operator of one operand.
    UserUnary(UserOp, Box<Expr>),
    /// An operator or function of two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// An explicit reduction: `sum(j, ...)`.
    Reduce {
        /// The operator of the reduction.
        op: ReduceOp,
        /// The variables of the reduction.
        vars: Vec<IndexVar>,
        /// The reduced value.
        body: Box<Expr>,
    },
    /// One value within slices, another elsewhere. It has no syntax: statements with a sliced left side become this.
    Choose {
        /// The slices that all have to contain the element.
        within: Vec<Within>,
        /// The value within the slices.
        then: Box<Expr>,
        /// The value elsewhere.
        otherwise: Box<Expr>,
    },
}

/// The condition that a slice contains a variable's value.
#[derive(Clone, PartialEq, Debug)]
pub struct Within {
    /// The variable.
    pub var: IndexVar,
    /// The variable that counts the elements of the slice.
    pub counter: IndexVar,
    /// The slice.
    pub slice: Slice,
}

impl Expr {
    /// The same expression with `f` applied to each operand.
    pub fn map_children(self, f: &mut impl FnMut(Expr) -> Expr) -> Expr {
        let mut go = |e: Box<Expr>| Box::new(f(*e));
        match self {
            Expr::Literal(_) | Expr::Access(_) | Expr::Index(_) | Expr::Param(_) => self,
            Expr::Unary(op, a) => Expr::Unary(op, go(a)),
            Expr::UserUnary(op, a) => Expr::UserUnary(op, go(a)),
            Expr::Binary(op, a, b) => Expr::Binary(op, go(a), go(b)),
            Expr::Reduce { op, vars, body } => Expr::Reduce { op, vars, body: go(body) },
            Expr::Choose { within, then, otherwise } => {
                Expr::Choose { within, then: go(then), otherwise: go(otherwise) }
            }
        }
    }

    /// The operands.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Literal(_) | Expr::Access(_) | Expr::Index(_) | Expr::Param(_) => vec![],
            Expr::Unary(_, a) | Expr::UserUnary(_, a) | Expr::Reduce { body: a, .. } => vec![a],
            Expr::Binary(_, a, b) | Expr::Choose { then: a, otherwise: b, .. } => vec![a, b],
        }
    }

    /// The user operator that the expression applies or reduces with.
    pub fn user_op(&self) -> Option<UserOp> {
        match *self {
            Expr::UserUnary(op, _)
            | Expr::Binary(BinaryOp::User(op), ..)
            | Expr::Reduce { op: ReduceOp::User(op), .. } => Some(op),
            _ => None,
        }
    }

    /// Calls `f` on this expression and on each expression in it, outermost first.
    pub fn walk<'e>(&'e self, f: &mut impl FnMut(&'e Expr)) {
        f(self);
        for child in self.children() {
            child.walk(f);
        }
    }

    /// Every use of a tensor, in the order of the text.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = vec![];
        self.walk(&mut |e| {
            if let Expr::Access(access) = e {
                found.push(access);
            }
        });
        found
    }
}

impl Program {
    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<TensorId> {
        self.tensors.enumerate().find(|(_, t)| t.name == name).map(|(id, _)| id)
    }

    /// The index variable of this name.
    pub fn var(&self, name: &str) -> Option<IndexVar> {
        self.vars.enumerate().find(|(_, v)| v.name == name).map(|(id, _)| id)
    }

    /// The statement that contains a part of the source.
    pub fn statement_at(&self, span: &Range<usize>) -> Option<&Statement> {
        let within = |s: &&Statement| s.span.start <= span.start && span.end <= s.span.end;
        self.statements.iter().find(within)
    }

    /// The text of a statement with a variable renamed to a name that the program does not use.
    pub fn with_own_variable(&self, statement: &Statement, var: IndexVar) -> String {
        let text = self.source.get(statement.span.clone()).unwrap_or_default();
        foreign::renamed(text, &self.vars[var].name, &foreign::fresh(&self.source))
    }

    /// The tensors that statements write, in order of their first write.
    pub fn results(&self) -> Vec<TensorId> {
        let mut results = vec![];
        for statement in &self.statements {
            if !results.contains(&statement.result.tensor) {
                results.push(statement.result.tensor);
            }
        }
        results
    }
}
