//! The metamorphic test of performance: equivalent programs take about as many steps and as much memory.
//!
//! `cliffs [--count N] [--seed N] [--only TRANSFORMATION] [--most N] [--whole]`
//!
//! Compares pairs of programs from a seed on until there were so many, and prints the first `--most` that
//! differ without a reason, made small unless they are wanted whole; and how the code of programs grows that
//! have more and more of something. Nothing is timed: what a seed tells is the same everywhere.
//!
//! `cliffs --reasons` prints why pairs may differ, and `cliffs --clock` how long those growing programs take to
//! compile.

use std::collections::BTreeMap;
use std::process::ExitCode;
use tamis_testing::cliffs::comparison::{Cliff, Verdict, drawn, pair};
use tamis_testing::cliffs::growth::{FAMILIES, Size, is_steep};
use tamis_testing::cliffs::reasons::REASONS;
use tamis_testing::cliffs::shrink::shrink;
use tamis_testing::cliffs::transformation::Transformation;

fn main() -> ExitCode {
    let (mut seed, mut count, mut most) = (1, 2000, 1);
    let mut only = Transformation::ALL.to_vec();
    let mut shrinks = true;
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        if flag == "--reasons" {
            REASONS.iter().for_each(|reason| println!("{}", reason.why));
            return ExitCode::SUCCESS;
        }
        if flag == "--clock" {
            print_clock();
            return ExitCode::SUCCESS;
        }
        if flag == "--whole" {
            shrinks = false;
            continue;
        }
        let value = args.next().unwrap_or_default();
        let number = value.parse();
        match (flag.as_str(), number) {
            ("--seed", Ok(n)) => seed = n,
            ("--count", Ok(n)) => count = n,
            ("--most", Ok(n)) => most = n,
            ("--only", _) => match Transformation::parse(&value) {
                Some(one) => only = vec![one],
                None => return refused(&format!("no transformation {value}")),
            },
            _ => return refused(&format!("unknown option {flag} {value}")),
        }
    }
    let mut tally = Tally::default();
    while tally.pairs < count && tally.failures < most {
        if let Some((case, taken)) = drawn(seed) {
            for &transformation in &only {
                let Some(Ok(pair)) = pair(&case, &taken, transformation, seed) else { continue };
                tally.pairs += 1;
                *tally.each.entry(transformation).or_default() += 1;
                match pair.verdict() {
                    Verdict::Alike => continue,
                    Verdict::Explained(reason) => {
                        *tally.explained.entry(reason.why).or_default() += 1;
                        continue;
                    }
                    Verdict::Cliff(Cliff::Steps) => println!("== far more steps"),
                    Verdict::Cliff(Cliff::Bytes) => println!("== far more memory"),
                    Verdict::Differs(why) => println!("== {why}"),
                }
                tally.failures += 1;
                let small = if shrinks { shrink(&pair, seed) } else { pair };
                println!("{small}");
                let name = transformation.name();
                println!("cargo xtask cliffs --seed {seed} --count 1 --only {name}\n");
            }
        }
        seed += 1;
    }
    tally.failures += steep();
    tally.print();
    if tally.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints families of programs whose code grows too fast, and counts them.
fn steep() -> u64 {
    let mut count = 0;
    for family in FAMILIES {
        let sizes = match family.sizes() {
            Ok(sizes) => sizes,
            Err(d) => {
                println!("== {}: {d}", family.name);
                count += 1;
                continue;
            }
        };
        if let Some(pair) = sizes.windows(2).find(|pair| is_steep(pair[0], pair[1])) {
            let [less, more] = [pair[0], pair[1]].map(|size| (size.count, size.code));
            println!("== {}: {less:?} and {more:?} of code", family.name);
            count += 1;
        }
    }
    count
}

/// Prints what families of programs take to compile.
fn print_clock() {
    for family in FAMILIES {
        for size in family.sizes().unwrap_or_default() {
            let Size { count, code, took } = size;
            println!("{:20} {count:4} {code:8} {took:10.2?}", family.name);
        }
    }
}

/// What was found.
#[derive(Default)]
struct Tally {
    pairs: u64,
    failures: u64,
    each: BTreeMap<Transformation, u64>,
    explained: BTreeMap<&'static str, u64>,
}

impl Tally {
    fn print(&self) {
        for (transformation, count) in &self.each {
            println!("{count:8} {}", transformation.name());
        }
        for (why, count) in &self.explained {
            println!("{count:8} explained: {why}");
        }
        println!("{} pairs, {} unexplained", self.pairs, self.failures);
    }
}

fn refused(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}
