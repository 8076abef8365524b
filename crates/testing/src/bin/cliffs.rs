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

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::process::ExitCode;
use tamis_testing::cliffs::comparison::{Cliff, Pair, Verdict, drawn, pair};
use tamis_testing::cliffs::growth::{FAMILIES, Size};
use tamis_testing::cliffs::reasons::REASONS;
use tamis_testing::cliffs::shrink::shrink;
use tamis_testing::cliffs::transformation::Transformation;

/// So many programs are looked at at once, on all threads.
const AT_ONCE: u64 = 32;

fn main() -> ExitCode {
    let (mut seed, mut count, mut most) = (1, 2000, 1);
    let mut only = Transformation::ALL.to_vec();
    let mut shrinks = true;
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        if flag == "--reasons" {
            let squares = FAMILIES.iter().filter_map(|family| family.squares);
            REASONS.iter().map(|r| r.why).chain(squares).for_each(|why| println!("{why}"));
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
        let seeds = seed..seed + AT_ONCE;
        seed = seeds.end;
        let found: Vec<Found> = seeds.into_par_iter().map(|seed| found(seed, &only)).collect();
        for found in found {
            if tally.pairs < count && tally.failures < most {
                tally.add(found, shrinks);
            }
        }
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
        if let Some(pair) = sizes.windows(2).find(|pair| family.is_steep(pair[0], pair[1])) {
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

/// The pairs of a seed that are valid.
struct Found {
    seed: u64,
    /// A verdict for each transformation, and the pair itself if it differs.
    pairs: Vec<(Transformation, Verdict, Option<Pair>)>,
    panicked: bool,
}

fn found(seed: u64, only: &[Transformation]) -> Found {
    let pairs = std::panic::catch_unwind(|| {
        let Some((case, taken)) = drawn(seed) else { return vec![] };
        let judged = |&transformation: &Transformation| {
            let pair = pair(&case, &taken, transformation, seed)?.ok()?;
            let verdict = pair.verdict();
            let differs = matches!(verdict, Verdict::Cliff(_) | Verdict::Differs(_));
            Some((transformation, verdict, differs.then_some(pair)))
        };
        only.iter().filter_map(judged).collect()
    });
    let panicked = pairs.is_err();
    Found { seed, pairs: pairs.unwrap_or_default(), panicked }
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
    fn add(&mut self, found: Found, shrinks: bool) {
        let seed = found.seed;
        if found.panicked {
            println!("== a panic\ncargo xtask cliffs --seed {seed} --count 1\n");
            self.failures += 1;
        }
        for (transformation, verdict, pair) in found.pairs {
            self.pairs += 1;
            *self.each.entry(transformation).or_default() += 1;
            if let Verdict::Explained(reason) = &verdict {
                *self.explained.entry(reason.why).or_default() += 1;
            }
            let Some(pair) = pair else { continue };
            self.failures += 1;
            match verdict {
                Verdict::Differs(why) => println!("== {why}"),
                Verdict::Cliff(Cliff::Bytes) => println!("== far more memory"),
                _ => println!("== far more steps"),
            }
            println!("{}", if shrinks { shrink(&pair, seed) } else { pair });
            let name = transformation.name();
            println!("cargo xtask cliffs --seed {seed} --count 1 --only {name}\n");
        }
    }

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
