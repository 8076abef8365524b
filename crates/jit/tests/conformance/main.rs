//! Machine code against the interpreter, operator by operator and statement by statement.

mod harness;
mod kernels;
mod operators;
mod statements;
mod wide;

use harness::check;
use kernels::{scattered, spmm, spmv};

#[test]
fn sparse_matrix_times_dense_vector() {
    check(&spmv(), scattered(100, 7).arguments(1));
}

#[test]
fn sparse_matrix_times_dense_matrix() {
    for (vectors, lanes) in [(4, 2), (2, 4), (1, 8), (2, 8), (8, 2), (1, 16)] {
        check(&spmm(16, vectors, lanes), scattered(50, 5).arguments(16));
    }
}

#[test]
fn a_listing_shows_the_instructions() {
    let listing = tamis_jit::listing(&spmm(16, 4, 2)).unwrap_or_else(|d| panic!("{d}"));
    assert!(listing.contains("block0"), "{listing}");
}
