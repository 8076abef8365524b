//! Products and reductions of matrices of a few diagonals take as many steps as there are rows, however
//! they are stored: loops over rows and columns, or over all of an operand for each row, would take more.

use std::collections::BTreeMap;
use tamis_testing::case::{Case, Operand};
use tamis_testing::functions::Functions;

const FORMATS: [&str; 12] = [
    "csr",
    "csc",
    "dcsr",
    "coo",
    "coo(nonordered)",
    "dok",
    "dia",
    "ell",
    "bcsr(4,4)",
    "csb(64,64)",
    "(i, j) -> (i: dense, j: compressed(nonordered))",
    "(i, j) -> (i: hashed, j: compressed)",
];

/// A square matrix of these diagonals.
fn diagonals(name: &str, format: &str, n: u64, offsets: &[i64]) -> Operand {
    let at = |i: u64, offset: i64| i.checked_add_signed(offset).filter(|&j| j < n);
    let row = |i: u64| offsets.iter().filter_map(move |&offset| at(i, offset).map(|j| vec![i, j]));
    let entries = (0..n).flat_map(row).map(|place| (place, 1.0.into())).collect();
    Operand { name: name.to_owned(), format: format.to_owned(), dims: vec![n, n], entries }
}

/// The work of a product, and how many entries it has.
fn product(formats: (&str, &str), n: u64) -> (u64, usize) {
    let operands =
        vec![diagonals("A", formats.0, n, &[-1, 0, 2]), diagonals("B", formats.1, n, &[-3, 0, 1])];
    work("C(i,j) = A(i,k) * B(k,j)", operands, &[("C", "csr")])
}

/// The work of a program, and how many entries the last result has.
fn work(text: &str, operands: Vec<Operand>, results: &[(&str, &str)]) -> (u64, usize) {
    let case = Case {
        text: text.to_owned(),
        operands,
        results: results.iter().map(|&(name, f)| (name.to_owned(), f.to_owned())).collect(),
        dims: BTreeMap::new(),
        shapes: BTreeMap::new(),
        schedule: String::new(),
        strict: tamis::Strictness::Sparse,
    };
    let mut functions = Functions::of(&case).unwrap_or_else(|d| panic!("{d}"));
    let (mut work, mut entries) = (0, 0);
    for (k, lowered) in functions.lowered().iter().enumerate() {
        let run = functions.run(k, lowered).unwrap_or_else(|d| panic!("{d}"));
        work += run.counts.iterations;
        entries = run.tensor.nnz();
        functions.keep(k, run.tensor);
    }
    (work, entries)
}

#[test]
fn products_grow_with_their_rows() {
    for a in FORMATS {
        for b in FORMATS {
            let [(less, _), (more, entries)] = [256, 1024].map(|n| product((a, b), n));
            assert!(more < 12 * less, "{a} times {b}: {less} and {more} steps");
            let blocks = [a, b].iter().any(|f| f.contains("bcsr"));
            assert!(blocks || entries <= 9 * 1024, "{a} times {b} has {entries} entries");
        }
    }
}

/// Sums and products by elements, and sums inside of reductions.
#[test]
fn sums_grow_with_their_rows() {
    let texts =
        ["C(i,j) = A(i,j) + B(i,j)", "C(i,j) = A(i,j) * B(i,j)", "s = max(i, j, A(i,j) - B(i,j))"];
    // Of blocks in a grid there are as many as the square of their rows.
    let lists_diagonals = "(i, j) -> (j-i: compressed, i: compressed)";
    let mut formats = FORMATS.to_vec();
    formats.retain(|f| !f.starts_with("csb"));
    formats.push(lists_diagonals);
    for (k, a) in formats.iter().enumerate() {
        for (b, text) in formats[k..].iter().flat_map(|b| texts.map(|text| (b, text))) {
            let [less, more] = [256, 1024].map(|n| {
                let operands =
                    vec![diagonals("A", a, n, &[-1, 0, 2]), diagonals("B", b, n, &[-3, 0, 1])];
                let results = if text.starts_with('C') { &[("C", "csr")][..] } else { &[] };
                work(text, operands, results).0
            });
            // Plans may change between the sizes; the square of the rows is a million.
            let grows = more < 6 * less || more < 64 * 1024;
            assert!(grows, "{text} of {a} and {b}: {less} and {more} steps");
        }
    }
}

#[test]
fn reductions_of_what_is_absent_grow_with_rows() {
    let texts = [
        "y(i) = max(j, A(i,j))",
        "y(j) = min(i, A(i,j) * v(i))",
        "s = max(i, j, A(i,j))",
        "y(i) = prod(j, A(i,j))",
        "y(j) = all(i, A(i,j))",
        "y(i) = sum(j, A(i,j) == 0)",
        "s = sum(i, j, (A(i,j) - 2) * (A(i,j) - 2))",
    ];
    for format in FORMATS {
        for text in texts {
            let [less, more] = [1024, 4096].map(|n| {
                let matrix = diagonals("A", format, n, &[-1, 0, 2]);
                let v = Operand {
                    name: "v".to_owned(),
                    format: "dense".to_owned(),
                    dims: vec![n],
                    entries: (0..n).map(|i| (vec![i], 2.0.into())).collect(),
                };
                let with_v = text.contains('v').then_some(v);
                work(text, with_v.into_iter().chain([matrix]).collect(), &[]).0
            });
            assert!(more < 6 * less, "{text}, {format}: {less} and {more} steps");
        }
    }
}

