//! What goes wrong, and the exit status that tells.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use tamis::{Code, Diagnostic, Kind, Setting};
use tamis_io::{FileError, FileErrorCode, FileFormat};

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
            Failure::Diagnostic(d) => tell(d),
            Failure::File(e) => tell(e),
        }
        self.status()
    }

    /// The reason alone.
    pub fn message(&self) -> String {
        match self {
            Failure::Diagnostic(d) => d.message.clone(),
            Failure::File(e) => format!("{}: {}", e.path.display(), e.message),
        }
    }

    /// Whether memory is too small.
    pub fn is_of_memory(&self) -> bool {
        match self {
            Failure::Diagnostic(d) => d.code == Code::OutOfMemory,
            Failure::File(e) => e.code == FileErrorCode::TooLarge,
        }
    }

    /// Adds to a diagnostic of different dimensions that a `.tns` file need not say its own.
    pub fn with_files(self, inputs: &[String]) -> Failure {
        let is_guessed = |text: &&String| {
            let file = text.split_once('=').map_or(text.as_str(), |(_, file)| file);
            FileFormat::of(Path::new(file.trim())) == Some(FileFormat::Frostt)
        };
        match (self, inputs.iter().find(is_guessed)) {
            (Failure::Diagnostic(d), Some(input)) if d.code == Code::DimensionMismatch => {
                let name = input.split_once('=').map_or("A", |(name, _)| name.trim());
                let told = d.help.clone().unwrap_or_default();
                let help = format!(
                    "{told}; the dimensions of {name} are its largest coordinates if its file does not say them: \
                     give them by -d {name}=..x.., or in its first line, as in # dims: 3 4 5"
                );
                Failure::Diagnostic(d.help(help))
            }
            (failure, _) => failure,
        }
    }

    /// The exit status.
    pub fn status(&self) -> ExitCode {
        ExitCode::from(self.exit_code())
    }

    /// The exit status as a number.
    pub fn exit_code(&self) -> u8 {
        let is_request = match self {
            Failure::Diagnostic(d) => d.code.kind() == Kind::Request,
            Failure::File(e) => e.code == FileErrorCode::UnknownFormat,
        };
        if is_request { 2 } else { 1 }
    }
}

/// What was told by notes so far, for `--json`.
static NOTED: Mutex<Vec<String>> = Mutex::new(vec![]);

/// Tells what the user may want to know and did not ask for.
pub fn note(what: &str) {
    NOTED.lock().unwrap_or_else(PoisonError::into_inner).push(what.to_owned());
    tell(&format_args!("note: {what}"));
}

/// The notes so far.
pub fn noted() -> Vec<String> {
    NOTED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Prints on standard error; where nobody can read that, the exit status has to do.
pub fn tell(what: &dyn Display) {
    // Colours go to terminals alone, and by the environment, as those of the command line do.
    let _ = writeln!(anstream::stderr(), "{}", coloured(&what.to_string()));
}

/// A message with the colours that `clap` gives its own.
fn coloured(text: &str) -> String {
    const RED: &str = "\x1b[1;31m";
    const YELLOW: &str = "\x1b[1;33m";
    const GREEN: &str = "\x1b[32m";
    let colours = [("error[", RED), ("warning[", YELLOW), ("note:", GREEN), ("  = help:", GREEN)];
    let line = |line: &str| {
        let colour = colours.iter().find(|(start, _)| line.starts_with(start));
        match (colour, line.split_once(':')) {
            (Some((_, colour)), Some((word, rest))) => format!("{colour}{word}:\x1b[0m{rest}"),
            _ => line.to_owned(),
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Standard output is the only thing that commands write to themselves.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::File(FileError {
            code: FileErrorCode::NotWritable,
            path: PathBuf::from("standard output"),
            line: None,
            column: None,
            message: format!("cannot write: {error}"),
            help: "send what is printed to another file".to_owned(),
        })
    }
}

impl From<Diagnostic> for Failure {
    fn from(d: Diagnostic) -> Self {
        Failure::Diagnostic(in_options(&d))
    }
}

impl From<FileError> for Failure {
    fn from(e: FileError) -> Self {
        let help = match e.code {
            FileErrorCode::UnknownFormat if tamis_io::is_stream(&e.path) => {
                "add --format mtx, rb, tns, npz, bsp or npy".to_owned()
            }
            FileErrorCode::TooLarge if e.help == tamis_io::MORE_MEMORY && is_packed(&e.path) => {
                format!("unpack it, since plain files may be read in parts, or {}", e.help)
            }
            _ => e.help,
        };
        Failure::File(FileError { help, ..e })
    }
}

/// Whether a file is gzipped, by its name.
fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// A diagnostic whose settings are options of the command.
pub fn in_options(d: &Diagnostic) -> Diagnostic {
    d.in_words(|setting| match setting {
        Setting::Dimensions => "the option -d".to_owned(),
        Setting::Dimension(name) => format!("-d {name}=SIZE"),
        Setting::Shape(name, order) => format!("-d {name}={}", vec!["SIZE"; *order].join("x")),
        Setting::Value(name) => format!("a file by -i {name}=FILE, or entries by -g {name}=.."),
        Setting::Formats => "`tamis formats` lists all".to_owned(),
        Setting::Entries => "a file by -i".to_owned(),
        Setting::BackendJit => "--backend jit".to_owned(),
        Setting::BackendC => "--backend c".to_owned(),
        Setting::BackendInterpreter => "--backend interp".to_owned(),
        Setting::BackendEmulated => "--backend cuda-emulated".to_owned(),
    })
}

/// A wrong option.
pub fn invalid(option: &str, reason: &str, help: &str) -> Failure {
    let message = format!("{option}: {reason}");
    Diagnostic::new(Code::InvalidOption, message).help(help).into()
}

/// The two sides of `NAME=VALUE`; where no name is, the one that is likely meant is in the help.
pub fn assignment<'a>(
    option: &str,
    text: &'a str,
    meant: impl FnOnce() -> Option<String>,
) -> Result<(&'a str, &'a str), Failure> {
    let parts = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    parts.map(|(n, v)| (n.trim(), v.trim())).ok_or_else(|| {
        let told = format!("{option} {text}");
        let example = match option {
            "-i" | "-o" => "FILE",
            "-f" => "FORMAT",
            "-g" => "1000x1000:0.01",
            "-d" => "SIZE",
            _ => "...",
        };
        let name = meant().unwrap_or_else(|| "A".to_owned());
        let value = text.trim_matches('=');
        let ends = text.strip_suffix('=').filter(|name| !name.is_empty());
        if let Some(name) = ends.or_else(|| Some(value).filter(|value| *value == name)) {
            let help = format!("write {option} {name}={example}");
            return invalid(&told, "no value follows", &help);
        }
        invalid(
            &told,
            "this names no tensor or variable, as in NAME=VALUE",
            &format!("write {option} {name}={}", if value.is_empty() { example } else { value }),
        )
    })
}

/// The name that a wrong one stands for, or all there are.
pub fn suggested(name: &str, all: &[&str], what: &str) -> String {
    match tamis::nearest(name, all.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("{what} {}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_options_of_the_command() {
        for setting in Setting::all() {
            let d = Diagnostic::new(Code::Syntax, format!("{setting}")).help_by("{}", [setting]);
            let told = in_options(&d);
            let help = told.help.unwrap_or_default();
            assert!(help.contains('-') || help.contains("`tamis "), "{help}");
            assert!(!help.contains("::") && told.message == help, "{help}");
        }
    }
}
