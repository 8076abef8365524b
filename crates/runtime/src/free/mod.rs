//! How much more memory the process can get: what the machine has available, what its control
//! groups leave, and what its own limits leave.
//!
//! ```text
//! MemAvailable 18 GB, memory.max 4 GB of which 1 GB is used, no RLIMIT_AS     3 GB
//! ```

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{free, of_machine};
#[cfg(windows)]
pub(crate) use windows::{free, of_machine};

/// Memory of the process as the system counts it, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Free {
    /// How much more it can get.
    pub available: usize,
    /// How much of its own memory is resident.
    pub resident: usize,
}
