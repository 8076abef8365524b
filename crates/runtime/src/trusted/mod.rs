//! Folders in which nobody else can replace what we write.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{opened, own, shared};
#[cfg(windows)]
pub(crate) use windows::{opened, own, shared};

use std::io;
use std::path::Path;

/// What to do about folders that are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    /// They are made, for the user alone.
    Create,
    /// That is an error.
    Refuse,
}

fn told(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
