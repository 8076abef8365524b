//! The arrays of a tensor in `csr` or `csc`, as other crates take them.

use crate::index::Index;
use crate::memory::{Buffer, Element};
use crate::tensor::Tensor;
use tamis_core::format;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// A matrix by compressed rows or columns.
pub(super) struct Compressed<P, C, T> {
    pub(super) shape: (usize, usize),
    pub(super) pos: Vec<P>,
    pub(super) crd: Vec<C>,
    pub(super) vals: Vec<T>,
}

impl<P: Index, C: Index, T: Element> Compressed<P, C, T> {
    /// The arrays of a tensor with fill value 0 in one of these formats, `csr` or `csc`: its own where nobody else has
    /// them and indices are as wide.
    pub(super) fn of(tensor: Tensor, formats: &[&str]) -> Result<Self, Diagnostic> {
        tensor.values::<T>()?;
        if !formats.iter().any(|name| is_in(&tensor, name)) {
            let message = format!("the tensor is no matrix in {}", formats.join(" or "));
            let help = format!("convert it first: tensor.to_format(\"{}\")?", formats[0]);
            return Err(Diagnostic::new(Code::InvalidTensor, message).help(help));
        }
        if !tensor.storage().fill.is_zero() {
            let message = format!("the fill value of the tensor is {}", tensor.storage().fill);
            let help = "matrices of other crates have 0 where they store nothing: convert the tensor to fill value 0";
            return Err(Diagnostic::new(Code::InvalidTensor, message).help(help));
        }
        let (dims, _, mut levels, vals) = tensor.into_parts();
        let lists = levels.pop().expect("two levels");
        Ok(Compressed {
            shape: (dims[0] as usize, dims[1] as usize),
            pos: indices(lists.pos)?,
            crd: indices(lists.crd)?,
            vals: vals.into_vec().unwrap_or_default(),
        })
    }
}

pub(super) fn dims((rows, columns): (usize, usize)) -> [u64; 2] {
    [rows as u64, columns as u64]
}

pub(super) fn is_in(tensor: &Tensor, name: &str) -> bool {
    format::parse(name, Some(2)).is_ok_and(|f| f.format == tensor.storage().format)
}

/// Positions or coordinates as a vector.
fn indices<I: Index>(array: Option<Buffer>) -> Result<Vec<I>, Diagnostic> {
    array.and_then(Buffer::into_indices).ok_or_else(|| {
        let message = format!("an index of the tensor does not fit {}", std::any::type_name::<I>());
        Diagnostic::new(Code::InvalidTensor, message).help("ask for a matrix with wider indices")
    })
}
