//! What ranks can do together.

use std::collections::BTreeMap;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// One of several processes or threads that run the same program on parts of the data.
///
/// Each call is a step that all ranks take together, in the same order. It fails on all ranks or on none.
pub trait Communicator: Send + Sync {
    /// The number of this rank, from 0 on.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn ranks(&self) -> usize;

    /// Sends `parts[r]` to rank `r`, for each rank; returns what each rank sent here, in rank order.
    ///
    /// # Errors
    ///
    /// What a rank failed by, in this step or before it; [`Code::RankFailed`] if the ranks do not take the same
    /// step, or data cannot be moved; [`Code::OutOfMemory`].
    fn exchange(&self, parts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Diagnostic>;

    /// Every rank's bytes, in rank order, on every rank.
    ///
    /// # Errors
    ///
    /// As [`exchange`](Communicator::exchange).
    fn all_gather(&self, part: &[u8]) -> Result<Vec<Vec<u8>>, Diagnostic>;

    /// Begins a phase, inside of one or not; [`phase`] and [`agree`] are the ways to call it.
    fn begin(&self);

    /// Ends a phase, which this rank may have failed in; [`phase`] and [`agree`] are the ways to call it.
    ///
    /// # Errors
    ///
    /// The diagnostic by which the phase failed, the same on all ranks.
    fn settle(&self, failure: Option<Diagnostic>) -> Result<(), Diagnostic>;

    /// Does work in groups, each of which takes steps of its own. Ranks that give the same number are a group, and keep
    /// their order. [`grouped`] is the way to call it.
    ///
    /// # Errors
    ///
    /// What the work of this group failed by; other groups do not know of it.
    fn in_groups(&self, group: u64, work: GroupWork<'_>) -> Result<(), Diagnostic>;
}

/// What the ranks of a group do together.
pub type GroupWork<'w> = &'w mut dyn FnMut(&dyn Communicator) -> Result<(), Diagnostic>;

impl<C: Communicator + ?Sized> Communicator for &C {
    fn rank(&self) -> usize {
        (**self).rank()
    }

    fn ranks(&self) -> usize {
        (**self).ranks()
    }

    fn exchange(&self, parts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Diagnostic> {
        (**self).exchange(parts)
    }

    fn all_gather(&self, part: &[u8]) -> Result<Vec<Vec<u8>>, Diagnostic> {
        (**self).all_gather(part)
    }

    fn begin(&self) {
        (**self).begin();
    }

    fn settle(&self, failure: Option<Diagnostic>) -> Result<(), Diagnostic> {
        (**self).settle(failure)
    }

    fn in_groups(&self, group: u64, work: GroupWork<'_>) -> Result<(), Diagnostic> {
        (**self).in_groups(group, work)
    }
}

/// Does work in which any rank may fail anywhere: the same outcome on all ranks. Phases may be nested.
///
/// # Errors
///
/// The diagnostic of the first step in which a rank failed; of several ranks in that step, the lowest one's.
///
/// ```
/// use tamis_dist::{Communicator, on_threads, phase};
/// use tamis_ir::diagnostic::{Code, Diagnostic};
///
/// let outcomes = on_threads(3, |comm| {
///     phase(comm, || {
///         if comm.rank() == 1 {
///             return Err(Diagnostic::new(Code::InvalidTensor, "a row is too long"));
///         }
///         comm.all_gather(&[1])
///     })
/// });
/// assert!(outcomes.iter().all(|o| o.as_ref().is_err_and(|d| d.message == "a row is too long")));
/// ```
pub fn phase<T>(
    comm: &dyn Communicator,
    work: impl FnOnce() -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    comm.begin();
    settled(comm, work())
}

/// Does work in groups of ranks. Ranks that give the same number are a group, and keep their order. An error in one group
/// is an error of all ranks.
///
/// # Errors
///
/// The diagnostic by which a group failed; of several, that of the group with the lowest rank.
///
/// ```
/// use tamis_dist::{Communicator, grouped, on_threads};
///
/// // Even and odd ranks.
/// let heard = on_threads(5, |comm| {
///     let rank = comm.rank() as u8;
///     grouped(comm, u64::from(rank % 2), |group| Ok(group.all_gather(&[rank])?.concat()))
/// });
/// assert_eq!(heard[3], Ok(vec![1, 3]));
/// assert_eq!(heard[4], Ok(vec![0, 2, 4]));
/// ```
pub fn grouped<T>(
    comm: &dyn Communicator,
    group: u64,
    work: impl FnOnce(&dyn Communicator) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    phase(comm, || {
        let (mut work, mut done) = (Some(work), None);
        comm.in_groups(group, &mut |own| {
            let Some(work) = work.take() else { return Ok(()) };
            done = Some(phase(own, || work(own))?);
            Ok(())
        })?;
        done.ok_or_else(|| Diagnostic::new(Code::Internal, "a group ended without a result"))
    })
}

/// Ends a phase of work that was done without steps: the same outcome on all ranks.
///
/// An error that may happen between steps has to reach the `agree` that the other ranks come to next, or be
/// inside of a [`phase`].
///
/// # Errors
///
/// If any rank failed, the diagnostic of the lowest rank that did.
///
/// ```
/// use tamis_dist::{agree, on_threads};
/// use tamis_ir::diagnostic::{Code, Diagnostic};
///
/// let outcomes = on_threads(3, |comm| {
///     let read = match comm.rank() {
///         1 => Err(Diagnostic::new(Code::InvalidTensor, "a row is too long")),
///         rank => Ok(rank),
///     };
///     agree(comm, read)
/// });
/// assert!(outcomes.iter().all(|o| o.as_ref().is_err_and(|d| d.message == "a row is too long")));
/// ```
pub fn agree<T>(comm: &dyn Communicator, outcome: Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    phase(comm, || outcome)
}

fn settled<T>(comm: &dyn Communicator, outcome: Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    let (value, failure) = match outcome {
        Ok(value) => (Some(value), None),
        Err(failure) => (None, Some(failure)),
    };
    comm.settle(failure)?;
    // A phase that this rank failed in is not settled without an error.
    value.ok_or_else(|| Diagnostic::new(Code::Internal, "ranks agreed on a phase that failed"))
}

/// Checks that all ranks have the same text of something, such as a program.
///
/// # Errors
///
/// [`Code::RanksDiffer`] on all ranks, which names the ranks that differ from most.
///
/// ```
/// use tamis_dist::{on_threads, same};
///
/// let checks = on_threads(3, |comm| same(comm, "the program", if comm.rank() == 2 { b"y" } else { b"x" }));
/// let told = checks[0].as_ref().unwrap_err();
/// assert_eq!(told.message, "ranks do not agree on the program: that of rank 2 differs from that of most");
/// ```
pub fn same(comm: &dyn Communicator, what: &str, text: &[u8]) -> Result<(), Diagnostic> {
    let hashes = comm.all_gather(&fnv(text).to_le_bytes())?;
    let mut ranks: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (rank, hash) in hashes.iter().enumerate() {
        ranks.entry(hash).or_default().push(rank);
    }
    if ranks.len() <= 1 {
        return Ok(());
    }
    let most = ranks.values().max_by_key(|ranks| (ranks.len(), std::cmp::Reverse(ranks[0])));
    let most = most.cloned().unwrap_or_default();
    let others: Vec<usize> = (0..hashes.len()).filter(|rank| !most.contains(rank)).collect();
    let (whose, verb) = match others[..] {
        [one] => (format!("that of rank {one}"), "differs"),
        _ => (format!("those of ranks {}", listed(&others)), "differ"),
    };
    let message = format!("ranks do not agree on {what}: {whose} {verb} from that of most");
    let help = "start every rank with the same arguments and the same version of Tamis";
    Err(Diagnostic::new(Code::RanksDiffer, message).help(help))
}

/// Numbers for a message: the first few of many.
fn listed(ranks: &[usize]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = ranks.iter().take(SHOWN).map(usize::to_string).collect();
    match ranks.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A hash of 64 bits that does not depend on the machine: FNV-1a.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_threads;

    #[test]
    fn ranks_that_differ_are_named() {
        let differ = |odd: &'static [usize], n: usize| {
            let checks = on_threads(n, |comm| {
                let text: &[u8] = if odd.contains(&comm.rank()) { b"b" } else { b"a" };
                same(comm, "the schedule", text)
            });
            assert!(checks.iter().all(|check| check == &checks[0]));
            checks[0].clone().map_err(|told| told.to_string())
        };
        assert_eq!(differ(&[], 4), Ok(()));
        assert_eq!(differ(&[0, 1], 2), Ok(()));
        let told = "error[ranks-differ]: ranks do not agree on the schedule: those of ranks 1, 3 \
            differ from that of most\n  = help: start every rank with the same arguments and the \
            same version of Tamis";
        assert_eq!(differ(&[1, 3], 5), Err(told.to_owned()));
        assert!(differ(&[1], 2).is_err_and(|told| told.contains("that of rank 1 differs")));
    }

    #[test]
    fn what_a_group_fails_by_is_told_to_all() {
        let outcomes = |work: &(dyn Fn(usize) -> Result<(), Diagnostic> + Sync)| {
            on_threads(6, |comm| {
                grouped(comm, comm.rank() as u64 % 3, |group| {
                    group.all_gather(&[0])?;
                    work(comm.rank())?;
                    group.all_gather(&[1])
                })
            })
        };
        let fails = |rank: usize| match rank {
            4 => Err(Diagnostic::new(Code::InvalidTensor, "a row is too long")),
            _ => Ok(()),
        };
        for outcome in outcomes(&fails) {
            assert_eq!(outcome.unwrap_err().message, "a row is too long");
        }
        for outcome in outcomes(&|rank| if rank == 5 { panic!("at once") } else { Ok(()) }) {
            assert!(outcome.unwrap_err().message.starts_with("rank "));
        }
        assert!(outcomes(&|_| Ok(())).iter().all(|outcome| *outcome == Ok(vec![vec![1]; 2])));
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
