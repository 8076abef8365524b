//! How results are written: one file per kind of assembly.

pub(super) mod accumulator;
pub(super) mod append;
pub(super) mod coo_buffer;
pub(super) mod output;
pub(super) mod pack_buffer;
pub(super) mod symbolic;

use accumulator::{Pass, Workspace};
use coo_buffer::Stage;
use std::collections::BTreeMap;
use tamis_ir::ids::Var;

/// How far a result with assembled levels is written.
#[derive(Default)]
pub(super) struct Writing {
    /// The next free position of each appended level, of the first of those that form a chain.
    pub(super) next: BTreeMap<usize, Var>,
    /// Whether something was written to the block of values at hand, where it may stay empty.
    pub(super) touched: Option<Var>,
    /// The coordinate buffer, once it is declared.
    pub(super) buffer: Option<Stage>,
    /// The accumulator, once it is declared.
    pub(super) accumulator: Option<Workspace>,
    /// Of results in two passes over the same loops, the one being lowered.
    pub(super) pass: Pass,
}

impl Writing {
    /// Whether the loops learn which coordinates come, before they write values.
    pub(super) fn is_looking(&self) -> bool {
        self.pass == Pass::Look
    }
}
