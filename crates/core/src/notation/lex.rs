//! Text to tokens of index notation.
//!
//! A newline separates statements like `;`, unless a parenthesis is open, the line ends in an operator, or the next
//! line starts with one. A comment starts with `#` and ends with the line.

use super::foreign;
use std::ops::Range;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// A token and its location.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub span: Range<usize>,
}

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    /// An identifier.
    Name,
    /// A number without point or exponent, without its sign.
    Integer(u64),
    /// A number with point or exponent, or infinity, without its sign.
    Float(f64),
    /// The number before a `j`, without its sign.
    Imaginary(f64),
    /// An operator, parenthesis or comma.
    Sign(&'static str),
    /// A semicolon or a newline that ends a statement.
    Separator,
    /// The end of the text.
    End,
}

/// Every sign, longer ones before their prefixes.
const SIGNS: [&str; 23] = [
    "==", "!=", "<=", ">=", "+=", "*=", "-=", "/=", "+", "-", "*", "/", "=", "<", ">", "(", ")",
    ",", "[", "]", "{", "}", ":",
];

/// Signs of other languages with one operand, and the text to suggest.
const FOREIGN: [(char, &str); 11] = [
    ('!', "write not(x), or x != y"),
    ('~', "write not(x)"),
    ('\u{ac}', "write not(x)"),
    ('\'', foreign::TRANSPOSE),
    ('\u{221a}', "write sqrt(x)"),
    ('\u{b2}', "write square(x)"),
    ('\u{b3}', "write pow(x, 3)"),
    ('\u{2211}', "write sum(j, A(i,j))"),
    ('\u{220f}', "write prod(j, A(i,j))"),
    ('\\', "a sum is written sum(j, A(i,j)); index notation solves no systems"),
    ('"', "there are no texts in index notation: names stand without quotes"),
];

/// The tokens of a text; the last is [`Kind::End`].
pub(super) fn lex(source: &str) -> Result<Vec<Token>, Diagnostic> {
    let mut lexer = Lexer { source, at: 0, tokens: vec![], open: 0, newline: None };
    while lexer.step()? {}
    Ok(lexer.tokens)
}

/// Whether a text is one identifier.
pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(starts_name) && chars.all(continues_name)
}

fn starts_name(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn continues_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

struct Lexer<'t> {
    source: &'t str,
    at: usize,
    tokens: Vec<Token>,
    /// The number of open parentheses.
    open: usize,
    /// The end of the last token's line, if no token followed yet.
    newline: Option<usize>,
}

