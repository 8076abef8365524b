//! Arrays of the crate `ndarray`.

use super::dense::{all_elements, elements_fit};
use crate::memory::Element;
use crate::tensor::Tensor;
use crate::view::TensorView;
use ndarray::{Array, ArrayD, ArrayView, Dimension};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// A dense tensor, last axis contiguous: of the array's own memory where that is the order of its elements, and of
/// a copy otherwise.
///
/// ```
/// use ndarray::{Array2, array};
/// use tamis_runtime::Tensor;
/// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
/// let x: Array2<f64> = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// let a = Tensor::try_from(x.reversed_axes())?;
/// assert_eq!((a.shape(), a.get(&[2, 0])?.as_f64()), (&[3, 2][..], 3.0));
/// # Ok(())
/// # }
/// ```
impl<T: Element, D: Dimension> TryFrom<Array<T, D>> for Tensor {
    type Error = Diagnostic;

    fn try_from(array: Array<T, D>) -> Result<Tensor, Diagnostic> {
        let dims = dims(array.shape());
        let array = match array.is_standard_layout() {
            true => array,
            false => {
                elements_fit::<T>(array.len() as f64)?;
                array.as_standard_layout().into_owned()
            }
        };
        let len = array.len();
        // The memory of an array that was sliced has other elements before its first and after its last.
        let (mut elements, first) = array.into_raw_vec_and_offset();
        let first = first.unwrap_or(0);
        elements.truncate(first + len);
        elements.drain(..first);
        Tensor::dense(&dims, elements)
    }
}

/// A dense tensor of the memory of a view, last axis contiguous. Views in another order, of columns or of every second row
/// for instance, are refused: an array of their elements, `view.to_owned()`, is a tensor.
///
/// ```
/// use ndarray::array;
/// use tamis_runtime::TensorView;
/// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// let a = TensorView::try_from(x.view())?;
/// assert_eq!(a.get(&[1, 0])?.as_f64(), 3.0);
/// # Ok(())
/// # }
/// ```
impl<'a, T: Element, D: Dimension> TryFrom<ArrayView<'a, T, D>> for TensorView<'a> {
    type Error = Diagnostic;

    fn try_from(view: ArrayView<'a, T, D>) -> Result<TensorView<'a>, Diagnostic> {
        let Some(elements) = view.to_slice() else {
            let message = "the elements of the view are not contiguous in the order of its axes";
            let help = "make a tensor of a copy: Tensor::try_from(view.to_owned())";
            return Err(Diagnostic::new(Code::InvalidTensor, message).help(help));
        };
        TensorView::dense(&dims(view.shape()), elements)
    }
}

/// All elements of a tensor in any format, the fill value where it stores none: the memory of the tensor where this is
/// dense in the order of its modes and nobody else has it. Elements of another type and arrays that do not fit in
/// memory are errors.
///
/// ```
/// use ndarray::{ArrayD, array};
/// use tamis_runtime::Tensor;
/// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
/// let a = Tensor::from_triplets([2, 2], [([0, 1], 2.0), ([1, 0], 3.0)])?;
/// assert_eq!(ArrayD::<f64>::try_from(a)?, array![[0.0, 2.0], [3.0, 0.0]].into_dyn());
/// # Ok(())
/// # }
/// ```
impl<T: Element> TryFrom<Tensor> for ArrayD<T> {
    type Error = Diagnostic;

    fn try_from(tensor: Tensor) -> Result<ArrayD<T>, Diagnostic> {
        let (dims, elements) = all_elements(tensor)?;
        let dims: Vec<usize> = dims.iter().map(|&n| n as usize).collect();
        Ok(ArrayD::from_shape_vec(dims, elements).expect("as many as there are"))
    }
}

fn dims(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|&n| n as u64).collect()
}
