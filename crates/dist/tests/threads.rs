//! Steps and faults on 1 to 16 ranks, as threads of this process.

#[path = "../examples/ranks/checks.rs"]
mod checks;

use checks::{Draw, Fault, STEPS, failure, fault, messages};
use tamis_dist::{Communicator, agree, on_threads};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// How many ranks are tried.
const RANKS: [usize; 8] = [1, 2, 3, 4, 5, 7, 8, 16];

fn check_messages(ranks: usize, steps: usize, longest: usize) {
    let outcomes = on_threads(ranks, |comm| messages(comm, steps, longest));
    assert_eq!(outcomes, vec![Ok(()); ranks]);
}

#[test]
fn messages_arrive_whole_and_in_rank_order() {
    RANKS.into_iter().for_each(|ranks| check_messages(ranks, 20, 100));
    assert_eq!(on_threads(0, |_| Ok(())), []);
}

#[test]
fn large_messages_arrive() {
    // Together above and below what memory is asked for first.
    check_messages(3, 2, 5_000_000);
    check_messages(2, 3, 20_000_000);
}

/// What all ranks return if one has a fault.
fn told(ranks: usize, faulty: usize, at: usize, kind: Fault) -> Diagnostic {
    let outcomes = on_threads(ranks, |comm| fault(comm, faulty, at, kind));
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
    outcomes[0].clone().unwrap_err()
}

#[test]
fn a_fault_of_one_rank_is_the_same_error_on_all() {
    let mut draw = Draw(1);
    // What panics would print is no news.
    std::panic::set_hook(Box::new(|_| ()));
    let faults = [Fault::Fails, Fault::Returns, Fault::Panics, Fault::Leaves];
    for kind in faults.into_iter().cycle().take(1000) {
        let ranks = RANKS[1 + draw.below(RANKS.len() - 1)];
        let (faulty, at) = (draw.below(ranks), draw.below(STEPS));
        let told = told(ranks, faulty, at, kind);
        match kind {
            Fault::Fails | Fault::Returns => assert_eq!(told, failure(faulty, at)),
            Fault::Panics => {
                let message = format!("rank {faulty} panicked: of rank {faulty} at {at}");
                assert_eq!(told, Diagnostic::new(Code::Internal, message));
            }
            Fault::Leaves => assert_eq!(told.code, Code::RankFailed),
        }
    }
}

/// The message that all of three ranks get.
fn check_told(body: impl Fn(&dyn Communicator) -> Result<(), Diagnostic> + Sync, told: &str) {
    for outcome in on_threads(3, body) {
        assert_eq!(outcome.map_err(|error| error.to_string()), Err(told.to_owned()));
    }
}

#[test]
fn ranks_that_take_different_steps_are_told() {
    let told = "error[rank-failed]: rank 2 gathers data while rank 0 exchanges data\n  = help: \
        start every rank with the same program; if they have it, please report this";
    let body = |comm: &dyn Communicator| match comm.rank() {
        0 | 1 => comm.exchange(vec![vec![]; 3]).map(drop),
        _ => comm.all_gather(&[]).map(drop),
    };
    check_told(body, told);
}

#[test]
fn of_several_failures_the_lowest_ranks_is_told() {
    let body = |comm: &dyn Communicator| {
        let failed = Diagnostic::new(Code::OutOfMemory, format!("on rank {}", comm.rank()));
        agree(comm, if comm.rank() == 0 { Ok(()) } else { Err(failed) })
    };
    check_told(body, "error[out-of-memory]: on rank 1");
}

#[test]
fn parts_that_are_not_one_per_rank_are_an_error_of_all() {
    let body = |comm: &dyn Communicator| {
        let parts = vec![vec![]; if comm.rank() == 1 { 2 } else { 3 }];
        let exchanged = comm.exchange(parts);
        agree(comm, exchanged.map(drop))
    };
    check_told(body, "error[internal]: 2 parts for 3 ranks");
}
