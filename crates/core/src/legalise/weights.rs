//! The cost of steps of loops and copies, in multiply-adds on cached data; costs only have to rank ways to run a
//! kernel.
//! `docs/guide/plan.md` has them as a table.

/// The number of diagonals of a matrix that is stored by diagonals.
pub(super) const DIAGONALS: f64 = 8.0;
/// A step of a binary search.
pub(super) const SEARCH: f64 = 6.0;
/// A lookup in a hash map.
pub(super) const HASH: f64 = 22.0;
/// A mispredicted branch.
pub(super) const BRANCH: f64 = 12.0;
/// Slots of a hash map per entry; a walk reads all slots.
pub(super) const SLOTS: f64 = 3.0;
/// A function or a quotient. It costs less than a stride, which loads a cache line for each element.
pub(super) const FUNCTION: f64 = 2.0;
/// Adding an entry to a dense accumulator.
pub(super) const GATHER: f64 = 8.0;
/// Adding an entry to a row whose entries were counted; in the second case, also sorting the row.
pub(super) const PLACE: f64 = 4.0;
pub(super) const SORT: f64 = 12.0;
/// Adding an entry to a dense workspace, and copying it to another tensor.
pub(super) const ELSEWHERE: f64 = 12.0;
/// Adding an entry to a hashed workspace, and sorting it.
pub(super) const HASHED: f64 = 18.0;
/// Adding an entry to a coordinate buffer, and sorting it.
pub(super) const STAGE: f64 = 60.0;
/// Copying an entry of an operand into another order: by counting or accumulating rows, by sorting rows, or by a
/// coordinate buffer.
pub(super) const CONVERT: f64 = 8.0;
pub(super) const CONVERT_BY_ROWS: f64 = 14.0;
pub(super) const CONVERT_BY_LIST: f64 = 60.0;
/// Copying an element of a dense tensor into another order.
pub(super) const TRANSPOSE: f64 = 6.0;
/// Accessing a dense operand with a stride.
pub(super) const STRIDE: f64 = 3.0;
/// Such an access where the next outer loop is contiguous, and the innermost loop has at most `STREAMS` iterations: all
/// rows stay in cache.
pub(super) const STREAM: f64 = 1.0;
pub(super) const STREAMS: f64 = 64.0;
/// Adding to an element of a result that has left the caches, the nearest caches, or the registers.
pub(super) const REVISIT: f64 = 0.3;
pub(super) const REVISIT_NEAR: f64 = 0.1;
pub(super) const REVISIT_CACHED: f64 = 0.05;
/// The number of elements of results that stay in the caches, and in the nearest caches.
pub(super) const CACHED: f64 = 4e6;
pub(super) const CACHED_NEAR: f64 = (1 << 16) as f64;
/// Walking again an entry that has left the nearest caches.
pub(super) const REREAD: f64 = 0.3;
