//! Why the host runs a kernel that has loops on units of a GPU.
//!
//! ```text
//! y(j) = A(i,j) * x(i), y sparse       entries of the result come in any order, and have no row to be
//!                                      gathered for
//! ```

use crate::lower::Lowerer;
use crate::plan::{Assembly, Output, Rest};

/// Why a kernel runs on the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GpuFallback {
    /// Iterations of its loops write to what they cannot share.
    Raced,
    /// The result knows which of its positions are stored.
    Placed,
    /// Entries come in any order, and are listed and sorted.
    Listed,
    /// Entries come in any order, and are counted for each position.
    Counted,
    /// Entries come in any order, and are gathered in one workspace.
    Gathered,
    /// It is not known before blocks of values are written whether they stay.
    Tentative,
    /// A level of the result cannot be counted.
    Levels,
    /// Something of the result is outside of its rows.
    Rows,
    /// The loops around the rows are not on blocks.
    Blocks,
    /// Rows follow from what rows before did.
    InOrder,
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
            GpuFallback::InOrder => "each row of its result follows from what rows before did",
        }
    }
}

impl Lowerer<'_> {
    /// Whether the whole result would have one slice.
    fn gathers_all(&self) -> bool {
        self.plan.output.gathered_from() == Some(0) && self.slice_of_plan().is_some()
    }

    /// Why the host runs the kernel although a schedule gives its loops to units.
    pub(in crate::lower) fn host(&self) -> Option<GpuFallback> {
        match &self.plan.output {
            _ if !self.kernel.is_for_gpu() => None,
            _ if self.gathers_all() => Some(GpuFallback::Gathered),
            _ if self.gpu.raced => Some(GpuFallback::Raced),
            _ if self.gpu.phased => None,
            Output::InPlace | Output::SharedStructure => None,
            Output::Insert => Some(GpuFallback::Placed),
            Output::Assemble(Assembly { rest: Rest::CoordinateBuffer, .. }) => {
                Some(GpuFallback::Listed)
            }
            Output::Assemble(Assembly { rest: Rest::CountThenFill, .. }) => {
                Some(GpuFallback::Counted)
            }
            Output::Assemble(_) if self.gpu.tentative => Some(GpuFallback::Tentative),
            Output::Assemble(_) => Some(self.gpu.unphased.unwrap_or(GpuFallback::Rows)),
        }
    }
}
