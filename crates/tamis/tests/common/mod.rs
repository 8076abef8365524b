//! Small operands and options that several tests use.

use tamis::{Backend, Options, Tensor, format};

/// A tridiagonal matrix.
pub fn matrix(n: u64, value: f64) -> Tensor {
    let near = (0..n).flat_map(|i| (i.saturating_sub(1)..n.min(i + 2)).map(move |j| [i, j]));
    Tensor::from_triplets([n, n], near.map(|place| (place, value))).expect("a matrix")
}

/// The numbers from 0 on.
pub fn vector(n: u64) -> Tensor {
    Tensor::dense(&[n], (0..n).map(|k| k as f64).collect()).expect("a vector")
}

/// A backend, and formats of results that are matrices.
pub fn options(backend: Backend, formats: &[(&str, &str)]) -> Options {
    let mut options = Options { backend, ..Options::default() };
    for (name, text) in formats {
        let spec = format::parse(text, Some(2)).expect("a format");
        options.results.insert((*name).to_owned(), spec);
    }
    options
}
