//! Shared libraries, loaded from bytes.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::Library;
#[cfg(windows)]
pub(crate) use windows::Library;
