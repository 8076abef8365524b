//! Tensors of borrowed arrays: what others own is an operand for as long as it is borrowed, and is never
//! copied for that.

use crate::index::{self, Index};
use crate::memory::{Buffer, Element};
use crate::tensor::Tensor;
use std::marker::PhantomData;
use std::ops::Deref;
use tamis_ir::diagnostic::Diagnostic;

/// A tensor of arrays that are borrowed: wherever a `&Tensor` is taken, a view is. Clones of the tensor
/// are copies.
///
/// ```
/// use tamis_runtime::TensorView;
/// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
/// let (pos, crd, vals) = (vec![0usize, 2, 3], vec![0u32, 2, 1], vec![1.0, 2.0, 3.0]);
/// let a = TensorView::csr([2, 3], &pos, &crd, &vals)?;
/// assert_eq!(a.get(&[0, 2])?.as_f64(), 2.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TensorView<'a> {
    tensor: Tensor,
    arrays: PhantomData<&'a [u8]>,
}

impl Deref for TensorView<'_> {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.tensor
    }
}

impl<'a> TensorView<'a> {
    /// A dense tensor, last mode contiguous: see [`Tensor::dense`].
    ///
    /// # Errors
    /// When there are not as many values as the dimensions say.
    pub fn dense<T: Element>(dims: &[u64], vals: &'a [T]) -> Result<TensorView<'a>, Diagnostic> {
        Tensor::full(dims, values(vals)).map(TensorView::of)
    }

    /// A matrix by compressed rows: see [`Tensor::csr`].
    ///
    /// # Errors
    /// As for [`Tensor::csr`].
    pub fn csr<P: Index, C: Index, T: Element>(
        dims: [u64; 2],
        pos: &'a [P],
        crd: &'a [C],
        vals: &'a [T],
    ) -> Result<TensorView<'a>, Diagnostic> {
        let arrays = [indices(pos), indices(crd), values(vals)];
        let told = |refused| index::refused(pos).or_else(|| index::refused(crd)).unwrap_or(refused);
        Tensor::compressed([0, 1], dims, arrays).map(TensorView::of).map_err(told)
    }

    /// A matrix by compressed columns: see [`Tensor::csc`].
    ///
    /// # Errors
    /// As for [`Tensor::csr`].
    pub fn csc<P: Index, C: Index, T: Element>(
        dims: [u64; 2],
        pos: &'a [P],
        crd: &'a [C],
        vals: &'a [T],
    ) -> Result<TensorView<'a>, Diagnostic> {
        let arrays = [indices(pos), indices(crd), values(vals)];
        let told = |refused| index::refused(pos).or_else(|| index::refused(crd)).unwrap_or(refused);
        Tensor::compressed([1, 0], dims, arrays).map(TensorView::of).map_err(told)
    }

    /// The tensor of arrays that are borrowed for the view's lifetime.
    fn of(tensor: Tensor) -> TensorView<'a> {
        TensorView { tensor, arrays: PhantomData }
    }
}

/// Elements as an array that must not outlive them: it goes into a view, which lends it for as long.
fn values<T: Element>(elements: &[T]) -> Buffer {
    // SAFETY: the view borrows the elements, gives the array away only by copying it, and a tensor that is
    // refused is dropped before they are.
    unsafe { Buffer::lent(elements, T::DATATYPE) }
}

/// Indices as an array, in the same way.
fn indices<I: Index>(elements: &[I]) -> Buffer {
    // SAFETY: as above; an index has the size and alignment of the integers of its width.
    unsafe { Buffer::lent(elements, I::WIDTH.datatype()) }
}
