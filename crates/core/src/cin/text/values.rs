//! Statements and values of the text.

use super::parse::CinParser;
use super::reader::Reader;
use crate::cin::Stmt;
use crate::notation::{Access, Expr, Slice, Slicing, Within};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, Mode, UserOp};

impl CinParser {
    /// A statement.
    pub(crate) fn stmt(&mut self, line: &mut Reader<'_>) -> Result<Stmt, Diagnostic> {
        if line.eat("forall(") {
            let var = self.var(line)?;
            line.expect(",")?;
            let body = Box::new(self.stmt(line)?);
            line.expect(")")?;
            return Ok(Stmt::Forall { var, body });
        }
        if line.eat("where(") {
            let consumer = Box::new(self.stmt(line)?);
            line.expect(",")?;
            let producer = Box::new(self.stmt(line)?);
            line.expect(")")?;
            return Ok(Stmt::Where { consumer, producer });
        }
        if line.eat("sequence(") {
            let mut parts = vec![];
            while !line.eat(")") {
                if !parts.is_empty() {
                    line.expect(",")?;
                }
                parts.push(self.stmt(line)?);
            }
            return Ok(Stmt::Sequence(parts));
        }
        if line.eat("within(") {
            let pattern = self.access(line)?;
            line.expect(",")?;
            let body = Box::new(self.stmt(line)?);
            line.expect(")")?;
            return Ok(Stmt::Within { pattern, body });
        }
        self.assignment(line)
    }

    fn assignment(&mut self, line: &mut Reader<'_>) -> Result<Stmt, Diagnostic> {
        let lhs = self.access(line)?;
        let op = match line.eat("=") {
            true => None,
            false => {
                let op = self.reduction(line, |op| op.binary().name())?;
                line.expect("=")?;
                Some(op)
            }
        };
        Ok(Stmt::Assign { lhs, op, rhs: self.expr(line)? })
    }

    /// A reduction operator, by one of its names.
    fn reduction(
        &mut self,
        line: &mut Reader<'_>,
        name: fn(ReduceOp) -> &'static str,
    ) -> Result<ReduceOp, Diagnostic> {
        if let Some(op) = ReduceOp::ALL.into_iter().find(|op| line.eat(name(*op))) {
            return Ok(op);
        }
        let word = line.name()?;
        let user = self.operator_of(word).map(ReduceOp::User);
        user.ok_or_else(|| line.refuse(&format!("no operator has the name {word}")))
    }

    fn operator_of(&self, name: &str) -> Option<UserOp> {
        self.program.operators.enumerate().find(|(_, op)| op.name == name).map(|(id, _)| id)
    }

    /// A use of a tensor.
    pub(crate) fn access(&mut self, line: &mut Reader<'_>) -> Result<Access, Diagnostic> {
        let mut access = Access::of(self.tensor(line)?, vec![]);
        if !line.eat("(") {
            return Ok(access);
        }
        loop {
            let mode = Mode::new(access.indices.len());
            access.indices.push(self.var(line)?);
            if line.eat("->") {
                access.slices.insert(mode, Slicing::Placed(self.slice(line)?));
            } else if line.rest().starts_with('[') {
                access.slices.insert(mode, Slicing::Taken(self.slice(line)?));
            }
            if line.eat(")") {
                return Ok(access);
            }
            line.expect(",")?;
        }
    }

