//! Slices in brackets behind an index variable.
//!
//! ```text
//! slice = "[" [ integer ] ":" [ integer ] [ ":" [ integer ] ] "]"
//!       | "[" "{" integer { "," integer } "}" "]"
//! ```

use super::lex::Kind;
use super::slice::Slice;
use super::syntax::Parser;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// The largest number of members of a set; the code is as large as the set.
const MAX_MEMBERS: usize = 1000;

const EXAMPLE: &str = "a slice is written i[2:8], i[0:10:2] or i[{1,3,5}]";

impl Parser<'_> {
    /// The slice that starts at the next token, a bracket.
    pub(super) fn slice(&mut self) -> Result<Slice, Diagnostic> {
        if !self.starts_slice() {
            return Err(self.refuse_index());
        }
        self.eat("[");
        let slice = if self.next_is("{") { self.set()? } else { self.range()? };
        if !self.eat("]") {
            return Err(self.unexpected("]", EXAMPLE));
        }
        Ok(slice)
    }

    /// Whether the bracket contains a slice, not an access in the style of other languages.
    fn starts_slice(&self) -> bool {
        let inside = self.rest()[1..].iter().map(|t| t.kind).take_while(|k| *k != Kind::Sign("]"));
        let mut inside = inside.take_while(|k| !matches!(k, Kind::Separator | Kind::End));
        inside.any(|k| matches!(k, Kind::Sign(":" | "{")))
    }

    /// The diagnostic for a bracket without a slice.
    fn refuse_index(&self) -> Diagnostic {
        match self.rest()[1].kind {
            Kind::Integer(k) => {
                let message = "one coordinate is no slice";
                self.refuse(self.span(), message, &format!("write a set of one: i[{{{k}}}]"))
            }
            _ => self.refuse(self.span(), "indices stand in parentheses", "write A(i,j)"),
        }
    }

    fn range(&mut self) -> Result<Slice, Diagnostic> {
        let first = self.span();
        let start = self.bound()?;
        if !self.eat(":") {
            return Err(self.unexpected(":", EXAMPLE));
        }
        let end = self.bound()?;
        let step = if self.eat(":") { self.step()? } else { 1 };
        let backwards = match (start, end) {
            (Some(start), Some(end)) if step > 0 => start > end,
            (Some(start), Some(end)) => start < end,
            _ => false,
        };
        if backwards {
            let span = first.start..self.rest()[0].span.start;
            let (message, help) = match step > 0 {
                true => ("the slice starts after its end", "exchange the bounds"),
                false => {
                    ("the slice counts down from its lower bound", "write the higher bound first")
                }
            };
            return Err(self.refuse(span, message, help));
        }
        Ok(Slice::Range { start, end, step })
    }

    /// A bound of a range, if it is given.
    fn bound(&mut self) -> Result<Option<u64>, Diagnostic> {
        match self.kind() {
            Kind::Sign(":" | "]") => Ok(None),
            _ => self.member().map(Some),
        }
    }

    fn step(&mut self) -> Result<i64, Diagnostic> {
        let span = self.span();
        let negative = self.eat("-");
        match self.kind() {
            Kind::Sign("]") if !negative => Ok(1),
            Kind::Integer(0) => Err(self.refuse(span, "the step is 0", "steps are 1, 2, -1, ...")),
            _ => {
                let step = self.member()? as i64;
                Ok(if negative { -step } else { step })
            }
        }
    }

    fn set(&mut self) -> Result<Slice, Diagnostic> {
        let open = self.span();
        self.eat("{");
        if self.next_is("}") {
            let span = open.start..self.span().end;
            return Err(self.refuse(span, "the set has no members", "name at least one"));
        }
        let mut members: Vec<u64> = vec![];
        loop {
            let span = self.span();
            let member = self.member()?;
            match members.last() {
                Some(&last) if last == member => {
                    let message = format!("{member} is in the set twice");
                    return Err(self.refuse(span, &message, "name each coordinate once"));
                }
                Some(&last) if last > member => {
                    let message = "the members of a set ascend";
                    return Err(self.refuse(span, message, &format!("put {member} before {last}")));
                }
                _ if members.len() == MAX_MEMBERS => {
                    let message = format!("a set has at most {MAX_MEMBERS} members");
                    let help = "multiply by a tensor that picks them: P(i,k) * A(k,j)";
                    let refused = self.refuse(span, &message, help);
                    return Err(Diagnostic { code: Code::TooLarge, ..refused });
                }
                _ => members.push(member),
            }
            if !self.eat(",") {
                break;
            }
        }
        match self.eat("}") {
            true => Ok(Slice::Set(members)),
            false => Err(self.unexpected("a comma or }", EXAMPLE)),
        }
    }

    /// A coordinate.
    fn member(&mut self) -> Result<u64, Diagnostic> {
        let span = self.span();
        match self.kind() {
            Kind::Integer(x) if x <= i64::MAX as u64 => {
                self.advance();
                Ok(x)
            }
            Kind::Integer(_) => {
                let message = "the coordinate is beyond 2^63 - 1";
                Err(self.refuse(span, message, "leave the bound out to go to the end"))
            }
            Kind::Sign("-") => {
                let help = "count from 0, or leave the bound out to go to the end";
                Err(self.refuse(span, "coordinates are not negative", help))
            }
            _ => Err(self.unexpected("a whole number", EXAMPLE)),
        }
    }
}
