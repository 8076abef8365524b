//! What a user is told when a request cannot be done: a code, the location, the reason, the way out.
//!
//! ```text
//! error[unknown-format]: there is no format named csx
//!   | A: csx
//!   |    ^^^
//!   = help: use csr, or write the levels: (i, j) -> (i: dense, j: compressed)
//! ```

use std::fmt;
use std::ops::Range;

mod setting;

pub use setting::{Setting, Settings};

macro_rules! codes {
    ($($variant:ident $name:literal $kind:ident $doc:literal;)*) => {
        /// What kind of thing went wrong; each has a section in `docs/errors.md`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $doc] $variant,)*
        }
        impl Code {
            /// Every code.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];
            /// The code as it is printed.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }
            /// Whether the request or its execution is at fault.
            pub fn kind(self) -> Kind {
                match self { $(Code::$variant => Kind::$kind,)* }
            }
        }
    };
}

/// Whose fault a diagnostic is, and so the exit status of the command if it ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The computation or a file failed: exit status 1.
    Execution,
    /// The request is wrong: exit status 2.
    Request,
    /// Nothing is wrong, but it will be slow or large.
    Warning,
}

codes! {
    Syntax "syntax" Request "The text does not follow the grammar.";
    UnknownFunction "unknown-function" Request "No function or operator has this name.";
    ArgumentCount "argument-count" Request "A function got the wrong number of arguments.";
    UnknownTensor "unknown-tensor" Request "A tensor is named that the expression does not use.";
    UnknownVariable "unknown-variable" Request "An index variable is named that the expression does not use.";
    OrderMismatch "order-mismatch" Request "A tensor is used with two different numbers of modes.";
    DimensionMismatch "dimension-mismatch" Request "Two uses of an index variable have different dimensions.";
    DimensionUnknown "dimension-unknown" Request "Nothing fixes the dimension of an index variable.";
    DimensionTooLarge "dimension-too-large" Request "A dimension is beyond 2^62 - 1, or a product of sizes beyond 2^63 - 1.";
    ImplicitReduction "implicit-reduction" Request "A variable needs an explicit reduction.";
    BoundVariable "bound-variable" Request "A reduction names a variable that is bound already.";
    ResultVariable "result-variable" Request "A diagonal is written where it cannot be.";
    ResultRedefined "result-redefined" Request "A name is written twice or used before it is written.";
    UnknownFormat "unknown-format" Request "No format or level format has this name, or the name of a file tells no file format.";
    FormatOrder "format-order" Request "A format does not fit the order of its tensor.";
    FormatProperty "format-property" Request "A format's properties contradict each other, or an operand is stored otherwise than the kernel was compiled for.";
    TooLarge "too-large" Request "The request is beyond what one compilation takes.";
    MissingInput "missing-input" Request "An operand has no value.";
    UnusedInput "unused-input" Request "An input is given for a tensor that takes none.";
    TypeMismatch "type-mismatch" Request "A value does not fit the data type.";
    UnsupportedBackend "unsupported-backend" Request "The backend is not available here.";
    UnsupportedSchedule "unsupported-schedule" Request "The schedule cannot be applied.";
    InvalidOption "invalid-option" Request "A setting has no meaning.";
    BoundBroken "bound-broken" Execution "A dimension breaks what the schedule promises of it.";
    InvalidTensor "invalid-tensor" Execution "The arrays of a tensor break its format's promises.";
    DuplicateEntry "duplicate-entry" Execution "A coordinate occurs twice where that was refused.";
    File "file" Execution "A file cannot be read or written.";
    OutOfMemory "out-of-memory" Execution "An array does not fit in memory.";
    IntegerOverflow "integer-overflow" Execution "A value does not fit the result's data type.";
    PositionOverflow "position-overflow" Execution "A position does not fit its index width.";
    CompilerFailed "compiler-failed" Execution "The compiler of C or CUDA failed.";
    DeviceFailed "device-failed" Execution "A GPU failed.";
    RanksDiffer "ranks-differ" Request "Ranks run different programs, or have different data where it should be the same.";
    RankFailed "rank-failed" Execution "Ranks cannot exchange data, or one has ended before the others.";
    Interrupted "interrupted" Execution "The caller asked for the end of a computation.";
    ManySteps "many-steps" Warning "A program takes far more steps than it has values.";
    DenseResult "dense-result" Warning "A result stores every element because of its value where operands have none.";
    Internal "internal" Execution "A mistake of Tamis itself: please report it.";
}

