//! The statements that a command gets: as they are written, or of a file.
//!
//! ```text
//! 'y(i) = A(i,j) * x(j)'     themselves
//! @steps.tam                 those of a file
//! @-                         those of standard input
//! ```

use crate::failure::Failure;
use crate::streams;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use tamis_io::{FileError, FileErrorCode};

/// So many bytes a program in a file has at most.
const LONGEST: u64 = 1 << 20;

/// The text of statements and the file that it was read from, if it was.
pub struct Statements {
    text: String,
    file: Option<String>,
}

impl Statements {
    /// Reads the file that an argument names behind `@`, and puts its text in place of the argument.
    pub fn read(argument: &mut String) -> Result<Statements, Failure> {
        let Some(name) = argument.strip_prefix('@').map(str::to_owned) else {
            return Ok(Statements { text: argument.clone(), file: None });
        };
        let text = text(&name)?;
        argument.clone_from(&text);
        let file = if name == "-" { "standard input".to_owned() } else { name };
        Ok(Statements { text, file: Some(file) })
    }

    /// A failure that points into the statements, with the file they are in.
    pub fn located(&self, failure: Failure) -> Failure {
        match (failure, &self.file) {
            (Failure::Diagnostic(told), Some(file)) => {
                Failure::Diagnostic(told.read_from(&self.text, file))
            }
            (failure, _) => failure,
        }
    }
}

fn text(name: &str) -> Result<String, FileError> {
    let refused = |code, message: String, help: &str| FileError {
        code,
        path: PathBuf::from(name),
        line: None,
        column: None,
        message,
        help: help.to_owned(),
    };
    let unreadable = |e: io::Error| {
        let help = "name a file with statements in index notation behind @";
        refused(FileErrorCode::NotReadable, format!("cannot read: {e}"), help)
    };
    let source: Box<dyn Read> = match name {
        "-" => {
            streams::take_for_program();
            Box::new(io::stdin())
        }
        name => Box::new(File::open(name).map_err(unreadable)?),
    };
    let mut text = String::new();
    source.take(LONGEST + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LONGEST {
        let message = format!("a program has at most {LONGEST} bytes");
        return Err(refused(FileErrorCode::TooLarge, message, "split it into programs"));
    }
    // Editors on Windows put a byte order mark before a text.
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}
