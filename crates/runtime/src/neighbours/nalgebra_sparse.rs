//! Matrices of the crate `nalgebra-sparse`.

use super::compressed::{Compressed, dims};
use crate::memory::Element;
use crate::tensor::Tensor;
use crate::view::TensorView;
use nalgebra_sparse::{CscMatrix, CsrMatrix};
use tamis_ir::diagnostic::{Code, Diagnostic};

macro_rules! conversions {
    ($matrix:ident, $format:ident, $data:ident, $try_from_data:ident, $example:literal) => {
        #[doc = concat!("A matrix in `", stringify!($format), "`, of its own arrays.")]
        ///
        /// ```
        #[doc = concat!("use nalgebra_sparse::", stringify!($matrix), ";")]
        /// use tamis_runtime::Tensor;
        /// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
        #[doc = $example]
        /// let a = Tensor::try_from(a)?;
        /// assert_eq!(a.get(&[0, 2])?.as_f64(), 2.0);
        #[doc = concat!("let back = ", stringify!($matrix), "::<f64>::try_from(a)?;")]
        /// assert_eq!((back.nrows(), back.ncols(), back.nnz()), (2, 3, 3));
        /// # Ok(())
        /// # }
        /// ```
        impl<T: Element> TryFrom<$matrix<T>> for Tensor {
            type Error = Diagnostic;

            fn try_from(matrix: $matrix<T>) -> Result<Tensor, Diagnostic> {
                let dims = dims((matrix.nrows(), matrix.ncols()));
                let (pos, crd, vals) = matrix.disassemble();
                Tensor::$format(dims, pos, crd, vals)
            }
        }

        #[doc = concat!("A matrix that is borrowed, in `", stringify!($format), "`.")]
        impl<'a, T: Element> TryFrom<&'a $matrix<T>> for TensorView<'a> {
            type Error = Diagnostic;

            fn try_from(matrix: &'a $matrix<T>) -> Result<TensorView<'a>, Diagnostic> {
                let (pos, crd, vals) = matrix.$data();
                TensorView::$format(dims((matrix.nrows(), matrix.ncols())), pos, crd, vals)
            }
        }

        #[doc = concat!("A tensor in `", stringify!($format), "` with fill value 0: its own arrays where nobody else has them and its")]
        /// indices are as wide. Other formats and elements of another type are errors.
        impl<T: Element> TryFrom<Tensor> for $matrix<T> {
            type Error = Diagnostic;

            fn try_from(tensor: Tensor) -> Result<$matrix<T>, Diagnostic> {
                let Compressed { shape, pos, crd, vals, .. } =
                    Compressed::of(tensor, &[stringify!($format)])?;
                $matrix::$try_from_data(shape.0, shape.1, pos, crd, vals)
                    .map_err(|e| Diagnostic::new(Code::InvalidTensor, e.to_string()))
            }
        }
    };
}

conversions!(
    CsrMatrix,
    csr,
    csr_data,
    try_from_csr_data,
    "let a = CsrMatrix::try_from_csr_data(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap();"
);
conversions!(
    CscMatrix,
    csc,
    csc_data,
    try_from_csc_data,
    "let a = CscMatrix::try_from_csc_data(2, 3, vec![0, 1, 2, 3], vec![0, 1, 0], vec![1.0, 3.0, 2.0]).unwrap();"
);
