//! Kinds of kernels from Rust: results that are assembled once and computed many times.

use tamis::{Backend, Kernel, Options, Parts, Tensor, format};

const PRODUCT: &str = "C(i,j) = A(i,k) * A(k,j)";

/// A square matrix with these values at four entries.
fn matrix(vals: [f64; 4]) -> Tensor {
    let (pos, crd) = (vec![0, 2, 3, 4], vec![0, 2, 1, 0]);
    Tensor::csr([3, 3], pos, crd, vals.to_vec()).expect("valid arrays")
}

/// The product's kernel, in parts of an element each.
fn kernel(a: &Tensor, backend: Backend) -> Kernel {
    let csr = format::parse("csr", Some(2)).expect("a format");
    let results = [("C".to_owned(), csr)].into();
    let options = Options { results, backend, parts: Parts::OfElements(1), ..Options::default() };
    Kernel::compile(PRODUCT, &[("A", a)], &options).expect("a valid program")
}

fn values(tensor: &Tensor) -> &[f64] {
    tensor.vals().as_slice().expect("values of f64")
}

#[test]
fn a_result_is_assembled_once_and_computed_often() {
    let first = matrix([1.0, 2.0, 3.0, 4.0]);
    for backend in Backend::ALL.into_iter().filter(|b| b.is_available()) {
        let kernel = kernel(&first, backend);
        let (_, pattern) = kernel.assemble(&[("A", &first)]).expect("it runs").remove(0);
        assert_eq!(values(&pattern), [0.0; 5]);
        for scale in [1.0, -2.0, 0.5] {
            let a = matrix([scale, 2.0, 3.0, 4.0]);
            let (_, whole) = kernel.run(&[("A", &a)]).expect("it runs").remove(0);
            let computed = kernel.compute(&[("A", &a)], &[("C", &pattern)]);
            let (name, computed) = computed.expect("it runs").remove(0);
            assert_eq!(name, "C");
            assert_eq!(values(&computed), values(&whole), "{}", backend.name());
            let positions = |t: &Tensor| t.levels()[1].pos.as_ref().map(tamis::Buffer::address);
            assert_eq!(positions(&computed), positions(&pattern), "levels are shared");
        }
    }
}

#[test]
fn a_pattern_is_a_mask() {
    let a = matrix([1.0, 2.0, 3.0, 4.0]);
    // Nothing comes to (1,2), and what comes to (0,0), (0,2) and (1,1) has no entry.
    let pattern = Tensor::csr([3, 3], vec![0, 0, 1, 3], vec![2, 0, 2], vec![7.0; 3]);
    let pattern = pattern.expect("valid arrays");
    for backend in Backend::ALL.into_iter().filter(|b| b.is_available()) {
        let computed = kernel(&a, backend).compute(&[("A", &a)], &[("C", &pattern)]);
        let (_, computed) = computed.expect("it runs").remove(0);
        assert_eq!(values(&computed), [0.0, 4.0, 8.0], "{}", backend.name());
    }
}

#[test]
fn infinite_values_outside_of_a_pattern_stay_there() {
    let a = matrix([1.0, f64::INFINITY, 1.0, 1.0]);
    // Row 0 has an infinite sum at column 0, row 1 has an entry there that nothing comes to.
    let pattern = Tensor::csr([3, 3], vec![0, 1, 3, 3], vec![2, 0, 1], vec![0.0; 3]);
    let computed = kernel(&a, Backend::Jit)
        .compute(&[("A", &a)], &[("C", &pattern.expect("valid arrays"))])
        .expect("it runs");
    assert_eq!(values(&computed[0].1), [f64::INFINITY, 0.0, 1.0]);
}

#[test]
fn integers_that_overflow_are_no_matter_of_their_entries() {
    let csr = |vals| Tensor::csr([1, 2], vec![0, 2], vec![0, 1], vals).expect("valid arrays");
    let x: Tensor = csr(vec![100i8, 1]);
    let kernel = Kernel::compile("y(i,j) = 2 * x(i,j)", &[("x", &x)], &Options::default());
    let kernel = kernel.expect("a valid program");
    kernel.run(&[("x", &x)]).expect_err("200 is no i8");
    let (_, pattern) = kernel.assemble(&[("x", &x)]).expect("it runs").remove(0);
    kernel.compute(&[("x", &x)], &[("y", &pattern)]).expect_err("200 is no i8");
    let narrow = Tensor::csr([1, 2], vec![0, 1], vec![1], vec![0i8]).expect("valid arrays");
    let computed = kernel.compute(&[("x", &x)], &[("y", &narrow)]).expect("2 is an i8");
    assert_eq!(computed[0].1.vals().as_slice::<i8>(), Some(&[2i8][..]));
}

