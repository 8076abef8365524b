//! Text to tokens of the imperative form.

use crate::diagnostic::{Code, Diagnostic};
use std::ops::Range;

/// A token and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// An identifier or a word of the grammar.
    Name,
    /// A number without its sign; `f` at its end makes it an `f32`, `u` a `u64`.
    Number,
    /// An operator, bracket or comma.
    Sign(&'static str),
    /// `# ..` to the end of the line.
    Comment,
    /// The end of the text.
    End,
}

/// Every sign, longer ones before their beginnings.
const SIGNS: [&str; 22] = [
    "..", "==", "!=", "<=", ">=", "&&", "=", "<", ">", "+", "-", "*", "/", "(", ")", "[", "]", "{",
    "}", ":", ";", ",",
];

/// The tokens of a text; the last is [`Kind::End`].
pub(super) fn lex(text: &str) -> Result<Vec<Token>, Diagnostic> {
    let (mut tokens, mut at) = (vec![], 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let (kind, length) = match (first, sign) {
            (c, _) if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            (c, _) if c == '_' || c.is_alphabetic() => {
                (Kind::Name, rest.find(|c: char| c != '_' && !c.is_alphanumeric()))
            }
            (c, _) if c.is_ascii_digit() => (Kind::Number, Some(number(rest))),
            ('#', _) => (Kind::Comment, rest.find('\n')),
            (_, Some(sign)) => (Kind::Sign(sign), Some(sign.len())),
            (c, None) => {
                let message = format!("{} has no meaning here", c.escape_debug());
                let diagnostic = Diagnostic::new(Code::Syntax, message);
                return Err(diagnostic.at(text, at..at + c.len_utf8()));
            }
        };
        let end = at + length.unwrap_or(rest.len());
        tokens.push(Token { kind, span: at..end });
        at = end;
    }
    tokens.push(Token { kind: Kind::End, span: at..at });
    Ok(tokens)
}

/// How long the number is that a text starts with. A point belongs to it only before a digit, so
/// that `0..n` is a range.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is = |at: usize, set: &[u8]| bytes.get(at).is_some_and(|b| set.contains(b));
    let digits = |mut at: usize| {
        while is(at, b"0123456789") {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if is(end, b".") && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    if is(end, b"e") {
        let exponent = end + 1 + usize::from(is(end + 1, b"+-"));
        if digits(exponent) > exponent {
            end = digits(exponent);
        }
    }
    end + usize::from(is(end, b"fu"))
}
