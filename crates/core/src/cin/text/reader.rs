//! A reader of text word by word, with locations for errors.

use std::ops::Range;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// The current position in a text.
pub(crate) struct Reader<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl<'t> Reader<'t> {
    /// A part of a text, such as a line.
    pub(crate) fn new(text: &'t str, part: Range<usize>) -> Reader<'t> {
        Reader { text, at: part.start, end: part.end }
    }

    /// The rest of the text.
    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    /// An error at the current position.
    pub(crate) fn refuse(&self, message: &str) -> Diagnostic {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        Diagnostic::new(Code::Syntax, message.to_owned()).at(self.text, self.at..self.at + length)
    }

    /// Takes a sign or a word if it comes next, and the blanks behind it.
    pub(crate) fn eat(&mut self, what: &str) -> bool {
        let Some(after) = self.rest().strip_prefix(what) else { return false };
        let splits_word = what.ends_with(continues) && after.starts_with(continues);
        if !splits_word {
            self.at += what.len();
            self.blanks();
        }
        !splits_word
    }

    /// Takes a sign or a word that has to come next.
    pub(crate) fn expect(&mut self, what: &str) -> Result<(), Diagnostic> {
        match self.eat(what) {
            true => Ok(()),
            false => Err(self.refuse(&format!("{what} is expected here"))),
        }
    }

    /// A name or a word.
    pub(crate) fn name(&mut self) -> Result<&'t str, Diagnostic> {
        self.span(continues)
            .filter(|name| !name.is_empty())
            .ok_or_else(|| self.refuse("a name is expected here"))
    }

    /// A whole number without sign.
    pub(crate) fn integer(&mut self) -> Result<u64, Diagnostic> {
        let here = self.refuse("a whole number is expected here");
        let digits = self.span(|c| c.is_ascii_digit());
        digits.and_then(|digits| digits.parse().ok()).ok_or(here)
    }

    /// A number with its sign, point, exponent and type, or `#` and the word of a constant.
    pub(crate) fn number(&mut self) -> Option<&'t str> {
        let unsigned = self.rest().strip_prefix('-').unwrap_or(self.rest());
        if !unsigned.starts_with(|c: char| c.is_ascii_digit()) && !self.rest().starts_with('#') {
            return None;
        }
        let mut last = ' ';
        self.span(|c| {
            let sign = matches!(c, '-' | '+') && matches!(last, ' ' | '#' | 'e');
            let taken = sign || matches!(c, '.' | '#' | '_') || c.is_ascii_alphanumeric();
            last = c;
            taken
        })
    }

    /// The next name, without taking it.
    pub(crate) fn peek(&self) -> &'t str {
        let rest = self.rest();
        &rest[..rest.find(|c| !continues(c)).unwrap_or(rest.len())]
    }

    /// The text up to a separator, taking both.
    pub(crate) fn until(&mut self, separator: &str) -> Result<&'t str, Diagnostic> {
        let rest = self.rest();
        let length =
            rest.find(separator).ok_or_else(|| self.refuse(&format!("no {separator} follows")))?;
        self.at += length + separator.len();
        self.blanks();
        Ok(&rest[..length])
    }

    /// An error if anything is left.
    pub(crate) fn finish(&self) -> Result<(), Diagnostic> {
        match self.rest().is_empty() {
            true => Ok(()),
            false => Err(self.refuse("the line goes on unexpectedly")),
        }
    }

    fn span(&mut self, mut taken: impl FnMut(char) -> bool) -> Option<&'t str> {
        let rest = self.rest();
        let length = rest.find(|c| !taken(c)).unwrap_or(rest.len());
        self.at += length;
        self.blanks();
        Some(&rest[..length])
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }
}

/// Whether a character continues a name.
fn continues(c: char) -> bool {
    c == '_' || c == '.' || c.is_alphanumeric()
}
