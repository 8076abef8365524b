//! The memory of arrays: how much may be used, and how much is.
//!
//! Arrays that kernels of every compiled backend, packing and conversion allocate are counted as
//! the C library rounds them, and so are lists of entries and the text that they are read from
//! ([`Reservation`]). What would go beyond the limit is not allocated, and the diagnostic says how
//! much was needed. Without a limit of the user's it is what the system can give, measured when
//! large arrays are asked for. Freed arrays from 64 KiB on are kept for later ones ([`release`]).

use crate::blocks;
use crate::free;
use crate::pages::{HUGE_FROM, HUGE_PAGE};
use crate::recycle;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tamis_ir::diagnostic::{Code, Diagnostic};

static USED: AtomicUsize = AtomicUsize::new(0);
/// 0 until it is set: what the system can give.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// What the system could give in all when it was asked last; 0 before that.
static MEASURED: AtomicUsize = AtomicUsize::new(0);

/// So much of what is free stays free: page tables, code, and what is not counted.
const SPARE_PART: usize = 32;
/// An array of more than this part of what is left is reason to ask the system again.
const ASKED_PART: usize = 16;

/// Kept memory is at most this part of the machine's.
const KEPT_PART: usize = 16;
/// Freed arrays of this size and more are kept: smaller ones the C library serves without page faults.
const KEPT_FROM: usize = 64 << 10;
/// Blocks of this size and more are returned, once that is asked for.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_FROM: c_int = 2 << 20;

thread_local! {
    /// The bytes that were refused last on this thread.
    static REFUSED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Sets how many bytes arrays may take in all.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
    release();
}

/// From now on, freed blocks of some size go back to the system at once, and not into heaps that only grow: what the
/// process takes stays close to what is counted. Blocks cost more then.
pub fn return_freed() {
    // SAFETY: this sets a parameter of the allocator, which is of use to all threads.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_FROM);
    }
}

/// How many bytes arrays may take in all: what the system can give now, if nothing else was set.
pub fn limit() -> usize {
    match LIMIT.load(Ordering::Relaxed) {
        0 => measure(used()),
        bytes => bytes,
    }
}

/// The limit as it is known without asking the system.
fn known_limit() -> usize {
    match (LIMIT.load(Ordering::Relaxed), MEASURED.load(Ordering::Relaxed)) {
        (0, 0) => measure(used()),
        (0, bytes) | (bytes, _) => bytes,
    }
}

/// What arrays could take in all, were they to get everything that is free, where they take `used`.
/// Memory that is counted but was never written is free to the system: it does not count twice.
fn measure(used: usize) -> usize {
    let bytes = free::free().map_or_else(physical_memory, |free| {
        let kept = recycle::kept();
        let written = used.min(free.resident.saturating_sub(kept));
        let spare = free.available / SPARE_PART;
        (free.available - spare).saturating_add(kept).saturating_add(written)
    });
    MEASURED.store(bytes.max(1), Ordering::Relaxed);
    bytes
}

/// How many bytes arrays take now.
pub fn used() -> usize {
    USED.load(Ordering::Relaxed)
}

/// How many bytes more arrays may take.
pub(crate) fn left() -> usize {
    known_limit().saturating_sub(used())
}

/// The machine's memory in bytes: an allocation beyond it would be granted and then kill us.
fn physical_memory() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| free::of_machine().unwrap_or(usize::MAX))
}

/// Gives memory that is kept for later arrays back to the system, and says how many bytes that
/// were: at most a sixteenth of the machine's memory.
pub fn release() -> usize {
    recycle::release()
}

/// Refuses what would take more bytes than the limit leaves, before any of them is allocated;
/// `help` is the way out.
pub fn check(what: &str, bytes: f64, help: &str) -> Result<(), Diagnostic> {
    if fits(used(), bytes as usize) {
        return Ok(());
    }
    REFUSED.set(None);
    Err(refusal(what, Some(bytes), help))
}

/// The way out where a result is too large.
pub const SMALLER_RESULT: &str =
    "store the entries of the result alone, as coo and dcsr do, or work on a smaller part";

