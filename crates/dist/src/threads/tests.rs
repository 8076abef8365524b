//! Steps and faults on 1 to 16 ranks.

use super::*;
use crate::{agree, phase};

/// How many ranks are tried.
const RANKS: [usize; 8] = [1, 2, 3, 4, 5, 7, 8, 16];

/// What rank `from` sends rank `to`: of many lengths, some empty, and different for each pair and step.
fn part(from: usize, to: usize, step: usize, ranks: usize, longest: usize) -> Vec<u8> {
    let seed = ((step * ranks + from) * ranks + to) as u64;
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let length = if mixed.is_multiple_of(3) { 0 } else { mixed as usize % (longest + 1) };
    (0..length).map(|k| (mixed as usize + k * 7) as u8).collect()
}

fn check_steps(ranks: usize, steps: usize, longest: usize) {
    let outcomes = on_threads(ranks, |comm| {
        let me = comm.rank();
        for step in 0..steps {
            let to = |to| part(me, to, step, ranks, longest);
            let received = comm.exchange((0..ranks).map(to).collect())?;
            let sent = |from| part(from, me, step, ranks, longest);
            assert!(received == (0..ranks).map(sent).collect::<Vec<_>>());
            let gathered = comm.all_gather(&part(me, 0, step, ranks, longest))?;
            let sent = |from| part(from, 0, step, ranks, longest);
            assert!(gathered == (0..ranks).map(sent).collect::<Vec<_>>());
        }
        agree(comm, Ok(me))
    });
    assert_eq!(outcomes, (0..ranks).map(Ok).collect::<Vec<_>>());
}

#[test]
fn messages_arrive_whole_and_in_rank_order() {
    RANKS.into_iter().for_each(|ranks| check_steps(ranks, 20, 100));
    assert_eq!(on_threads(0, |_| Ok(())), []);
}

#[test]
fn large_messages_arrive() {
    // Together above and below what memory is asked for first.
    check_steps(3, 2, 5_000_000);
    check_steps(2, 3, 20_000_000);
}

/// A generator of numbers below a bound.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

/// How a rank ends before the others.
#[derive(Clone, Copy)]
enum Fault {
    /// It tells of an error where the phase ends.
    Agrees,
    /// It returns an error.
    Returns,
    /// It panics.
    Panics,
    /// It returns as if all were done.
    Leaves,
}

const FAULTS: [Fault; 4] = [Fault::Agrees, Fault::Returns, Fault::Panics, Fault::Leaves];

const STEPS: usize = 6;

/// What all ranks return if one has a fault before a step of the first of two phases.
fn check_fault(ranks: usize, faulty: usize, at: usize, fault: Fault) -> String {
    let steps = |comm: &dyn Communicator| {
        for step in 0..STEPS {
            if comm.rank() == faulty && step == at {
                match fault {
                    Fault::Agrees | Fault::Returns => {
                        let message = format!("rank {faulty} failed at {at}");
                        return Err(Diagnostic::new(Code::InvalidTensor, message).help("mend it"));
                    }
                    Fault::Panics => panic!("of rank {faulty} at {at}"),
                    Fault::Leaves => return Ok(()),
                }
            }
            match step % 3 {
                0 => comm.exchange(vec![vec![1; 3]; ranks]).map(drop)?,
                1 => comm.all_gather(&[2; 5]).map(drop)?,
                _ => agree(comm, Ok(()))?,
            }
        }
        Ok(())
    };
    let outcomes = on_threads(ranks, |comm| {
        if comm.rank() == faulty && !matches!(fault, Fault::Agrees) {
            return steps(comm);
        }
        let first = phase(comm, || steps(comm));
        // The next phase is none of the fault's, unless the rank has ended.
        let heard = comm.all_gather(&[comm.rank() as u8]);
        match (fault, heard) {
            (Fault::Agrees, heard) => assert_eq!(heard.map(|parts| parts.len()), Ok(ranks)),
            (_, heard) => assert!(heard.is_err()),
        }
        first
    });
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
    outcomes[0].as_ref().map_or_else(Diagnostic::to_string, |()| String::new())
}

#[test]
fn a_fault_of_one_rank_is_the_same_error_on_all() {
    let mut draw = Draw(1);
    // What panics would print is no news.
    std::panic::set_hook(Box::new(|_| ()));
    for fault in FAULTS.into_iter().cycle().take(1000) {
        let ranks = RANKS[1 + draw.below(RANKS.len() - 1)];
        let (faulty, at) = (draw.below(ranks), draw.below(STEPS));
        let told = check_fault(ranks, faulty, at, fault);
        match fault {
            Fault::Agrees | Fault::Returns => {
                let code = "error[invalid-tensor]";
                let message = format!("{code}: rank {faulty} failed at {at}\n  = help: mend it");
                assert_eq!(told, message);
            }
            Fault::Panics => {
                let message = format!("rank {faulty} panicked: of rank {faulty} at {at}");
                assert!(told.contains(&message), "{told}");
            }
            Fault::Leaves => assert!(told.starts_with("error[rank-failed]: rank "), "{told}"),
        }
    }
}

#[test]
fn ranks_that_do_not_do_the_same_are_told() {
    let outcomes = on_threads(3, |comm| match comm.rank() {
        0 | 1 => comm.exchange(vec![vec![]; 3]),
        _ => comm.all_gather(&[]),
    });
    let told = "error[rank-failed]: rank 2 gathers data while rank 0 exchanges data\n  = help: \
        start every rank with the same program; if they have it, please report this";
    let told =
        |outcome: &Result<_, Diagnostic>| outcome.as_ref().is_err_and(|e| e.to_string() == told);
    assert!(outcomes.iter().all(told), "{outcomes:?}");
}

#[test]
fn of_several_failures_the_lowest_ranks_is_told() {
    let outcomes = on_threads(8, |comm| {
        let failed = Diagnostic::new(Code::OutOfMemory, format!("on rank {}", comm.rank()));
        agree(comm, if comm.rank() % 3 == 2 { Err(failed) } else { Ok(()) })
    });
    let lowest = Err(Diagnostic::new(Code::OutOfMemory, "on rank 2"));
    assert!(outcomes.iter().all(|outcome| *outcome == lowest));
}

#[test]
fn parts_that_are_not_one_per_rank_are_an_error_of_all() {
    let outcomes = on_threads(3, |comm| {
        let parts = vec![vec![]; if comm.rank() == 1 { 2 } else { 3 }];
        let exchanged = comm.exchange(parts);
        agree(comm, exchanged)
    });
    let told = |outcome: &Result<_, Diagnostic>| {
        outcome.as_ref().is_err_and(|error| error.message == "2 parts for 3 ranks")
    };
    assert!(outcomes.iter().all(told), "{outcomes:?}");
}
