//! The same error everywhere, over any engine that moves bytes.
//!
//! Before bytes are moved, each rank tells each other what it does: exchange, gather, end a phase; or that it has
//! failed, or ended. All ranks then know alike about a step, and it is carried out on all of them or fails on all
//! of them with one diagnostic. A rank that learns of a failure takes no further step of the phase:
//!
//! ```text
//! rank 0: exchange | exchange -> error E, the phase ends in E | exchange | ..
//! rank 1: exchange | fails by E, which ends the phase         | exchange | ..
//! ```
//!
//! A rank that ends for good says so once. If others were about to do something else they fail, now and from then on.

use crate::bytes;
use crate::communicator::{Communicator, GroupWork};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// What moves bytes between ranks. All ranks call the same function, or this fails as a whole.
pub(crate) trait Engine: Send + Sync + Sized {
    fn rank(&self) -> usize;
    fn ranks(&self) -> usize;

    /// What each rank tells this one, while this one tells each rank what is at its number.
    fn headers(&self, to: Vec<Header>) -> Result<Vec<Header>, Diagnostic>;

    /// Sends a part to each rank but this one, and fills the room for what each sends here.
    fn exchange(&self, parts: &[Vec<u8>], room: &mut [Room]) -> Result<(), Diagnostic>;

    /// Sends a part to all other ranks, as [`exchange`](Engine::exchange); some part is not empty.
    fn all_gather(&self, part: &[u8], room: &mut [Room]) -> Result<(), Diagnostic>;

    /// An engine for some ranks, in this order, of which this one is one. All ranks call this, each for its group.
    fn group(&self, members: &[usize]) -> Result<Self, Diagnostic>;

    /// Gives the engine of a group back, after all of its ranks have ended.
    fn leave(&self, group: Self);
}

/// Room for what a rank sends here; none for what this one keeps.
#[derive(Default)]
pub(crate) struct Room {
    /// How many bytes are sent.
    pub(crate) length: usize,
    /// Empty at first, with capacity for these.
    pub(crate) bytes: Vec<u8>,
}

/// What a rank tells another before a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    step: Step,
    /// How many bytes follow for the other rank.
    length: u64,
    /// How many bytes follow for all ranks.
    volume: u64,
    /// How deep phases are nested here.
    depth: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Exchange,
    Gather,
    Settle,
    /// The memory for a large step was found.
    Ready,
    /// This rank has failed in this phase; its diagnostic follows.
    Fail,
    /// This rank takes no further steps; its diagnostic follows, if it failed.
    End,
}

const STEPS: [(Step, &str); 6] = [
    (Step::Exchange, "exchanges data"),
    (Step::Gather, "gathers data"),
    (Step::Settle, "ends a phase"),
    (Step::Ready, "has memory for data"),
    (Step::Fail, "has failed"),
    (Step::End, "has ended"),
];

impl Header {
    /// How many bytes a header is.
    pub(crate) const SIZE: usize = 32;

    pub(crate) fn to_bytes(self) -> [u8; Header::SIZE] {
        let step = STEPS.iter().position(|(step, _)| *step == self.step).unwrap_or(0) as u64;
        let mut bytes = [0; Header::SIZE];
        for (to, number) in
            bytes.chunks_exact_mut(8).zip([step, self.length, self.volume, self.depth])
        {
            to.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; Header::SIZE]) -> Header {
        let number = |at: usize| {
            let eight = std::array::from_fn(|k| bytes[8 * at + k]);
            u64::from_le_bytes(eight)
        };
        let step = STEPS.get(number(0) as usize).map_or(Step::Fail, |(step, _)| *step);
        Header { step, length: number(1), volume: number(2), depth: number(3) }
    }
}

/// From this many bytes on, which all ranks move together, they make sure first that all of them have the memory.
const LARGE: u64 = 1 << 24;

/// An engine on which a failure of one rank is the same failure of all.
pub(crate) struct Stepwise<E> {
    pub(crate) engine: E,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many phases are open, one inside the other.
    depth: u64,
    /// By what the phase of a depth failed, as all ranks know, and with it those inside of it.
    failed: Option<(u64, Diagnostic)>,
    /// Why no steps are taken any more, as all ranks know.
    over: Option<Diagnostic>,
}

impl<E: Engine> Stepwise<E> {
    pub(crate) fn new(engine: E) -> Stepwise<E> {
        Stepwise { engine, state: Mutex::default() }
    }

