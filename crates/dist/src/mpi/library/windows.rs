//! On Windows no MPI library is used.

use super::Which;
use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};

/// A library that stays loaded.
pub(super) enum Handle {}

impl Handle {
    pub(super) fn open(name: &Path, _: Which) -> Result<Handle, String> {
        Err(format!("{}: on Windows no MPI library is used", name.display()))
    }

    pub(super) fn symbol(&self, _: &CStr) -> Option<*mut c_void> {
        match *self {}
    }

    pub(super) fn file(&self, _: *mut c_void) -> Option<PathBuf> {
        match *self {}
    }
}

/// The process that started this one.
pub(super) fn parent() -> Option<u32> {
    None
}
