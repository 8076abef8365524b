//! A communicator of an MPI library as an engine: headers by a collective, large data by messages that are
//! received where they belong, without a copy.

use super::abi::{Api, Handle};
use crate::steps::{Engine, Header, Room};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, ThreadId};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// Up to this many bytes are gathered by a collective, which takes fewer messages and one more copy.
const SMALL: usize = 1 << 16;

/// How many bytes a message has at most: counts are 32 bits.
pub(super) const PIECE: usize = 1 << 30;

/// No library's status is longer.
const STATUS: usize = 64;

/// A communicator that is ours alone, a copy of another.
pub(super) struct World {
    pub(super) api: &'static Api,
    pub(super) comm: Handle,
    rank: usize,
    ranks: usize,
    pub(super) piece: usize,
    /// The only thread that may call, if the library was started so.
    thread: Option<ThreadId>,
    /// A call of this rank failed, which others need not know.
    broken: AtomicBool,
}

impl World {
    /// A copy of a communicator; all its ranks make it together. MPI is initialised.
    ///
    /// # Errors
    ///
    /// [`Code::RankFailed`] if the library fails.
    pub(super) fn copy_of(api: &'static Api, comm: Handle) -> Result<World, Diagnostic> {
        let mut copy = 0;
        // SAFETY: MPI is initialised, the handle is of its library, and there is room for the result.
        unsafe { checked(api, "MPI_Comm_dup", (api.dup)(comm, &mut copy)) }?;
        World::of(api, copy)
    }

    /// A communicator that is ours alone.
    fn of(api: &'static Api, comm: Handle) -> Result<World, Diagnostic> {
        let (mut rank, mut ranks, mut level) = (0, 0, 0);
        // SAFETY: MPI is initialised, the handle is of its library, and there is room for all results.
        unsafe {
            checked(api, "MPI_Query_thread", (api.query_thread)(&mut level))?;
            let returned = (api.set_errhandler)(comm, api.abi.errors_return);
            checked(api, "MPI_Comm_set_errhandler", returned)?;
            checked(api, "MPI_Comm_rank", (api.rank)(comm, &mut rank))?;
            checked(api, "MPI_Comm_size", (api.size)(comm, &mut ranks))?;
        }
        let thread = (level < api.abi.serialized).then(|| thread::current().id());
        let (rank, ranks) = (rank as usize, ranks as usize);
        let broken = AtomicBool::new(false);
        Ok(World { api, comm, rank, ranks, piece: PIECE, thread, broken })
    }

    /// Whether a call failed on this rank.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }

    /// Gives the communicator back; all ranks do that together.
    pub(super) fn free(&self) {
        let mut comm = self.comm;
        // SAFETY: the communicator is ours, and nothing of it is used after that. A failure changes nothing.
        unsafe { (self.api.free)(&mut comm) };
    }

    /// Ends all ranks.
    pub(super) fn abort(&self, code: i32) -> ! {
        // Of another communicator than the world's, MPICH leaves ranks on other hosts alone.
        // SAFETY: MPI is initialised. Some libraries return.
        unsafe { (self.api.abort)(self.api.abi.world, code) };
        std::process::abort()
    }

    /// Fails where this thread may not call.
    fn may_call(&self) -> Result<(), Diagnostic> {
        if self.thread.is_none_or(|only| only == thread::current().id()) {
            return Ok(());
        }
        let message = "MPI was initialised for one thread, and another one uses it";
        let help = "initialise MPI by MPI_Init_thread with MPI_THREAD_SERIALIZED or more";
        self.broken.store(true, Relaxed);
        Err(Diagnostic::new(Code::RankFailed, message).help(help))
    }

    fn checked(&self, function: &str, error: c_int) -> Result<(), Diagnostic> {
        let checked = checked(self.api, function, error);
        checked.inspect_err(|_| self.broken.store(true, Relaxed))
    }

    /// Sends messages to other ranks while it receives what they send.
    fn transfer<'b>(
        &self,
        sent: impl Iterator<Item = (usize, &'b [u8])>,
        room: &mut [Room],
    ) -> Result<(), Diagnostic> {
        self.may_call()?;
        let (api, byte) = (self.api, self.api.abi.byte);
        let mut requests = Requests { words: vec![], count: 0, width: api.abi.request };
        let piece = |start: usize, length: usize| self.piece.min(length - start) as c_int;
        let mut started = Ok(());
        for (from, Room { length, bytes }) in room.iter_mut().enumerate() {
            assert!(bytes.capacity() >= *length);
            for start in (0..*length).step_by(self.piece) {
                let count = piece(start, *length);
                // SAFETY: the vector has capacity for all pieces, and moves nowhere until all is received.
                let error = unsafe {
                    let to = bytes.as_mut_ptr().add(start).cast();
                    (api.irecv)(to, count, byte, from as c_int, 0, self.comm, requests.next())
                };
                started = started.and_then(|()| self.checked("MPI_Irecv", error));
            }
        }
        for (to, bytes) in sent {
            for start in (0..bytes.len()).step_by(self.piece) {
                let count = piece(start, bytes.len());
                // SAFETY: the bytes are borrowed until all is sent.
                let error = unsafe {
                    let from = bytes.as_ptr().add(start).cast();
                    (api.isend)(from, count, byte, to as c_int, 0, self.comm, requests.next())
                };
                started = started.and_then(|()| self.checked("MPI_Isend", error));
            }
        }
        started?;
        let mut statuses = vec![0u64; requests.count * STATUS / 8];
        let (count, statuses) = (requests.count as c_int, statuses.as_mut_ptr().cast());
        // SAFETY: these are the requests that were started, and there is a status for each.
        let error = unsafe { (api.waitall)(count, requests.start(), statuses) };
        self.checked("MPI_Waitall", error)?;
        for Room { length, bytes } in room {
            // SAFETY: so many bytes were received.
            unsafe { bytes.set_len(*length) };
        }
        Ok(())
    }