    /// Says that this rank takes no further steps. The outcome is that of all ranks.
    ///
    /// # Errors
    ///
    /// What the outcome was, or that of another rank; [`Code::RankFailed`] if others were about to take a step.
    pub(crate) fn end<T>(&self, outcome: Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        let mut state = self.state();
        if let Some(over) = &state.over {
            return Err(over.clone());
        }
        self.headers(&mut state, Step::End, &[], outcome.as_ref().err())?;
        state.over = Some(Diagnostic::new(Code::RankFailed, "this rank has ended before"));
        outcome
    }

    /// Whether a panic left a step undone that others take.
    pub(crate) fn is_amid_step(&self) -> bool {
        self.state.is_poisoned()
    }

    /// Waits for all ranks, after all of them have ended.
    pub(crate) fn wait(&self) {
        let _state = self.state();
        let header = Header { step: Step::End, length: 0, volume: 0, depth: 0 };
        // What was to be told has been told; there is nothing left to fail.
        let _ = self.engine.headers(vec![header; self.ranks()]);
    }

    /// One step at a time, also where a rank has several threads.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, if this phase may go on.
    fn open(&self) -> Result<MutexGuard<'_, State>, Diagnostic> {
        let state = self.state();
        let failed = state.failed.as_ref().map(|(_, failed)| failed);
        match state.over.as_ref().or(failed) {
            Some(known) => Err(known.clone()),
            None => Ok(state),
        }
    }

    /// What each rank tells at a step, if all take the same one and none has failed. `lengths` are those of what
    /// follows, for each rank; none if nothing does.
    fn headers(
        &self,
        state: &mut State,
        step: Step,
        lengths: &[u64],
        failure: Option<&Diagnostic>,
    ) -> Result<Vec<Header>, Diagnostic> {
        let told = failure.map(bytes::written).unwrap_or_default();
        let of = |rank: usize| lengths.get(rank).copied().unwrap_or(told.len() as u64);
        let volume = lengths.iter().fold(0, |sum: u64, &length| sum.saturating_add(length));
        let depth = state.depth;
        let header = |rank| Header { step, length: of(rank), volume, depth };
        let to = (0..self.ranks()).map(header).collect();
        let broken = |state: &mut State, error: Diagnostic| {
            state.over = Some(error.clone());
            error
        };
        let headers = self.engine.headers(to).map_err(|error| broken(state, error))?;
        let failure = self.failure(&headers, told).map_err(|error| broken(state, error))?;
        let Some(failure) = failure else { return Ok(headers) };
        if headers.iter().any(|header| header.step == Step::End) {
            state.over = Some(failure.clone());
        } else {
            // A rank that failed may have left phases that others are in, but not the other way round.
            let failed = headers.iter().filter(|header| header.step == Step::Fail);
            let depth = failed.map(|header| header.depth).min().unwrap_or(1);
            // Outside of phases nothing is to be left.
            let left = (state.depth > 0).then(|| (depth.clamp(1, state.depth), failure.clone()));
            state.failed = left;
        }
        Err(failure)
    }

    /// By what a step fails on all ranks: the lowest rank's diagnostic, or that they take different steps.
    fn failure(&self, headers: &[Header], told: Vec<u8>) -> Result<Option<Diagnostic>, Diagnostic> {
        let length = |header: &Header| match header.step {
            Step::Fail | Step::End => header.length,
            _ => 0,
        };
        let lengths: Vec<u64> = headers.iter().map(length).collect();
        if let Some(lowest) = lengths.iter().position(|&length| length > 0) {
            let mut room = self.room(lengths.into_iter());
            let gathered = self.engine.all_gather(&told, &mut room);
            room[self.rank()].bytes = told;
            gathered.map_err(|error| kept(&mut room, error))?;
            return Ok(Some(bytes::read(&room[lowest].bytes)));
        }
        let Some(first) = headers.first() else { return Ok(None) };
        let other = headers.iter().enumerate().find(|(_, header)| header.step != first.step);
        Ok(other.map(|(rank, header)| unlike(first.step, rank, header.step)))
    }

    /// Memory for what the headers of a step announce: of much, found on all ranks or on none.
    fn reserved(&self, state: &mut State, headers: &[Header]) -> Result<Vec<Room>, Diagnostic> {
        let lengths = headers.iter().map(|header| header.length);
        let volume = headers.iter().fold(0, |sum: u64, header| sum.saturating_add(header.volume));
        if volume < LARGE {
            return Ok(self.room(lengths));
        }
        let room = self.large_room(lengths);
        let step = if room.is_ok() { Step::Ready } else { Step::Fail };
        self.headers(state, step, &[], room.as_ref().err())?;
        room
    }

    /// Room for messages of these lengths.
    fn room(&self, lengths: impl Iterator<Item = u64>) -> Vec<Room> {
        let own = self.rank();
        let one = |(rank, length)| {
            let length = if rank == own { 0 } else { length as usize };
            Room { length, bytes: Vec::with_capacity(length) }
        };
        lengths.enumerate().map(one).collect()
    }

    /// Room for messages of these lengths, in memory that may not be there.
    fn large_room(&self, lengths: impl Iterator<Item = u64>) -> Result<Vec<Room>, Diagnostic> {
        let own = self.rank();
        let one = |(rank, length): (usize, u64)| {
            let mut bytes = vec![];
            if rank == own {
                return Ok(Room { length: 0, bytes });
            }
            let capacity = usize::try_from(length).unwrap_or(usize::MAX);
            bytes.try_reserve_exact(capacity).map_err(|_| {
                let sent = format!("{length} bytes that rank {rank} sends to rank {own}");
                let message = format!("{sent} do not fit in memory");
                let help = "use more ranks, or ranks on more machines";
                Diagnostic::new(Code::OutOfMemory, message).help(help)
            })?;
            Ok(Room { length: capacity, bytes })
        };
        lengths.enumerate().map(one).collect()
    }

    /// Lets the engine move bytes; one that fails takes no further steps.
    fn moved(
        &self,
        state: &mut State,
        mut room: Vec<Room>,
        own: Vec<u8>,
        movement: impl FnOnce(&[u8], &mut [Room]) -> Result<(), Diagnostic>,
    ) -> Result<Vec<Vec<u8>>, Diagnostic> {
        let moved = movement(&own, &mut room);
        room[self.rank()].bytes = own;
        if let Err(error) = moved {
            state.over = Some(error.clone());
            return Err(kept(&mut room, error));
        }
        Ok(room.into_iter().map(|room| room.bytes).collect())
    }
}

