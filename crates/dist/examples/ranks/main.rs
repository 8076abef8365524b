//! A rank of an MPI job that checks what arrives: `cargo xtask mpi` starts it under every MPI that it has.
//!
//! ```text
//! mpiexec -n 4 ranks messages            exchanges and gathers, also large ones and in pieces
//! mpiexec -n 4 ranks faults              errors of a random rank before a random step
//! mpiexec -n 4 ranks returns|leaves|panics   a rank ends so
//! mpiexec -n 4 ranks aborts              a rank ends all
//! mpiexec -n 4 ranks endless             takes steps until a rank is killed; rank R prints `rank R is process P`
//! mpiexec -n 2 ranks huge                a message of more than 2^31 bytes
//! mpiexec -n 4 ranks times               what steps cost
//! ```

mod checks;

use checks::{Draw, Fault, STEPS, failure, fault, messages};
use std::io::Write;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Instant;
use tamis_dist::{Communicator, Mpi, agree, phase, same};
use tamis_ir::diagnostic::{Code, Diagnostic};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match Mpi::world().and_then(|mpi| work(mpi, &args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Ends a rank; one that fails writes a line at once, so that those of ranks are not mixed.
fn end(mpi: Mpi, outcome: Result<(), Diagnostic>) -> Result<(), Diagnostic> {
    let rank = mpi.rank();
    mpi.end(outcome, |error| {
        let line = format!("rank {rank}: {}\n", error.to_string().replace('\n', " "));
        // There is nobody to tell if that fails.
        let _ = std::io::stderr().write_all(line.as_bytes());
    })
}

fn work(mpi: Mpi, args: &[&str]) -> Result<(), Diagnostic> {
    let done = match args {
        ["messages"] => return in_pieces(mpi),
        ["faults"] => faults(&mpi, 100),
        ["returns"] => fault(&mpi, mpi.ranks() / 2, 1, Fault::Returns),
        ["leaves"] => fault(&mpi, mpi.ranks() / 2, 1, Fault::Leaves),
        ["panics"] => fault(&mpi, mpi.ranks() / 2, 1, Fault::Panics),
        ["aborts"] => aborts(&mpi),
        ["endless"] => endless(&mpi),
        ["huge"] => huge(&mpi),
        ["times"] => times(&mpi),
        _ => Err(Diagnostic::new(Code::InvalidOption, "see the head of examples/ranks/main.rs")),
    };
    end(mpi, done)
}

/// Messages whole, and in pieces so small that there are many.
fn in_pieces(mpi: Mpi) -> Result<(), Diagnostic> {
    let check = |mpi: &Mpi| {
        phase(mpi, || {
            same(mpi, "the version of MPI", mpi.version().as_bytes())?;
            messages(mpi, 20, 100)?;
            messages(mpi, 3, 300_000)
        })
    };
    check(&mpi)?;
    messages(&mpi, 1, 20_000_000)?;
    // SAFETY: the handle is of the same library, and its communicator is there until the end.
    let copy = unsafe { Mpi::from_handle(mpi.handle()) }?;
    check(&copy)?;
    // Without a step: the others may still have it.
    drop(copy);
    let mpi = mpi.in_pieces(NonZeroUsize::new(1000).unwrap_or(NonZeroUsize::MIN));
    let done = check(&mpi);
    if mpi.rank() == 0 {
        println!("{} ranks of {}", mpi.ranks(), mpi.version());
    }
    end(mpi, done)
}

/// Errors of one rank: each is what all ranks return, and the next phase is none of it.
fn faults(mpi: &Mpi, count: usize) -> Result<(), Diagnostic> {
    let mut draw = Draw(1);
    for _ in 0..count {
        let (faulty, at) = (draw.below(mpi.ranks()), draw.below(STEPS));
        let told = fault(mpi, faulty, at, Fault::Fails);
        if told != Err(failure(faulty, at)) {
            let message = format!("rank {} was told {told:?}", mpi.rank());
            return Err(Diagnostic::new(Code::Internal, message));
        }
    }
    if mpi.rank() == 0 {
        println!("{count} faults");
    }
    Ok(())
}

/// Ends all ranks from one, once each has told that it runs.
fn aborts(mpi: &Mpi) -> Result<(), Diagnostic> {
    println!("rank {} is process {}", mpi.rank(), std::process::id());
    messages(mpi, 10, 100_000)?;
    match mpi.rank() == mpi.ranks() / 2 {
        true => mpi.abort(7),
        false => endless(mpi),
    }
}

fn endless(mpi: &Mpi) -> Result<(), Diagnostic> {
    println!("rank {} is process {}", mpi.rank(), std::process::id());
    loop {
        messages(mpi, 10, 100_000)?;
    }
}

/// More than counts of 32 bits hold, from each rank to the next.
fn huge(mpi: &Mpi) -> Result<(), Diagnostic> {
    const LENGTH: usize = (1 << 31) + 12_345;
    let bytes = |rank: usize| (0..LENGTH).map(move |k| (k / 1000 + rank) as u8);
    let (rank, ranks) = (mpi.rank(), mpi.ranks());
    let mut parts = vec![vec![]; ranks];
    parts[(rank + 1) % ranks] = bytes(rank).collect();
    let received = mpi.exchange(parts)?;
    let from = (rank + ranks - 1) % ranks;
    match received[from].iter().copied().eq(bytes(from)) {
        true => agree(mpi, Ok(())),
        false => Err(Diagnostic::new(Code::Internal, "wrong bytes of a huge message")),
    }
}

/// Microseconds of steps, the best of a few rounds, and bytes per second of a large exchange.
fn times(mpi: &Mpi) -> Result<(), Diagnostic> {
    const LARGE: usize = 1 << 26;
    let best = |repeats: u32, step: &dyn Fn() -> Result<(), Diagnostic>| {
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            for _ in 0..repeats {
                step()?;
            }
            best = best.min(start.elapsed().as_secs_f64() / f64::from(repeats));
        }
        Ok::<f64, Diagnostic>(best)
    };
    let settle = best(1000, &|| agree(mpi, Ok(())))?;
    let gather = best(1000, &|| mpi.all_gather(&[0; 8]).map(drop))?;
    let exchange = best(1000, &|| mpi.exchange(vec![vec![0; 8]; mpi.ranks()]).map(drop))?;
    let large = best(1, &|| mpi.exchange(vec![vec![0; LARGE]; mpi.ranks()]).map(drop))?;
    if mpi.rank() == 0 {
        let [settle, gather, exchange] = [settle, gather, exchange].map(|seconds| seconds * 1e6);
        let rate = (LARGE * (mpi.ranks() - 1)) as f64 / large / 1e9;
        println!("agree {settle:.1} us, gather {gather:.1} us, exchange {exchange:.1} us");
        println!("exchange of {} MiB to each: {rate:.2} GB/s sent by each rank", LARGE >> 20);
    }
    Ok(())
}
