//! A location in a chunk of a file's text, and the steps that all readers take from it.
//!
//! Fields are separated by spaces or tabs; a carriage return counts as a blank, so lines may end
//! in either way. Every step that fails names the byte where it failed.

use crate::error::{FileErrorCode, Flaw, Parsed, counted};
use crate::header::FILL_MARK;
use crate::number;
use std::fmt;

/// The largest dimension or coordinate that any reader takes.
pub(crate) const LARGEST: u64 = i64::MAX as u64;

/// What stands at a location in a file, in words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Row,
    Column,
    /// The coordinate of a mode, from 1.
    Mode(usize),
    /// A number of the header.
    Header(&'static str),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Row => f.write_str("row number"),
            Item::Column => f.write_str("column number"),
            Item::Mode(mode) => write!(f, "coordinate of mode {mode}"),
            Item::Header(name) => f.write_str(name),
        }
    }
}

impl Item {
    fn with_article(self) -> String {
        let name = self.to_string();
        let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {name}")
    }

    fn with_value(self, value: &str) -> String {
        match self {
            Item::Mode(mode) => format!("coordinate {value} of mode {mode}"),
            _ => format!("{self} {value}"),
        }
    }
}

/// A location in a text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    /// How many lines of the file end before this location.
    lines: u64,
}

impl<'a> Cursor<'a> {
    /// At a byte of a text, before which so many lines of the file end.
    pub fn new(text: &'a [u8], at: usize, lines: u64) -> Cursor<'a> {
        Cursor { text, at, lines }
    }

    /// The byte offset.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The number of the line, from 1.
    pub fn line(&self) -> u64 {
        self.lines + 1
    }

    /// A cursor at another location of the same text.
    pub fn moved_to(&self, at: usize) -> Cursor<'a> {
        Cursor { at, ..self.clone() }
    }

