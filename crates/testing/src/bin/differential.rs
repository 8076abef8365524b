//! The differential test: random programs on a backend against the dense reference.
//!
//! `differential [--seconds N] [--count N] [--seed N] [--values any|infinite]
//! [--backend jit|c|interp|cuda-emulated]`
//!
//! On an emulated GPU most programs have loops on its units.

use std::process::ExitCode;
use std::time::{Duration, Instant};
use tamis::Backend;
use tamis_testing::case::Case;
use tamis_testing::check::{Outcome, check};
use tamis_testing::random::Random;
use tamis_testing::schedules;
use tamis_testing::shrink::shrink;
use tamis_testing::{generate, infinite};

fn main() -> ExitCode {
    let mut seconds = u64::MAX;
    let mut count = u64::MAX;
    let mut seed = 1;
    let mut backend = Backend::Jit;
    let mut infinities = false;
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().unwrap_or_default();
        let number = || value.parse().unwrap_or(1);
        match flag.as_str() {
            "--seconds" => seconds = number(),
            "--count" => count = number(),
            "--seed" => seed = number(),
            "--values" => infinities = value == "infinite",
            "--backend" => backend = Backend::parse(&value).unwrap_or_default(),
            _ => {
                eprintln!("unknown option {flag}");
                return ExitCode::from(2);
            }
        }
    }
    let deadline = Instant::now().checked_add(Duration::from_secs(seconds.min(1 << 30)));
    let (mut right, mut invalid) = (0u64, 0u64);
    let mut at = seed;
    while right < count && deadline.is_none_or(|d| Instant::now() < d) {
        let mut random = Random::new(at.wrapping_mul(0x1234_5678_9ABC_DEF1));
        let mut case = generate::case(&mut random);
        if backend == Backend::CudaEmulated {
            case.schedule = schedules::on_gpu(&mut random, &case, &case.schedule);
        }
        if infinities {
            case = infinite::drawn(&case, &mut random);
        }
        let check = |case: &Case| match infinities {
            true => infinite::check(case, backend),
            false => check(case, backend),
        };
        match check(&case) {
            Outcome::Right => right += 1,
            Outcome::Invalid => invalid += 1,
            Outcome::Wrong(problem) => {
                println!("seed {at}: {problem}\n{case}");
                let fails = |c: &_| matches!(check(c), Outcome::Wrong(_));
                let small = shrink(&case, &fails);
                println!("shrunk, {:?}:\n{small}", check(&small));
                return ExitCode::FAILURE;
            }
        }
        at += 1;
    }
    println!("{right} random programs right on {}, {invalid} draws invalid", backend.name());
    ExitCode::SUCCESS
}