/// The way out where a tensor is too large as it is packed.
pub(crate) const SMALLER_TENSOR: &str =
    "choose a format that takes less, or work on a smaller part";

/// The diagnostic for an allocation that was refused on this thread; `bytes` were asked for if
/// nothing more is known, and `help` is the way out.
pub fn refusal(what: &str, bytes: Option<f64>, help: &str) -> Diagnostic {
    let needed = REFUSED.take().map(|bytes| bytes as f64).or(bytes);
    let (used, limit) = (used() as f64, limit() as f64);
    let size = |bytes: f64| match bytes {
        1e12.. => format!("{:.3} TB", bytes / 1e12),
        1e9.. => format!("{:.3} GB", bytes / 1e9),
        1e6.. => format!("{:.3} MB", bytes / 1e6),
        1.0 => "1 byte".to_owned(),
        _ => format!("{bytes} bytes"),
    };
    let mut message = format!("{what} does not fit in memory");
    if let Some(needed) = needed {
        let _ = write!(message, ": {} more were needed", size(needed));
    }
    if LIMIT.load(Ordering::Relaxed) == 0 {
        // What no machine like this one holds needs no comparison; nor does what was refused for another reason.
        let (free, machine) = ((limit - used).max(0.0), free::of_machine());
        let is_near =
            |needed: f64| free < needed && machine.is_some_and(|all| needed <= all as f64);
        if needed.is_some_and(is_near) {
            let _ = write!(message, ", {} are free", size(free));
        }
        return Diagnostic::new(Code::OutOfMemory, message).help(help);
    }
    let _ = write!(message, ", {} of the limit of {} are in use", size(used), size(limit));
    Diagnostic::new(Code::OutOfMemory, message).help(format!("{help}, or raise the limit"))
}

/// Whether `bytes` may be used more than `used` bytes.
fn fits(used: usize, bytes: usize) -> bool {
    let within = |limit| used.checked_add(bytes).is_some_and(|all| all <= limit);
    // Others take memory too: the system is asked again for a large part of what was left, and where
    // that seems to be too little.
    let part = known_limit().saturating_sub(used) / ASKED_PART;
    if bytes <= part.max(HUGE_FROM) && within(known_limit()) {
        return true;
    }
    match LIMIT.load(Ordering::Relaxed) {
        0 => within(measure(used)),
        limit => within(limit),
    }
}

/// Whether so many more bytes may be used; they are counted from now on.
fn take(bytes: usize) -> bool {
    // What is refused is never counted: requests of other threads that fit would be refused meanwhile.
    let mut before = used();
    while fits(before, bytes) {
        let after = before + bytes;
        match USED.compare_exchange_weak(before, after, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(now) => before = now,
        }
    }
    REFUSED.set(Some(bytes));
    false
}

/// Corrects the count from what was taken to what the C library gave.
fn settle(taken: usize, given: usize) {
    match given >= taken {
        true => USED.fetch_add(given - taken, Ordering::Relaxed),
        false => USED.fetch_sub(taken - given, Ordering::Relaxed),
    };
}

/// Bytes that count against the limit as long as this value lives: of memory that Rust's allocator
/// gives, which is not counted itself.
#[derive(Debug, Default)]
pub struct Reservation {
    bytes: usize,
}

impl Reservation {
    /// Counts so many bytes instead, or says that they do not fit; `what` needs them, and `help` is
    /// the way out.
    pub fn resize(&mut self, bytes: usize, what: &str, help: &str) -> Result<(), Diagnostic> {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 && !take(more) {
            return Err(refusal(what, Some(more as f64), help));
        }
        settle(self.bytes.saturating_sub(bytes), 0);
        self.bytes = bytes;
        Ok(())
    }

    /// Counts bytes that are allocated already.
    pub(crate) fn of(bytes: usize) -> Reservation {
        settle(0, bytes);
        Reservation { bytes }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        settle(self.bytes, 0);
    }
}

