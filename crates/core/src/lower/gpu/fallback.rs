//! Why the host runs a kernel that has loops on units of a GPU.
//!
//! ```text
//! y(j) = A(i,j) * x(i), y sparse       entries of the result are unordered, and there is no row in which to
//!                                      accumulate them
//! ```

use super::GpuContext;
use crate::cin::Kernel;
use crate::plan::{Assembly, Output, Rest};

/// Why a kernel runs on the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GpuFallback {
    /// Iterations of its loops write to elements that they cannot share.
    Raced,
    /// The result has a mask of its stored positions.
    Placed,
    /// Entries are unordered: they are listed and sorted.
    Listed,
    /// Entries are unordered: they are counted for each position.
    Counted,
    /// Entries are unordered: they are accumulated in one workspace.
    Gathered,
    /// Blocks of values are written before it is known whether they are kept.
    Tentative,
    /// A level of the result cannot be counted.
    Levels,
    /// Some statement writes the result outside of its rows.
    Rows,
    /// The loops around the rows do not run on blocks.
    Blocks,
    /// The state of a row depends on earlier rows.
    InOrder,
    /// A workspace grows as entries are inserted.
    Grown,
}

impl GpuFallback {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            GpuFallback::Raced => "iterations of its loops write to what they cannot share",
            GpuFallback::Placed => "its result knows which of its positions are stored",
            GpuFallback::Listed => {
                "entries of its result come in any order, and are listed and sorted"
            }
            GpuFallback::Counted => {
                "entries of its result come in any order, and are counted for each position"
            }
            GpuFallback::Gathered => {
                "entries of its result come in any order, and have no row to be gathered for"
            }
            GpuFallback::Tentative => {
                "blocks of its result are written before it is known whether they stay"
            }
            GpuFallback::Levels => "a level of its result cannot be counted before it is written",
            GpuFallback::Rows => "something of its result is outside of the rows that are counted",
            GpuFallback::Blocks => "the loops around the rows of its result are not on blocks",
            GpuFallback::Grown => "a hashed workspace gets more memory as entries come",
            GpuFallback::InOrder => "each row of its result follows from what rows before did",
        }
    }
}

/// Why the host runs a kernel although a schedule gives its loops to units of a GPU; `sliced` if it accumulates rows
/// in slices.
pub(in crate::lower) fn host(
    kernel: &Kernel,
    output: &Output,
    gpu: &GpuContext,
    sliced: bool,
) -> Option<GpuFallback> {
    match output {
        _ if !kernel.is_for_gpu() => None,
        _ if gpu.grows => Some(GpuFallback::Grown),
        // All of the result would be in one slice.
        _ if sliced && output.gathered_from() == Some(0) => Some(GpuFallback::Gathered),
        _ if gpu.raced => Some(GpuFallback::Raced),
        _ if gpu.phased => None,
        Output::InPlace | Output::SharedStructure => None,
        Output::Insert => Some(GpuFallback::Placed),
        Output::Assemble(Assembly { rest: Rest::CoordinateBuffer, .. }) => {
            Some(GpuFallback::Listed)
        }
        Output::Assemble(Assembly { rest, .. }) if rest.is_in_two_passes() => {
            Some(GpuFallback::Counted)
        }
        Output::Assemble(_) if gpu.tentative => Some(GpuFallback::Tentative),
        Output::Assemble(_) => Some(gpu.unphased.unwrap_or(GpuFallback::Rows)),
    }
}
