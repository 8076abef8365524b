//! Fortran formats such as `(26I3)` or `(1P,5D16.8)`, and fields of fixed width.
//!
//! A scale factor and the number of decimals are read but not applied: numbers in these files
//! carry a decimal point or an exponent, and the programs that write them without mean them as
//! they stand.

use crate::chunks::Chunks;
use crate::cursor::shown;
use crate::error::{FileErrorCode, Flaw, Parsed};
use crate::number;
use std::fmt::Display;
use std::ops::Range;

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
///
/// Some programs write fields narrower than they announce. It shows when a field of the announced
/// width holds a blank between two numbers; the fields of such a line are what blanks separate.
pub(super) struct Fields<'c, 's> {
    chunks: &'c mut Chunks<'s>,
    format: Format,
    /// What is left of the line in the chunk.
    rest: Range<usize>,
    /// What was left before the last field.
    before: Range<usize>,
    /// Lines since the first.
    lines: u64,
    is_aligned: bool,
}

impl<'c, 's> Fields<'c, 's> {
    pub fn new(chunks: &'c mut Chunks<'s>, format: Format) -> Fields<'c, 's> {
        Fields { chunks, format, rest: 0..0, before: 0..0, lines: 0, is_aligned: true }
    }

    /// Fields in another format, from the next line on.
    pub fn go_on(&mut self, format: Format) {
        (self.format, self.rest, self.before) = (format, 0..0, 0..0);
    }

    /// The next field without the blanks around it, and where it is.
    ///
    /// A line may be shorter than its format; the fields that it lacks are in the next.
    pub fn next(&mut self, what: &str) -> Parsed<(&[u8], usize)> {
        while self.line().trim_ascii().is_empty() {
            self.start_line(what)?;
        }
        let line = self.line();
        let blanks = line.len() - line.trim_ascii_start().len();
        let end = if self.is_aligned {
            self.format.width.min(line.len())
        } else {
            blanks + word_length(&line[blanks..])
        };
        self.before = self.rest.clone();
        self.rest.start += end;
        let at = self.before.start + blanks;
        if blanks >= end {
            let message = format!("expected {what}, found a blank field");
            let help = "a field is as wide as the format in line 4 says";
            return Err(Flaw::new(FileErrorCode::Syntax, at, message, help));
        }
        let field = &self.chunks.bytes()[self.before.start..self.rest.start];
        Ok((field.trim_ascii(), at))
    }

    /// Goes back to the field that was read last.
    pub fn back(&mut self) {
        self.rest = self.before.clone();
    }

    fn line(&self) -> &[u8] {
        self.chunks.bytes().get(self.rest.clone()).unwrap_or_default()
    }

    fn start_line(&mut self, what: &str) -> Parsed<()> {
        let Format { repeat, width } = self.format;
        let Some((line, start)) = self.chunks.next_line()? else {
            let message = format!("expected {what}, found the end of the file");
            let help = "the file may be incomplete: fetch it again, or correct its header";
            return Err(self.chunks.cursor().flaw(FileErrorCode::Truncated, message, help));
        };
        // What stands behind the fields of the format is no number.
        let line = &line[..repeat.saturating_mul(width).min(line.len())];
        self.is_aligned = line.chunks(width).all(|field| {
            let field = field.trim_ascii();
            word_length(field) == field.len()
        });
        self.rest = start..start + line.len();
        self.lines += 1;
        Ok(())
    }

    /// A location in the line of the field that was read last.
    pub fn at(&self) -> usize {
        self.rest.start
    }

    /// How many lines were begun.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The chunks that hold the fields.
    pub fn chunks(&self) -> &Chunks<'s> {
        self.chunks
    }

    /// The next field as an integer from `least` to `most`.
    pub fn integer<T>(&mut self, what: &str, least: T, most: T) -> Parsed<T>
    where
        T: Copy + PartialOrd + Display + TryFrom<i128>,
    {
        let (field, at) = self.next(what)?;
        match number::integer(field) {
            Some(value) => {
                let fitting = T::try_from(value).ok().filter(|x| (least..=most).contains(x));
                if let Some(value) = fitting {
                    return Ok(value);
                }
                let message = format!("{what} {value} is not from {least} to {most}");
                let help = "correct this number or the header";
                Err(Flaw::new(FileErrorCode::Range, at, message, help))
            }
            None => Err(not_a_number(what, field, at)),
        }
    }
}

/// The length of the text up to its first blank.
fn word_length(text: &[u8]) -> usize {
    text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len())
}

/// The flaw that a field is not what it should be.
#[cold]
pub(super) fn not_a_number(what: &str, field: &[u8], at: usize) -> Box<Flaw> {
    let message = format!("expected {what}, found {}", shown(field));
    let help = "a field is as wide as the format in line 4 says";
    Flaw::new(FileErrorCode::Syntax, at, message, help)
}
