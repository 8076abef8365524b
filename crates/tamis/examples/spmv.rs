//! SpMV: a sparse matrix in CSR times a dense vector, by one call.

use tamis::{Diagnostic, Tensor};

/// Computes `y = A x` for a matrix of two rows.
pub fn main() -> Result<(), Diagnostic> {
    // [ 1 . 2 ]
    // [ . 3 . ]
    let a = Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    let x = Tensor::dense(&[3], vec![1.0, 10.0, 100.0])?;
    let y = tamis::evaluate("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)])?;
    assert_eq!(y.vals().as_slice::<f64>(), Some(&[201.0, 30.0][..]));
    println!("y = {:?}", y.first_entries(10));
    Ok(())
}
