//! What takes part in a race: a library, the hand-written kernels, or Tamis.
//!
//! A contender first *prepares* a problem: it takes the harness's arrays into its own types, outside the
//! clock. Then it *runs* any number of times, timing the call from operands to a freshly allocated result,
//! and finally hands over its last result for comparison.

use crate::clock::Clock;
use crate::problem::{Output, Problem};

/// One participant.
pub trait Contender {
    /// Its name in the report, with a version where it has one.
    fn name(&self) -> String;

    /// What it is compared as.
    fn role(&self) -> Role;

    /// Gets ready to run this problem.
    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Prepared + 'a>, Absent>;
}

/// A contender with its operands in place.
pub trait Prepared {
    /// Computes once; the seconds from the call to the finished result.
    fn run(&mut self) -> Result<f64, String>;

    /// The result of the last run, which it gives up.
    fn output(&mut self) -> Result<Output, String>;

    /// Forgets the result of the last run: results may be gigabytes, and other contenders run next.
    fn rest(&mut self);
}

/// What a contender is compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The specialist's kernel: the yardstick.
    Hand,
    /// Someone else's library.
    Peer,
    /// Tamis, compiled in process.
    TamisJit,
    /// Tamis, compiled by the system's C compiler.
    TamisC,
    /// The same on one thread, in a race on several.
    TamisAlone,
    /// Tamis, which finds entries or values alone.
    TamisPart,
}

/// Why a contender does not run a problem.
#[derive(Clone, Debug)]
pub enum Absent {
    /// It has no such operation.
    NoOperation,
    /// It is not to be had on this machine, for this reason.
    NotAvailable(String),
}

/// A prepared contender that computes in this process: `step` is timed, `convert` is not.
pub fn in_process<'a, R: 'a>(
    step: impl FnMut() -> Result<R, String> + 'a,
    convert: impl Fn(R) -> Output + 'a,
) -> Result<Box<dyn Prepared + 'a>, Absent> {
    Ok(Box::new(InProcess { step, convert, last: None }))
}

struct InProcess<R, S, C> {
    step: S,
    convert: C,
    last: Option<R>,
}

impl<R, S: FnMut() -> Result<R, String>, C: Fn(R) -> Output> Prepared for InProcess<R, S, C> {
    fn run(&mut self) -> Result<f64, String> {
        // The old result goes first, so that every run allocates its own.
        self.last = None;
        let clock = Clock::chosen();
        let start = clock.seconds();
        let result = (self.step)();
        let seconds = clock.seconds() - start;
        self.last = Some(result?);
        Ok(seconds)
    }

    fn output(&mut self) -> Result<Output, String> {
        self.last.take().map(&self.convert).ok_or_else(|| "nothing has run yet".into())
    }

    fn rest(&mut self) {
        self.last = None;
    }
}
