//! Random programs with a sparse result run in parts, where they have loops.

use tamis_core::plan::NotCut;
use tamis_testing::coverage::Shares;
use tamis_testing::generate;
use tamis_testing::random::Random;

#[test]
fn sparse_results_run_in_parts() {
    let mut shares = Shares::default();
    for seed in 0..2000u64 {
        shares.count(&generate::case(&mut Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))));
    }
    let share = &shares.sparse;
    for (why, (count, example)) in &share.whole {
        // Factors that may be empty reductions stay with what they are multiplied by.
        assert!(
            matches!(why, NotCut::Apart | NotCut::Tested),
            "{why:?}: {count} such as\n{example}"
        );
    }
    let count = |why: NotCut| share.whole.get(&why).map_or(0, |(count, _)| *count);
    let (apart, tested) = (count(NotCut::Apart), count(NotCut::Tested));
    assert!(share.parallel > 1000 && share.exempt < 50);
    // A sum that may be empty is computed before everything else where that takes far fewer steps.
    assert!(tested < 50 && apart < 20, "{tested} and {apart}");
    assert!(share.parallel * 1000 > (share.all() - tested - apart) * 995);
}
