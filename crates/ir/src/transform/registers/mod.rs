//! Passes for scalar replacement: elements of arrays stay in registers.

pub(super) mod forward_stores;
pub(super) mod promote_elements;
pub(super) mod promote_rows;
