//! Passes that keep elements of arrays in registers: scalar replacement.

pub(super) mod forward_stores;
pub(super) mod promote_elements;
pub(super) mod promote_rows;
