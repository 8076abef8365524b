//! Tensors of random entries.

use tamis::{Coordinates, DataType, Duplicates, Tensor, Values, format};

/// Unordered entries, some of which repeat coordinates and are summed, with values made from
/// random numbers below 2^31.
pub fn random(
    format_text: &str,
    dims: &[u64],
    entries: usize,
    seed: u64,
    value: impl Fn(u64) -> f64,
) -> Tensor {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let crds = dims.iter().map(|&d| (0..entries).map(|_| next() % d).collect()).collect();
    let vals = (0..entries).map(|_| value(next())).collect();
    packed(
        format_text,
        &Coordinates::new(dims.to_vec(), crds, Values::F64(vals)).expect("a list of entries"),
    )
}

/// A list in a format.
pub fn packed(format_text: &str, list: &Coordinates) -> Tensor {
    let spec =
        format::parse(format_text, Some(list.dims().len())).unwrap_or_else(|d| panic!("{d}"));
    let storage = spec.resolve(DataType::F64).unwrap_or_else(|d| panic!("{d}"));
    tamis::pack(list, &storage, Duplicates::Sum).unwrap_or_else(|d| panic!("{d}"))
}
