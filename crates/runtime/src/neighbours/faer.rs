//! Matrices of the crate `faer`.

use super::compressed::{Compressed, dims};
use super::dense::{all_elements, elements_fit};
use crate::index::Index;
use crate::memory::Element;
use crate::pages::LINE;
use crate::tensor::Tensor;
use crate::view::TensorView;
use faer::sparse::{
    SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef, SymbolicSparseColMat,
    SymbolicSparseRowMat,
};
use faer::{Mat, MatRef};
use tamis_ir::diagnostic::{Code, Diagnostic};

macro_rules! conversions {
    ($matrix:ident, $view:ident, $symbolic:ident, $format:ident, $pos:ident, $lengths:ident, $crd:ident) => {
        #[doc = concat!("A matrix in `", stringify!($format), "`, of its own arrays. Those of a matrix that is not compressed, and has")]
        /// room between its segments, are refused.
        ///
        /// ```
        #[doc = concat!("use faer::sparse::{", stringify!($matrix), ", Triplet};")]
        /// use tamis_runtime::Tensor;
        /// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
        /// let entries = [Triplet::new(0, 0, 1.0), Triplet::new(0, 2, 2.0), Triplet::new(1, 1, 3.0)];
        #[doc = concat!("let a = ", stringify!($matrix), "::<usize, f64>::try_new_from_triplets(2, 3, &entries).unwrap();")]
        /// let a = Tensor::try_from(a)?;
        /// assert_eq!(a.get(&[0, 2])?.as_f64(), 2.0);
        #[doc = concat!("let back = ", stringify!($matrix), "::<usize, f64>::try_from(a)?;")]
        /// assert_eq!((back.nrows(), back.ncols(), back.compute_nnz()), (2, 3, 3));
        /// # Ok(())
        /// # }
        /// ```
        impl<T: Element, I: Index + faer::Index> TryFrom<$matrix<I, T>> for Tensor {
            type Error = Diagnostic;

            fn try_from(matrix: $matrix<I, T>) -> Result<Tensor, Diagnostic> {
                let (pattern, mut vals) = matrix.into_parts();
                let (rows, columns, pos, lengths, mut crd) = pattern.into_parts();
                has_no_room(lengths.is_some())?;
                // There may be room behind the last entry.
                let entries = pos.last().map_or(0, |&end| end.zx());
                crd.truncate(entries);
                vals.truncate(entries);
                Tensor::$format(dims((rows, columns)), pos, crd, vals)
            }
        }

        #[doc = concat!("A matrix that is borrowed, in `", stringify!($format), "`.")]
        impl<'a, T: Element, I: Index + faer::Index> TryFrom<$view<'a, I, T>> for TensorView<'a> {
            type Error = Diagnostic;

            fn try_from(matrix: $view<'a, I, T>) -> Result<TensorView<'a>, Diagnostic> {
                let pattern = matrix.symbolic();
                has_no_room(pattern.$lengths().is_some())?;
                let pos = pattern.$pos();
                let entries = pos.last().map_or(0, |&end| end.zx());
                let (crd, vals) = (&pattern.$crd()[..entries], &matrix.val()[..entries]);
                TensorView::$format(dims(pattern.shape()), pos, crd, vals)
            }
        }

        #[doc = concat!("A tensor in `", stringify!($format), "` with fill value 0: its own arrays where nobody else has them and its")]
        /// indices are as wide. Other formats, elements of another type and indices that do not fit are errors.
        impl<T: Element, I: Index + faer::Index> TryFrom<Tensor> for $matrix<I, T> {
            type Error = Diagnostic;

            fn try_from(tensor: Tensor) -> Result<$matrix<I, T>, Diagnostic> {
                let made = Compressed::<I, I, T>::of(tensor, &[stringify!($format)])?;
                let Compressed { shape: (rows, columns), pos, crd, vals, .. } = made;
                if rows.max(columns) > I::MAX.zx() / 2 {
                    let message = format!("faer has no {rows} x {columns} matrix with such indices");
                    return Err(Diagnostic::new(Code::InvalidTensor, message)
                        .help("ask for a matrix with wider indices"));
                }
                let pattern = $symbolic::new_checked(rows, columns, pos, None, crd);
                Ok($matrix::new(pattern, vals))
            }
        }
    };
}

conversions!(SparseRowMat, SparseRowMatRef, SymbolicSparseRowMat, csr, row_ptr, row_nnz, col_idx);
conversions!(SparseColMat, SparseColMatRef, SymbolicSparseColMat, csc, col_ptr, col_nnz, row_idx);

/// A dimension of a matrix without elements, if it is not far beyond what others have.
fn small(dimension: usize) -> Result<usize, Diagnostic> {
    match dimension < 1 << 31 {
        true => Ok(dimension),
        false => {
            let message = format!("faer has no matrix of dimension {dimension}");
            Err(Diagnostic::new(Code::InvalidTensor, message))
        }
    }
}

/// Refuses a matrix with room between its segments.
fn has_no_room(has_room: bool) -> Result<(), Diagnostic> {
    match has_room {
        false => Ok(()),
        true => Err(Diagnostic::new(Code::InvalidTensor, "the matrix of faer is not compressed")
            .help("compress it first, by try_new_from_triplets for instance")),
    }
}

/// A dense tensor, last mode contiguous, of a copy of the elements: those of `faer` are by columns.
///
/// ```
/// use faer::{Mat, mat};
/// use tamis_runtime::Tensor;
/// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
/// let x = mat![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
/// let a = Tensor::try_from(x.as_ref())?;
/// assert_eq!((a.shape(), a.get(&[2, 0])?.as_f64()), (&[3, 2][..], 5.0));
/// assert_eq!(Mat::<f64>::try_from(a)?, x);
/// # Ok(())
/// # }
/// ```
impl<T: Element> TryFrom<MatRef<'_, T>> for Tensor {
    type Error = Diagnostic;

    fn try_from(matrix: MatRef<'_, T>) -> Result<Tensor, Diagnostic> {
        let (rows, columns) = matrix.shape();
        let len = rows * columns;
        elements_fit::<T>(len as f64)?;
        let mut elements = Vec::with_capacity(len);
        if len > 0 {
            (0..rows).for_each(|i| elements.extend((0..columns).map(|j| matrix[(i, j)])));
        }
        Tensor::dense(&dims((rows, columns)), elements)
    }
}

/// All elements of a matrix in any format, the fill value where it stores none. Elements of another type, tensors of
/// another order and matrices that do not fit in memory are errors.
impl<T: Element> TryFrom<Tensor> for Mat<T> {
    type Error = Diagnostic;

    fn try_from(tensor: Tensor) -> Result<Mat<T>, Diagnostic> {
        let &[rows, columns] = tensor.dims() else {
            let message = format!("the tensor has order {}, a matrix has 2", tensor.ndim());
            return Err(Diagnostic::new(Code::InvalidTensor, message));
        };
        let (rows, columns) = (rows as usize, columns as usize);
        if rows == 0 || columns == 0 {
            // A matrix takes memory for rows, and time for columns, also where it has no elements.
            let (rows, columns) = (small(rows)?, small(columns)?);
            return Ok(Mat::from_fn(rows, columns, |_, _| unreachable!("it has no elements")));
        }
        // Columns begin with a line of the cache.
        let line = LINE / size_of::<T>();
        elements_fit::<T>(rows.next_multiple_of(line) as f64 * columns as f64)?;
        let (_, elements) = all_elements::<T>(tensor)?;
        Ok(Mat::from_fn(rows, columns, |i, j| elements[i * columns + j]))
    }
}
