//! Infers what statements leave open: types, fill values, formats, slices and complex numbers.

pub(super) mod complex;
pub(super) mod formats;
pub(super) mod slices;
pub(super) mod types;
