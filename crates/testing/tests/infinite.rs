//! Infinite operands meet what is stored, and nothing else: no format and no order of loops makes
//! a NaN of an infinity and an absent entry.

use std::collections::BTreeMap;
use tamis::{Coordinates, DataType, Duplicates, Kernel, Options, Tensor, Values, format};

const INF: f64 = f64::INFINITY;

fn stored(text: &str, dims: &[u64], entries: &[(&[u64], f64)]) -> Tensor {
    let crds = (0..dims.len()).map(|m| entries.iter().map(|(c, _)| c[m]).collect()).collect();
    let vals = Values::F64(entries.iter().map(|(_, v)| *v).collect());
    let list = Coordinates { dims: dims.to_vec(), crds, vals };
    let spec = format::parse(text, Some(dims.len())).expect("a format");
    let storage = spec.resolve(DataType::F64).expect("a storage");
    tamis::pack(&list, &storage, Duplicates::Refuse).expect("a tensor")
}

#[test]
fn an_infinite_factor_of_nothing_is_nothing() {
    let d = Tensor::dense(&[4], vec![INF, 2.0, -INF, INF]).expect("a vector");
    let x = Tensor::dense(&[3], vec![1.0, 2.0, 4.0]).expect("a vector");
    let entries: [(&[u64], f64); 3] = [(&[1, 0], 1.0), (&[1, 2], 2.0), (&[3, 1], -5.0)];
    for text in ["csr", "csc", "dcsr", "coo", "dok", "dcsc", "(i,j)->(i:dense,j:bitmap)"] {
        let a = stored(text, &[4, 3], &entries);
        let operands = [("d", &d), ("A", &a), ("x", &x)];
        for value in ["d(i) * A(i,j) * x(j)", "A(i,j) * d(i) * x(j)", "x(j) * (A(i,j) * d(i))"] {
            for loops in ["", "reorder(j, i)", "reorder(i, j)"] {
                let schedule = tamis::schedule::parse(loops).expect("a schedule");
                let spec = format::parse("dense", Some(1)).expect("a format");
                let results = BTreeMap::from([("y".to_owned(), spec)]);
                let options = Options { results, schedule, ..Options::default() };
                let run = || {
                    Kernel::compile(&format!("y(i) = {value}"), &operands, &options)?.run(&operands)
                };
                match run() {
                    Ok(results) => assert_eq!(
                        results[0].1.vals().as_slice::<f64>(),
                        Some(&[0.0, 18.0, 0.0, -INF][..]),
                        "{value} of {text} by {loops:?}"
                    ),
                    // Not every format has loops in every order.
                    Err(refused) => assert_ne!(loops, "", "{refused}"),
                }
            }
        }
    }
}

/// Stored zeros are values: nothing is left out of a sum where there are any.
#[test]
fn an_infinite_factor_of_a_stored_zero_is_nan() {
    let d = Tensor::dense(&[1], vec![INF]).expect("a vector");
    let x = Tensor::dense(&[2], vec![1.0, 1.0]).expect("a vector");
    for text in ["csr", "csc", "dense"] {
        let a = stored(text, &[1, 2], &[(&[0, 1], 0.0)]);
        let y = tamis::evaluate("y(i) = d(i) * A(i,j) * x(j)", &[("d", &d), ("A", &a), ("x", &x)]);
        let y = y.expect("a result");
        assert!(y.vals().as_slice::<f64>().is_some_and(|y| y[0].is_nan()), "{text}");
    }
}