    /// The byte here; the end of the text reads as the end of a line.
    #[inline(always)]
    pub fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b'\n')
    }

    #[inline(always)]
    pub fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// Moves to the start of the next line and returns the rest of this one.
    pub fn rest_of_line(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.text.len());
        self.lines += 1;
        rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length])
    }

    /// Moves over empty lines, and those that start with one of these bytes, to the next entry;
    /// false at the end of the text.
    #[inline(always)]
    pub fn next_entry(&mut self, comments: &[u8]) -> bool {
        loop {
            self.skip_blanks();
            if self.at >= self.text.len() {
                return false;
            }
            let byte = self.text[self.at];
            if byte == b'\n' {
                self.at += 1;
                self.lines += 1;
            } else if comments.contains(&byte) {
                self.rest_of_line();
            } else {
                return true;
            }
        }
    }

    /// The field here, empty at the end of a line, without moving.
    pub fn field(&self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = rest
            .iter()
            .position(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
            .unwrap_or(rest.len());
        &rest[..length]
    }

    /// Moves behind the next such byte of this line, or to the end of the line.
    pub fn skip_past(&mut self, byte: u8) {
        while self.peek() != b'\n' && self.peek() != byte {
            self.at += 1;
        }
        self.at += usize::from(self.peek() == byte);
    }

    /// The next field, empty at the end of a line; moves behind it.
    pub fn take_field(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let field = self.field();
        self.at += field.len();
        field
    }

    #[inline(always)]
    fn ends_field(&self) -> bool {
        matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n')
    }

    /// Moves over the end of the line, before which only blanks may stand.
    #[inline(always)]
    pub fn end_of_line(&mut self) -> Parsed<()> {
        self.skip_blanks();
        if self.peek() != b'\n' {
            return Err(self.unexpected("the end of the line"));
        }
        self.at = (self.at + 1).min(self.text.len());
        self.lines += 1;
        Ok(())
    }

    /// A one-based coordinate below or at `dim`, made zero-based.
    #[inline(always)]
    pub fn coordinate(&mut self, item: Item, dim: u64) -> Parsed<u64> {
        self.skip_blanks();
        let (value, length) = number::leading_digits(self.text, self.at);
        // Zero wraps around to the largest number, so one comparison checks both ends.
        if length.wrapping_sub(1) < 18 && value.wrapping_sub(1) < dim {
            self.at += length;
            if self.ends_field() {
                return Ok(value - 1);
            }
            self.at -= length;
        }
        self.unusual_coordinate(item, dim)
    }

    #[cold]
    fn unusual_coordinate(&mut self, item: Item, dim: u64) -> Parsed<u64> {
        let field = self.field();
        let value = self.whole_number(item)?;
        if (1..=dim.into()).contains(&value) {
            self.at += field.len();
            return Ok(value as u64 - 1);
        }
        let named = item.with_value(&self.shown_digits());
        if value < 1 {
            let message = format!("{named} is below 1");
            return Err(self.flaw(
                FileErrorCode::Range,
                message,
                "coordinates in files start at 1",
            ));
        }
        let (message, help) = if dim == LARGEST {
            let help = "coordinates are below 2^63";
            (format!("{named} is too large"), help.to_string())
        } else {
            let help = format!(
                "coordinates run from 1 to {dim}: correct the entry, the header, or the dimensions that were given"
            );
            (format!("{named} is beyond the dimension {dim}"), help)
        };
        Err(self.flaw(FileErrorCode::Range, message, help))
    }

    /// A number of the header: from 0 to 2^63 - 1.
    pub fn count(&mut self, name: &'static str) -> Parsed<u64> {
        self.skip_blanks();
        let value = self.whole_number(Item::Header(name))?;
        if !(0..=i128::from(LARGEST)).contains(&value) {
            let message = format!("{name} {} is out of range", self.shown_digits());
            return Err(self.flaw(FileErrorCode::Range, message, "it must be from 0 to 2^63 - 1"));
        }
        self.at += self.field().len();
        Ok(value as u64)
    }

    /// The digits here as they stand in the file, if not too many.
    fn shown_digits(&self) -> String {
        let text = String::from_utf8_lossy(self.field());
        match text.len() {
            0..=60 => text.into_owned(),
            length => format!("{}... ({length} digits)", &text[..20]),
        }
    }

    /// The field here as an integer, without moving; the nearest of 128 bit.
    fn whole_number(&self, item: Item) -> Parsed<i128> {
        let text = std::str::from_utf8(self.field()).unwrap_or_default();
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.unexpected(&item.with_article()));
        }
        // Only overflow is left to fail.
        let extreme = if text.starts_with('-') { i128::MIN } else { i128::MAX };
        Ok(text.parse().unwrap_or(extreme))
    }

    /// A 64-bit integer with sign.
    #[inline]
    pub fn integer(&mut self) -> Parsed<i64> {
        self.skip_blanks();
        let negative = self.peek() == b'-';
        let (value, length) = number::leading_digits(self.text, self.at + usize::from(negative));
        if length.wrapping_sub(1) < 18 {
            let start = self.at;
            self.at += length + usize::from(negative);
            if self.ends_field() {
                return Ok(if negative { -(value as i64) } else { value as i64 });
            }
            self.at = start;
        }
        self.unusual_integer()
    }

    /// A 64-bit integer without sign.
    #[inline]
    pub fn unsigned(&mut self) -> Parsed<u64> {
        self.skip_blanks();
        let (value, length) = number::leading_digits(self.text, self.at);
        if length.wrapping_sub(1) < 18 {
            let start = self.at;
            self.at += length;
            if self.ends_field() {
                return Ok(value);
            }
            self.at = start;
        }
        self.unusual_integer()
    }

    #[cold]
    fn unusual_integer<T: TryFrom<i128>>(&mut self) -> Parsed<T> {
        let value = self.whole_number(Item::Header("integer"))?;
        let Ok(value) = T::try_from(value) else {
            let message = format!("integer {} does not fit into 64 bit", self.shown_field());
            return Err(self.flaw(
                FileErrorCode::Range,
                message,
                "declare the values real to read them as floating-point numbers",
            ));
        };
        self.at += self.field().len();
        Ok(value)
    }

    /// A floating-point number.
    #[inline(always)]
    pub fn float(&mut self) -> Parsed<f64> {
        match self.short_float() {
            Some(value) => Ok(value),
            None => self.unusual_float(),
        }
    }

    /// A number that is read in the short way: no integer beyond 2^53 is.
    #[inline(always)]
    pub fn short_float(&mut self) -> Option<f64> {
        self.skip_blanks();
        let (value, end) = number::leading_float(self.text, self.at)?;
        let start = std::mem::replace(&mut self.at, end);
        if self.ends_field() {
            return Some(value);
        }
        self.at = start;
        None
    }

    fn unusual_float(&mut self) -> Parsed<f64> {
        let field = self.field();
        let value = number::float(field).ok_or_else(|| self.unexpected("a number"))?;
        self.check_range(field, value)?;
        self.at += field.len();
        Ok(value)
    }

    /// Refuses a comment in this line that says a fill value which is no number.
    pub fn check_fill(&self, comment: &str) -> Parsed<()> {
        let Some(text) = comment.strip_prefix(FILL_MARK).map(str::trim) else { return Ok(()) };
        if number::scalar_of(text).is_some() {
            return Ok(());
        }
        let message = format!("the fill value {} is not a number", shown(text.as_bytes()));
        Err(self.flaw(FileErrorCode::Syntax, message, "write a number, inf, -inf or nan"))
    }

    /// Refuses digits beyond the largest float, which would be infinite; infinity has a name.
    pub fn check_range(&self, field: &[u8], value: f64) -> Parsed<()> {
        match number::is_beyond(field, value) {
            true => Err(beyond(field, self.at)),
            false => Ok(()),
        }
    }

    /// The field here for a message: quoted, shortened, or "the end of the line".
    pub fn shown_field(&self) -> String {
        let field = self.field();
        if field.is_empty() {
            let end = if self.at >= self.text.len() { "file" } else { "line" };
            return format!("the end of the {end}");
        }
        shown(field)
    }

    /// A flaw at this location.
    pub fn flaw(
        &self,
        code: FileErrorCode,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Box<Flaw> {
        Flaw::new(code, self.at, message, help)
    }

    /// The flaw that `expected` does not stand here.
    #[cold]
    pub fn unexpected(&self, expected: &str) -> Box<Flaw> {
        let message = format!("expected {expected}, found {}", self.shown_field());
        self.flaw(FileErrorCode::Syntax, message, "correct this line of the file")
    }

    /// The flaw that explains `flaw`, found in the entry that starts here: that the line has
    /// another number of fields than `expected`, if so.
    #[cold]
    pub fn ragged(&self, flaw: Box<Flaw>, expected: usize, fields: &str) -> Box<Flaw> {
        let mut line = self.clone();
        let mut found = 0;
        let mut surplus = None;
        line.skip_blanks();
        while !line.field().is_empty() {
            if found == expected {
                surplus = Some(line.at);
            }
            found += 1;
            line.take_field();
            line.skip_blanks();
        }
        if found == expected || flaw.code != FileErrorCode::Syntax {
            return flaw;
        }
        let found = counted(found, "field", "fields");
        let message = format!("the line has {found}, expected {expected}: {fields}");
        let help = "every entry is one line with the same number of fields";
        Flaw::new(FileErrorCode::Ragged, surplus.unwrap_or(line.at), message, help)
    }
}

/// The flaw that a number is beyond the largest float.
#[cold]
pub(crate) fn beyond(field: &[u8], at: usize) -> Box<Flaw> {
    let message = format!("the number {} is beyond 1.8e308, the largest", shown(field));
    Flaw::new(FileErrorCode::Range, at, message, "scale the values, or write inf")
}

/// Bytes of a file for a message.
pub(crate) fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(&field[..field.len().min(40)]);
    let dots = if field.len() > 40 { "..." } else { "" };
    format!("\"{}\"{dots}", text.escape_debug())
}
