//! Tables that operands alone decide, kept for as long as these stay where they are.
//!
//! ```text
//! first call      A1_begins is computed from A1_pos, and kept
//! later calls     the kernel that computes it does not start, if A1_pos is where it was
//! ```

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The address of an array of the host, and its bytes.
pub type Place = (u64, usize);

/// What decides a table: the kernel, numbers, and arrays of operands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    /// The compiled function, by [`function`].
    pub(crate) function: u64,
    /// Which of its kernels.
    pub(crate) launch: usize,
    pub(crate) scalars: Vec<u64>,
    pub(crate) inputs: Vec<Place>,
}

/// Arrays on a device or an emulated one, in the order of [`tamis_core::backend::cuda::Table`].
pub(crate) type Arrays = Arc<dyn Any + Send + Sync>;

/// How many tables are kept, and how often one was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Tables.
    pub kept: usize,
    /// Calls of kernels that were spared.
    pub found: usize,
}

#[derive(Default)]
struct Tables {
    arrays: BTreeMap<Key, Arrays>,
    found: usize,
}

static TABLES: Mutex<Option<Tables>> = Mutex::new(None);

fn tables() -> MutexGuard<'static, Option<Tables>> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number for a compiled function that no other has.
pub(crate) fn function() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Keeps a table.
pub(crate) fn keep(key: Key, arrays: Arrays) {
    tables().get_or_insert_default().arrays.insert(key, arrays);
}

/// The table, if it is kept.
pub(crate) fn find(key: &Key) -> Option<Arrays> {
    let mut tables = tables();
    let tables = tables.get_or_insert_default();
    let found = tables.arrays.get(key).cloned();
    tables.found += usize::from(found.is_some());
    found
}

/// Gives up the tables that an array decides.
pub(crate) fn forget(place: Place) {
    tables().get_or_insert_default().arrays.retain(|key, _| !key.inputs.contains(&place));
}

/// What is kept, and what it was good for.
pub fn statistics() -> Statistics {
    let tables = tables();
    let count = |t: &Tables| Statistics { kept: t.arrays.len(), found: t.found };
    tables.as_ref().map_or(Statistics::default(), count)
}
