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

/// How far a result with assembled levels is written.
#[derive(Default)]
pub(super) struct Writing {
    /// The levels that are appended.
    pub(super) levels: LevelWriter,
    /// Whether something was written to the block of values at hand, where it may stay empty.
    pub(super) touched: Option<Var>,
    /// The coordinate buffer, once it is declared.
    pub(super) buffer: Option<CooBuffer>,
    /// The accumulator, once it is declared.
    pub(super) accumulator: Option<Accumulator>,
    /// The counts of entries that are inserted, once they are declared.
    pub(super) counts: Option<Array>,
    /// Of results in two passes over the same loops, the one being lowered.
    pub(super) pass: Pass,
}

impl Writing {
    /// The slices that the accumulator has for rows, where it has some.
    pub(super) fn slice(&self) -> Option<&RowHashTable> {
        self.accumulator.as_ref()?.slice.as_deref()
    }
}

/// Which of two passes over the same loops is being lowered.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pass {
    /// Learns which coordinates come.
    #[default]
    Look,
    /// Writes their values.
    Fill,
}
