//! A word before it is slow: programs that take far more steps than they have values are reported, and no others.
//!
//! Random programs over hyper-sparse and dense operands are interpreted, and their iterations counted.

use std::collections::BTreeMap;
use tamis::{Backend, Code, Strictness, Tensor};
use tamis_core::steps::LONG;
use tamis_testing::case::{Case, Operand};
use tamis_testing::functions::Functions;
use tamis_testing::number::Number;
use tamis_testing::random::Random;

/// Programs of fewer steps are not looked at, so that the interpreter may be asked.
const FLOOR: f64 = 2e4;

/// What a program did, and what was said before.
struct Told {
    iterations: f64,
    operands: f64,
    results: f64,
    codes: Vec<Code>,
}

fn told(case: &Case) -> Option<Told> {
    let kernel = case.compile(Backend::Interpreter).ok()?;
    let tensors = case.tensors().ok()?;
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    // Whether there is a way out or not.
    let warnings = kernel.warnings_from(&operands, FLOOR / LONG).ok()?;
    let mut functions = Functions::of(case).ok()?;
    let mut iterations = 0.0;
    for (k, lowered) in functions.lowered().iter().enumerate() {
        let run = functions.run(k, lowered).ok()?;
        iterations += run.counts.iterations as f64;
        functions.keep(k, run.tensor);
    }
    let results = kernel.run(&operands).ok()?;
    let values = |t: &Tensor| t.vals().len() as f64;
    Some(Told {
        iterations,
        operands: operands.iter().map(|(_, t)| values(t)).sum(),
        results: results.iter().map(|(_, t)| values(t)).sum(),
        codes: warnings.iter().map(|w| w.code).collect(),
    })
}

/// A program over two variables of hundreds of coordinates, or three of fewer.
fn case(random: &mut Random) -> Case {
    let two = random.one_in(2);
    let vars = if two { &["i", "j"][..] } else { &["i", "j", "k"] };
    let (least, more) = match two {
        true if random.one_in(25) => (1500, 500),
        true => (200, 500),
        false => (80, 80),
    };
    let sizes: Vec<u64> = vars.iter().map(|_| least + random.below(more) as u64).collect();
    let mut operands = vec![];
    let value = value(random, &sizes, &mut operands);
    let is_used = |v: &&str| value.contains(&format!("{v}#"));
    let used: Vec<&str> = vars.iter().copied().filter(is_used).collect();
    let value = value.replace('#', "");
    let mut kept: Vec<&str> = used.iter().copied().filter(|_| random.one_in(2)).collect();
    kept.truncate(if two { 2 } else { 1 });
    let summed = used.iter().filter(|v| !kept.contains(v));
    let value = summed.rev().fold(value, |value, v| format!("sum({v}, {value})"));
    let left = if kept.is_empty() { "R".to_owned() } else { format!("R({})", kept.join(",")) };
    let listed = kept.len() == 2 && random.one_in(2);
    let results = listed.then(|| ("R".to_owned(), "csr{fill: 0}".to_owned()));
    let strict = if random.one_in(3) { Strictness::Ieee } else { Strictness::Sparse };
    Case { text: format!("{left} = {value}"), operands, strict, ..case_of(results) }
}

/// A value of new operands, with a `#` behind each variable.
fn value(random: &mut Random, sizes: &[u64], operands: &mut Vec<Operand>) -> String {
    let count = 2 + random.below(3);
    let mut value = operand(random, 0, sizes, operands);
    for n in 1..count {
        let term = operand(random, n, sizes, operands);
        value = match random.below(10) {
            0 => format!("({value} + {term})"),
            1 | 2 => format!("{value} / (1 + {term})"),
            3 => format!("max({value}, {term})"),
            4 => format!("{term} / {value}"),
            5 | 6 => format!("({value} - 1) * {term}"),
            _ => format!("{value} * {term}"),
        };
    }
    if random.one_in(6) { format!("({value} + 2)") } else { value }
}

