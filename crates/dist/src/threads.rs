//! Ranks as threads of one process, for tests: the same steps and the same failures as between processes.

use crate::communicator::Communicator;
use crate::steps::{Engine, Header, Room, Stepwise};
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// Runs a function on `n` ranks, each a thread of this process; returns what each rank returned.
///
/// A panic is a diagnostic of [`Code::Internal`]. A rank that returns an error, or ends while others still take
/// steps, fails the others in the step that they are at, so that none waits for it.
///
/// ```
/// use tamis_dist::on_threads;
///
/// // Each rank tells each other its number.
/// let heard = on_threads(2, |comm| comm.exchange(vec![vec![comm.rank() as u8]; 2]));
/// assert_eq!(heard, [Ok(vec![vec![0], vec![1]]), Ok(vec![vec![0], vec![1]])]);
/// ```
pub fn on_threads<T: Send>(
    n: usize,
    body: impl Fn(&dyn Communicator) -> Result<T, Diagnostic> + Sync,
) -> Vec<Result<T, Diagnostic>> {
    let post = Arc::new(Post::new(n));
    let run = |rank: usize| {
        let comm = Stepwise::new(Rank::new(rank, Arc::clone(&post)));
        let done = catch_unwind(AssertUnwindSafe(|| body(&comm)));
        comm.end(done.unwrap_or_else(|payload| Err(panicked(rank, &*payload))))
    };
    // No rank begins before all threads are there.
    let start = Mutex::new(Ok(()));
    let (start, run) = (&start, &run);
    thread::scope(|scope| {
        let mut begin = locked(start);
        let spawn = |rank: usize| {
            let gated = move || {
                let ready = locked(start).clone();
                ready.and_then(|()| run(rank))
            };
            thread::Builder::new().name(format!("rank {rank}")).spawn_scoped(scope, gated)
        };
        // `start` is locked until all are spawned.
        let spawned: Result<Vec<_>, _> = (0..n).map(spawn).collect();
        let none = |error| Diagnostic::new(Code::OutOfMemory, format!("{n} threads: {error}"));
        let spawned = spawned.map_err(none);
        *begin = spawned.as_ref().map(drop).map_err(Clone::clone);
        drop(begin);
        match spawned {
            Err(error) => (0..n).map(|_| Err(error.clone())).collect(),
            Ok(threads) => {
                let joined = threads.into_iter().map(|thread| thread.join()).enumerate();
                joined.map(|(rank, end)| end.unwrap_or_else(|p| Err(panicked(rank, &*p)))).collect()
            }
        }
    })
}

/// What is told of a panic.
fn panicked(rank: usize, payload: &(dyn Any + Send)) -> Diagnostic {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("without a message");
    Diagnostic::new(Code::Internal, format!("rank {rank} panicked: {text}"))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was sent and not yet received.
struct Post {
    ranks: usize,
    boxes: Vec<Letterbox>,
    groups: Mutex<Groups>,
}

/// Those of groups, by the number of times that ranks made groups before and the first rank, and how many ranks of the
/// group are still to come.
type Groups = HashMap<(usize, usize), (Arc<Post>, usize)>;

/// Of a sender and a receiver: messages in the order in which they were sent.
#[derive(Default)]
struct Letterbox {
    messages: Mutex<VecDeque<Vec<u8>>>,
    arrived: Condvar,
}

impl Post {
    fn new(ranks: usize) -> Post {
        let boxes = (0..ranks * ranks).map(|_| Letterbox::default()).collect();
        Post { ranks, boxes, groups: Mutex::default() }
    }

    /// That of a group, which the first rank to come makes and the last one takes away.
    fn of_group(&self, made: usize, members: &[usize]) -> Arc<Post> {
        let mut groups = locked(&self.groups);
        let key = (made, members[0]);
        let new = || (Arc::new(Post::new(members.len())), members.len());
        let (post, to_come) = groups.entry(key).or_insert_with(new);
        let post = Arc::clone(post);
        *to_come -= 1;
        if *to_come == 0 {
            groups.remove(&key);
        }
        post
    }

    fn send(&self, from: usize, to: usize, message: Vec<u8>) {
        let letterbox = &self.boxes[from * self.ranks + to];
        locked(&letterbox.messages).push_back(message);
        letterbox.arrived.notify_one();
    }

    fn receive(&self, from: usize, to: usize) -> Vec<u8> {
        let letterbox = &self.boxes[from * self.ranks + to];
        let mut messages = locked(&letterbox.messages);
        loop {
            match messages.pop_front() {
                Some(message) => return message,
                None => {
                    let woken = letterbox.arrived.wait(messages);
                    messages = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// A rank as the engine of its thread.
struct Rank {
    rank: usize,
    post: Arc<Post>,
    /// How often ranks made groups.
    groups: AtomicUsize,
}

impl Rank {
    fn new(rank: usize, post: Arc<Post>) -> Rank {
        Rank { rank, post, groups: AtomicUsize::new(0) }
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let rank = self.rank;
        (0..self.post.ranks).filter(move |&other| other != rank)
    }

    /// Receives from each other rank.
    fn fill(&self, room: &mut [Room]) {
        for other in self.others() {
            room[other].bytes.extend(self.post.receive(other, self.rank));
        }
    }
}

impl Engine for Rank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.post.ranks
    }

    fn headers(&self, to: Vec<Header>) -> Result<Vec<Header>, Diagnostic> {
        let parts: Vec<Vec<u8>> = to.iter().map(|header| header.to_bytes().to_vec()).collect();
        let mut received: Vec<Room> = parts.iter().map(|_| Room::default()).collect();
        self.exchange(&parts, &mut received)?;
        received[self.rank].bytes.extend(&parts[self.rank]);
        let header = |room: Room| room.bytes.try_into().map(Header::from_bytes);
        let headers: Result<Vec<Header>, _> = received.into_iter().map(header).collect();
        headers.map_err(|_| Diagnostic::new(Code::Internal, "ranks took different steps"))
    }

    fn exchange(&self, parts: &[Vec<u8>], room: &mut [Room]) -> Result<(), Diagnostic> {
        self.others().for_each(|other| self.post.send(self.rank, other, parts[other].clone()));
        self.fill(room);
        Ok(())
    }

    fn all_gather(&self, part: &[u8], room: &mut [Room]) -> Result<(), Diagnostic> {
        self.others().for_each(|other| self.post.send(self.rank, other, part.to_vec()));
        self.fill(room);
        Ok(())
    }

    fn group(&self, members: &[usize]) -> Result<Rank, Diagnostic> {
        let own = members.iter().position(|&rank| rank == self.rank);
        let rank = own.ok_or_else(|| Diagnostic::new(Code::Internal, "a rank is of no group"))?;
        let made = self.groups.fetch_add(1, Relaxed);
        Ok(Rank::new(rank, self.post.of_group(made, members)))
    }

    fn leave(&self, _: Rank) {}
}
