//! [`Program`] to text with a minimum of parentheses; parsing the text gives the same program.

use super::words::is_variadic;
use super::{Access, Expr, Program, Statement};
use std::fmt::{self, Display};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::IndexVar;

/// Statements separated by `; `.
impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, statement) in self.statements.iter().enumerate() {
            let separator = if k == 0 { "" } else { "; " };
            write!(f, "{separator}{}", self.show(statement))?;
        }
        Ok(())
    }
}

/// A part of a program that prints with the program's names; see [`Program::show`].
pub struct Shown<'p, T> {
    program: &'p Program,
    part: &'p T,
}

impl Program {
    /// A statement, access or expression of the program, to print.
    ///
    /// ```
    /// let program = tamis_core::notation::parse("a = b(i) * (c(i) + 1)").unwrap();
    /// let value = &program.statements[0].value;
    /// assert_eq!(program.show(value).to_string(), "b(i) * (c(i) + 1)");
    /// ```
    pub fn show<'p, T>(&'p self, part: &'p T) -> Shown<'p, T> {
        Shown { program: self, part }
    }
}

impl Display for Shown<'_, Statement> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (program, statement) = (self.program, self.part);
        access(f, program, &statement.result)?;
        match statement.accumulate {
            None => f.write_str(" = ")?,
            Some(op) => {
                let name = match op {
                    ReduceOp::User(op) => &program.operators[op].name,
                    _ => op.binary().name(),
                };
                write!(f, " {name}= ")?;
            }
        }
        let mut printer = Printer { f, program, bound: statement.result.indices.clone() };
        printer.expr(&statement.value, Strength::Comparison)
    }
}

impl Display for Shown<'_, Access> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        access(f, self.program, self.part)
    }
}

impl Display for Shown<'_, Expr> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer { f, program: self.program, bound: vec![] };
        printer.expr(self.part, Strength::Comparison)
    }
}

fn access(f: &mut fmt::Formatter<'_>, program: &Program, access: &Access) -> fmt::Result {
    f.write_str(&program.tensors[access.tensor].name)?;
    for (k, &index) in access.indices.iter().enumerate() {
        write!(f, "{}{}", if k == 0 { "(" } else { "," }, program.vars[index].name)?;
        if let Some(slicing) = access.slicing(k) {
            write!(f, "{slicing}")?;
        }
    }
    f.write_str(if access.indices.is_empty() { "" } else { ")" })
}

/// The precedence of an expression, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Comparison,
    Sum,
    Product,
    Negation,
    Atom,
}

impl Strength {
    fn of(expr: &Expr) -> Strength {
        match expr {
            Expr::Literal(c) if c.is_complex() && !is_imaginary(*c) => Strength::Sum,
            Expr::Literal(c) if is_negative(*c) => Strength::Negation,
            Expr::Unary(UnaryOp::Neg, _) => Strength::Negation,
            Expr::Binary(op, ..) => Strength::of_operator(*op).unwrap_or(Strength::Atom),
            _ => Strength::Atom,
        }
    }

    /// `None` for operators that are written as functions.
    fn of_operator(op: BinaryOp) -> Option<Strength> {
        use BinaryOp::{Add, Div, Eq, Ge, Gt, Le, Lt, Mul, Ne, Sub};
        match op {
            Eq | Ne | Lt | Le | Gt | Ge => Some(Strength::Comparison),
            Add | Sub => Some(Strength::Sum),
            Mul | Div => Some(Strength::Product),
            _ => None,
        }
    }

    fn next(self) -> Strength {
        match self {
            Strength::Comparison => Strength::Sum,
            Strength::Sum => Strength::Product,
            Strength::Product => Strength::Negation,
            Strength::Negation | Strength::Atom => Strength::Atom,
        }
    }
}

struct Printer<'f, 'b, 'p> {
    f: &'f mut fmt::Formatter<'b>,
    program: &'p Program,
    /// The variables bound at this point.
    bound: Vec<IndexVar>,
}

