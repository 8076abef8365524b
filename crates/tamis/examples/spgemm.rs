//! SpGEMM: a product of sparse matrices whose values change and whose entries stay. Where the entries are is found
//! once; each step computes values alone.

use tamis::{Diagnostic, Kernel, Options, Tensor, format};

/// Squares a matrix for several values of one of its elements.
pub fn main() -> Result<(), Diagnostic> {
    // [ v 1 . ]
    // [ . 2 . ]
    // [ 3 . 4 ]
    let matrix = |v| {
        let vals = vec![v, 1.0, 2.0, 3.0, 4.0];
        Tensor::csr([3, 3], vec![0, 2, 3, 5], vec![0, 1, 1, 0, 2], vals)
    };
    let mut options = Options::default();
    options.results.insert("C".to_owned(), format::parse("csr", Some(2))?);
    let a = matrix(1.0)?;
    let kernel = Kernel::compile("C(i,j) = A(i,k) * A(k,j)", &[("A", &a)], &options)?;
    let pattern = kernel.assemble(&[("A", &a)])?;
    for v in [1.0, 10.0, 100.0] {
        let results = kernel.compute(&[("A", &matrix(v)?)], &[("C", &pattern[0].1)])?;
        let expected = [v * v, v + 2.0, 4.0, 3.0 * v + 12.0, 3.0, 16.0];
        assert_eq!(results[0].1.vals().as_slice::<f64>(), Some(&expected[..]));
        println!("C = {:?}", results[0].1.first_entries(10));
    }
    Ok(())
}