/// An operand with an entry everywhere.
fn whole(name: &str, format: &str, dims: &[u64]) -> Operand {
    let size: u64 = dims.iter().product();
    let below = |mode: usize| dims[mode + 1..].iter().product::<u64>();
    let place = |k: u64| {
        let at = dims.iter().enumerate().map(|(mode, d)| k / below(mode) % d).collect();
        (at, 1.0.into())
    };
    let entries = (0..size).map(place).collect();
    Operand { name: name.to_owned(), format: format.to_owned(), dims: dims.to_vec(), entries }
}

/// Loops around each other would take the product of the sizes.
#[test]
fn sums_that_share_no_factor_take_the_sum_of_their_sizes() {
    for count in 2..=9 {
        for (format, first) in [("dense", ""), ("sparse", ""), ("dense", "2 * "), ("dense", "n * ")]
        {
            let factors: Vec<String> = (0..count).map(|k| format!("x{k}(i{k})")).collect();
            let text = format!("R = {first}{}", factors.join(" * "));
            let vectors = (0..count).map(|k| whole(&format!("x{k}"), format, &[12]));
            let scalar = (first == "n * ").then(|| whole("n", "dense", &[]));
            let (steps, _) = work(&text, vectors.chain(scalar).collect(), &[]);
            assert!(steps <= 12 * count, "{text}, {format}: {steps} steps");
        }
        for (format, first) in [("dense", ""), ("csr", ""), ("dense", "2 * ")] {
            let factors: Vec<String> = (0..count).map(|k| format!("A{k}(b,i{k})")).collect();
            let text = format!("R(b) = {first}{}", factors.join(" * "));
            let matrices = (0..count).map(|k| whole(&format!("A{k}"), format, &[10, 12]));
            let (steps, _) = work(&text, matrices.collect(), &[]);
            assert!(steps <= 10 * (12 * count + 1), "{text}, {format}: {steps} steps");
        }
    }
}

/// Of any order: the copy of an operand in the order of the loops is always weighed.
#[test]
fn operands_against_the_loops_are_copied() {
    for order in 4..=14 {
        for format in ["csf", "coo"] {
            let vars: Vec<String> = (0..order).map(|k| format!("i{k}")).collect();
            let reversed: Vec<String> = vars.iter().rev().cloned().collect();
            let (vars, reversed) = (vars.join(","), reversed.join(","));
            let text = format!("R({vars}) = T({vars}) + T({reversed})");
            let place = |seed: u64| (0..order).map(|k| (seed * (k + 3) + k * k) % 6).collect();
            let entries = (0..5).map(|seed| (place(seed), 1.0.into())).collect();
            let dims = vec![6; order as usize];
            let t = Operand { name: "T".to_owned(), format: format.to_owned(), dims, entries };
            let (steps, _) = work(&text, vec![t], &[("R", format)]);
            assert!(steps < 100 * order, "order {order} in {format}: {steps} steps");
        }
    }
}

/// Each copy of a tensor would be merged with the sum of those before, and be stored in the order of the result first.
#[test]
fn sums_of_a_tensor_and_its_transposes_take_the_sum_of_their_entries() {
    for order in 2..=5 {
        let vars = &["i", "j", "k", "l", "m"][..order];
        let elements: Vec<Vec<u64>> =
            (0..20).map(|n| (1..=order as u64).map(|k| (n * k + n * n) % 9).collect()).collect();
        let entries = elements.into_iter().map(|element| (element, 1.0.into()));
        let tensor = Operand {
            name: "T".to_owned(),
            format: "csf".to_owned(),
            dims: vec![9; order],
            entries: entries.collect::<BTreeMap<_, _>>().into_iter().collect(),
        };
        let entries = tensor.entries.len() as u64;
        let orders = permutations(vars);
        let count = orders.len() as u64;
        let terms: Vec<String> = orders.iter().map(|vs| format!("T({})", vs.join(","))).collect();
        let text = format!("R({}) = {}", vars.join(","), terms.join(" + "));
        let (steps, _) = work(&text, vec![tensor], &[("R", "csf")]);
        let most = 3 * order as u64 * entries * count;
        assert!(steps <= most, "{count} terms of {entries} entries take {steps} steps");
    }
}

/// All orders of some names.
fn permutations<'n>(names: &[&'n str]) -> Vec<Vec<&'n str>> {
    let Some((first, others)) = names.split_first() else { return vec![vec![]] };
    let with_first = |order: Vec<&'n str>| {
        let at = |k: usize| [&order[..k], &[*first], &order[k..]].concat();
        (0..=order.len()).map(at).collect::<Vec<_>>()
    };
    permutations(others).into_iter().flat_map(with_first).collect()
}