impl Printer<'_, '_, '_> {
    /// Prints an operand, in parentheses if it is weaker than `least`.
    fn expr(&mut self, expr: &Expr, least: Strength) -> fmt::Result {
        if Strength::of(expr) >= least {
            return self.bare(expr);
        }
        self.f.write_str("(")?;
        self.bare(expr)?;
        self.f.write_str(")")
    }

    fn bare(&mut self, expr: &Expr) -> fmt::Result {
        match expr {
            Expr::Literal(c) => literal(self.f, *c),
            Expr::Access(part) => access(self.f, self.program, part),
            Expr::Index(var) => self.f.write_str(&self.program.vars[*var].name),
            Expr::Param(k) => write!(self.f, "${k}"),
            Expr::Unary(UnaryOp::Neg, operand) => {
                self.f.write_str("-")?;
                // A sign before digits would be parsed as part of the number.
                let digits = matches!(**operand, Expr::Literal(c) if !is_negative(c));
                match digits {
                    true => self.group(operand),
                    false => self.expr(operand, Strength::Negation),
                }
            }
            Expr::Unary(op, operand) => self.call(op.name(), &[operand]),
            Expr::UserUnary(op, operand) => {
                self.call(&self.program.operators[*op].name, &[operand])
            }
            Expr::Binary(op, left, right) => match Strength::of_operator(*op) {
                Some(own) => self.infix(*op, own, left, right),
                None => self.function(*op, expr),
            },
            Expr::Reduce { op, vars, body } => self.reduce(*op, vars, body),
            Expr::Choose { then, otherwise, .. } => self.call("choose", &[then, otherwise]),
        }
    }

    fn group(&mut self, expr: &Expr) -> fmt::Result {
        self.f.write_str("(")?;
        self.bare(expr)?;
        self.f.write_str(")")
    }

    fn infix(&mut self, op: BinaryOp, own: Strength, left: &Expr, right: &Expr) -> fmt::Result {
        // Sums and products are left-associative; comparisons do not chain.
        let left_least = if own == Strength::Comparison { own.next() } else { own };
        self.expr(left, left_least)?;
        write!(self.f, " {} ", op.name())?;
        self.expr(right, own.next())
    }

    /// A function of two operands; chains of an associative one have a single list of arguments.
    fn function(&mut self, op: BinaryOp, expr: &Expr) -> fmt::Result {
        let mut args = vec![];
        let mut rest = expr;
        while let Expr::Binary(inner, left, right) = rest {
            if *inner != op || !(args.is_empty() || is_variadic(op)) {
                break;
            }
            args.push(&**right);
            rest = left;
        }
        args.push(rest);
        args.reverse();
        let name = match op {
            BinaryOp::User(op) => &self.program.operators[op].name,
            _ => op.name(),
        };
        let also_reduces = matches!(op, BinaryOp::Min | BinaryOp::Max | BinaryOp::User(_));
        let free = |arg: &&Expr| matches!(arg, Expr::Index(var) if !self.bound.contains(var));
        if also_reduces && args[..args.len() - 1].iter().all(free) {
            write!(self.f, "{name}(")?;
            self.group(args[0])?;
            for arg in &args[1..] {
                self.f.write_str(", ")?;
                self.bare(arg)?;
            }
            return self.f.write_str(")");
        }
        self.call(name, &args)
    }

    fn call(&mut self, name: &str, args: &[&Expr]) -> fmt::Result {
        write!(self.f, "{name}(")?;
        for (k, arg) in args.iter().enumerate() {
            self.f.write_str(if k == 0 { "" } else { ", " })?;
            self.bare(arg)?;
        }
        self.f.write_str(")")
    }

    fn reduce(&mut self, op: ReduceOp, vars: &[IndexVar], body: &Expr) -> fmt::Result {
        let name = match op {
            ReduceOp::User(op) => &self.program.operators[op].name,
            _ => op.name(),
        };
        write!(self.f, "{name}(")?;
        for &var in vars {
            write!(self.f, "{}, ", self.program.vars[var].name)?;
        }
        let outer = self.bound.len();
        self.bound.extend(vars);
        self.bare(body)?;
        self.bound.truncate(outer);
        self.f.write_str(")")
    }
}

fn is_negative(c: Scalar) -> bool {
    match c {
        Scalar::Bool(_) | Scalar::U64(_) => false,
        Scalar::I64(x) => x < 0,
        Scalar::F32(x) => x.is_sign_negative(),
        Scalar::F64(x) => x.is_sign_negative(),
        Scalar::C64(_) | Scalar::C128(_) => {
            let [re, im] = c.parts();
            is_negative(if is_imaginary(c) { im } else { re })
        }
    }
}

/// A number that parses to the same bits; infinity is printed as a number beyond the largest one.
fn literal(f: &mut fmt::Formatter<'_>, c: Scalar) -> fmt::Result {
    match c {
        Scalar::Bool(b) => write!(f, "{}", u8::from(b)),
        Scalar::F32(x) if x.is_infinite() => f.write_str(infinity(x.is_sign_negative())),
        Scalar::F64(x) if x.is_infinite() => f.write_str(infinity(x.is_sign_negative())),
        Scalar::C64(_) | Scalar::C128(_) => {
            let [re, im] = c.parts();
            if !is_imaginary(c) {
                literal(f, re)?;
                f.write_str(if is_negative(im) { "" } else { "+" })?;
            }
            literal(f, im)?;
            f.write_str("j")
        }
        _ => write!(f, "{c}"),
    }
}

/// Whether a complex number is printed as its imaginary part alone.
fn is_imaginary(c: Scalar) -> bool {
    c.parts()[0] == Scalar::F64(0.0).convert(c.register())
}

fn infinity(negative: bool) -> &'static str {
    if negative { "-inf" } else { "inf" }
}
