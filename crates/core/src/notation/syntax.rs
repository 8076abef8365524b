//! Tokens to statements whose names have no meaning yet.
//!
//! ```text
//! program    = statement { (";" | newline) statement }
//! statement  = target ("=" | "+=" | "-=" | "*=" | name "=") expression
//! expression = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
//! sum        = product { ("+" | "-") product }
//! product    = factor { ("*" | "/") factor }
//! factor     = "-" factor | number | name [ "(" [ index { "," index } ] ")" ]
//!            | "(" expression ")"
//! index      = expression | name slice
//! ```

use super::foreign::{self, Meaning, Strength};
use super::lex::{Kind, Token, lex};
use super::slice::Slice;
use super::words::builtin;
use std::ops::Range;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// How deep an expression may be nested, and how many operands a chain may have: everything that
/// walks an expression recurses, and must not exhaust the stack.
pub(super) const MAX_DEPTH: usize = 200;

/// What operators there are.
const OPERATORS: &str = "operators are + - * / == != < <= > >=; statements are separated by ;";

/// The largest number of statements in a program.
const MAX_STATEMENTS: usize = 1000;

/// A statement before names are resolved.
#[derive(Debug)]
pub(super) struct RawStatement {
    /// A [`Node::Name`] or [`Node::Call`].
    pub target: Raw,
    /// The sign or name before `=`, if any.
    pub accumulate: Option<Range<usize>>,
    pub value: Raw,
    pub span: Range<usize>,
}

/// An expression before names are resolved.
#[derive(Debug)]
pub(super) struct Raw {
    pub node: Node,
    pub span: Range<usize>,
    /// An upper bound of the tree's height.
    height: usize,
}

/// The root of an expression.
#[derive(Debug)]
pub(super) enum Node {
    Number(Scalar),
    Name,
    /// An index variable and its slice.
    Sliced {
        name: Range<usize>,
        slice: Slice,
    },
    Call {
        name: Range<usize>,
        args: Vec<Raw>,
    },
    /// Parentheses: kept because `min((j), 2)` is the minimum, while `min(j, 2)` reduces.
    Group(Box<Raw>),
    Negate(Box<Raw>),
    Binary(BinaryOp, Box<Raw>, Box<Raw>),
}

/// Reads the statements of a text; at least one.
pub(super) fn statements(source: &str) -> Result<Vec<RawStatement>, Diagnostic> {
    let mut parser = Parser { source, tokens: lex(source)?, at: 0, depth: 0 };
    let mut statements = vec![];
    loop {
        while parser.kind() == Kind::Separator {
            parser.at += 1;
        }
        if parser.kind() == Kind::End {
            break;
        }
        if statements.len() == MAX_STATEMENTS {
            let message = format!("a program has at most {MAX_STATEMENTS} statements");
            let help = "split it into several programs";
            let refused = parser.refuse(parser.span(), &message, help);
            return Err(Diagnostic { code: Code::TooLarge, ..refused });
        }
        statements.push(parser.statement()?);
    }
    if statements.is_empty() {
        let help = "write a statement: y(i) = A(i,j) * x(j)";
        return Err(parser.refuse(0..source.len(), "there is no statement", help));
    }
    Ok(statements)
}

pub(super) struct Parser<'t> {
    pub(super) source: &'t str,
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    depth: usize,
}