/// Where a diagnostic points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A stretch of a text that the user wrote.
    Text {
        /// The whole text.
        source: Box<str>,
        /// Bytes of the text.
        span: Range<usize>,
        /// The file that the text was read from, if it was.
        file: Option<Box<str>>,
    },
    /// A line and column of a file, both from 1.
    File {
        /// The file as the user named it.
        path: String,
        /// The line, where known.
        line: Option<u64>,
        /// The column, where known.
        column: Option<u64>,
    },
}

impl Place {
    /// The path, line and column where it is in a file.
    pub fn in_file(&self) -> Option<(&str, Option<u64>, Option<u64>)> {
        match self {
            Place::File { path, line, column } => Some((path, *line, *column)),
            Place::Text { source, span, file } => {
                let before = &source[..boundary(source, span.start)];
                let line = before.matches('\n').count() as u64 + 1;
                let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u64 + 1;
                file.as_deref().map(|path| (path, Some(line), Some(column)))
            }
        }
    }
}

/// The last boundary of characters up to a byte of a text.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&k| text.is_char_boundary(k)).unwrap_or(0)
}

/// A refusal or a warning: code, location, reason and way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// What kind of thing went wrong.
    pub code: Code,
    /// The reason, in one sentence.
    pub message: String,
    /// Where, if it can be pointed at.
    pub place: Option<Place>,
    /// The way out, in one sentence.
    pub help: Option<String>,
    /// What message and help name in the words of Rust, for [`Diagnostic::in_words`].
    pub settings: Settings,
}

