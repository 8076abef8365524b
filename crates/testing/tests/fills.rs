//! Results whose fill value is another than the value where no operand has an entry: every element is right, in every format
//! and however the value is computed.

use std::collections::BTreeMap;
use tamis::Backend;
use tamis_testing::case::{Case, Operand};
use tamis_testing::check::{Outcome, check};

const VALUES: [&str; 22] = [
    "A(i,j)",
    "A(i,j) + B(i,j)",
    "A(i,j) + B(i,j) + C(i,j)",
    "A(i,j) - B(i,j) - C(i,j)",
    "A(i,j) + B(i,j) + C(i,j) + D(i,j) + E(i,j)",
    "A(i,j) + B(j,i) + C(i,j) + D(j,i) + E(i,j) + F(j,i)",
    "A(i,j) + B(j,i) + C(i,j) + D(j,i) + E(i,j) + F(j,i) + A(j,i) + B(i,j) + C(j,i) + D(i,j)",
    "max(A(i,j), max(B(i,j), C(i,j)))",
    "min(min(A(i,j), B(i,j)), C(j,i))",
    "A(i,j) * B(i,j) + C(i,j)",
    "A(i,j) * v(j) + B(i,j) + C(i,j)",
    "v(j) + A(i,j) + B(i,j)",
    "2 * (v(i) + A(i,j)) + B(i,j)",
    "A(i,k) * B(k,j)",
    "A(i,k) * B(k,j) + C(i,j)",
    "A(i,k) * B(k,j) * v(j) * v(k)",
    "A(i,j) * v(k)",
    "sum(k, A(i,k)) * v(j)",
    "max(k, A(i,k) * B(k,j))",
    "A(i,j) * B(i,j)",
    "A(i,j) / 2",
    "A(i,i) * v(j)",
];

const FORMATS: [&str; 12] = [
    "dense",
    "csr",
    "csc",
    "coo",
    "dcsr",
    "dok",
    "bcsr(2,2)",
    "ell",
    "dia",
    "csb(2,2)",
    "(i, j) -> (i: bitmap, j: dense)",
    "(i, j) -> (i: hashed, j: compressed)",
];

/// Formats of operands, many of which may have duplicates.
const COPIED: [&str; 11] = [
    "csr",
    "csr(nonordered, nonunique)",
    "csc(nonordered, nonunique)",
    "coo",
    "coo(nonordered, nonunique)",
    "ell",
    "dia",
    "csb(2,2)",
    "(i, j) -> (i: compressed(nonunique), j: dense)",
    "(i, j) -> (j: compressed(nonunique), i: hashed)",
    "(i, j) -> (j: compressed(nonunique), i: bitmap)",
];

/// Formats of results, beside others, whose entries have elements beside them.
const PADDED: [&str; 4] = [
    "coo-dense",
    "(i, j) -> (j: compressed, i: dense)",
    "(i, j) -> (i: hashed, j: dense)",
    "(i, j) -> (i/2: compressed, j: dense, i%2: dense)",
];

const SIZE: u64 = 5;

/// A matrix or a vector of which a third of the elements are entries.
fn operand(name: &str, salt: u64) -> Operand {
    let (order, format) = if name == "v" { (1, "sparse") } else { (2, "csr") };
    let cells = SIZE.pow(order as u32);
    let entry = |p: &u64| (p * p + salt * (p + 1)).is_multiple_of(3);
    let element = |p: u64| if order == 1 { vec![p] } else { vec![p / SIZE, p % SIZE] };
    let value = |p: u64| ((p % 4) as f64 + 1.0).into();
    let entries = (0..cells).filter(entry).map(|p| (element(p), value(p))).collect();
    Operand { name: name.to_owned(), format: format.to_owned(), dims: vec![SIZE; order], entries }
}

fn holds(value: &str, format: &str, fill: &str) {
    let names = ["A", "B", "C", "D", "E", "F", "v"].into_iter().zip(1..);
    let used = names.filter(|(name, _)| value.contains(&format!("{name}(")));
    let operands = used.map(|(name, salt)| operand(name, salt)).collect();
    is_right(value, operands, format, fill);
}

fn is_right(value: &str, operands: Vec<Operand>, format: &str, fill: &str) {
    let case = Case {
        text: format!("R(i,j) = {value}"),
        operands,
        results: BTreeMap::from([("R".to_owned(), format!("{format}{{fill: {fill}}}"))]),
        dims: ["i", "j"].map(|v| (v.to_owned(), SIZE)).into(),
        shapes: BTreeMap::new(),
        schedule: String::new(),
        strict: tamis::Strictness::Sparse,
    };
    match check(&case, Backend::Interpreter) {
        Outcome::Right => {}
        Outcome::Invalid => panic!("refused:\n{case}"),
        Outcome::Wrong(problem) => panic!("{problem}\n{case}"),
    }
}

#[test]
fn results_of_any_fill_value_have_every_element() {
    for format in FORMATS {
        for value in VALUES {
            for fill in ["0", "1", "-inf"] {
                holds(value, format, fill);
            }
        }
    }
}

#[test]
fn copies_of_any_fill_value_have_every_element() {
    for copied in COPIED {
        for format in FORMATS.iter().chain(&PADDED) {
            for value in ["A(i,j)", "A(j,i)"] {
                for fill in ["3", "inf"] {
                    let stored = format!("{copied}{{fill: {fill}}}");
                    let operand = Operand { format: stored, ..operand("A", 1) };
                    is_right(value, vec![operand], format, fill);
                }
            }
        }
    }
}