impl Lexer<'_> {
    /// Reads one token or blank; returns whether there may be more.
    fn step(&mut self) -> Result<bool, Diagnostic> {
        let rest = &self.source[self.at..];
        let Some(first) = rest.chars().next() else {
            self.push(Kind::End, 0);
            return Ok(false);
        };
        if first.is_whitespace() {
            if first == '\n' && self.open == 0 {
                self.newline.get_or_insert(self.at);
            }
            self.at += first.len_utf8();
        } else if first == '#' {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if starts_name(first) {
            let length = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
            let kind = match &rest[..length] {
                "inf" => Kind::Float(f64::INFINITY),
                "infj" => Kind::Imaginary(f64::INFINITY),
                _ => Kind::Name,
            };
            self.push(kind, length);
        } else if first.is_ascii_digit() || first == '.' && foreign::sign(rest).is_none() {
            self.number(rest)?;
        } else if first == ';' {
            self.push(Kind::Separator, 1);
        } else {
            self.sign(rest, first)?;
        }
        Ok(true)
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let ends = |kind| match kind {
            Kind::Name | Kind::Integer(_) | Kind::Float(_) | Kind::Imaginary(_) => true,
            Kind::Sign(sign) => sign == ")",
            Kind::Separator | Kind::End => false,
        };
        let newline = self.newline.take();
        if let (Some(at), Kind::Name) = (newline, kind)
            && self.tokens.last().is_some_and(|last| ends(last.kind))
        {
            self.tokens.push(Token { kind: Kind::Separator, span: at..at + 1 });
        }
        self.tokens.push(Token { kind, span: self.at..self.at + length });
        self.at += length;
    }

    fn sign(&mut self, rest: &str, first: char) -> Result<(), Diagnostic> {
        let own = || SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let Some(sign) = foreign::sign(rest).or_else(own) else {
            let help = FOREIGN.into_iter().find(|(c, _)| *c == first).map_or(
                "expressions are made of names, numbers, ( ) , = + - * / and comparisons",
                |(_, help)| help,
            );
            let message = match first.is_control() {
                true => "a control character has no meaning here".to_owned(),
                false => format!("{first} has no meaning here"),
            };
            let span = self.at..self.at + first.len_utf8();
            return Err(Diagnostic::new(Code::Syntax, message).at(self.source, span).help(help));
        };
        match sign {
            "(" => self.open += 1,
            ")" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.push(Kind::Sign(sign), sign.len());
        Ok(())
    }

    fn number(&mut self, rest: &str) -> Result<(), Diagnostic> {
        let digits = |from: usize| {
            let tail = &rest[from..];
            from + tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len())
        };
        let whole = digits(0);
        let mut end = whole;
        if rest[end..].starts_with('.') {
            end = digits(end + 1);
        }
        let signed = |at: usize| at + usize::from(rest[at..].starts_with(['+', '-']));
        if rest[end..].starts_with(['e', 'E']) && digits(signed(end + 1)) > signed(end + 1) {
            end = digits(signed(end + 1));
        }
        let refuse = |length: usize, message: &str, help: &str| {
            let span = self.at..self.at + length;
            Err(Diagnostic::new(Code::Syntax, message).at(self.source, span).help(help))
        };
        let glued =
            rest[end..].find(|c| !continues_name(c) && c != '.').unwrap_or(rest.len() - end);
        let number = &rest[..end];
        let imaginary = rest[end..end + glued] == *"j" && number != ".";
        if glued > 0 && !imaginary || number == "." {
            let letters = &rest[end..end + glued];
            if number == "." && letters.starts_with(starts_name) {
                let message = "a point belongs to a number, and this one does not";
                let before = self.tokens.last().map(|token| &self.source[token.span.clone()]);
                let help = foreign::behind_point(before, letters);
                return refuse(end + glued, message, &help);
            }
            let message = "a number is followed by something that does not belong to it";
            let help = foreign::number(&rest[..end + glued], number);
            return refuse(end + glued, message, &help);
        }
        let kind = if imaginary {
            number.parse().map(Kind::Imaginary).ok()
        } else if end == whole {
            number.parse().map(Kind::Integer).ok()
        } else {
            number.parse().map(Kind::Float).ok()
        };
        match kind {
            Some(Kind::Float(x) | Kind::Imaginary(x)) if x.is_infinite() => {
                let help = if imaginary { "write infj" } else { "write inf" };
                return refuse(end + glued, "the number is beyond 1.8e308, the largest", help);
            }
            Some(kind) => self.push(kind, end + glued),
            None => return refuse(end, "the integer is too large", "write it with a point"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expect: &[&str]) {
        let tokens = lex(source).unwrap();
        let shown: Vec<&str> = tokens
            .iter()
            .map(|t| if t.kind == Kind::Separator { ";" } else { &source[t.span.clone()] })
            .collect();
        assert_eq!(shown, [expect, &[""]].concat());
    }

    #[test]
    fn names_numbers_and_signs() {
        check("y(i)+=2*é_1", &["y", "(", "i", ")", "+=", "2", "*", "é_1"]);
        check("1e-3 .5 2. 1.e5 3E2 a<=b", &["1e-3", ".5", "2.", "1.e5", "3E2", "a", "<=", "b"]);
        check("2j*.5j", &["2j", "*", ".5j"]);
    }

    #[test]
    fn a_newline_separates_where_a_statement_may_end() {
        check("a = b\nc = d\n", &["a", "=", "b", ";", "c", "=", "d"]);
        check("a = b +\r\nc", &["a", "=", "b", "+", "c"]);
        check("a = b\n\n + c", &["a", "=", "b", "+", "c"]);
        check("a = f(b\n c)", &["a", "=", "f", "(", "b", "c", ")"]);
    }

    #[test]
    fn comments_end_with_their_line() {
        check("# all; (\na = b # one\n# two\nc = d#", &["a", "=", "b", ";", "c", "=", "d"]);
        check("a = f(b, # a factor (\n c)", &["a", "=", "f", "(", "b", ",", "c", ")"]);
        check("# none", &[]);
    }

    #[test]
    fn what_is_not_a_token_is_refused() {
        for text in ["a = 2x", "a = 1.2.3", "a = b' + 2", "a = .", "a = 99999999999999999999", "\0"]
        {
            assert_eq!(lex(text).unwrap_err().code, Code::Syntax, "{text}");
        }
    }
}
