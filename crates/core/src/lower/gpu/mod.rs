//! The code that only GPUs need: segmented reductions, two-phase assembly, accumulators in shared memory.

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

/// The state of lowering for a GPU.
#[derive(Default)]
pub(super) struct GpuContext {
    /// The loops that a GPU runs, by their variables in code: the loop of the plan, and the unit that runs it.
    pub(super) units: parallel::Units,
    /// For each workspace, the number of such loops around it.
    pub(super) own_loops: BTreeMap<TensorId, usize>,
    /// Workspaces in which threads may write to disjoint elements.
    pub(super) lent: BTreeSet<TensorId>,
    /// Segmented reductions over tiles of positions.
    pub(super) sums: segmented_reduction::SegmentedReductions,
    /// The parents of the first positions of tiles.
    pub(super) tables: tile_starts::TileStarts,
    /// Whether concurrent iterations would write to elements that they cannot share.
    pub(super) raced: bool,
    /// Whether the result is assembled in two phases.
    pub(super) phased: bool,
    /// Why not, if the loops would have to.
    pub(super) unphased: Option<fallback::GpuFallback>,
    /// Whether blocks of values are written before it is known whether they are kept.
    pub(super) tentative: bool,
    /// Whether a workspace grows within the loops.
    pub(super) grows: bool,
    /// Whether workspaces are slices of shared arrays.
    pub(super) in_slices: bool,
}
