//! What statements leave open: types, fill values, formats, and what slices and complex numbers stand for.

pub(super) mod complex;
pub(super) mod formats;
pub(super) mod slices;
pub(super) mod types;
