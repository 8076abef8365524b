//! Fortran formats such as `(26I3)` or `(1P,5D16.8)`, and fields of fixed width.
//!
//! A scale factor and the number of decimals are read but not applied: numbers in these files
//! carry a decimal point or an exponent, and the programs that write them without mean them as
//! they stand.

use crate::cursor::{Cursor, shown};
use crate::error::{FileErrorCode, Flaw, Parsed};

/// So many fields of so many bytes in each line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Format {
    pub repeat: usize,
    pub width: usize,
}

impl Format {
    /// The meaning of a format with its parentheses.
    pub fn parse(text: &[u8]) -> Option<Format> {
        let (mut repeat, mut number, mut found) = (1usize, None::<usize>, None);
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte.to_ascii_uppercase() {
                digit @ b'0'..=b'9' => {
                    let digit = usize::from(digit - b'0');
                    number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(digit)?);
                }
                b'P' => number = None,
                b'(' => repeat = repeat.checked_mul(number.take().unwrap_or(1))?,
                b'I' | b'E' | b'D' | b'F' | b'G' if found.is_none() => {
                    repeat = repeat.checked_mul(number.take().unwrap_or(1))?;
                    let width = leading_number(&mut rest)?;
                    skip_decimals(&mut rest);
                    found = Some(Format { repeat, width });
                }
                b' ' | b',' | b')' | b'+' | b'-' => {}
                _ => return None,
            }
        }
        found.filter(|format| format.repeat > 0 && format.width > 0 && number.is_none())
    }
}

fn leading_number(text: &mut &[u8]) -> Option<usize> {
    let length = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(length);
    *text = rest;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Moves over the `.18` and `E3` of `E26.18E3`.
fn skip_decimals(text: &mut &[u8]) {
    for mark in [b'.', b'E'] {
        if text.first().is_some_and(|b| b.to_ascii_uppercase() == mark) {
            *text = &text[1..];
            let _ = leading_number(text);
        }
    }
}

/// The fields of some lines in one format, one after the other.
pub(super) struct Fields<'a, 'c> {
    cursor: &'c mut Cursor<'a>,
    format: Format,
    line: &'a [u8],
    /// Where the line starts in the text.
    start: usize,
    /// How many fields of the line are taken.
    taken: usize,
}

impl<'a, 'c> Fields<'a, 'c> {
    pub fn new(cursor: &'c mut Cursor<'a>, format: Format) -> Fields<'a, 'c> {
        Fields { start: cursor.at(), cursor, format, line: &[], taken: format.repeat }
    }

    /// The next field without the blanks around it, and where it is.
    ///
    /// A line may be shorter than its format; the fields that it lacks are in the next.
    pub fn next(&mut self, what: &str) -> Parsed<(&'a [u8], usize)> {
        loop {
            let from = self.taken.saturating_mul(self.format.width);
            if self.taken < self.format.repeat && from < self.line.len() {
                let to = from.saturating_add(self.format.width).min(self.line.len());
                let field = self.line[from..to].trim_ascii();
                self.taken += 1;
                if !field.is_empty() {
                    let lead =
                        self.line[from..to].len() - self.line[from..to].trim_ascii_start().len();
                    return Ok((field, self.start + from + lead));
                }
                if self.line[from..].trim_ascii().is_empty() {
                    self.taken = self.format.repeat;
                    continue;
                }
                let message = format!("expected {what}, found a blank field");
                let help = "a field is as wide as the format in line 4 says";
                return Err(Flaw::new(FileErrorCode::Syntax, self.start + from, message, help));
            }
            if self.cursor.remaining() == 0 {
                let message = format!("expected {what}, found the end of the file");
                let help = "the file may be incomplete: fetch it again, or correct its header";
                return Err(self.cursor.flaw(FileErrorCode::Truncated, message, help));
            }
            self.start = self.cursor.at();
            self.line = self.cursor.rest_of_line();
            self.taken = 0;
        }
    }

    /// The next field as an integer from `least` to `most`.
    pub fn integer(&mut self, what: &str, least: i64, most: i64) -> Parsed<i64> {
        let (field, at) = self.next(what)?;
        let number = std::str::from_utf8(field).ok().and_then(|text| text.parse::<i64>().ok());
        match number {
            Some(value) if (least..=most).contains(&value) => Ok(value),
            Some(value) => {
                let message = format!("{what} {value} is not from {least} to {most}");
                let help = "correct this number or the header";
                Err(Flaw::new(FileErrorCode::Range, at, message, help))
            }
            None => Err(not_a_number(what, field, at)),
        }
    }
}

/// The flaw that a field is not what it should be.
#[cold]
pub(super) fn not_a_number(what: &str, field: &[u8], at: usize) -> Box<Flaw> {
    let message = format!("expected {what}, found {}", shown(field));
    let help = "a field is as wide as the format in line 4 says";
    Flaw::new(FileErrorCode::Syntax, at, message, help)
}
