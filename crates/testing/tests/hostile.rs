//! Programs that ask for much compilation are compiled or refused, and neither panics nor takes long.

use std::time::Duration;
use tamis_testing::hostile::{Outcome, compile, program};
use tamis_testing::random::Random;

#[test]
fn hostile_programs_compile_soon_or_are_refused() {
    let (mut compiled, mut refused) = (0, 0);
    for seed in 0..150u64 {
        let program = program(&mut Random::new(seed.wrapping_mul(0x1234_5678_9ABC_DEF1)));
        let (outcome, took) = compile(&program);
        match outcome {
            Outcome::Compiled => compiled += 1,
            Outcome::Refused(diagnostic) => {
                assert!(diagnostic.help.is_some(), "seed {seed}: {diagnostic}");
                refused += 1;
            }
            Outcome::Panicked => panic!("seed {seed}: a panic\n{program}"),
        }
        // Much more than an optimised build takes.
        assert!(took < Duration::from_secs(20), "seed {seed}: {took:?}\n{program}");
    }
    assert!(compiled > 30 && refused > 15, "{compiled} compiled, {refused} refused");
}
