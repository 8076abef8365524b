//! Diagnostics as Python exceptions, and panics too.

use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use tamis::{Code, Diagnostic, Interrupt, Setting};
use tamis_io::{FileError, FileErrorCode};

/// The module that has the exception classes.
pub(crate) const CLASSES: &str = "tamis._errors";

/// Does work that may take long without the interpreter's lock. A panic becomes an exception.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Diagnostic> + Send,
) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    done.map_err(|payload| mistake(py, &*payload))?.map_err(|diagnostic| raised(py, &diagnostic))
}

/// How often a long computation looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// Does work that takes long on a thread of its own, while this one looks for signals: what a
/// signal's handler raises, as Ctrl-C does, ends the wait, and the work soon after.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    let interrupt = Interrupt::default();
    let over = interrupt.clone();
    std::thread::spawn(move || {
        // Nobody waits any more where sending fails.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(|| over.over(work))));
    });
    loop {
        let done;
        (receiver, done) = py.detach(move || {
            let done = receiver.recv_timeout(PATIENCE);
            (receiver, done)
        });
        match done {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(payload)) => return Err(mistake(py, &*payload)),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| interrupt.request())?;
            }
            Err(RecvTimeoutError::Disconnected) => return Err(mistake(py, &"a thread ended")),
        }
    }
}

/// Does work with the interpreter's lock. A panic becomes an exception.
pub(crate) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(mistake(py, &*payload)))
}

/// The exception for a panic.
fn mistake(py: Python<'_>, payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<&str>().map(|&s| s.to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    let message = format!("Tamis made a mistake: {text}");
    let help = "please report it with the expression and the formats";
    raised(py, &Diagnostic::new(Code::Internal, message).help(help))
}

/// The exception for a diagnostic: its class says what kind of error it is, its text is the
/// rendered diagnostic.
pub(crate) fn raised(py: Python<'_>, diagnostic: &Diagnostic) -> PyErr {
    let class = match diagnostic.code {
        Code::TypeMismatch => "TamisTypeError",
        Code::OutOfMemory => "TamisMemoryError",
        Code::IntegerOverflow | Code::PositionOverflow => "TamisOverflowError",
        Code::CompilerFailed | Code::RankFailed | Code::Internal => "TamisRuntimeError",
        _ => "TamisValueError",
    };
    of_class(py, class, diagnostic.code.name(), &in_python(diagnostic).to_string())
}

/// The exception for a file that cannot be read or written.
pub(crate) fn raised_by_file(py: Python<'_>, error: &FileError) -> PyErr {
    let class = match error.code {
        FileErrorCode::NotReadable if !error.path.exists() => "TamisFileNotFoundError",
        FileErrorCode::NotReadable | FileErrorCode::NotWritable => "TamisFileError",
        FileErrorCode::TooLarge => "TamisMemoryError",
        _ => "TamisValueError",
    };
    of_class(py, class, error.code.name(), &error.to_string())
}

/// A refusal of the package itself.
pub(crate) fn refused(py: Python<'_>, code: Code, message: String, help: &str) -> PyErr {
    raised(py, &Diagnostic::new(code, message).help(help))
}

fn of_class(py: Python<'_>, class: &str, code: &str, text: &str) -> PyErr {
    let made =
        py.import(CLASSES).and_then(|m| m.getattr(class)).and_then(|c| c.call1((code, text)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        // What a signal's handler raises meanwhile, as Ctrl-C does, goes first.
        Err(error) => error,
    }
}

/// The diagnostic in the words of the package: its settings are keywords of Python.
pub(crate) fn in_python(diagnostic: &Diagnostic) -> Diagnostic {
    diagnostic.in_words(|setting| match setting {
        Setting::Dimensions => "the keyword dims".to_owned(),
        Setting::Dimension(name) => format!("dims={{\"{name}\": SIZE}}"),
        Setting::Shape(name, order) => {
            format!("shapes={{\"{name}\": ({})}}", vec!["SIZE"; *order].join(", "))
        }
        Setting::Value(name) => format!("{name}=.."),
        Setting::Formats => "the guide's page on formats lists all".to_owned(),
        Setting::Entries => "tamis.coo".to_owned(),
        Setting::BackendJit => "backend=\"jit\"".to_owned(),
        Setting::BackendC => "backend=\"c\"".to_owned(),
        Setting::BackendInterpreter => "backend=\"interp\"".to_owned(),
        Setting::BackendEmulated => "backend=\"cuda-emulated\"".to_owned(),
    })
}
