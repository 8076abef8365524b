//! Kernels in parts that run at the same time.
//!
//! ```text
//! cut           i: 0 .. 3710 .. 7702 .. n      where the entries of the operands are halved, ..
//! run           threads take parts in order
//! join          levels behind each other, or sums in order, or one array all along
//! ```
//!
//! Cuts depend on the operands alone, except where no bit of the result depends on the cuts, and parts are joined in
//! order. So results are the same, bit for bit, for any number of threads.

mod combine;
mod concatenate;
mod cut;
mod list;
mod overlap;
pub mod shares;

use crate::interrupt::Interrupt;
use crate::kernel::{Call, Frame};
use crate::memory;
use crate::tensor::Tensor;
use combine::Combination;
use concatenate::Concatenation;
pub use cut::longest_row;
use list::Parts;
use overlap::Rows;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tamis_core::plan::{Join, Partition};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ir::Status;

/// Runs a kernel in parts. Parts that run at the same time need memory each: where there is too little, they run one after
/// the other.
pub(crate) fn run(call: &Call<'_>, partition: &Partition) -> Result<Tensor, Diagnostic> {
    on_threads(call, |threads| joined(call, partition, (&cuts(call, partition, threads), threads)))
}

/// Runs a kernel in parts on one thread; all parts but the first begin at these iterations.
pub(crate) fn run_cut(
    call: &Call<'_>,
    partition: &Partition,
    cuts: &[i64],
) -> Result<Tensor, Diagnostic> {
    joined(call, partition, (cuts, 1))
}

/// Runs some iterations of the outermost loop, and returns the result of these alone. Elements that they do not write are
/// unspecified.
pub(crate) fn run_part(
    call: &Call<'_>,
    partition: &Partition,
    (begin, end): (i64, i64),
) -> Result<Tensor, Diagnostic> {
    let mut frame = call.frame(None)?;
    match partition.join {
        Join::Shared { initial } => {
            filled(call, &frame, initial.unwrap_or(Scalar::I64(0)))?;
        }
        Join::Overlap { initial, .. } => filled(call, &frame, initial)?,
        Join::Concatenate | Join::Combine(_) | Join::Pack { .. } => {}
    }
    frame.set_interval(begin, end);
    call.enter(&mut frame)?;
    if partition.join != Join::Concatenate {
        return call.taken(&mut frame);
    }
    let joined = Concatenation::new(call);
    let before = Part { begin: i64::MIN, end: begin };
    let after = Part { begin: end, end: i64::MAX };
    joined.skip(before)?;
    let moves = joined.next(call, Part { begin, end }, &mut frame)?;
    joined.rest(moves, &mut frame);
    joined.skip(after)?;
    joined.finish()
}

/// Runs parts on all threads that the call allows, or on one where several take too much memory.
fn on_threads<T>(
    call: &Call<'_>,
    run: impl Fn(usize) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let threads = match call.executable.is_concurrent() {
        true => rayon::current_num_threads().min(call.threads).max(1),
        false => 1,
    };
    match run(threads) {
        Err(failure) if failure.code == Code::OutOfMemory && threads > 1 => run(1),
        done => done,
    }
}

/// Where a kernel is cut for so many threads.
fn cuts(call: &Call<'_>, partition: &Partition, threads: usize) -> Vec<i64> {
    match threads == 1 && runs_whole(call, partition) {
        true => vec![],
        false => cut::cuts(call, partition),
    }
}

/// Runs a kernel in parts on so many threads, and joins their results.
fn joined(
    call: &Call<'_>,
    partition: &Partition,
    (cuts, threads): (&[i64], usize),
) -> Result<Tensor, Diagnostic> {
    match partition.join {
        Join::Shared { initial } => {
            let mut frame = call.frame(None)?;
            shared(call, (cuts, threads), initial, &mut frame)?;
            call.taken(&mut frame)
        }
        Join::Overlap { op, initial } => {
            let mut frame = call.frame(None)?;
            filled(call, &frame, initial)?;
            if cuts.is_empty() {
                call.enter(&mut frame)?;
                return call.taken(&mut frame);
            }
            let joined = Rows::new(call, partition, (op, initial), frame)?;
            in_parts(call, (cuts, threads), &|| call.frame(Some(std::ptr::null_mut())), &joined)?;
            joined.finish()
        }
        _ if cuts.is_empty() => call.whole(),
        Join::Concatenate => {
            let joined = Concatenation::new(call);
            in_parts(call, (cuts, threads), &|| call.frame(None), &joined)?;
            joined.finish()
        }
        Join::Combine(op) => {
            let joined = Combination::new(call, op)?;
            in_parts(call, (cuts, threads), &|| call.frame(None), &joined)?;
            joined.finish()
        }
        Join::Pack { op, around } => {
            let joined = Parts::default();
            in_parts(call, (cuts, threads), &|| call.frame(None), &joined)?;
            joined.packed(call, op, around)
        }
    }
}

