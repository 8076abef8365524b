//! What calls allocate: this file has one test, since all threads are counted.

mod common;

use common::{matrix, options, vector};
use smallvec::SmallVec;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use tamis::{Backend, Kernel, Tensor};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How many allocations a call makes once it was made before.
fn allocations(text: &str, operands: &[(&str, &Tensor)], formats: &[(&str, &str)]) -> usize {
    let kernel = Kernel::compile(text, operands, &options(Backend::Jit, formats));
    let kernel = kernel.unwrap_or_else(|d| panic!("{d}"));
    let mut results = kernel.run(operands).unwrap_or_else(|d| panic!("{d}"));
    // Results that are computed from what they were are read where they are.
    let mut operands = operands.to_vec();
    operands.retain(|(name, _)| results.get(name).is_none());
    let mut results: Vec<_> = std::iter::from_fn(|| results.pop()).collect();
    let mut call = || {
        let into = results.iter_mut().map(|(name, tensor)| (name.as_str(), tensor));
        kernel
            .run_into(&operands, &mut into.collect::<SmallVec<[_; 2]>>())
            .unwrap_or_else(|d| panic!("{d}"));
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
    let (beta, p) = (Tensor::scalar(0.5), vector(100));
    let adds = [("A", &a), ("x", &x), ("y", &p)];
    let added = allocations("y(i) += A(i,j) * x(j)", &adds, &[]);
    let scattered = allocations("y(j) += A(i,j) * x(i)", &adds, &[]);
    let own = [("beta", &beta), ("r", &x), ("p", &p)];
    let stepped = allocations("p(i) = r(i) + beta * p(i)", &own, &[]);
    let both =
        allocations("y(i) += x(i); p(i) = y(i) + p(i)", &[("x", &x), ("y", &p), ("p", &p)], &[]);
    assert_eq!((added, stepped, both), (0, 0, 0));
    // The product is a temporary.
    assert!(scattered <= 8, "{scattered}");
    let scaled = allocations("C(i,j) = 2 * A(i,j)", &[("A", &a)], &[("C", "csr")]);
    let spgemm = allocations("C(i,j) = A(i,k) * A(k,j)", &[("A", &a)], &[("C", "csr")]);
    assert!(scaled <= 12 && spgemm <= 16, "{scaled} {spgemm}");
}
