//! How results are written: one file per kind of assembly.

pub(super) mod accumulator;
pub(super) mod append;
pub(super) mod combine;
pub(super) mod coo_buffer;
pub(super) mod output;
pub(super) mod pack_buffer;
pub(super) mod shared_structure;
pub(super) mod symbolic;