    fn slice(&mut self, line: &mut Reader<'_>) -> Result<Slice, Diagnostic> {
        line.expect("[")?;
        if line.eat("{") {
            let mut members = vec![line.integer()?];
            while line.eat(",") {
                members.push(line.integer()?);
            }
            line.expect("}")?;
            line.expect("]")?;
            return Ok(Slice::Set(members));
        }
        let bound =
            |line: &mut Reader<'_>| match line.rest().starts_with(|c: char| c.is_ascii_digit()) {
                true => line.integer().map(Some),
                false => Ok(None),
            };
        let start = bound(line)?;
        line.expect(":")?;
        let end = bound(line)?;
        let step = match line.eat(":") {
            true => {
                let negative = line.eat("-");
                let step = i64::try_from(line.integer()?)
                    .map_err(|_| line.refuse("the step is too large"))?;
                if negative { -step } else { step }
            }
            false => 1,
        };
        line.expect("]")?;
        Ok(Slice::Range { start, end, step })
    }

    /// A value: an operand, or two with an infix operator between them.
    pub(super) fn expr(&mut self, line: &mut Reader<'_>) -> Result<Expr, Diagnostic> {
        let left = self.operand(line)?;
        // Longer operators before their prefixes.
        let mut infix: Vec<BinaryOp> =
            BinaryOp::ALL.into_iter().filter(|op| is_infix(*op)).collect();
        infix.sort_by_key(|op| std::cmp::Reverse(op.name().len()));
        match infix.into_iter().find(|op| line.eat(op.name())) {
            None => Ok(left),
            Some(op) => Ok(Expr::Binary(op, Box::new(left), Box::new(self.operand(line)?))),
        }
    }

    fn operand(&mut self, line: &mut Reader<'_>) -> Result<Expr, Diagnostic> {
        if line.eat("(") {
            let inner = self.expr(line)?;
            line.expect(")")?;
            return Ok(inner);
        }
        if line.eat("@") {
            return Ok(Expr::Index(self.var(line)?));
        }
        if line.eat("$") {
            return Ok(Expr::Param(line.integer()? as usize));
        }
        if let Some(text) = line.number() {
            let known = number(text).map(Expr::Literal);
            return known.ok_or_else(|| line.refuse(&format!("{text} is no number")));
        }
        if line.eat("reduce") {
            let op = self.reduction(line, ReduceOp::name)?;
            line.expect("(")?;
            let vars = self.names_until(line, ";")?;
            let body = Box::new(self.expr(line)?);
            line.expect(")")?;
            return Ok(Expr::Reduce { op, vars, body });
        }
        if line.eat("choose(") {
            return self.choose(line);
        }
        if line.eat("complex(") {
            let re = self.constant(line)?;
            line.expect(",")?;
            let im = self.constant(line)?;
            line.expect(")")?;
            return Ok(Expr::Literal(Scalar::complex(re, im)));
        }
        match self.tensors.contains_key(line.peek()) {
            true => self.access(line).map(Expr::Access),
            false => self.call(line),
        }
    }

    /// A function of one or two operands.
    fn call(&mut self, line: &mut Reader<'_>) -> Result<Expr, Diagnostic> {
        let name = line.name()?;
        line.expect("(")?;
        let first = Box::new(self.expr(line)?);
        let second = if line.eat(",") { Some(Box::new(self.expr(line)?)) } else { None };
        line.expect(")")?;
        let named = |op: &BinaryOp| op.name() == name && !is_infix(*op);
        let unary = |op: &UnaryOp| op.name() == name || (*op == UnaryOp::Neg && name == "neg");
        let found = match second {
            Some(second) => BinaryOp::ALL
                .into_iter()
                .find(named)
                .or_else(|| self.operator_of(name).map(BinaryOp::User))
                .map(|op| Expr::Binary(op, first, second)),
            None => match UnaryOp::ALL.into_iter().find(unary) {
                Some(op) => Some(Expr::Unary(op, first)),
                None => self.operator_of(name).map(|op| Expr::UserUnary(op, first)),
            },
        };
        found.ok_or_else(|| line.refuse(&format!("no function has the name {name}")))
    }

    fn choose(&mut self, line: &mut Reader<'_>) -> Result<Expr, Diagnostic> {
        let mut within = vec![];
        while line.eat("slice") {
            let var = self.var(line)?;
            line.expect("by")?;
            let counter = self.var(line)?;
            within.push(Within { var, counter, slice: self.slice(line)? });
            line.expect(";")?;
        }
        let then = Box::new(self.expr(line)?);
        line.expect(";")?;
        let otherwise = Box::new(self.expr(line)?);
        line.expect(")")?;
        Ok(Expr::Choose { within, then, otherwise })
    }
}

fn is_infix(op: BinaryOp) -> bool {
    !op.name().starts_with(char::is_alphabetic)
}

/// A constant from its text: see [`literal`](super::print::literal).
fn number(text: &str) -> Option<Scalar> {
    if let Some(word) = text.strip_prefix('#') {
        return match word {
            "true" | "false" => Some(Scalar::Bool(word == "true")),
            _ => match word.strip_suffix("_f32") {
                Some(word) => word.parse().ok().map(Scalar::F32),
                None => word.parse().ok().map(Scalar::F64),
            },
        };
    }
    if let Some(text) = text.strip_suffix('f') {
        return text.parse().ok().map(Scalar::F32);
    }
    if let Some(text) = text.strip_suffix('u') {
        return text.parse().ok().map(Scalar::U64);
    }
    match text.contains(['.', 'e']) {
        true => text.parse().ok().map(Scalar::F64),
        false => text.parse().ok().map(Scalar::I64),
    }
}
