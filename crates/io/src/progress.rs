//! How far the reading or writing of a file is, for whoever wants to show it.
//!
//! Readers and writers tell now and then; numbers are of the process, of the file that began last.
//!
//! ```text
//! Progress { done: 31457280, total: Some(204800000) }       bytes
//! ```

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static DONE: AtomicU64 = AtomicU64::new(0);
/// 0 if nobody knows.
static TOTAL: AtomicU64 = AtomicU64::new(0);

/// Bytes of text, before compression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Those read or written.
    pub done: u64,
    /// Those of the whole file, where known.
    pub total: Option<u64>,
}

/// How far the file is that was begun last.
pub fn progress() -> Progress {
    let total = TOTAL.load(Relaxed);
    Progress { done: DONE.load(Relaxed), total: (total > 0).then_some(total) }
}

/// A file begins, of so many bytes if known.
pub(crate) fn begin(total: Option<u64>) {
    DONE.store(0, Relaxed);
    TOTAL.store(total.unwrap_or(0), Relaxed);
}

/// So many bytes are read.
pub(crate) fn reach(done: u64) {
    DONE.store(done, Relaxed);
}

/// So many more bytes are written.
pub(crate) fn advance(bytes: usize) {
    DONE.fetch_add(bytes as u64, Relaxed);
}
