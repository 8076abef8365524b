//! Tamis as a contender, and the bars that no race decides. Empty until the compiler runs kernels.
//!
//! What belongs here: a [`Contender`] for each of [`Role::TamisJit`] and [`Role::TamisC`] that takes the
//! arrays of [`Operands`] as they are (CSR and CSF with `i32` positions and coordinates, dense operands
//! row-major), compiles in `prepare`, and gives an [`Output`] through [`in_process`].
//!
//! [`Role::TamisJit`]: crate::contender::Role::TamisJit
//! [`Role::TamisC`]: crate::contender::Role::TamisC
//! [`Operands`]: crate::problem::Operands
//! [`Output`]: crate::problem::Output
//! [`in_process`]: crate::contender::in_process

use crate::bars::Bar;
use crate::contender::Contender;

/// The tiers that take part.
pub fn contenders() -> Vec<Box<dyn Contender>> {
    Vec::new()
}

/// Compile time over the gallery and the overhead of calling a compiled kernel again.
pub fn other_bars() -> Vec<Bar> {
    Vec::new()
}
