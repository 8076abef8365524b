//! Who runs parts of a kernel: threads, and ranks.
//!
//! ```text
//! forall(ii, forall(j, y(i) += A(i,j) * x(j)))      ii: a part on each rank of x, by io
//! ```
//!
//! The loop over ranks is not in the body: each rank runs one iteration of it, which is a kernel like any other.
//! (DISTAL, Yadav et al., section 5: `distribute` divides a loop and tags the outer one.)

use tamis_ir::ids::IndexVar;

/// Who runs parts of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CutOptions {
    /// Whether it is called for parts of its outermost loop, where that can be cut.
    pub chunked: bool,
    /// Whether its function runs the parts of a loop that a schedule gives to threads by itself, for nobody calls it
    /// for parts.
    pub threaded: bool,
    /// The loops that a schedule has ranks share, each over another axis of their grid.
    pub ranks: Vec<OnRanks>,
}

/// A loop that ranks share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnRanks {
    /// The loop within a part; others may have been made of it since.
    pub inner: IndexVar,
    /// The name of the loop over ranks.
    pub outer: String,
    /// The name of the axis of the grid of ranks.
    pub axis: String,
}
