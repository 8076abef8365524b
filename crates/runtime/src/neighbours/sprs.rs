//! Matrices of the crate `sprs`.

use super::compressed::{Compressed, dims, is_in};
use crate::index::Index;
use crate::memory::Element;
use crate::tensor::Tensor;
use crate::view::TensorView;
use sprs::{CsMatI, SpIndex};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// A matrix in `csr` or `csc`, as it is stored, of its own arrays.
///
/// ```
/// use sprs::CsMat;
/// use tamis_runtime::Tensor;
/// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
/// let a = CsMat::new((2, 3), vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]);
/// let a = Tensor::try_from(a)?;
/// assert_eq!(a.get(&[0, 2])?.as_f64(), 2.0);
/// let back = CsMat::<f64>::try_from(a)?;
/// assert_eq!((back.rows(), back.cols(), back.nnz()), (2, 3, 3));
/// # Ok(())
/// # }
/// ```
impl<T, I, P> TryFrom<CsMatI<T, I, P>> for Tensor
where
    T: Element,
    I: Index + SpIndex,
    P: Index + SpIndex,
{
    type Error = Diagnostic;

    fn try_from(matrix: CsMatI<T, I, P>) -> Result<Tensor, Diagnostic> {
        let (dims, by_rows) = (dims(matrix.shape()), matrix.is_csr());
        let (pos, crd, vals) = matrix.into_raw_storage();
        match by_rows {
            true => Tensor::csr(dims, pos, crd, vals),
            false => Tensor::csc(dims, pos, crd, vals),
        }
    }
}

/// A matrix that is borrowed, in `csr` or `csc` as it is stored.
///
/// ```
/// use sprs::CsMat;
/// use tamis_runtime::TensorView;
/// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
/// let a = CsMat::new_csc((2, 2), vec![0, 1, 2], vec![1, 0], vec![1.0, 2.0]);
/// assert_eq!(TensorView::try_from(&a)?.get(&[0, 1])?.as_f64(), 2.0);
/// # Ok(())
/// # }
/// ```
impl<'a, T, I, P> TryFrom<&'a CsMatI<T, I, P>> for TensorView<'a>
where
    T: Element,
    I: Index + SpIndex,
    P: Index + SpIndex,
{
    type Error = Diagnostic;

    fn try_from(matrix: &'a CsMatI<T, I, P>) -> Result<TensorView<'a>, Diagnostic> {
        let (dims, pos) = (dims(matrix.shape()), matrix.indptr().into_raw_storage());
        match matrix.is_csr() {
            true => TensorView::csr(dims, pos, matrix.indices(), matrix.data()),
            false => TensorView::csc(dims, pos, matrix.indices(), matrix.data()),
        }
    }
}

/// A tensor in `csr` or `csc` with fill value 0: its own arrays where nobody else has them and indices are as wide.
/// Other formats, elements of another type and indices that do not fit are errors.
impl<T, I, P> TryFrom<Tensor> for CsMatI<T, I, P>
where
    T: Element,
    I: Index + SpIndex,
    P: Index + SpIndex,
{
    type Error = Diagnostic;

    fn try_from(tensor: Tensor) -> Result<CsMatI<T, I, P>, Diagnostic> {
        let by_rows = is_in(&tensor, "csr");
        let Compressed { shape, pos, crd, vals } = Compressed::of(tensor, &["csr", "csc"])?;
        let made = match by_rows {
            true => CsMatI::try_new(shape, pos, crd, vals),
            false => CsMatI::try_new_csc(shape, pos, crd, vals),
        };
        made.map_err(|(.., error)| Diagnostic::new(Code::InvalidTensor, error.to_string()))
    }
}
