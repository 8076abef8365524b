//! What ranks do in tests, whatever connects them.

use tamis_dist::{Communicator, agree, phase};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// What rank `from` sends rank `to`: of many lengths, some empty, and different for each pair and step.
fn part(from: usize, to: usize, step: usize, ranks: usize, longest: usize) -> Vec<u8> {
    let seed = ((step * ranks + from) * ranks + to) as u64;
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let length = if mixed.is_multiple_of(3) { 0 } else { mixed as usize % (longest + 1) };
    (0..length).map(|k| (mixed as usize + k * 7) as u8).collect()
}

/// Exchanges and gathers messages of up to `longest` bytes, and checks every byte.
pub fn messages(comm: &dyn Communicator, steps: usize, longest: usize) -> Result<(), Diagnostic> {
    let (me, ranks) = (comm.rank(), comm.ranks());
    let wrong = |what: &str, step: usize| {
        let message = format!("rank {me} received wrong bytes in {what} {step}");
        Err(Diagnostic::new(Code::Internal, message))
    };
    for step in 0..steps {
        let part = |from, to| part(from, to, step, ranks, longest);
        let received = comm.exchange((0..ranks).map(|to| part(me, to)).collect())?;
        if received.len() != ranks || received.iter().enumerate().any(|(r, p)| *p != part(r, me)) {
            return wrong("exchange", step);
        }
        let gathered = comm.all_gather(&part(me, 0))?;
        if gathered.len() != ranks || gathered.iter().enumerate().any(|(r, p)| *p != part(r, 0)) {
            return wrong("gather", step);
        }
    }
    agree(comm, Ok(()))
}

/// How a rank ends before the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It fails, and goes on when the phase has ended.
    Fails,
    /// It returns an error.
    Returns,
    /// It panics.
    Panics,
    /// It returns as if all were done.
    Leaves,
}

/// How many steps a phase with a fault has.
pub const STEPS: usize = 6;

/// What a rank returns where one has a fault before a step of the first of two phases.
pub fn fault(
    comm: &dyn Communicator,
    faulty: usize,
    at: usize,
    fault: Fault,
) -> Result<(), Diagnostic> {
    let steps = || {
        for step in 0..STEPS {
            if comm.rank() == faulty && step == at {
                match fault {
                    Fault::Fails | Fault::Returns => return Err(failure(faulty, at)),
                    Fault::Panics => panic!("of rank {faulty} at {at}"),
                    Fault::Leaves => return Ok(()),
                }
            }
            match step % 3 {
                0 => comm.exchange(vec![vec![1; 3]; comm.ranks()]).map(drop)?,
                1 => comm.all_gather(&[2; 5]).map(drop)?,
                _ => agree(comm, Ok(()))?,
            }
        }
        Ok(())
    };
    if comm.rank() == faulty && fault != Fault::Fails {
        return steps();
    }
    let first = phase(comm, steps);
    // The next phase is none of the fault's, unless the rank has ended.
    let heard = comm.all_gather(&[comm.rank() as u8]);
    if heard.is_ok() != (fault == Fault::Fails) {
        let message = format!("after {first:?}, rank {} heard {heard:?}", comm.rank());
        return Err(Diagnostic::new(Code::Internal, message));
    }
    first
}

/// What the fault of a rank is told as.
pub fn failure(faulty: usize, at: usize) -> Diagnostic {
    let message = format!("rank {faulty} failed at {at}");
    Diagnostic::new(Code::InvalidTensor, message).help("mend it")
}

/// Numbers that look random.
pub struct Draw(pub u64);

impl Draw {
    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}
