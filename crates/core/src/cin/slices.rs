//! How levels of sliced operands are walked.
//!
//! ```text
//! A(i, j[2:8])         A: csr          coordinates 2..8, found by search, in order
//! A(i, j[::2])                         every other coordinate is skipped
//! A(i, j[::-1])                        coordinates come in descending order
//! ```

use super::Program;
use crate::format::LevelMap;
use crate::notation::{Access, Slice, Slicing};
use tamis_ir::ids::Id;

/// How a walk over a level of an operand reaches the values of its index variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WalkOrder {
    /// In the order of the level.
    AsStored,
    /// In the order of the level, between two of its coordinates.
    Between,
    /// Ascending, but some coordinates of the level are outside of the slice.
    WithGaps,
    /// Descending, or in the order of a hash map.
    OutOfOrder,
}

impl Program {
    /// How a level of an operand is sliced, if it is.
    pub fn slicing<'a>(&self, access: &'a Access, level: usize) -> Option<&'a Slicing> {
        match self.storage(access.tensor).format.levels()[level].map {
            LevelMap::Mode(mode) => access.slicing(mode.index()),
            _ => None,
        }
    }

    /// How a walk over a level of an operand reaches the values of its index variable.
    pub fn walk(&self, access: &Access, level: usize) -> WalkOrder {
        let Some(slicing) = self.slicing(access, level) else { return WalkOrder::AsStored };
        let kind = self.storage(access.tensor).format.levels()[level].kind;
        let p = kind.properties();
        match slicing {
            Slicing::Taken(Slice::Range { step, .. })
            | Slicing::Placed(Slice::Range { step, .. })
                if *step < 0 =>
            {
                WalkOrder::OutOfOrder
            }
            Slicing::Placed(Slice::Range { .. }) => WalkOrder::AsStored,
            Slicing::Taken(Slice::Range { step: 1, .. })
                if p.ordered && p.compact && !kind.locates() =>
            {
                WalkOrder::Between
            }
            _ => WalkOrder::WithGaps,
        }
    }
}
