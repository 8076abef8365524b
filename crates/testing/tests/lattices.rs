//! Loops over operands of which one ends early end with it, where nothing is to be done without it: the interpreter
//! counts their iterations.

use std::collections::BTreeMap;
use tamis_testing::case::{Case, Operand};
use tamis_testing::functions::Functions;

/// How many coordinates the vectors have.
const SIZE: u64 = 3000;
/// How many entries the one has that ends early.
const FEW: u64 = 8;
/// More iterations than all of a lattice's loops have up to there.
const MOST: u64 = 16 * FEW;

/// A vector with an entry at each `step`th coordinate, up to an end.
fn vector(name: &str, step: u64, end: u64) -> Operand {
    let entries = (0..end).step_by(step as usize).map(|i| (vec![i], 2.0.into())).collect();
    Operand { name: name.to_owned(), format: "sparse".to_owned(), dims: vec![SIZE], entries }
}

/// The iterations of all loops that compute a value of A, which ends early, and of B, C and D.
fn iterations(value: &str) -> u64 {
    let all =
        [vector("A", 1, FEW), vector("B", 1, SIZE), vector("C", 2, SIZE), vector("D", 3, SIZE)];
    let case = Case {
        text: format!("R(i) = {value}"),
        operands: all.into_iter().filter(|o| value.contains(&o.name)).collect(),
        results: BTreeMap::from([("R".to_owned(), "sparse".to_owned())]),
        dims: BTreeMap::new(),
        shapes: BTreeMap::new(),
        schedule: String::new(),
        strict: tamis::Strictness::Sparse,
    };
    let mut functions = Functions::of(&case).unwrap_or_else(|d| panic!("{value}: {d}"));
    let mut iterations = 0;
    for (k, lowered) in functions.lowered().iter().enumerate() {
        let run = functions.run(k, lowered).unwrap_or_else(|d| panic!("{value}: {d}"));
        iterations += run.counts.iterations;
        functions.keep(k, run.tensor);
    }
    iterations
}

#[test]
fn loops_end_with_an_operand_without_which_nothing_is_done() {
    for value in [
        "A(i) * B(i)",
        "-A(i) * B(i)",
        "A(i) * B(i) * C(i)",
        "B(i) * A(i) * C(i) * D(i)",
        "A(i) * (B(i) + C(i))",
        "(B(i) - C(i)) * A(i)",
        "A(i) * (B(i) + C(i) + D(i))",
        "A(i) * (B(i) * C(i) + D(i))",
        "(B(i) * C(i) - D(i)) * A(i)",
        "A(i) * B(i) * (C(i) + D(i))",
        "(A(i) + A(i) * B(i)) * C(i)",
        "A(i) * max(B(i), C(i))",
        "A(i) * min(B(i), C(i), D(i))",
        "abs(A(i)) * (B(i) - C(i))",
        "sqrt(A(i)) * B(i) * C(i)",
        "A(i) / (B(i) + C(i) + 1)",
        "A(i) * B(i) + A(i) * C(i)",
        "A(i) * B(i) * C(i) + A(i) * D(i)",
        "A(i) * B(i) - A(i) * C(i) * D(i)",
        "A(i) * A(i) * B(i) + A(i)",
    ] {
        let found = iterations(value);
        assert!(found <= MOST, "{value} takes {found} iterations");
    }
}

#[test]
fn operands_that_are_needed_no_more_are_not_walked() {
    let (c, d) = (SIZE / 2, SIZE / 3);
    for (value, needed) in [
        ("A(i) * B(i) + C(i)", c),
        ("C(i) - A(i) * B(i)", c),
        ("A(i) * (B(i) + C(i)) + D(i)", d),
        ("A(i) * B(i) * C(i) + D(i)", d),
        ("A(i) * B(i) + A(i) * C(i) + D(i)", d),
    ] {
        let found = iterations(value);
        assert!(found <= needed + MOST, "{value} takes {found} iterations, {needed} are needed");
    }
}
