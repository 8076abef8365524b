//! Products whose loops are split, with an operand whose coordinates are repeated later: what a sum adds to a coordinate is
//! added to what it has, in every format of the result.

use std::collections::BTreeMap;
use tamis::{Backend, Buffer, DataType, IndexWidth, LevelData, Tensor, evaluate, format};
use tamis_testing::case::{Case, Operand};
use tamis_testing::check::{Outcome, check};
use tamis_testing::number::Number;

/// Formats of a matrix that may repeat a coordinate after others.
const REVISITING: [&str; 5] = [
    "coo(nonordered,nonunique)",
    "(i, j) -> (i: compressed(nonordered, nonunique), j: compressed(nonordered, nonunique))",
    "(i, j) -> (i: compressed(nonunique), j: compressed)",
    "(i, j) -> (j: compressed(nonordered, nonunique), i: singleton(nonordered, nonunique))",
    "(i, j) -> (i: dense, j: compressed(nonordered, nonunique))",
];

/// Products with sums that not all factors need, with the formats of their results.
const PRODUCTS: [(&str, [&str; 4]); 9] = [
    ("R(i) = E(i,k) * d(j)", ["dense", "sparse", "hash", "bitmap"]),
    ("R(i) = E(i,k) * d(k) * f(j)", ["dense", "sparse", "hash", "bitmap"]),
    ("R(k) = E(i,k) * d(j) * f(i)", ["dense", "sparse", "hash", "bitmap"]),
    ("R = E(i,k) * d(k) * F(i,l) * f(l)", ["dense"; 4]),
    ("R(i,l) = E(i,k) * d(k) * F(i,l)", ["dense", "csr", "dok", "csc"]),
    ("R(i,l) = E(i,k) * F(k,j) * f(j) * d(l)", ["dense", "csr", "coo", "ell"]),
    ("R(i,l) = E(i,k) * d(k) * F(l,j) * f(j)", ["dense", "csr", "dcsr", "dok"]),
    ("R(i) = F(i,l) * E(l,k) * d(k)", ["dense", "sparse", "hash", "bitmap"]),
    ("R(i) = E(i,j) * E(i,k) * d(k)", ["dense", "sparse", "hash", "bitmap"]),
];

const SIZE: u64 = 5;

/// Entries in another order.
fn unordered() -> Vec<(Vec<u64>, Number)> {
    let element = |n: u64| (7 * n + 2) % (SIZE * SIZE);
    let at = |n: u64| (vec![element(n) / SIZE, element(n) % SIZE], (n as f64).into());
    (1..14).map(at).collect()
}

fn operand(name: &str, format: &str, order: usize) -> Operand {
    let once = |n: &u64| n % 3 != 2;
    let vector = || (0..SIZE).filter(once).map(|n| (vec![n], (n as f64 + 1.0).into()));
    let matrix = || (0..SIZE * SIZE).filter(once).map(|n| (vec![n / SIZE, n % SIZE], 2.0.into()));
    let entries = match (name, order) {
        ("E", _) => unordered(),
        (_, 1) => vector().collect(),
        _ => matrix().collect(),
    };
    Operand { name: name.to_owned(), format: format.to_owned(), dims: vec![SIZE; order], entries }
}

#[test]
fn repeated_coordinates_are_added_to() {
    let mut right = 0;
    for format in REVISITING {
        for (text, results) in PRODUCTS {
            for (result, (d, f)) in
                results.into_iter().flat_map(|r| [(r, ("sparse", "csr")), (r, ("dense", "dense"))])
            {
                let vector = |name: &str| operand(name, d, 1);
                let mut operands = vec![operand("E", format, 2)];
                operands.extend(["d", "f"].map(vector));
                operands.push(operand("F", f, 2));
                operands.retain(|o| text.contains(&format!("{}(", o.name)));
                let case = Case {
                    text: text.to_owned(),
                    operands,
                    results: BTreeMap::from([("R".to_owned(), result.to_owned())]),
                    dims: BTreeMap::new(),
                    shapes: BTreeMap::new(),
                    schedule: String::new(),
                    strict: tamis::Strictness::Sparse,
                };
                match check(&case, Backend::Interpreter) {
                    Outcome::Right => right += 1,
                    Outcome::Invalid => {}
                    Outcome::Wrong(problem) => panic!("{problem}\n{case}"),
                }
            }
        }
    }
    assert!(right > 250, "{right} programs are valid");
}

/// Arrays with a coordinate twice, as packing makes none: each duplicate has levels of its own below.
#[test]
fn duplicates_above_other_levels_are_each_walked() {
    let pos = |of: &[i32]| Some(Buffer::from_vec(of.to_vec()));
    let list = |ends: &[i32], crds: &[i32]| LevelData {
        pos: pos(ends),
        crd: pos(crds),
        ..LevelData::default()
    };
    // Rows 1, 2, 2 of three elements, of which the list below stores the first two of each.
    let rows = list(&[0, 3], &[1, 2, 2]);
    let columns = list(&[0, 2, 4, 6], &[0, 1, 0, 1, 0, 1]);
    for (below, level, count) in [
        ("dense", LevelData::default(), 9),
        ("compressed", columns.clone(), 6),
        ("compressed(nonunique)", columns, 6),
    ] {
        let format = format!("(i, j) -> (i: compressed(nonunique), j: {below})");
        let spec = format::parse(&format, Some(2)).expect("a format");
        let mut storage = spec.resolve(DataType::F64).expect("a storage");
        (storage.pos, storage.crd) = (IndexWidth::I32, IndexWidth::I32);
        let vals = Buffer::from_vec(vec![1.0; count]);
        let a = Tensor::try_from_parts(vec![4, 3], storage, vec![rows.clone(), level], vals);
        let a = a.expect("a tensor");
        let x = Tensor::dense(&[4], vec![1.0, 10.0, 100.0, 1000.0]).expect("a vector");
        let each = count as f64 / 3.0;
        let of = |text: &str| {
            let y = evaluate(text, &[("A", &a), ("x", &x)]).expect("it runs");
            y.values::<f64>().expect("values").to_vec()
        };
        assert_eq!(of("s = A(i,j) + 0 * x(i)"), [3.0 * each], "{format}");
        assert_eq!(of("s = A(i,j) * x(i)"), [210.0 * each], "{format}");
        assert_eq!(of("y(j) = A(i,j) * x(i)")[..2], [210.0, 210.0], "{format}");
        assert_eq!(of("y(i) = A(i,j) * x(i)"), [0.0, 10.0 * each, 200.0 * each, 0.0], "{format}");
    }
}