/// What an allocation takes.
///
/// # Safety
/// The address is null or of the malloc family.
pub(crate) unsafe fn size(address: *mut c_void) -> usize {
    if address.is_null() {
        return 0;
    }
    // SAFETY: as the caller promises.
    unsafe { blocks::size(address) }
}

/// `realloc` within the limit.
///
/// # Safety
/// The address is null or of the malloc family.
pub(crate) unsafe extern "C" fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: as the caller promises.
    unsafe {
        let old = size(address);
        let more = bytes.saturating_sub(old);
        if !take(more) {
            return std::ptr::null_mut();
        }
        // What is larger grows by moving its pages, which takes no second block meanwhile.
        let is_copied = bytes > old && (address.is_null() || bytes < HUGE_FROM);
        if is_copied && let Some((block, given)) = recycled(bytes, blocks::ALIGNMENT) {
            if !address.is_null() {
                libc::memcpy(block, address, old);
                discard(address, old);
            }
            settle(old + more, given);
            return block;
        }
        let mut fresh = blocks::realloc(address, bytes);
        if fresh.is_null() && bytes > 0 && recycle::release() > 0 {
            fresh = blocks::realloc(address, bytes);
        }
        let is_lost = fresh.is_null() && bytes > 0;
        settle(old + more, if is_lost { old } else { size(fresh) });
        fresh
    }
}

/// `posix_memalign` within the limit.
///
/// # Safety
/// `address` may be written.
pub(crate) unsafe extern "C" fn posix_memalign(
    address: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
) -> c_int {
    if !take(bytes) {
        return libc::ENOMEM;
    }
    // SAFETY: as the caller promises; a kept block is aligned as asked and owned by nobody.
    unsafe {
        if let Some((block, given)) = recycled(bytes, alignment) {
            *address = block;
            settle(bytes, given);
            return 0;
        }
        let mut block = blocks::aligned(alignment, bytes);
        if block.is_null() && recycle::release() > 0 {
            block = blocks::aligned(alignment, bytes);
        }
        settle(bytes, size(block));
        if block.is_null() {
            return libc::ENOMEM;
        }
        *address = block;
        0
    }
}

/// A kept block that serves a request, and its size; where none does, kept ones leave the request room.
fn recycled(bytes: usize, alignment: usize) -> Option<(*mut c_void, usize)> {
    if bytes < KEPT_FROM {
        return None;
    }
    let room = left();
    // What a larger block wastes counts as used, and must not be missing soon.
    let block = recycle::take(bytes, bytes.saturating_add(room / 16), alignment);
    if block.is_none() && recycle::kept() > room {
        recycle::release();
    }
    block
}

/// Whether a freed block is kept: of those that the page policy concerns, the ones that follow it.
fn is_kept(address: *mut c_void, bytes: usize) -> bool {
    bytes >= KEPT_FROM && (bytes < HUGE_FROM || address.addr().is_multiple_of(HUGE_PAGE))
}

/// `free`, counted.
///
/// # Safety
/// The address is null or of the malloc family and was counted; it is not used again.
pub unsafe extern "C" fn free(address: *mut c_void) {
    // SAFETY: as the caller promises.
    unsafe {
        let bytes = size(address);
        settle(bytes, 0);
        discard(address, bytes);
    }
}

/// Keeps a block that is not counted any more for later arrays, or frees it.
///
/// # Safety
/// The address is null or of the malloc family; it is not used again.
unsafe fn discard(address: *mut c_void, bytes: usize) {
    let room = || left().min(physical_memory() / KEPT_PART);
    // SAFETY: as the caller promises.
    unsafe {
        if !is_kept(address, bytes) || !recycle::keep(address, bytes, room()) {
            blocks::free(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// Another thread asks for more than there is as long as requests that fit are made here.
    #[test]
    fn requests_that_are_refused_take_nothing_from_others() {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    assert!(!take(usize::MAX / 4));
                }
            });
            let all_fit = (0..200_000).all(|_| {
                let fits = take(64);
                settle(if fits { 64 } else { 0 }, 0);
                fits
            });
            is_done.store(true, Ordering::Relaxed);
            assert!(all_fit);
        });
    }
}
