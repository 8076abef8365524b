//! Diagnostics as bytes, so that every rank can print what one failed by.
//!
//! Numbers are 64 bits in little-endian order, texts are their length and their bytes, and what may be missing
//! has a number before it that says which case it is.

use std::ops::Range;
use tamis_ir::diagnostic::{Code, Diagnostic, Place, Setting, Settings};

/// The bytes of a diagnostic.
pub(crate) fn written(diagnostic: &Diagnostic) -> Vec<u8> {
    let Diagnostic { code, message, place, help, settings } = diagnostic;
    let mut out = Writer(vec![]);
    out.text(code.name());
    out.text(message);
    match place {
        None => out.number(0),
        Some(Place::Text { source, span, file }) => {
            out.number(1);
            out.text(source);
            out.number(span.start as u64);
            out.number(span.end as u64);
            out.number(u64::from(file.is_some()));
            out.text(file.as_deref().unwrap_or_default());
        }
        Some(Place::File { path, line, column }) => {
            out.number(2);
            out.text(path);
            out.optional(*line);
            out.optional(*column);
        }
    }
    out.number(u64::from(help.is_some()));
    out.text(help.as_deref().unwrap_or_default());
    out.number(settings.iter().len() as u64);
    for (kind, name, order) in settings.iter().map(Setting::to_parts) {
        out.number(kind);
        out.text(name);
        out.number(order);
    }
    out.0
}

/// The diagnostic that bytes are of; one that says so where they are of none.
pub(crate) fn read(bytes: &[u8]) -> Diagnostic {
    let unreadable = || Diagnostic::new(Code::Internal, "a rank failed, and told of it illegibly");
    Reader(bytes).diagnostic().unwrap_or_else(unreadable)
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn optional(&mut self, number: Option<u64>) {
        self.number(u64::from(number.is_some()));
        self.number(number.unwrap_or_default());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
    }
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn diagnostic(&mut self) -> Option<Diagnostic> {
        let name = self.text()?;
        let code = Code::ALL.iter().copied().find(|code| code.name() == name)?;
        let message = self.text()?;
        let place = match self.number()? {
            0 => None,
            1 => {
                let source = self.text()?.into();
                let span = Range { start: self.size()?, end: self.size()? };
                let is_in_file = self.number()? == 1;
                let file = Some(self.text()?).filter(|_| is_in_file).map(Into::into);
                Some(Place::Text { source, span, file })
            }
            _ => {
                let path = self.text()?;
                let (line, column) = (self.optional()?, self.optional()?);
                Some(Place::File { path, line, column })
            }
        };
        let has_help = self.number()? == 1;
        let help = self.text()?;
        let help = has_help.then_some(help);
        let mut settings = Settings::default();
        for _ in 0..self.number()? {
            settings.push(Setting::from_parts(self.number()?, self.text()?, self.number()?)?);
        }
        Some(Diagnostic { code, message, place, help, settings })
    }

    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn size(&mut self) -> Option<usize> {
        self.number()?.try_into().ok()
    }

    fn optional(&mut self) -> Option<Option<u64>> {
        let is_known = self.number()? == 1;
        let number = self.number()?;
        Some(is_known.then_some(number))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.size()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_come_back_the_same() {
        let plain = |code| Diagnostic::new(code, "it went wr\u{f6}ng");
        let mut all: Vec<Diagnostic> = Code::ALL.iter().map(|&code| plain(code)).collect();
        let code = Code::Syntax;
        all.push(plain(code).help("do it otherwise").at("y(i) = ?", 7..8));
        all.push(plain(code).help("").in_file("A.mtx", Some(3), None));
        all.extend(Setting::all().into_iter().map(|one| plain(code).help_by("use {}", [one])));
        all.push(plain(code).in_file("", Some(u64::MAX), Some(0)));
        for diagnostic in all {
            let bytes = written(&diagnostic);
            assert_eq!(read(&bytes), diagnostic);
            // What is cut off is no diagnostic, and no panic.
            let cut = (0..bytes.len()).map(|end| read(&bytes[..end]));
            assert!(cut.into_iter().all(|d| d.code == Code::Internal));
        }
    }
}
