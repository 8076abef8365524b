//! What calls allocate: this file has one test, since all threads are counted.

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use tamis::{Backend, Kernel, Options, Tensor, format};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A tridiagonal matrix.
fn matrix(n: u64, value: f64) -> Tensor {
    let near = (0..n).flat_map(|i| (i.saturating_sub(1)..n.min(i + 2)).map(move |j| [i, j]));
    Tensor::from_triplets([n, n], near.map(|place| (place, value))).expect("a matrix")
}

fn vector(n: u64) -> Tensor {
    Tensor::dense(&[n], (0..n).map(|k| k as f64).collect()).expect("a vector")
}

fn options(backend: Backend, formats: &[(&str, &str)]) -> Options {
    let mut options = Options { backend, ..Options::default() };
    for (name, text) in formats {
        let spec = format::parse(text, Some(2)).expect("a format");
        options.results.insert((*name).to_owned(), spec);
    }
    options
}

/// How many allocations a call makes once it was made before.
fn allocations(text: &str, operands: &[(&str, &Tensor)], formats: &[(&str, &str)]) -> usize {
    let kernel = Kernel::compile(text, operands, &options(Backend::Jit, formats));
    let kernel = kernel.unwrap_or_else(|d| panic!("{d}"));
    let mut result = kernel.run(operands).unwrap_or_else(|d| panic!("{d}")).remove(0);
    let mut call = || {
        let results = &mut [(result.0.as_str(), &mut result.1)];
        kernel.run_into(operands, results).unwrap_or_else(|d| panic!("{d}"));
    };
    call();
    let region = Region::new(ALLOCATOR);
    (0..10).for_each(|_| call());
    let change = region.change();
    (change.allocations + change.reallocations) / 10
}

/// What runs in one part and has its entries where it had them before allocates nothing.
#[test]
fn calls_allocate_nothing() {
    let (a, x, s) = (matrix(100, 2.0), vector(100), Tensor::scalar(3.0));
    let spmv = allocations("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)], &[]);
    let axpy = allocations("y(i) = s * x(i) + x(i)", &[("s", &s), ("x", &x)], &[]);
    let dot = allocations("y = x(i) * x(i)", &[("x", &x)], &[]);
    let d = Tensor::dense(&[10, 10], vec![1.0; 100]).expect("a matrix");
    let z = vector(10);
    let dense = allocations("y(i) = D(i,j) * z(j)", &[("D", &d), ("z", &z)], &[]);
    assert_eq!((spmv, axpy, dot, dense), (0, 0, 0, 0));
    let scaled = allocations("C(i,j) = 2 * A(i,j)", &[("A", &a)], &[("C", "csr")]);
    let spgemm = allocations("C(i,j) = A(i,k) * A(k,j)", &[("A", &a)], &[("C", "csr")]);
    assert!(scaled <= 12 && spgemm <= 16, "{scaled} {spgemm}");
}
