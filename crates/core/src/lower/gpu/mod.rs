//! What kernels for a GPU need beside others: segmented reductions, two-pass assembly, accumulators in shared memory.

pub(super) mod fallback;
pub(super) mod hash_accumulator;
pub(super) mod heap_sort;
pub(super) mod parallel;
pub(super) mod parallel_append;
pub(super) mod scan;
pub(super) mod segmented_reduction;
pub(super) mod tile_starts;
pub(super) mod two_pass;
pub(super) mod two_pass_rows;