/// Whether one thread may run the kernel as a whole: the result has the same bits as that of parts.
fn runs_whole(call: &Call<'_>, partition: &Partition) -> bool {
    match partition.join {
        Join::Shared { .. } => true,
        // Where it is the same in which order elements are combined.
        Join::Combine(op) => match op {
            ReduceOp::Or | ReduceOp::And => true,
            ReduceOp::Min | ReduceOp::Max => call.target.storage.datatype.integers().is_some(),
            ReduceOp::Add | ReduceOp::Mul | ReduceOp::User(_) => false,
        },
        // A result that is far larger than the operands grows in parts that stay in cache.
        Join::Concatenate => {
            cut::met(call, partition.meetings.iter().filter(|meeting| meeting.grows)) == 1
        }
        // Where no list is in the order of its making, there is one way to store these entries, but
        // for rows without elements.
        Join::Pack { op: None, .. } => {
            let levels = call.target.storage.format.levels().iter();
            let mut kinds = levels.map(|level| level.kind);
            let ordered = kinds.all(|kind| kind.properties().ordered || kind.locates());
            ordered && !matches!(call.full_size(), Ok(0))
        }
        _ => false,
    }
}

/// Gives every element of a frame's output a value.
fn filled(call: &Call<'_>, frame: &Frame, value: Scalar) -> Result<(), Diagnostic> {
    let (place, ..) = call.result_arrays().next().expect("a result has values");
    let (size, datatype) = (call.full_size()?, call.target.storage.datatype);
    // SAFETY: the frame's output has room for the whole result.
    unsafe { memory::fill(frame.slots[place] as *mut u8, datatype, size, value) };
    Ok(())
}

/// How the results of parts are joined.
trait Joined: Sync {
    /// Work that is left after [`next`](Joined::next), which parts may do at the same time.
    type Rest: Send;

