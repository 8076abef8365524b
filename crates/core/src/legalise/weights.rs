//! What steps of loops and copies cost, in multiply-adds on cached data; they only have to rank ways to run a kernel.
//! `docs/guide/plan.md` has them as a table.

/// Diagonals of a matrix that is stored by them.
pub(super) const DIAGONALS: f64 = 8.0;
/// A step of a binary search.
pub(super) const SEARCH: f64 = 6.0;
/// A look into a hash map.
pub(super) const HASH: f64 = 22.0;
/// A branch that is not predicted.
pub(super) const BRANCH: f64 = 12.0;
/// Slots of a hash map for each of its entries, of which a walk looks at all.
pub(super) const SLOTS: f64 = 3.0;
/// A function or a quotient. It costs less than a stride, which loads a cache line for each element.
pub(super) const FUNCTION: f64 = 2.0;
/// Adding an entry to a dense workspace.
pub(super) const GATHER: f64 = 8.0;
/// Adding an entry to its row, of which the entries were counted, and sorting that.
pub(super) const PLACE: f64 = 4.0;
pub(super) const SORT: f64 = 12.0;
/// Adding an entry to a dense workspace, and copying what was gathered.
pub(super) const ELSEWHERE: f64 = 12.0;
/// Adding an entry to a hashed workspace, and sorting that.
pub(super) const HASHED: f64 = 18.0;
/// Adding an entry to a list, and sorting it.
pub(super) const STAGE: f64 = 60.0;
/// Copying an entry of an operand into another order: by counting or gathering rows, by sorting these, or by a list.
pub(super) const CONVERT: f64 = 8.0;
pub(super) const CONVERT_BY_ROWS: f64 = 14.0;
pub(super) const CONVERT_BY_LIST: f64 = 60.0;
/// Copying an element of a dense tensor into another order.
pub(super) const TRANSPOSE: f64 = 6.0;
/// Touching a dense operand across its innermost level.
pub(super) const STRIDE: f64 = 3.0;
/// The same where the loop outside goes along that level, over so few rows that these are all at hand.
pub(super) const STREAM: f64 = 1.0;
pub(super) const STREAMS: f64 = 64.0;
/// Adding to an element of a result that left the caches meanwhile, the nearest ones, and the registers.
pub(super) const REVISIT: f64 = 0.3;
pub(super) const REVISIT_NEAR: f64 = 0.1;
pub(super) const REVISIT_CACHED: f64 = 0.05;
/// Elements of results that stay in caches, and in the nearest ones.
pub(super) const CACHED: f64 = 4e6;
pub(super) const CACHED_NEAR: f64 = (1 << 16) as f64;
/// Walking an entry once more that left the nearest caches meanwhile.
pub(super) const REREAD: f64 = 0.3;
