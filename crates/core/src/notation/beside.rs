//! The text to suggest where an operator is missing, or a value is between bars.
//!
//! ```text
//! 2 x(i)             write 2 * x(i)
//! sum(j) A(i,j)      write sum(j, A(i,j))
//! |x(i)|             write abs(x(i))
//! ```

use super::foreign::{self, Meaning};
use super::lex::Kind;
use super::syntax::{Node, Parser, Raw};
use super::words::builtin;
use tamis_ir::diagnostic::Diagnostic;

impl Parser<'_> {
    /// The text to suggest where a value follows another one without an operator.
    pub(super) fn beside(&mut self, left: &Raw) -> Option<String> {
        let (last, next) = (self.tokens.get(self.at.checked_sub(1)?)?, self.kind());
        let last = &self.source[last.span.clone()];
        if !matches!(next, Kind::Name | Kind::Integer(_) | Kind::Float(_) | Kind::Sign("(")) {
            return None;
        }
        let at = self.at;
        let right = self.factor();
        let ends = !self.next_is("=");
        self.at = at;
        let right = &self.source[right.ok().filter(|_| ends)?.span];
        let own = &self.source[left.span.clone()];
        let product = format!("write {own} * {right}");
        Some(match &left.node {
            _ if builtin(last).is_some() => format!("write {last}({right})"),
            Node::Name if matches!(foreign::infix(own), Some((_, Meaning::Condition))) => {
                "a value on a condition is written (x(i) > 0) * x(i)".to_owned()
            }
            Node::Name => match own.split_once('_') {
                Some((name, var)) if builtin(name).is_some() => {
                    format!("write {name}({var}, {right})")
                }
                _ => product,
            },
            Node::Group(inner) if foreign::is_type(&self.source[inner.span.clone()]) => {
                foreign::TYPE.to_owned()
            }
            Node::Call { name, .. } if builtin(&self.source[name.clone()]).is_some() => {
                format!("write {}, {right})", own.trim_end_matches(')'))
            }
            Node::Call { name, .. } if next == Kind::Sign("(") => {
                format!("{product}, or {}(i,j) for an element", &self.source[name.clone()])
            }
            _ => product,
        })
    }

    /// An absolute value between bars, or a missing value before a bar.
    pub(super) fn between_bars(&self) -> Diagnostic {
        let bar = self.span();
        let rest = &self.source[bar.end..];
        let ends_value = |text: &str| text.ends_with(|c: char| c.is_alphanumeric() || c == ')');
        let help = match rest.find('|').filter(|_| bar.len() == 1) {
            Some(end) if ends_value(rest[..end].trim()) => {
                format!("write abs({})", rest[..end].trim())
            }
            Some(_) => "write abs(..)".to_owned(),
            None => foreign::between(Meaning::Function("or"), "x", "y"),
        };
        let sign = &self.source[bar.clone()];
        self.refuse(bar.clone(), &format!("{sign} has no meaning here"), &help)
    }
}
