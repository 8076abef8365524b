//! What can be read only once: standard input, pipes and devices.
//!
//! ```text
//! -i x=-      read by the run as a whole; where memory is too small for that, the run in parts gets the same entries
//! ```

use crate::progress;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tamis_io::{Cut, File, FileError, ReadOptions};

static KEPT: Mutex<Kept> = Mutex::new(Kept { until: Until::Never, files: BTreeMap::new() });

/// What was read of paths that can be read once.
struct Kept {
    until: Until,
    files: BTreeMap<PathBuf, Result<File, FileError>>,
}

/// How long it is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// It is not: nobody reads it again.
    Never,
    /// Until the command ends.
    End,
    /// Until it is asked for once more.
    Next,
}

/// Whether standard input has been read as the program.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Notes that standard input is read as the program.
pub fn take_for_program() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// Whether standard input is left for an operand.
pub fn is_left() -> bool {
    !IS_PROGRAM.load(Ordering::Relaxed)
}

/// Keeps what is read once, from now on.
pub fn keep(until: Until) {
    kept().until = until;
}

/// Whether what is at a path can be read only once. What does not exist is not.
pub fn is_read_once(path: &Path) -> bool {
    let is_other = || path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
    tamis_io::is_standard(path) || is_other()
}

/// The first file of some `-i`, each behind a name and `=` perhaps, that can be read only once.
pub fn first_read_once(inputs: &[String]) -> Option<&str> {
    let mut files = inputs
        .iter()
        .map(|input| input.split_once('=').map_or(&input[..], |(_, file)| file).trim());
    files.find(|file| *file == "/dev/stdin" || is_read_once(Path::new(file)))
}

/// A file that can be read in parts.
pub fn cut(path: &Path, options: &ReadOptions) -> Option<Cut> {
    if is_read_once(path) { None } else { Cut::open(path, options) }
}

/// Reads a file, or has what was read of it before.
pub fn read(path: &Path, options: &ReadOptions) -> Result<File, FileError> {
    let until = kept().until;
    if until == Until::Never || !is_read_once(path) {
        return progress::read(path, options);
    }
    let before = match until {
        Until::End => kept().files.get(path).cloned(),
        _ => kept().files.remove(path),
    };
    if let Some(before) = before {
        return before;
    }
    let read = progress::read(path, options);
    if until == Until::End {
        kept().files.insert(path.to_path_buf(), read.clone());
    }
    read
}

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}