/// A use of a new operand.
fn operand(random: &mut Random, n: usize, sizes: &[u64], operands: &mut Vec<Operand>) -> String {
    let vars = ["i#", "j#", "k#"];
    let first = random.below(sizes.len());
    let modes = [first, (first + 1 + random.below(sizes.len() - 1)) % sizes.len()];
    let modes = &modes[..1 + random.below(2)];
    let list = "(i) -> (i: compressed)";
    let format = match modes {
        [_] => *random.pick(&["dense", list, list]),
        _ => *random.pick(&["csr", "csc", "dcsr", "coo"]),
    };
    let name = ["A", "B", "C", "D"][n];
    let dims: Vec<u64> = modes.iter().map(|&m| sizes[m]).collect();
    operands.push(entries(random, (name, format), &dims));
    let indices: Vec<&str> = modes.iter().map(|&m| vars[m]).collect();
    format!("{name}({})", indices.join(","))
}

/// An operand with values everywhere if it is dense, else at a few coordinates.
fn entries(random: &mut Random, (name, format): (&str, &str), dims: &[u64]) -> Operand {
    let all = dims.iter().product::<u64>();
    let stored = 1 + random.below(40);
    let mut places: Vec<u64> = match format {
        "dense" => (0..all).collect(),
        _ => (0..stored).map(|_| random.below(all as usize) as u64).collect(),
    };
    places.sort_unstable();
    places.dedup();
    let place = |at: u64| match dims {
        [_, columns] => vec![at / columns, at % columns],
        _ => vec![at],
    };
    let value = |at: u64| Number { re: 1.0 + (at % 3) as f64, im: 0.0 };
    let entries = places.into_iter().map(|at| (place(at), value(at))).collect();
    Operand { name: name.to_owned(), format: format.to_owned(), dims: dims.to_vec(), entries }
}

/// A program without text and operands, and with these formats of results.
fn case_of(results: impl IntoIterator<Item = (String, String)>) -> Case {
    Case {
        text: String::new(),
        operands: vec![],
        results: results.into_iter().collect(),
        dims: BTreeMap::new(),
        shapes: BTreeMap::new(),
        schedule: String::new(),
        strict: Strictness::Sparse,
    }
}

#[test]
fn what_takes_many_steps_is_reported_and_nothing_else() {
    let (mut slow, mut quick) = (0, 0);
    for seed in 0..1200 {
        let case = case(&mut Random::new(seed * 0x9E37_79B9 + 1));
        let Some(told) = told(&case) else { continue };
        let ratio = told.iterations / (told.operands + told.results);
        let about = || format!("seed {seed}: {} iterations, {ratio}\n{case}", told.iterations);
        if told.iterations > FLOOR && ratio > 1000.0 {
            assert!(!told.codes.is_empty(), "not reported, {}", about());
            slow += 1;
        }
        if ratio < 100.0 {
            assert!(!told.codes.contains(&Code::ManySteps), "reported, {}", about());
            quick += 1;
        }
    }
    assert!(slow >= 10 && quick >= 200, "{slow} slow, {quick} quick");
}

/// Some leave elements without an entry at the fill value of the result, others do not.
#[test]
fn what_fills_a_result_is_reported_and_nothing_else() {
    let values =
        ["A(i,j) + 2", "max(A(i,j), 1)", "A(i,j) * A(i,j) - 3", "exp(A(i,j))", "abs(A(i,j))"];
    let (mut large, mut small) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed * 0x9E37_79B9 + 1);
        let sizes = [300 + random.below(200) as u64, 300 + random.below(200) as u64];
        let operands = vec![entries(&mut random, ("A", "csr"), &sizes)];
        let formats = ["csr", "csr{fill: 0}", "dense", "csr{fill: 1}"];
        let result = Some(*random.pick(&formats)).filter(|_| random.below(5) > 0);
        let results = result.map(|format| ("R".to_owned(), format.to_owned()));
        let text = format!("R(i,j) = {}", random.pick(&values));
        let case = Case { text, operands, ..case_of(results) };
        let told = told(&case).unwrap_or_else(|| panic!("seed {seed} is refused\n{case}"));
        let is_told = told.codes.contains(&Code::DenseResult);
        let ratio = told.results / told.operands;
        let fills = ratio > 1500.0 && result != Some("dense");
        assert!(is_told || !fills, "not reported, seed {seed}: {ratio}\n{case}");
        assert!(!is_told || ratio > 500.0, "reported, seed {seed}: {ratio}\n{case}");
        large += u32::from(fills);
        small += u32::from(!is_told);
    }
    assert!(large >= 10 && small >= 10, "{large} large, {small} small");
}
