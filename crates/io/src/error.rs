//! What can go wrong with a file: a code, the location, the reason and a way out.
//!
//! Readers work on bytes and raise a [`Flaw`], which knows a byte of a chunk only; turning it into a
//! [`FileError`] finds the line and column, so that the fast path counts no lines.

use crate::header::FileFormat;
use std::fmt;
use std::path::{Path, PathBuf};
use tamis_runtime::{Code, Diagnostic, budget};

/// The way out where a file is too large and nothing better is known.
pub const MORE_MEMORY: &str = "read a smaller file, or use more memory";

/// The kind of a [`FileError`]; the name is stable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FileErrorCode {
    /// The file cannot be opened or read.
    NotReadable,
    /// The file cannot be created or written.
    NotWritable,
    /// The name does not tell a known file format.
    UnknownFormat,
    /// The compressed data is damaged or not gzip.
    Compression,
    /// Something else stands where a number or keyword is expected.
    Syntax,
    /// A line has too few or too many fields.
    Ragged,
    /// A number is outside of what it may be.
    Range,
    /// The file ends before everything that its header announces.
    Truncated,
    /// What the file describes does not fit in memory.
    TooLarge,
    /// The file is well formed but of a kind that is not read or written.
    Unsupported,
    /// The file format cannot hold a tensor of this order.
    Order,
}

impl FileErrorCode {
    /// Every code.
    pub const ALL: [FileErrorCode; 11] = [
        FileErrorCode::NotReadable,
        FileErrorCode::NotWritable,
        FileErrorCode::UnknownFormat,
        FileErrorCode::Compression,
        FileErrorCode::Syntax,
        FileErrorCode::Ragged,
        FileErrorCode::Range,
        FileErrorCode::Truncated,
        FileErrorCode::TooLarge,
        FileErrorCode::Unsupported,
        FileErrorCode::Order,
    ];

    /// The stable name, as printed.
    pub fn name(self) -> &'static str {
        match self {
            FileErrorCode::NotReadable => "file-not-readable",
            FileErrorCode::NotWritable => "file-not-writable",
            FileErrorCode::UnknownFormat => "file-unknown-format",
            FileErrorCode::Compression => "file-compression",
            FileErrorCode::Syntax => "file-syntax",
            FileErrorCode::Ragged => "file-ragged",
            FileErrorCode::Range => "file-range",
            FileErrorCode::Truncated => "file-truncated",
            FileErrorCode::TooLarge => "file-too-large",
            FileErrorCode::Unsupported => "file-unsupported",
            FileErrorCode::Order => "file-order",
        }
    }
}

/// Why a file could not be read or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    /// The kind of error.
    pub code: FileErrorCode,
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; of the decompressed text where the file is compressed.
    pub line: Option<u64>,
    /// The byte within the line, from 1.
    pub column: Option<u64>,
    /// The reason.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl FileError {
    /// An error that concerns the file as a whole.
    pub(crate) fn whole(
        code: FileErrorCode,
        path: &Path,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> FileError {
        FileError {
            code,
            path: path.to_path_buf(),
            line: None,
            column: None,
            message: message.into(),
            help: help.into(),
        }
    }

    /// A file format holds matrices, and the tensor is none.
    pub(crate) fn order(path: &Path, format: FileFormat, order: usize) -> FileError {
        let message = format!("{format} holds matrices, the tensor has order {order}");
        FileError::whole(FileErrorCode::Order, path, message, "write a .tns file")
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code.name(), self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}\n  = help: {}", self.message, self.help)
    }
}

impl std::error::Error for FileError {}

/// The error as those of kernels: a file that does not fit in memory has their code for that.
impl From<FileError> for Diagnostic {
    fn from(error: FileError) -> Diagnostic {
        let code = match error.code {
            FileErrorCode::TooLarge => Code::OutOfMemory,
            FileErrorCode::UnknownFormat => Code::UnknownFormat,
            _ => Code::File,
        };
        let path = error.path.display().to_string();
        Diagnostic::new(code, error.message).help(error.help).in_file(
            &path,
            error.line,
            error.column,
        )
    }
}

/// An error in the text; boxed by the readers so that success stays small.
#[derive(Debug)]
pub(crate) struct Flaw {
    pub code: FileErrorCode,
    pub at: Place,
    pub message: String,
    pub help: String,
}

/// Where an error is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// A byte of the current chunk.
    Byte(usize),
    /// A line of the file, and maybe the byte within, from 1.
    Line(u64, Option<u64>),
    /// Nowhere in particular.
    File,
}

/// `1 entry`, `2 entries`
pub(crate) fn counted(count: impl TryInto<u128>, one: &str, many: &str) -> String {
    let count = count.try_into().unwrap_or(u128::MAX);
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `1 entry`, `2 entries`
pub(crate) fn entries(count: impl TryInto<u128>) -> String {
    counted(count, "entry", "entries")
}

/// What readers return.
pub(crate) type Parsed<T> = Result<T, Box<Flaw>>;

impl Flaw {
    pub fn new(
        code: FileErrorCode,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Box<Flaw> {
        Flaw::at(Place::Byte(at), code, message, help)
    }

    /// A flaw at any location.
    pub fn at(
        at: Place,
        code: FileErrorCode,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Box<Flaw> {
        Box::new(Flaw { code, at, message: message.into(), help: help.into() })
    }

    /// The flaw that the file does not fit in memory.
    pub fn too_large(message: impl Into<String>) -> Box<Flaw> {
        Flaw::at(Place::File, FileErrorCode::TooLarge, message, MORE_MEMORY)
    }

    /// The flaw that so many bytes for something cannot be had.
    pub fn no_room(what: &str, bytes: usize) -> Box<Flaw> {
        Flaw::of_memory(budget::refusal(what, Some(bytes as f64), ""))
    }

    /// What the memory limit says of a list or text.
    pub fn of_memory(told: Diagnostic) -> Box<Flaw> {
        Flaw::too_large(told.message)
    }

    /// What is wrong with a list of entries that was read.
    pub fn of_list(told: Diagnostic) -> Box<Flaw> {
        match told.code {
            Code::OutOfMemory => Flaw::of_memory(told),
            _ => Flaw::at(
                Place::File,
                FileErrorCode::Range,
                told.message,
                "correct the sizes in the header",
            ),
        }
    }

    /// The error of a file, where no byte is the location.
    pub fn of_file(self, path: &Path) -> FileError {
        let (line, column) = match self.at {
            Place::Line(line, column) => (Some(line), column),
            Place::Byte(_) | Place::File => (None, None),
        };
        let (code, message, help) = (self.code, self.message, self.help);
        FileError { code, path: path.to_path_buf(), line, column, message, help }
    }
}