impl<E: Engine> Communicator for Stepwise<E> {
    fn rank(&self) -> usize {
        self.engine.rank()
    }

    fn ranks(&self) -> usize {
        self.engine.ranks()
    }

    fn exchange(&self, mut parts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Diagnostic> {
        if parts.len() != self.ranks() {
            let message = format!("{} parts for {} ranks", parts.len(), self.ranks());
            return Err(Diagnostic::new(Code::Internal, message));
        }
        let mut state = self.open()?;
        let own = std::mem::take(&mut parts[self.rank()]);
        let lengths: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
        let headers = self.headers(&mut state, Step::Exchange, &lengths, None)?;
        let room = self.reserved(&mut state, &headers)?;
        let moved = self.moved(&mut state, room, own, |_, room| self.engine.exchange(&parts, room));
        if moved.is_err() {
            std::mem::forget(parts);
        }
        moved
    }

    fn all_gather(&self, part: &[u8]) -> Result<Vec<Vec<u8>>, Diagnostic> {
        let mut state = self.open()?;
        let lengths = vec![part.len() as u64; self.ranks()];
        let headers = self.headers(&mut state, Step::Gather, &lengths, None)?;
        let room = self.reserved(&mut state, &headers)?;
        let is_empty = headers.iter().all(|header| header.length == 0);
        self.moved(&mut state, room, part.to_vec(), |part, room| match is_empty {
            true => Ok(()),
            false => self.engine.all_gather(part, room),
        })
    }

    fn begin(&self) {
        self.state().depth += 1;
    }

    fn settle(&self, failure: Option<Diagnostic>) -> Result<(), Diagnostic> {
        let mut state = self.state();
        let outcome = if let Some(over) = &state.over {
            Err(over.clone())
        } else if let Some((_, known)) = &state.failed {
            Err(known.clone())
        } else {
            let step = if failure.is_some() { Step::Fail } else { Step::Settle };
            self.headers(&mut state, step, &[], failure.as_ref()).map(drop)
        };
        state.failed = state.failed.take().filter(|(depth, _)| *depth < state.depth);
        state.depth = state.depth.saturating_sub(1);
        outcome
    }

    fn in_groups(&self, group: u64, work: GroupWork<'_>) -> Result<(), Diagnostic> {
        let groups = self.all_gather(&group.to_le_bytes())?;
        let own = &groups[self.rank()];
        let members: Vec<usize> = (0..self.ranks()).filter(|&rank| groups[rank] == *own).collect();
        let comm = Stepwise::new(self.engine.group(&members)?);
        let done = catch_unwind(AssertUnwindSafe(|| work(&comm)));
        let outcome = match done {
            Ok(outcome) => comm.end(outcome),
            Err(payload) => {
                // The others of the group wait for a step that is left undone: here, too, then.
                let _amid = comm.is_amid_step().then(|| self.state());
                if !comm.is_amid_step() {
                    let told =
                        Diagnostic::new(Code::Internal, format!("rank {} panicked", self.rank()));
                    let _ = comm.end::<()>(Err(told));
                }
                resume_unwind(payload)
            }
        };
        self.engine.leave(comm.engine);
        outcome
    }
}

/// Keeps memory for ever, as it is after an error of the engine: the library may still read and write what it was given.
fn kept(room: &mut [Room], error: Diagnostic) -> Diagnostic {
    room.iter_mut().for_each(|room| std::mem::forget(std::mem::take(&mut room.bytes)));
    error
}

/// Rank 0 takes another step than a rank.
fn unlike(first: Step, rank: usize, step: Step) -> Diagnostic {
    let does = |step| STEPS.iter().find(|(s, _)| *s == step).map_or("", |(_, does)| does);
    let message = format!("rank {rank} {} while rank 0 {}", does(step), does(first));
    let help = "start every rank with the same program; if they have it, please report this";
    Diagnostic::new(Code::RankFailed, message).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank 0 of two, of which the other says what is given, and sends nothing.
    struct Scripted(Mutex<Vec<(Step, u64)>>);

    impl Engine for Scripted {
        fn rank(&self) -> usize {
            0
        }

        fn ranks(&self) -> usize {
            2
        }

        fn headers(&self, to: Vec<Header>) -> Result<Vec<Header>, Diagnostic> {
            let (step, length) = self.0.lock().unwrap().remove(0);
            Ok(vec![to[0], Header { step, length, volume: length, depth: 1 }])
        }

        fn exchange(&self, _: &[Vec<u8>], _: &mut [Room]) -> Result<(), Diagnostic> {
            Err(Diagnostic::new(Code::RankFailed, "a cable was cut"))
        }

        fn all_gather(&self, _: &[u8], room: &mut [Room]) -> Result<(), Diagnostic> {
            assert_eq!(room[1].length, 0);
            Ok(())
        }

        fn group(&self, _: &[usize]) -> Result<Scripted, Diagnostic> {
            Err(Diagnostic::new(Code::RankFailed, "there are no groups"))
        }

        fn leave(&self, _: Scripted) {}
    }

    #[test]
    fn memory_that_one_rank_lacks_is_an_error_of_all() {
        // Of two phases, the failure is the inner one's, which settles without a step.
        let told = "error[out-of-memory]: 4611686018427387904 bytes that rank 1 sends to rank 0 \
            do not fit in memory\n  = help: use more ranks, or ranks on more machines";
        let comm = Stepwise::new(Scripted(Mutex::new(vec![
            (Step::Exchange, 1 << 62),
            (Step::Ready, 0),
            (Step::Settle, 0),
        ])));
        comm.begin();
        comm.begin();
        let exchanged = comm.exchange(vec![vec![]; 2]);
        assert_eq!(exchanged.map_err(|error| error.to_string()), Err(told.to_owned()));
        assert!(comm.settle(None).is_err_and(|error| error.to_string() == told));
        assert_eq!(comm.settle(None), Ok(()));
    }

    #[test]
    fn a_failure_outside_of_phases_is_of_no_later_phase() {
        let comm = Stepwise::new(Scripted(Mutex::new(vec![
            (Step::Exchange, 1 << 62),
            (Step::Ready, 0),
            (Step::Settle, 0),
            (Step::Gather, 0),
            (Step::Settle, 0),
        ])));
        assert!(comm.exchange(vec![vec![]; 2]).is_err());
        comm.begin();
        assert_eq!(comm.settle(None), Ok(()));
        // Nor are steps that are unlike each other.
        assert!(comm.exchange(vec![vec![]; 2]).is_err());
        comm.begin();
        assert_eq!(comm.settle(None), Ok(()));
    }

    #[test]
    fn an_engine_that_fails_takes_no_further_steps() {
        let comm = Stepwise::new(Scripted(Mutex::new(vec![(Step::Exchange, 1)])));
        let outcomes = [
            comm.exchange(vec![vec![1]; 2]).map(drop),
            comm.all_gather(&[1]).map(drop),
            comm.settle(None),
            comm.end(Ok(())),
        ];
        let told = Err(Diagnostic::new(Code::RankFailed, "a cable was cut"));
        assert!(outcomes.iter().all(|outcome| *outcome == told));
    }

    #[test]
    fn headers_come_back_the_same() {
        for (step, _) in STEPS {
            let header = Header { step, length: u64::MAX, volume: 1 << 40, depth: 3 };
            assert_eq!(Header::from_bytes(header.to_bytes()), header);
        }
    }
}
