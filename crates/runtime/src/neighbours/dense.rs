//! All elements of a tensor, as other crates take them.

use crate::budget;
use crate::memory::Element;
use crate::pack::{Duplicates, pack};
use crate::tensor::Tensor;
use tamis_core::format::{Format, Storage};
use tamis_core::level::DENSE;
use tamis_ir::diagnostic::Diagnostic;

/// The dimensions of a tensor and all its elements, last mode contiguous: its own memory where this is how they are
/// stored and nobody else has it.
pub(super) fn all_elements<T: Element>(tensor: Tensor) -> Result<(Vec<u64>, Vec<T>), Diagnostic> {
    tensor.values::<T>()?;
    let format = Format::in_order(tensor.dims().iter().map(|_| DENSE));
    let tensor = match tensor.storage().format == format {
        true => tensor,
        false => {
            let storage = Storage { format, ..tensor.storage().clone() };
            pack(&tensor.to_coordinates()?, &storage, Duplicates::Sum)?
        }
    };
    Ok((tensor.dims().to_vec(), tensor.into_vec()?))
}

/// Refuses a copy of so many elements that memory does not allow.
pub(super) fn elements_fit<T>(elements: f64) -> Result<(), Diagnostic> {
    budget::check("an array", elements * size_of::<T>() as f64, budget::SMALLER_TENSOR)
}