    /// Prepares a frame before its part runs.
    fn begin(&self, _: &Call<'_>, _: Part, _: &mut Frame) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Joins the result of a part to those before it: called for each part, in order, under a lock. The frame is used
    /// again for another part.
    fn next(
        &self,
        call: &Call<'_>,
        part: Part,
        frame: &mut Frame,
    ) -> Result<Self::Rest, Diagnostic>;

    /// Does the work that is left, without the lock.
    fn rest(&self, rest: Self::Rest, frame: &mut Frame);
}

/// The iterations of a part.
#[derive(Clone, Copy)]
struct Part {
    begin: i64,
    end: i64,
}

/// Runs a kernel whose result is one array of values, and writes this array. Returns false, and runs nothing, where the
/// kernel is cut into parts that have arrays of their own.
pub(crate) fn in_place(
    call: &Call<'_>,
    partition: &Partition,
    address: *mut u8,
) -> Result<bool, Diagnostic> {
    on_threads(call, |threads| {
        let cuts = cuts(call, partition, threads);
        let initial = match partition.join {
            Join::Shared { initial } => initial,
            _ if !cuts.is_empty() => return Ok(false),
            Join::Overlap { initial, .. } => Some(initial),
            Join::Concatenate | Join::Combine(_) | Join::Pack { .. } => None,
        };
        shared(call, (&cuts, threads), initial, &mut call.frame(Some(address))?)?;
        Ok(true)
    })
}

/// Runs all parts into the output of one frame, which is filled with the initial value first, if there is one.
fn shared(
    call: &Call<'_>,
    (cuts, threads): (&[i64], usize),
    initial: Option<Scalar>,
    frame: &mut Frame,
) -> Result<(), Diagnostic> {
    if let Some(initial) = initial {
        filled(call, frame, initial)?;
    }
    if cuts.is_empty() {
        return call.enter(frame);
    }
    let (place, ..) = call.result_arrays().next().expect("a result has values");
    let output = frame.slots[place] as usize;
    in_parts(call, (cuts, threads), &|| call.frame(Some(output as *mut u8)), &Nothing)
}

/// Runs the parts between cuts, as many at a time as there are threads.
fn in_parts<J: Joined>(
    call: &Call<'_>,
    (cuts, threads): (&[i64], usize),
    frame: &(dyn Fn() -> Result<Frame, Diagnostic> + Sync),
    joined: &J,
) -> Result<(), Diagnostic> {
    let parts = cuts.len() + 1;
    let line = Mutex::new(Line { joined: 0, waiting: vec![], failure: None });
    let (next, idle, spare) = (AtomicUsize::new(0), Mutex::new(vec![]), Mutex::new(vec![]));
    let interrupt = Interrupt::current();
    let work = || {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= parts || line.lock().is_ok_and(|line| line.is_beyond(k)) {
                return;
            }
            let begin = if k == 0 { i64::MIN } else { cuts[k - 1] };
            let part = Part { begin, end: cuts.get(k).copied().unwrap_or(i64::MAX) };
            let left: Option<Frame> = taken(&idle);
            let goes_on = interrupt.as_ref().map_or(Ok(()), Interrupt::check);
            let done = goes_on.and_then(|()| left.map_or_else(frame, Ok)).and_then(|mut frame| {
                frame.set_interval(part.begin, part.end);
                if let Some(locals) = taken(&spare) {
                    frame.give_locals(locals);
                }
                joined.begin(call, part, &mut frame)?;
                call.enter(&mut frame)?;
                // The part may wait for others before it.
                put(&spare, frame.take_locals());
                Ok(frame)
            });
            let joined_now = line.lock().map(|mut line| line.advance(call, k, part, done, joined));
            for (mut frame, rest) in joined_now.unwrap_or_default() {
                joined.rest(rest, &mut frame);
                put(&idle, frame);
            }
        }
    };
    match threads.min(parts) {
        1 => work(),
        // The calling thread takes part: it need not hand over and wait.
        threads => rayon::in_place_scope(|scope| {
            (1..threads).for_each(|_| scope.spawn(|_| work()));
            work();
        }),
    }
    match line.into_inner().map(|line| line.failure) {
        Ok(None) => Ok(()),
        Ok(Some((_, diagnostic))) => Err(diagnostic),
        Err(_) => Err(call.failed(Status::OutOfMemory)),
    }
}

/// Takes what another part has left for the next ones.
fn taken<T>(left: &Mutex<Vec<T>>) -> Option<T> {
    left.lock().ok()?.pop()
}

/// Leaves something that the next parts can use.
fn put<T>(left: &Mutex<Vec<T>>, one: T) {
    if let Ok(mut left) = left.lock() {
        left.push(one);
    }
}

/// The queue in which parts are joined in order.
struct Line {
    /// How many parts have been joined.
    joined: usize,
    /// Parts that have run and wait for one before them.
    waiting: Vec<(usize, Part, Frame)>,
    /// The first part that failed, and why.
    failure: Option<(usize, Diagnostic)>,
}

impl Line {
    /// Joins a part that has run, and those that waited for it; or keeps it until all before it have run.
    fn advance<J: Joined>(
        &mut self,
        call: &Call<'_>,
        k: usize,
        part: Part,
        done: Result<Frame, Diagnostic>,
        joined: &J,
    ) -> Vec<(Frame, J::Rest)> {
        match done {
            Ok(frame) => self.waiting.push((k, part, frame)),
            Err(failure) => self.fail(k, failure),
        }
        let mut joined_now = vec![];
        while let Some(at) = self.waiting.iter().position(|(k, ..)| *k == self.joined) {
            let (k, part, mut frame) = self.waiting.swap_remove(at);
            match joined.next(call, part, &mut frame) {
                Ok(rest) => joined_now.push((frame, rest)),
                Err(failure) => self.fail(k, failure),
            }
            self.joined += 1;
        }
        joined_now
    }

    /// Whether a part comes after one that failed. Parts before that one still run: the first failure is reported.
    fn is_beyond(&self, k: usize) -> bool {
        self.failure.as_ref().is_some_and(|(first, _)| *first < k)
    }

    fn fail(&mut self, k: usize, failure: Diagnostic) {
        if self.failure.as_ref().is_none_or(|(first, _)| k < *first) {
            self.failure = Some((k, failure));
        }
    }
}

/// Parts that leave nothing to join.
struct Nothing;

impl Joined for Nothing {
    type Rest = ();

    fn next(&self, _: &Call<'_>, _: Part, _: &mut Frame) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn rest(&self, (): (), _: &mut Frame) {}
}
