//! Passes that remove branches from loops.

pub(super) mod merge;
pub(super) mod probe;
pub(super) mod short_sums;
mod steps;
