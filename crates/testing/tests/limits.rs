//! Random programs on integers near the limits of their types are exact, or refused.

use tamis::Backend;
use tamis_testing::check::Outcome;
use tamis_testing::random::Random;
use tamis_testing::{generate, limits};

#[test]
fn no_step_beyond_64_bits_leaves_a_number() {
    for (backend, count) in [(Backend::Jit, 150), (Backend::InterpreterOfVectors, 100)] {
        let mut right = 0;
        for seed in 1u64.. {
            let mut random = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let case = limits::drawn(&generate::case(&mut random), &mut random);
            match limits::check(&case, backend) {
                Outcome::Right => right += 1,
                Outcome::Invalid => {}
                Outcome::Wrong(why) => panic!("{why}\n{case}"),
            }
            if right == count {
                break;
            }
        }
    }
}
