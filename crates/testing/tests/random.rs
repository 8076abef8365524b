//! A fixed sample of random programs on every backend.

use tamis::Backend;
use tamis::processor::{self, Level};
use tamis_testing::check::{Outcome, check};
use tamis_testing::generate;
use tamis_testing::huge::{self, Found};
use tamis_testing::random::Random;

fn sample(backend: Backend, seeds: std::ops::Range<u64>) {
    let mut right = 0;
    for seed in seeds.clone() {
        let case = generate::case(&mut Random::new(seed.wrapping_mul(0x1234_5678_9ABC_DEF1)));
        match check(&case, backend) {
            Outcome::Right => right += 1,
            Outcome::Invalid => {}
            Outcome::Wrong(problem) => panic!("seed {seed}: {problem}\n{case}"),
        }
    }
    assert!(right > (seeds.end - seeds.start) / 2, "most draws should be valid");
}

#[test]
fn random_programs_are_right_interpreted() {
    sample(Backend::Interpreter, 0..1000);
}

#[test]
fn more_random_programs_are_right_interpreted() {
    sample(Backend::Interpreter, 1000..2000);
}

#[test]
fn random_programs_are_right_in_machine_code() {
    sample(Backend::Jit, 0..300);
}

#[test]
fn random_programs_are_right_at_each_level_of_the_processor() {
    for (k, level) in (300..).step_by(100).zip(Level::supported()) {
        processor::set_level(level).unwrap_or_else(|d| panic!("{d}"));
        sample(Backend::Jit, k..k + 100);
    }
}

#[test]
fn random_programs_are_right_through_the_c_compiler() {
    if tamis::has_c_compiler() {
        sample(Backend::C, 0..40);
    } else {
        println!("skipped: no C compiler");
    }
}

#[test]
fn random_programs_of_huge_dimensions_are_right() {
    huge::limit_memory();
    let mut right = 0;
    for seed in 0..200_u64 {
        let mut random = Random::new(seed.wrapping_mul(0x1234_5678_9ABC_DEF1));
        let Some(program) = huge::drawn(&mut random) else { continue };
        match huge::check(&program) {
            Found::Right => right += 1,
            Found::Invalid | Found::NotRun(_) => {}
            Found::Wrong(problem) => panic!("seed {seed}: {problem}\n{}", program.case),
        }
    }
    assert!(right > 50, "many draws should be run");
}
