//! What calls allocate: this file has one test, since all threads are counted.

mod common;

use common::{matrix, options, vector};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use tamis::{Backend, Kernel, Tensor};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

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