/// In one row and over rows, sums beyond 64 bits come to a column that the pattern does not have.
#[test]
fn integers_outside_of_a_mask_may_overflow() {
    const MOST: i32 = i32::MAX;
    let (pos, crd) = (vec![0, 4, 6, 8, 9], vec![0, 1, 2, 3, 0, 1, 1, 3, 0]);
    let vals = vec![1, MOST, MOST, MOST, 3, MOST, MOST, MOST, 2];
    let a = Tensor::csr([4, 4], pos, crd, vals).expect("valid arrays");
    let b = Tensor::csr([4, 2], vec![0, 1, 2, 3, 4], vec![0, 1, 1, 1], vec![5, MOST, MOST, MOST]);
    let b = b.expect("valid arrays");
    let pattern = Tensor::csr([4, 2], vec![0, 1, 2, 2, 3], vec![0, 0, 0], vec![0_i32; 3]);
    let pattern = pattern.expect("valid arrays");
    let operands = [("A", &a), ("B", &b)];
    for backend in Backend::ALL.into_iter().filter(|b| b.is_available()) {
        for parts in [Parts::OfElements(1), Parts::Whole] {
            let results =
                [("C".to_owned(), format::parse("csr", Some(2)).expect("a format"))].into();
            let options = Options { results, backend, parts, ..Options::default() };
            let kernel = Kernel::compile("C(i,j) = A(i,k) * B(k,j)", &operands, &options);
            let computed = kernel.expect("a valid program").compute(&operands, &[("C", &pattern)]);
            let (_, c) = computed.expect("nothing that was asked for overflows").remove(0);
            assert_eq!(c.vals().as_slice::<i32>(), Some(&[5, 15, 10][..]), "{}", backend.name());
        }
    }
}

#[test]
fn patterns_that_do_not_fit_are_refused() {
    let a = matrix([1.0, 2.0, 3.0, 4.0]);
    let kernel = kernel(&a, Backend::Jit);
    let empty = |dims: [u64; 2]| {
        let pos = vec![0; dims[0] as usize + 1];
        Tensor::csr(dims, pos, Vec::<i32>::new(), Vec::<f64>::new()).expect("valid arrays")
    };
    let turned = Tensor::csc([3, 3], vec![0; 4], Vec::<i32>::new(), Vec::<f64>::new());
    let (turned, other) = (turned.expect("valid arrays"), empty([2, 3]));
    let cases: [(&[(&str, &Tensor)], &str); 5] = [
        (&[], "error[missing-input]: the entries of C are not known"),
        (&[("C", &turned)], "error[format-property]: the pattern of C is stored as csc, C as csr"),
        (
            &[("C", &other)],
            "error[dimension-mismatch]: the pattern of C has dimensions [2, 3], C has [3, 3]",
        ),
        (&[("C", &empty([3, 3])), ("A", &a)], "error[unknown-tensor]: A is not a result"),
        (&[("D", &a)], "error[missing-input]: the entries of C are not known"),
    ];
    for (patterns, expected) in cases {
        let refused = kernel.compute(&[("A", &a)], patterns).expect_err("no such pattern");
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }
}

#[test]
fn dense_results_need_no_pattern() {
    let a = matrix([1.0, 2.0, 3.0, 4.0]);
    let kernel = Kernel::compile("y(i) = A(i,j)", &[("A", &a)], &Options::default());
    let kernel = kernel.expect("a valid program");
    let (_, pattern) = kernel.assemble(&[("A", &a)]).expect("it runs").remove(0);
    assert_eq!(values(&pattern), [0.0; 3]);
    let computed = kernel.compute(&[("A", &a)], &[]).expect("it runs");
    assert_eq!(values(&computed[0].1), [3.0, 3.0, 4.0]);
    kernel.compute(&[("A", &a)], &[("y", &pattern)]).expect("a pattern of all elements");
}