    /// Gathers little by the collective that headers go by, as if all parts were as long as the longest, `block`.
    fn gather_small(&self, part: &[u8], room: &mut [Room], block: usize) -> Result<(), Diagnostic> {
        let mut padded = part.to_vec();
        padded.resize(block, 0);
        let all = self.alltoall(&padded.repeat(self.ranks), block)?;
        for (room, from) in room.iter_mut().zip(all.chunks_exact(block)) {
            room.bytes.extend(&from[..room.length]);
        }
        Ok(())
    }

    /// Sends `size` bytes to each rank, those at its number; returns what each sends.
    fn alltoall(&self, sent: &[u8], size: usize) -> Result<Vec<u8>, Diagnostic> {
        self.may_call()?;
        assert_eq!(sent.len(), size * self.ranks);
        let (api, byte, count) = (self.api, self.api.abi.byte, size as c_int);
        let mut received = vec![0u8; sent.len()];
        // SAFETY: both vectors have so many bytes for each rank.
        let error = unsafe {
            let (from, to) = (sent.as_ptr().cast(), received.as_mut_ptr().cast());
            (api.alltoall)(from, count, byte, to, count, byte, self.comm)
        };
        self.checked("MPI_Alltoall", error)?;
        Ok(received)
    }
}

impl Engine for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn headers(&self, to: Vec<Header>) -> Result<Vec<Header>, Diagnostic> {
        let sent: Vec<u8> = to.into_iter().flat_map(Header::to_bytes).collect();
        let received = self.alltoall(&sent, Header::SIZE)?;
        let (headers, _) = received.as_chunks();
        Ok(headers.iter().copied().map(Header::from_bytes).collect())
    }

    fn exchange(&self, parts: &[Vec<u8>], room: &mut [Room]) -> Result<(), Diagnostic> {
        let others = parts.iter().enumerate().filter(|(to, _)| *to != self.rank);
        self.transfer(others.map(|(to, part)| (to, part.as_slice())), room)
    }

    fn all_gather(&self, part: &[u8], room: &mut [Room]) -> Result<(), Diagnostic> {
        let longest = room.iter().map(|room| room.length).max().unwrap_or(0).max(part.len());
        if longest * self.ranks <= SMALL {
            return self.gather_small(part, room, longest);
        }
        let others = (0..self.ranks).filter(|to| *to != self.rank);
        self.transfer(others.map(|to| (to, part)), room)
    }

    fn group(&self, members: &[usize]) -> Result<World, Diagnostic> {
        self.may_call()?;
        let (mut comm, first) = (0, members[0] as c_int);
        // SAFETY: the communicator is ours, and there is room for the result. The first rank tells the groups apart.
        let error = unsafe { (self.api.split)(self.comm, first, self.rank as c_int, &mut comm) };
        self.checked("MPI_Comm_split", error)?;
        let group = World::of(self.api, comm).inspect_err(|_| self.broken.store(true, Relaxed))?;
        Ok(World { piece: self.piece, ..group })
    }

    fn leave(&self, group: World) {
        match group.is_broken() {
            true => self.broken.store(true, Relaxed),
            false => group.free(),
        }
    }
}

/// Requests one behind the other, as wide as the library has them.
struct Requests {
    words: Vec<u64>,
    count: usize,
    width: usize,
}

impl Requests {
    /// Where the next request is written to, until there is another one.
    fn next(&mut self) -> *mut c_void {
        self.count += 1;
        self.words.resize((self.count * self.width).div_ceil(8), 0);
        let bytes = self.words.as_mut_ptr().cast::<u8>();
        // SAFETY: there are words for all requests.
        unsafe { bytes.add((self.count - 1) * self.width).cast() }
    }

    fn start(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }
}

/// What a call of the library returned, as a diagnostic if it failed.
pub(super) fn checked(api: &Api, function: &str, error: c_int) -> Result<(), Diagnostic> {
    if error == 0 {
        return Ok(());
    }
    let (mut text, mut length) = (vec![0u8; 1 << 16], 0);
    // SAFETY: no library writes more than 8192 characters.
    unsafe { (api.error_string)(error, text.as_mut_ptr().cast(), &mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    let text = String::from_utf8_lossy(&text);
    let text: Vec<&str> = text.split_whitespace().collect();
    let message = format!("{function} failed: {}", text.join(" "));
    let help = "see what was said of the rank that ended first";
    Err(Diagnostic::new(Code::RankFailed, message).help(help))
}
