//! What goes wrong, and the exit status that tells.

use std::process::ExitCode;
use tamis::{Code, Diagnostic, Kind};
use tamis_io::{FileError, FileErrorCode};

/// A diagnostic of the compiler, or one of a file.
#[derive(Debug)]
pub enum Failure {
    /// Of the compiler or runtime.
    Diagnostic(Diagnostic),
    /// Of a file.
    File(FileError),
}

impl Failure {
    /// Prints the failure and gives the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Diagnostic(d) => {
                eprintln!("{d}");
                ExitCode::from(if d.code.kind() == Kind::Request { 2 } else { 1 })
            }
            Failure::File(e) => {
                eprintln!("{e}");
                let request = e.code == FileErrorCode::UnknownFormat;
                ExitCode::from(if request { 2 } else { 1 })
            }
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(d: Diagnostic) -> Self {
        Failure::Diagnostic(d)
    }
}

impl From<FileError> for Failure {
    fn from(e: FileError) -> Self {
        Failure::File(e)
    }
}

/// A wrong option.
pub fn invalid(option: &str, reason: &str, help: &str) -> Failure {
    let message = format!("{option}: {reason}");
    Diagnostic::new(Code::InvalidOption, message).help(help).into()
}

/// The two sides of `NAME=VALUE`.
pub fn assignment<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    let parts = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    parts.map(|(n, v)| (n.trim(), v.trim())).ok_or_else(|| {
        invalid(&format!("{option} {text}"), "expected NAME=VALUE", "write it like -f A=csr")
    })
}
