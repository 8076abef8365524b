//! Sums of floats of 16 and 32 bits are rounded once: whatever the order of the loops, the format and
//! the backend, as exact as sums of 64 bits.

use std::collections::BTreeMap;
use tamis::{Backend, Coordinates, Duplicates, Kernel, Options, Parts, Tensor, Values, format};

/// The terms of each sum: added one by one in 32 bits, they are wrong by more than 1e-4.
const TERMS: u64 = 1 << 17;

/// A tensor whose entries are `0.1`, at these coordinates.
fn stored(text: &str, dims: &[u64], crds: Vec<Vec<u64>>) -> Tensor {
    let vals = Values::F64(vec![0.1; crds[0].len()]);
    let list = Coordinates::new(dims.to_vec(), crds, vals).expect("a list");
    let spec = format::parse(text, Some(dims.len())).expect("a format");
    let storage = spec.resolve(tamis::DataType::F32).expect("a storage");
    tamis::pack(&list, &storage, Duplicates::Refuse).expect("a tensor")
}

/// Compares every element that is not 0 with the same sum in 64 bits.
fn check(text: &str, operands: &[(&str, &Tensor)], result: &str, term: f64) {
    for backend in [Backend::Jit, Backend::Interpreter, Backend::C] {
        if backend == Backend::C && !tamis::has_c_compiler() {
            continue;
        }
        for parts in [Parts::Whole, Parts::OfElements(TERMS / 3)] {
            let order = text.split(" =").next().map_or(0, |r| r.split(['(', ',']).count() - 1);
            let spec = format::parse(result, Some(order)).expect("a format");
            let results = BTreeMap::from([("y".to_owned(), spec)]);
            let options = Options { results, backend, parts, ..Options::default() };
            let kernel =
                Kernel::compile(text, operands, &options).unwrap_or_else(|d| panic!("{d}"));
            let results = kernel.run(operands).unwrap_or_else(|d| panic!("{text}: {d}"));
            let vals = results[0].1.vals();
            let expected = term * TERMS as f64;
            for k in 0..vals.len() {
                for part in vals.get(k).parts().map(tamis::Scalar::as_f64) {
                    let wrong = (part - expected).abs() / expected;
                    assert!(
                        part == 0.0 || wrong < 2e-7,
                        "{text} into {result}: {part}, not {expected}"
                    );
                }
            }
            assert!((0..vals.len()).any(|k| !vals.get(k).is_zero()), "{text} is 0");
        }
    }
}

/// `0..TERMS`, and as many zeros.
fn line() -> [Vec<u64>; 2] {
    [(0..TERMS).collect(), vec![0; TERMS as usize]]
}

#[test]
fn sums_of_rows_columns_and_lists_are_rounded_once() {
    let term = f64::from(0.1f32);
    let [along, none] = line();
    for text in ["csr{f32}", "csc{f32}", "coo{f32}", "dense{f32}"] {
        let row = stored(text, &[2, TERMS], vec![none.clone(), along.clone()]);
        let column = stored(text, &[TERMS, 2], vec![along.clone(), none.clone()]);
        check("y(i) = A(i,j)", &[("A", &row)], "dense{f32}", term);
        check("y(j) = A(i,j)", &[("A", &column)], "dense{f32}", term);
        check("y = A(i,j)", &[("A", &row)], "dense{f32}", term);
    }
}

#[test]
fn sums_of_products_are_rounded_once() {
    let term = f64::from(0.1f32) * f64::from(0.1f32);
    let [along, none] = line();
    let x = Tensor::dense(&[TERMS], vec![0.1f32; TERMS as usize]).expect("a vector");
    let b = Tensor::dense(&[TERMS, 2], vec![0.1f32; 2 * TERMS as usize]).expect("a matrix");
    let row = stored("csr{f32}", &[2, TERMS], vec![none.clone(), along.clone()]);
    let column = stored("csr{f32}", &[TERMS, 2], vec![along.clone(), none.clone()]);
    check("y(i) = A(i,j) * x(j)", &[("A", &row), ("x", &x)], "dense{f32}", term);
    check("y(i) = A(j,i) * x(j)", &[("A", &column), ("x", &x)], "dense{f32}", term);
    check("y(i,k) = A(i,j) * B(j,k)", &[("A", &row), ("B", &b)], "dense{f32}", term);
    check("y(i,k) = A(j,i) * B(j,k)", &[("A", &column), ("B", &b)], "dense{f32}", term);
    for result in ["csr{f32}", "csc{f32}", "coo{f32}", "dense{f32}"] {
        check("y(i,k) = A(i,j) * B(j,k)", &[("A", &row), ("B", &column)], result, term);
    }
    let crds = vec![none.clone(), along.clone(), none];
    let t = stored("csf{f32}", &[2, TERMS, 1], crds);
    let c = Tensor::dense(&[1, 2], vec![1f32; 2]).expect("a matrix");
    let operands = [("T", &t), ("B", &b), ("C", &c)];
    check("y(i,r) = T(i,j,k) * B(j,r) * C(k,r)", &operands, "dense{f32}", term);
}

#[test]
fn sums_of_complex_numbers_are_rounded_once() {
    let z = Tensor::dense(&[TERMS], vec![[0.1f32, 0.1]; TERMS as usize]).expect("a vector");
    check("y = z(i)", &[("z", &z)], "dense{c64}", f64::from(0.1f32));
}

/// Entries of the same coordinate are summed where tensors are packed.
#[test]
fn duplicates_are_rounded_once() {
    let crds = vec![vec![0; TERMS as usize]];
    let vals = Values::F32(vec![0.1; TERMS as usize]);
    let list = Coordinates::new(vec![1], crds, vals).expect("a list");
    let spec = format::parse("sparse{f32}", Some(1)).expect("a format");
    let storage = spec.resolve(tamis::DataType::F32).expect("a storage");
    let packed = tamis::pack(&list, &storage, Duplicates::Sum).expect("a tensor");
    let (sum, expected) = (packed.vals().get(0).as_f64(), f64::from(0.1f32) * TERMS as f64);
    assert!((sum - expected).abs() < 2e-7 * expected, "{sum}, not {expected}");
}
