//! How results are written: one file per kind of assembly.

pub(super) mod accumulator;
pub(super) mod append;
pub(super) mod append_then_sort;
pub(super) mod coo_buffer;
pub(super) mod count_then_fill;
pub(super) mod count_then_insert;
pub(super) mod gather;
pub(super) mod output;
pub(super) mod pack_buffer;
pub(super) mod symbolic;

use super::gpu::hash_accumulator::RowHashTable;
use accumulator::Accumulator;
use append::LevelWriter;
use coo_buffer::CooBuffer;
use tamis_ir::ids::{Array, Var};

/// The state of writing a result with assembled levels.
#[derive(Default)]
pub(super) struct Writing {
    /// The levels that are appended.
    pub(super) levels: LevelWriter,
    /// A flag that the current block of values was written to, if it may stay empty.
    pub(super) touched: Option<Var>,
    /// The coordinate buffer, once it is declared.
    pub(super) buffer: Option<CooBuffer>,
    /// The accumulator, once it is declared.
    pub(super) accumulator: Option<Accumulator>,
    /// The counts of entries to insert, once they are declared.
    pub(super) counts: Option<Array>,
    /// For results in two passes over the same loops, the current pass.
    pub(super) pass: Pass,
}

impl Writing {
    /// The slices of the accumulator for rows, if it has slices.
    pub(super) fn slice(&self) -> Option<&RowHashTable> {
        self.accumulator.as_ref()?.slice.as_deref()
    }
}

/// The current pass of two over the same loops.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pass {
    /// Finds the coordinates.
    #[default]
    Look,
    /// Writes the values.
    Fill,
}
