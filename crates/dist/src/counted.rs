//! How much went between ranks: the figure that plans of communication are held to.

use crate::communicator::{Communicator, GroupWork};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tamis_ir::diagnostic::Diagnostic;

/// What went between this rank and others. What a rank keeps for itself is not counted, nor are the few bytes
/// by which ranks tell each other how long messages are and whether they failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Bytes that went to other ranks.
    pub sent: u64,
    /// Bytes that came from other ranks.
    pub received: u64,
    /// Messages that went to other ranks and were not empty.
    pub messages: u64,
    /// Exchanges and gathers that succeeded.
    pub steps: u64,
}

/// A communicator that counts what goes to and comes from other ranks.
///
/// ```
/// use tamis_dist::{Communicator, Counted, Counts, on_threads};
///
/// let counts = on_threads(3, |comm| {
///     let comm = Counted::new(comm);
///     comm.all_gather(&[0; 10])?;
///     Ok(comm.counts())
/// });
/// assert_eq!(counts[0], Ok(Counts { sent: 20, received: 20, messages: 2, steps: 1 }));
/// ```
pub struct Counted<C> {
    comm: C,
    sent: AtomicU64,
    received: AtomicU64,
    messages: AtomicU64,
    steps: AtomicU64,
}

impl<C: Communicator> Counted<C> {
    /// Counts from 0 on.
    pub fn new(comm: C) -> Counted<C> {
        let zero = || AtomicU64::new(0);
        Counted { comm, sent: zero(), received: zero(), messages: zero(), steps: zero() }
    }

    /// What was counted since it was made.
    pub fn counts(&self) -> Counts {
        Counts {
            sent: self.sent.load(Relaxed),
            received: self.received.load(Relaxed),
            messages: self.messages.load(Relaxed),
            steps: self.steps.load(Relaxed),
        }
    }

    /// Counts a step that sent messages of these lengths to ranks in their order.
    fn count(&self, lengths: impl Iterator<Item = usize>, received: &[Vec<u8>]) {
        let rank = self.rank();
        let others = |(at, length): (usize, usize)| if at == rank { 0 } else { length as u64 };
        for length in lengths.enumerate().map(others) {
            self.sent.fetch_add(length, Relaxed);
            self.messages.fetch_add(u64::from(length > 0), Relaxed);
        }
        let received = received.iter().map(Vec::len).enumerate().map(others).sum();
        self.received.fetch_add(received, Relaxed);
        self.steps.fetch_add(1, Relaxed);
    }
}

impl<C: Communicator> Communicator for Counted<C> {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn ranks(&self) -> usize {
        self.comm.ranks()
    }

    fn exchange(&self, parts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Diagnostic> {
        let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
        let received = self.comm.exchange(parts)?;
        self.count(lengths.into_iter(), &received);
        Ok(received)
    }

    fn all_gather(&self, part: &[u8]) -> Result<Vec<Vec<u8>>, Diagnostic> {
        let received = self.comm.all_gather(part)?;
        self.count((0..self.ranks()).map(|_| part.len()), &received);
        Ok(received)
    }

    fn begin(&self) {
        self.comm.begin();
    }

    fn settle(&self, failure: Option<Diagnostic>) -> Result<(), Diagnostic> {
        self.comm.settle(failure)
    }

    fn in_groups(&self, group: u64, work: GroupWork<'_>) -> Result<(), Diagnostic> {
        self.comm.in_groups(group, &mut |own| {
            let counted = Counted::new(own);
            let done = work(&counted);
            let Counts { sent, received, messages, steps } = counted.counts();
            self.sent.fetch_add(sent, Relaxed);
            self.received.fetch_add(received, Relaxed);
            self.messages.fetch_add(messages, Relaxed);
            self.steps.fetch_add(steps, Relaxed);
            done
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_threads;

    #[test]
    fn what_a_rank_keeps_and_empty_messages_are_not_counted() {
        let counts = on_threads(3, |comm| {
            let comm = Counted::new(comm);
            // Rank 0 sends nothing, rank 1 a byte to each, rank 2 two.
            comm.exchange(vec![vec![7; comm.rank()]; 3])?;
            Ok(comm.counts())
        });
        let at = |sent, received, messages| Ok(Counts { sent, received, messages, steps: 1 });
        assert_eq!(counts, [at(0, 3, 0), at(2, 2, 2), at(4, 1, 2)]);
    }
}
