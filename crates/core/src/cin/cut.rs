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
    /// Whether it may be called for parts of its outermost loop, if that loop can be cut.
    pub chunked: bool,
    /// Whether its function itself runs the parts of a loop that a schedule gives to threads, since no caller calls it
    /// for parts.
    pub threaded: bool,
    /// The loops that a schedule distributes over ranks, each over another axis of the ranks' grid.
    pub ranks: Vec<OnRanks>,
}

/// A loop distributed over ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnRanks {
    /// The loop within a part; later commands may have derived other loops from it.
    pub inner: IndexVar,
    /// The name of the loop over ranks.
    pub outer: String,
    /// The name of the axis in the grid of ranks.
    pub axis: String,
}
