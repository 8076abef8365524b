//! Expressions.
//!
//! ```text
//! expr    = compare {"&&" compare}
//! compare = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
//! sum     = product {("+" | "-") product}
//! product = prefix {("*" | "/") prefix}
//! prefix  = "-" constant | ["-"] primary
//! primary = constant | name | name "[" expr [";" lanes] "]" | "(" expr ")" | function "(" .. ")"
//! ```
//!
//! A sign belongs to the constant behind it: `-1` is a constant, `-(1)` negates one. Constants of
//! `f32` end in `f`, of `u64` in `u`; `nan(bits)` and `nanf(bits)` are other NaNs than the usual.

use super::lex::Kind;
use super::{Meaning, Parser};
use crate::algebra::{BinaryOp, UnaryOp};
use crate::datatype::{Register, Scalar};
use crate::diagnostic::Diagnostic;
use crate::ir::Expr;
use crate::ir::build::binary;

const COMPARISONS: [BinaryOp; 6] =
    [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Le, BinaryOp::Ge, BinaryOp::Lt, BinaryOp::Gt];

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Expr, Diagnostic> {
        self.deeper(|p| {
            let mut e = p.compare()?;
            while p.takes("&&") {
                e = Expr::AndThen(Box::new(e), Box::new(p.compare()?));
            }
            Ok(e)
        })
    }

    fn compare(&mut self) -> Result<Expr, Diagnostic> {
        let a = self.chain(&[BinaryOp::Add, BinaryOp::Sub])?;
        match self.operator(&COMPARISONS) {
            Some(op) => Ok(binary(op, a, self.chain(&[BinaryOp::Add, BinaryOp::Sub])?)),
            None => Ok(a),
        }
    }

    /// Left-associative operators: a sum of products, or a product.
    fn chain(&mut self, ops: &[BinaryOp]) -> Result<Expr, Diagnostic> {
        let products = [BinaryOp::Mul, BinaryOp::Div];
        let sums = ops.contains(&BinaryOp::Add);
        let part = |p: &mut Self| if sums { p.chain(&products) } else { p.prefix() };
        let mut e = part(self)?;
        while let Some(op) = self.operator(ops) {
            e = binary(op, e, part(self)?);
        }
        Ok(e)
    }

    fn operator(&mut self, ops: &[BinaryOp]) -> Option<BinaryOp> {
        ops.iter().copied().find(|op| self.takes(op.name()))
    }

    fn prefix(&mut self) -> Result<Expr, Diagnostic> {
        if !self.takes("-") {
            return self.primary();
        }
        if self.next().kind == Kind::Number || ["inf", "inff"].contains(&self.word()) {
            return self.constant("-");
        }
        Ok(Expr::Unary(UnaryOp::Neg, Box::new(self.primary()?)))
    }

    fn primary(&mut self) -> Result<Expr, Diagnostic> {
        match (self.next().kind, self.word(), self.word_after()) {
            (Kind::Sign("("), ..) => {
                self.at += 1;
                let e = self.expr()?;
                self.take(")")?;
                Ok(e)
            }
            (Kind::Number, ..) => self.constant(""),
            (Kind::Name, name, "(") => self.call(name),
            (Kind::Name, "true" | "false" | "inf" | "inff" | "nan" | "nanf", _) => {
                self.constant("")
            }
            (Kind::Name, ..) => match self.meaning()? {
                Meaning::Var(v) => Ok(Expr::Var(v)),
                Meaning::Array(array) => {
                    self.take("[")?;
                    let index = Box::new(self.expr()?);
                    let lanes = self.lanes()?;
                    self.take("]")?;
                    Ok(Expr::Load { array, index, lanes })
                }
            },
            _ => Err(self.expected("an expression")),
        }
    }

    fn constant(&mut self, sign: &str) -> Result<Expr, Diagnostic> {
        let value = self.one("a constant", |word| {
            let text = format!("{sign}{word}");
            let single = || text.strip_suffix('f').filter(|_| word != "inf");
            Some(match word {
                "true" | "false" => Scalar::Bool(word == "true"),
                "nan" => Scalar::F64(f64::NAN),
                "nanf" => Scalar::F32(f32::NAN),
                _ if single().is_some() => Scalar::F32(single()?.parse().ok()?),
                _ if word.ends_with('u') => Scalar::U64(text.strip_suffix('u')?.parse().ok()?),
                _ if word.bytes().all(|b| b.is_ascii_digit()) => Scalar::I64(text.parse().ok()?),
                _ => Scalar::F64(text.parse().ok()?),
            })
        })?;
        Ok(Expr::Const(value))
    }

    fn call(&mut self, name: &str) -> Result<Expr, Diagnostic> {
        let start = self.at;
        self.at += 2;
        let e =
            match name {
                "len" => Expr::Len(self.array()?),
                "splat" => {
                    let e = Box::new(self.expr()?);
                    self.take(",")?;
                    Expr::Splat(e, self.one("a number of lanes", |word| word.parse().ok())?)
                }
                "nan" => Expr::Const(Scalar::F64(self.one("its bits", |w| {
                    w.parse().ok().map(f64::from_bits).filter(|x| x.is_nan())
                })?)),
                "nanf" => Expr::Const(Scalar::F32(self.one("its bits", |w| {
                    w.parse().ok().map(f32::from_bits).filter(|x| x.is_nan())
                })?)),
                _ => {
                    let mut args = vec![self.expr()?];
                    while self.takes(",") {
                        args.push(self.expr()?);
                    }
                    let count = args.len();
                    if name == "lanes" {
                        self.take(")")?;
                        return Ok(Expr::Lanes(args));
                    }
                    function(name, args).ok_or_else(|| {
                        self.at = start;
                        self.refuse(format!("there is no function {name} of {count} operands"))
                    })?
                }
            };
        self.take(")")?;
        Ok(e)
    }
}

/// A function by name, applied to operands, if it takes this number of operands.
fn function(name: &str, args: Vec<Expr>) -> Option<Expr> {
    let mut args = args.into_iter().map(Box::new);
    let e = match (args.next()?, args.next(), args.next()) {
        (a, None, None) => match Register::parse(name) {
            Some(to) => Expr::Convert(to, a),
            None if name == "sum" => Expr::Reduce(BinaryOp::Add, a),
            None if name == "min" => Expr::Reduce(BinaryOp::Min, a),
            None if name == "max" => Expr::Reduce(BinaryOp::Max, a),
            None => Expr::Unary(
                UnaryOp::ALL.into_iter().find(|op| op.name() == name && !op.is_of_parts())?,
                a,
            ),
        },
        (a, Some(b), None) if name == "bitand" => Expr::BitAnd(a, b),
        (a, Some(b), None) => {
            Expr::Binary(BinaryOp::ALL.into_iter().find(|op| op.name() == name)?, a, b)
        }
        (a, Some(b), Some(c)) => match name {
            "select" => Expr::Select(a, b, c),
            "fma" => Expr::Fma(a, b, c),
            _ => return None,
        },
        (_, None, Some(_)) => return None,
    };
    args.next().is_none().then_some(e)
}