impl Diagnostic {
    /// A diagnostic without location and way out yet.
    pub fn new(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            message: message.into(),
            place: None,
            help: None,
            settings: Settings::default(),
        }
    }

    /// Points at a stretch of a text, unless a location is known already.
    pub fn at(mut self, source: &str, span: Range<usize>) -> Diagnostic {
        if self.place.is_none() {
            self.place = Some(Place::Text { source: source.into(), span, file: None });
        }
        self
    }

    /// Says which file a text was read from, if this points into the text.
    ///
    /// ```
    /// use tamis_ir::diagnostic::{Code, Diagnostic};
    /// let source = "y(i) = x(i)\nz(i) = x(i) ? 2";
    /// let told = Diagnostic::new(Code::Syntax, "? has no meaning here").at(source, 24..25);
    /// let told = told.read_from(source, "statements.txt").to_string();
    /// assert!(told.starts_with("error[syntax]: statements.txt:2:13: ?"));
    /// ```
    pub fn read_from(mut self, text: &str, path: &str) -> Diagnostic {
        if let Some(Place::Text { source, file, .. }) = &mut self.place
            && **source == *text
        {
            *file = Some(path.into());
        }
        self
    }

    /// Points into a file.
    pub fn in_file(mut self, path: &str, line: Option<u64>, column: Option<u64>) -> Diagnostic {
        self.place = Some(Place::File { path: path.to_owned(), line, column });
        self
    }

    /// Says the way out.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Says the way out by settings, one for each `{}` of the text.
    ///
    /// ```
    /// use tamis_ir::diagnostic::{Code, Diagnostic, Setting};
    /// let told = Diagnostic::new(Code::CompilerFailed, "the C compiler failed")
    ///     .help_by("use {}, or another compiler", [Setting::BackendJit]);
    /// assert_eq!(told.help.as_deref(), Some("use Backend::Jit, or another compiler"));
    /// let of_command = told.in_words(|_| "--backend jit".to_owned());
    /// assert_eq!(of_command.help.as_deref(), Some("use --backend jit, or another compiler"));
    /// ```
    pub fn help_by(
        self,
        text: impl Into<String>,
        settings: impl IntoIterator<Item = Setting>,
    ) -> Diagnostic {
        settings.into_iter().fold(self.help(text), |told, setting| {
            let help =
                told.help.as_deref().unwrap_or_default().replacen("{}", &setting.to_string(), 1);
            told.help(help).naming(setting)
        })
    }

    /// Says that message or help name a setting, in the words of Rust.
    pub fn naming(mut self, setting: Setting) -> Diagnostic {
        self.settings.push(setting);
        self
    }

    /// The diagnostic with all settings in the words of another interface than Rust.
    pub fn in_words(&self, words: impl Fn(&Setting) -> String) -> Diagnostic {
        let mut told = self.clone();
        for setting in std::mem::take(&mut told.settings).iter() {
            let (own, other) = (setting.to_string(), words(setting));
            told.message = told.message.replace(&own, &other);
            told.help = told.help.map(|help| help.replace(&own, &other));
        }
        told
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.code.kind() == Kind::Warning { "warning" } else { "error" };
        write!(f, "{kind}[{}]: ", self.code.name())?;
        if let Some((path, line, column)) = self.place.as_ref().and_then(Place::in_file) {
            write!(f, "{path}:")?;
            for number in [line, column].into_iter().flatten() {
                write!(f, "{number}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)?;
        if let Some(Place::Text { source, span, .. }) = &self.place {
            carets(f, source, span)?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  = help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// The name that is most like another, if any is: what the user may have meant. At most a third
/// of the letters differ.
///
/// ```
/// use tamis_ir::diagnostic::nearest;
/// assert_eq!(nearest("csx", ["dense", "csr", "coo"]), Some("csr"));
/// assert_eq!(nearest("A", ["a", "x"]), Some("a"));
/// assert_eq!(nearest("hashed", ["dense", "csr"]), None);
/// assert_eq!(nearest("R", ["or", "xor"]), None);
/// ```
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let name = name.to_lowercase();
    let distances = names.into_iter().map(|other| (distance(&name, &other.to_lowercase()), other));
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    let longer = name.chars().count().max(nearest.chars().count());
    (distance * 3 <= longer).then_some(nearest)
}

/// How many characters have to be put in, taken out, changed, or exchanged with the next.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let changed = rows[i][j] + usize::from(a[i] != b[j]);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The line of `source` in which `span` starts, underlined.
fn carets(f: &mut fmt::Formatter<'_>, source: &str, span: &Range<usize>) -> fmt::Result {
    let start = boundary(source, span.start);
    let line_start = source[..start].rfind('\n').map_or(0, |k| k + 1);
    let line_end = source[start..].find('\n').map_or(source.len(), |k| start + k);
    let end = boundary(source, span.end).clamp(start, line_end);
    let pad = source[line_start..start].chars().count();
    let width = source[start..end].chars().count().max(1);
    // Of a long line, what is around the location.
    let line = &source[line_start..line_end];
    let cut = match line.chars().count() {
        ..=MOST_SHOWN => 0,
        _ => pad.saturating_sub(MOST_SHOWN / 4),
    };
    let left = if cut > 0 { ".." } else { "" };
    let right = if line.chars().count() > cut + MOST_SHOWN { ".." } else { "" };
    // Control characters (tabs, escapes) would shift the carets or reach the terminal raw.
    let shown = line.chars().skip(cut).take(MOST_SHOWN);
    let shown: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
    let pad = pad - cut + left.len();
    let width = width.min((left.len() + MOST_SHOWN).saturating_sub(pad)).max(1);
    let (pad, carets) = (" ".repeat(pad), "^".repeat(width));
    write!(f, "\n  | {left}{shown}{right}\n  | {pad}{carets}")
}

/// How many characters of a line are shown at most.
const MOST_SHOWN: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_shown_around_the_place() {
        let terms = vec!["A(i)"; 200].join(" + ");
        let source = format!("y(i) = {terms} + ? + {terms}");
        let at = source.find('?').unwrap_or(0);
        let d = Diagnostic::new(Code::Syntax, "there is no such operator").at(&source, at..at + 1);
        let shown = d.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].len() < 200 && lines[1].starts_with("  | ..") && lines[1].ends_with(".."));
        assert_eq!(lines[1].find('?'), lines[2].find('^'));
    }

    #[test]
    fn a_diagnostic_points_at_its_place() {
        let d = Diagnostic::new(Code::UnknownFormat, "there is no format named csx")
            .at("A: csx", 3..6)
            .help("use csr");
        let text = "error[unknown-format]: there is no format named csx\n  | A: csx\n  |    ^^^\n  = help: use csr";
        assert_eq!(d.to_string(), text);
    }

    #[test]
    fn places_beyond_the_text_are_clamped() {
        let d = Diagnostic::new(Code::Syntax, "end").at("a\u{e9}", 2..99);
        assert_eq!(d.to_string(), "error[syntax]: end\n  | a\u{e9}\n  |  ^");
    }
}
