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

use std::collections::{BTreeMap, BTreeSet};
use tamis_ir::ids::TensorId;

/// What is known of the loops that a GPU runs.
#[derive(Default)]
pub(super) struct GpuContext {
    /// These loops, by their variables in code: those of the plan, and the units that run them.
    pub(super) units: parallel::Units,
    /// How many such loops there are around each workspace.
    pub(super) own_loops: BTreeMap<TensorId, usize>,
    /// Workspaces of which threads may write to elements of their own each.
    pub(super) lent: BTreeSet<TensorId>,
    /// Sums of tiles of positions.
    pub(super) sums: segmented_reduction::SegmentedReductions,
    /// Where tiles of positions begin.
    pub(super) tables: tile_starts::TileStarts,
    /// Whether several iterations of these loops would write to what they cannot share.
    pub(super) raced: bool,
    /// Whether entries of the result are counted before they are written.
    pub(super) phased: bool,
    /// Why they are not, where the loops would have to do it.
    pub(super) unphased: Option<fallback::GpuFallback>,
    /// Whether blocks of values are written before it is known that they stay.
    pub(super) tentative: bool,
    /// Whether a workspace grows in the loops.
    pub(super) grows: bool,
    /// Whether workspaces are slices of arrays that the iterations of loops share.
    pub(super) in_slices: bool,
}
