//! A fixed sample of random programs on every backend.

use tamis::{Backend, Vectors};
use tamis_testing::check::{Outcome, check};
use tamis_testing::generate;
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
    sample(Backend::Interpreter, 0..2000);
}

#[test]
fn random_programs_are_right_in_machine_code() {
    sample(Backend::Jit, 0..300);
}

#[test]
fn random_programs_are_right_for_narrow_vectors() {
    tamis::use_vectors(Vectors::Narrow);
    sample(Backend::Jit, 300..500);
    tamis::use_vectors(Vectors::Native);
}

#[test]
fn random_programs_are_right_through_the_c_compiler() {
    if tamis::has_c_compiler() {
        sample(Backend::C, 0..40);
    } else {
        println!("skipped: no C compiler");
    }
}
