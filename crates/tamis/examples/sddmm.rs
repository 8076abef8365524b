//! SDDMM: a product of dense matrices at the entries of a sparse one. The dense product is never formed.

use tamis::{Diagnostic, Tensor};

/// Computes `S = A .* (X Y')`, with the pattern of `A`.
pub fn main() -> Result<(), Diagnostic> {
    let a = Tensor::csr([3, 3], vec![0, 1, 3, 4], vec![2, 0, 1, 1], vec![1.0, 2.0, 3.0, 4.0])?;
    let x = Tensor::dense(&[3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let y = Tensor::dense(&[3, 2], vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0])?;
    let s =
        tamis::evaluate("S(i,j) = A(i,j) * X(i,k) * Y(j,k)", &[("A", &a), ("X", &x), ("Y", &y)])?;
    // (0,2): 1 * (1 + 2), (1,0): 2 * 3, (1,1): 3 * 4, (2,1): 4 * 6
    assert_eq!(s.vals().as_slice::<f64>(), Some(&[3.0, 6.0, 12.0, 24.0][..]));
    assert_eq!(s.nnz(), a.nnz());
    println!("S = {:?}", s.first_entries(10));
    Ok(())
}