impl Parser<'_> {
    pub(super) fn kind(&self) -> Kind {
        self.tokens[self.at].kind
    }

    /// The tokens from the next one on.
    pub(super) fn rest(&self) -> &[Token] {
        &self.tokens[self.at..]
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.tokens[self.at].span.clone()
    }

    pub(super) fn next_is(&self, sign: &str) -> bool {
        matches!(self.kind(), Kind::Sign(s) if s == sign)
    }

    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let found = self.next_is(sign);
        self.at += usize::from(found);
        found
    }

    /// The operator of the next token, if it is one of these.
    fn operator(&self, of: &[BinaryOp]) -> Option<BinaryOp> {
        of.iter().copied().find(|op| self.next_is(op.name()))
    }

    pub(super) fn refuse(&self, span: Range<usize>, message: &str, help: &str) -> Diagnostic {
        Diagnostic::new(Code::Syntax, message).at(self.source, span).help(help)
    }

    /// The diagnostic for a token that the grammar does not allow here.
    pub(super) fn unexpected(&self, wanted: &str, help: &str) -> Diagnostic {
        if let Kind::Sign(sign) = self.kind()
            && let Some((_, meaning)) = foreign::infix(sign)
        {
            let message = format!("{sign} has no meaning here");
            return self.refuse(self.span(), &message, &foreign::between(meaning, "x", "y"));
        }
        let found = match self.kind() {
            Kind::End => "the end of the text".to_owned(),
            Kind::Separator => "the end of the statement".to_owned(),
            _ => self.source[self.span()].to_owned(),
        };
        self.refuse(self.span(), &format!("expected {wanted}, found {found}"), help)
    }

    fn statement(&mut self) -> Result<RawStatement, Diagnostic> {
        let start = self.span().start;
        let example = "a statement is written y(i) = A(i,j) * x(j)";
        if self.kind() != Kind::Name {
            return Err(self.unexpected("the tensor to compute", example));
        }
        let target = self.named()?;
        let accumulate = self.assignment()?;
        let value = self.expression()?;
        match self.kind() {
            Kind::End | Kind::Separator => {}
            Kind::Sign("=") => {
                let help = "equality is written ==; one statement assigns once";
                return Err(self.unexpected("an operator or the end of the statement", help));
            }
            _ => {
                let wanted = "an operator or the end of the statement";
                let help = self.beside(&value).unwrap_or_else(|| OPERATORS.to_owned());
                return Err(self.unexpected(wanted, &help));
            }
        }
        let span = start..value.span.end;
        let subtracts = accumulate.as_ref().is_some_and(|sign| &self.source[sign.clone()] == "-");
        let value = if subtracts { self.negated(value.span.start, value)? } else { value };
        Ok(RawStatement { target, accumulate, value, span })
    }

    /// `=`, or the sign or name before it in `+=`, `min=`.
    fn assignment(&mut self) -> Result<Option<Range<usize>>, Diagnostic> {
        let span = self.span();
        let target = self.source[..span.start].rsplit([';', '\n']).next().unwrap_or("").trim();
        match self.kind() {
            Kind::Sign("=") => {
                self.at += 1;
                Ok(None)
            }
            Kind::Sign("+=" | "-=" | "*=") => {
                self.at += 1;
                Ok(Some(span.start..span.end - 1))
            }
            Kind::Name if self.tokens[self.at + 1].kind == Kind::Sign("=") => {
                self.at += 2;
                Ok(Some(span))
            }
            Kind::Sign("/=") => Err(self.unexpected("=", &format!("write {target} *= 1 / (...)"))),
            Kind::Sign(":" | "-" | "<" | "==") => {
                Err(self.unexpected("=", &format!("write {target} = ...")))
            }
            Kind::End | Kind::Separator => Err(self.unexpected("=", "write y(i) = ...")),
            Kind::Sign(",") => {
                let help =
                    "one statement computes one tensor, with its indices: y(i) = A(i,j) * x(j)";
                Err(self.unexpected("=", help))
            }
            Kind::Name if foreign::infix(&self.source[span.clone()]).is_none() => {
                Err(self.unexpected("=", "a statement is written y(i) = A(i,j) * x(j)"))
            }
            _ => Err(self.unexpected("=", "assignments are = += -= *= min= max= or= and=")),
        }
    }

    fn expression(&mut self) -> Result<Raw, Diagnostic> {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        const COMPARISONS: [BinaryOp; 6] = [Eq, Ne, Lt, Le, Gt, Ge];
        let left = self.sum()?;
        self.own_operator(&left, Strength::Comparison)?;
        let Some(op) = self.operator(&COMPARISONS) else {
            self.own_operator(&left, Strength::Logic)?;
            return Ok(left);
        };
        self.at += 1;
        let right = self.sum()?;
        if self.operator(&COMPARISONS).is_some() {
            let help = "write and(a < b, b < c), or parentheses";
            return Err(self.refuse(self.span(), "comparisons do not chain", help));
        }
        let compared = self.binary(op, left, right)?;
        self.own_operator(&compared, Strength::Logic)?;
        Ok(compared)
    }

    fn sum(&mut self) -> Result<Raw, Diagnostic> {
        let mut left = self.product()?;
        while let Some(op) = self.operator(&[BinaryOp::Add, BinaryOp::Sub]) {
            self.at += 1;
            let right = self.product()?;
            left = self.binary(op, left, right)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Raw, Diagnostic> {
        let mut left = self.factor()?;
        while let Some(op) = self.operator(&[BinaryOp::Mul, BinaryOp::Div]) {
            self.at += 1;
            let right = self.factor()?;
            left = self.binary(op, left, right)?;
        }
        self.own_operator(&left, Strength::Product)?;
        Ok(left)
    }

    pub(super) fn factor(&mut self) -> Result<Raw, Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.too_deep(self.span()));
        }
        let factor = match self.kind() {
            Kind::Name => self.named(),
            Kind::Integer(_) | Kind::Float(_) | Kind::Imaginary(_) => self.number(1),
            Kind::Sign("-") => self.negation(),
            Kind::Sign("(") => self.group(),
            Kind::Sign("|" | "||") => Err(self.between_bars()),
            Kind::Sign("+") => Err(self.unexpected("a value", "a plus sign needs a left operand")),
            _ => Err(self.unexpected("a value", "values are numbers, A(i,j), i, or (...)")),
        };
        self.depth -= 1;
        let factor = factor?;
        self.own_operator(&factor, Strength::Power)?;
        Ok(factor)
    }

    /// Refuses an operator of another language that binds this tightly, with a suggestion.
    fn own_operator(&mut self, left: &Raw, strength: Strength) -> Result<(), Diagnostic> {
        let span = self.span();
        let sign = &self.source[span.clone()];
        let Some((_, meaning)) = foreign::infix(sign).filter(|(s, _)| *s == strength) else {
            return Ok(());
        };
        self.at += 1;
        let text = |raw: &Raw| &self.source[raw.span.clone()];
        let left = text(left);
        let is_transpose = strength == Strength::Power && self.source[self.span()] == *"T";
        let right = match strength {
            _ if is_transpose => self.named(),
            Strength::Power => self.factor(),
            Strength::Product => self.product(),
            Strength::Comparison => self.sum(),
            Strength::Logic => self.expression(),
        };
        let right = right.map_or("y", |right| &self.source[right.span]);
        let second = |parser: &mut Self| {
            let is_colon = parser.eat(":");
            let is_else = !is_colon && parser.source[parser.span()] == *"else";
            parser.at += usize::from(is_else);
            let value = parser.expression().ok().filter(|_| is_colon || is_else);
            value.map_or("0", |value| &parser.source[value.span])
        };
        let help = match meaning {
            _ if is_transpose => foreign::TRANSPOSE.to_owned(),
            Meaning::Choice => format!("write {}", foreign::chosen(left, right, second(self))),
            Meaning::Condition => format!("write {}", foreign::chosen(right, left, second(self))),
            _ => foreign::between(meaning, left, right),
        };
        let message = match sign.starts_with(char::is_alphabetic) {
            true => format!("{sign} does not stand between values"),
            false => format!("{sign} has no meaning here"),
        };
        Err(self.refuse(span, &message, &help))
    }

    /// A minus sign belongs to a number that follows, so that every number can be written.
    fn negation(&mut self) -> Result<Raw, Diagnostic> {
        let start = self.span().start;
        self.at += 1;
        if matches!(self.kind(), Kind::Integer(_) | Kind::Float(_) | Kind::Imaginary(_)) {
            let number = self.number(-1)?;
            return Ok(Raw { span: start..number.span.end, ..number });
        }
        let operand = self.factor()?;
        self.negated(start, operand)
    }

    /// An expression with its sign changed, which begins at `start`.
    fn negated(&self, start: usize, operand: Raw) -> Result<Raw, Diagnostic> {
        let (span, height) = (start..operand.span.end, operand.height + 1);
        self.bounded(Raw { node: Node::Negate(Box::new(operand)), span, height })
    }

    fn group(&mut self) -> Result<Raw, Diagnostic> {
        let start = self.span().start;
        self.at += 1;
        let inner = self.expression()?;
        self.close()?;
        let span = start..self.tokens[self.at - 1].span.end;
        let height = inner.height;
        Ok(Raw { node: Node::Group(Box::new(inner)), span, height })
    }

    fn close(&mut self) -> Result<(), Diagnostic> {
        match self.eat(")") {
            true => Ok(()),
            false if matches!(self.kind(), Kind::Name | Kind::Integer(_) | Kind::Float(_)) => {
                Err(self.unexpected("an operator or )", OPERATORS))
            }
            false => Err(self.unexpected("an operator or )", "a parenthesis is not closed")),
        }
    }

    fn number(&mut self, sign: i64) -> Result<Raw, Diagnostic> {
        let span = self.span();
        let scalar = match self.kind() {
            Kind::Integer(x) => match i64::try_from(i128::from(x) * i128::from(sign)) {
                Ok(x) => Scalar::I64(x),
                Err(_) if sign > 0 => Scalar::U64(x),
                Err(_) => {
                    let help = "write it with a point";
                    return Err(self.refuse(span, "the integer is below -2^63", help));
                }
            },
            Kind::Float(x) => Scalar::F64(if sign < 0 { -x } else { x }),
            Kind::Imaginary(x) => Scalar::C128([0.0, if sign < 0 { -x } else { x }]),
            _ => return Err(self.unexpected("a number", "numbers are written 2, 0.5 or 1e-3")),
        };
        self.at += 1;
        Ok(Raw { node: Node::Number(scalar), span, height: 1 })
    }

    /// A name, and its arguments or slice.
    fn named(&mut self) -> Result<Raw, Diagnostic> {
        let name = self.span();
        self.at += 1;
        if self.next_is("[") {
            let slice = self.slice()?;
            let span = name.start..self.tokens[self.at - 1].span.end;
            return Ok(Raw { node: Node::Sliced { name, slice }, span, height: 1 });
        }
        if !self.eat("(") {
            return Ok(Raw { node: Node::Name, span: name, height: 1 });
        }
        let mut args = vec![];
        if !self.eat(")") {
            args.push(self.argument(&name)?);
            while self.eat(",") {
                args.push(self.argument(&name)?);
            }
            if self.next_is("=") && builtin(&self.source[name.clone()]).is_some() {
                let help = "an argument has no name; reductions name variables: sum(j, A(i,j))";
                return Err(self.unexpected("an operator or )", help));
            }
            self.close()?;
        }
        let span = name.start..self.tokens[self.at - 1].span.end;
        // Functions of many arguments become chains with one level per argument.
        let height = args.len() + args.iter().map(|a| a.height).max().unwrap_or(0) + 1;
        self.bounded(Raw { node: Node::Call { name, args }, span, height })
    }

    /// An argument of a function or an index. A range of coordinates is not one of them: `A(i,0:2)` is `A(i,k[0:2])`.
    fn argument(&mut self, name: &Range<usize>) -> Result<Raw, Diagnostic> {
        let start = self.span().start;
        let value = if self.next_is(":") { None } else { Some(self.expression()?) };
        if let (Some(value), false) = (value, self.next_is(":")) {
            return Ok(value);
        }
        let own = &self.source[name.clone()];
        let indices = self.arguments_of(name);
        let help =
            foreign::in_slices(self.source, own, indices.iter().map(|i| &self.source[i.clone()]));
        let range = indices.into_iter().find(|i| i.contains(&start)).unwrap_or(self.span());
        Err(self.refuse(range, "an index has to be a variable", &format!("write {help}")))
    }

    /// The locations of a name's arguments, whatever they are.
    fn arguments_of(&self, name: &Range<usize>) -> Vec<Range<usize>> {
        let tokens = self.tokens.iter().skip_while(|t| t.span.start <= name.start).skip(1);
        let (mut found, mut open) = (vec![], 0);
        let mut own: Option<Range<usize>> = None;
        for t in tokens {
            match t.kind {
                Kind::Sign("(" | "[" | "{") => open += 1,
                Kind::Sign("]" | "}") => open -= 1,
                Kind::Sign(")") if open > 0 => open -= 1,
                Kind::Sign(",") if open == 0 => {
                    found.extend(own.take());
                    continue;
                }
                Kind::Sign(")") | Kind::End | Kind::Separator => break,
                _ => {}
            }
            own = Some(own.map_or(t.span.start, |own| own.start)..t.span.end);
        }
        found.extend(own);
        found
    }

    fn binary(&self, op: BinaryOp, left: Raw, right: Raw) -> Result<Raw, Diagnostic> {
        let span = left.span.start..right.span.end;
        let height = 1 + left.height.max(right.height);
        self.bounded(Raw { node: Node::Binary(op, Box::new(left), Box::new(right)), span, height })
    }

    fn bounded(&self, raw: Raw) -> Result<Raw, Diagnostic> {
        match raw.height > MAX_DEPTH {
            true => Err(self.too_deep(raw.span)),
            false => Ok(raw),
        }
    }

    fn too_deep(&self, span: Range<usize>) -> Diagnostic {
        let message =
            format!("the expression is nested more than {MAX_DEPTH} deep or has as long a chain");
        let help = "split it into several statements";
        Diagnostic { code: Code::TooLarge, ..self.refuse(span, &message, help) }
    }
}
