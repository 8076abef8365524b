//! How often kernels compute at the entries of a pattern, and do not compute the result whole first.

use tamis::KernelKind;
use tamis_core::kind;
use tamis_testing::functions::Functions;
use tamis_testing::generate;
use tamis_testing::random::Random;

#[test]
fn most_results_follow_their_patterns() {
    let (mut follow, mut whole) = (0, 0);
    for seed in 0..400 {
        let case = generate::case(&mut Random::new(seed));
        let Ok(functions) = Functions::of(&case) else { continue };
        let program = kind::of_kind(functions.program().clone(), KernelKind::Compute);
        for (k, kernel) in program.kernels.iter().enumerate() {
            match kind::follows(&program, k) {
                true if kernel.kind == KernelKind::Compute => follow += 1,
                true => whole += 1,
                false => {}
            }
        }
    }
    assert!(follow > 4 * whole, "{follow} follow, {whole} are computed whole");
}
