//! The memory of arrays: how much may be used, and how much is.
//!
//! Arrays that kernels of every compiled backend, packing and conversion allocate are counted as
//! the C library rounds them. What would go beyond the limit is not allocated, and the diagnostic
//! says how much was needed. Large arrays that are freed are kept for the next ones ([`release`]).

use crate::memory::{HUGE_FROM, HUGE_PAGE};
use crate::recycle;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tamis_core::diagnostic::{Code, Diagnostic};

static USED: AtomicUsize = AtomicUsize::new(0);
/// 0 until it is set: the machine's memory.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Kept memory is at most this part of the machine's.
const KEPT_PART: usize = 16;

thread_local! {
    /// The bytes that were refused last on this thread.
    static REFUSED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Sets how many bytes arrays may take in all.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
    release();
}

/// How many bytes arrays may take in all: the machine's memory, if nothing else was set.
pub fn limit() -> usize {
    match LIMIT.load(Ordering::Relaxed) {
        0 => physical_memory(),
        bytes => bytes,
    }
}

/// How many bytes arrays take now.
pub fn used() -> usize {
    USED.load(Ordering::Relaxed)
}

/// How many bytes more arrays may take.
pub(crate) fn left() -> usize {
    limit().saturating_sub(used())
}

/// The machine's memory in bytes: an allocation beyond it would be granted and then kill us.
fn physical_memory() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        // SAFETY: sysconf only reads system facts.
        let (pages, size) =
            unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        match (usize::try_from(pages), usize::try_from(size)) {
            (Ok(pages), Ok(size)) => pages.saturating_mul(size),
            _ => usize::MAX,
        }
    })
}

/// Gives memory that is kept for later arrays back to the system, and says how many bytes that
/// were: at most a sixteenth of the machine's memory.
pub fn release() -> usize {
    recycle::release()
}

/// Refuses what would take more bytes than the limit leaves, before any of them is allocated;
/// `help` is the way out.
pub fn check(what: &str, bytes: f64, help: &str) -> Result<(), Diagnostic> {
    if used() as f64 + bytes <= limit() as f64 {
        return Ok(());
    }
    REFUSED.set(None);
    Err(refusal(what, Some(bytes), help))
}

/// The way out where a result is too large.
pub const SMALLER_RESULT: &str = "store the result in a sparse format, or work on a smaller part";

/// The way out where a tensor is too large as it is packed.
pub(crate) const SMALLER_TENSOR: &str =
    "choose a format that takes less, or work on a smaller part";

/// The diagnostic for an allocation that was refused on this thread; `bytes` were asked for if
/// nothing more is known, and `help` is the way out.
pub fn refusal(what: &str, bytes: Option<f64>, help: &str) -> Diagnostic {
    let needed = REFUSED.take().map(|bytes| bytes as f64).or(bytes);
    let (used, limit) = (used() as f64, limit() as f64);
    let size = |bytes: f64| match bytes {
        1e9.. => format!("{:.3} GB", bytes / 1e9),
        1e6.. => format!("{:.3} MB", bytes / 1e6),
        _ => format!("{bytes} bytes"),
    };
    let mut message = format!("{what} does not fit in memory");
    if let Some(needed) = needed {
        let _ = write!(message, ": {} more were needed", size(needed));
    }
    if LIMIT.load(Ordering::Relaxed) == 0 {
        return Diagnostic::new(Code::OutOfMemory, message).help(help);
    }
    let _ = write!(message, ", {} of the limit of {} are in use", size(used), size(limit));
    Diagnostic::new(Code::OutOfMemory, message).help(format!("{help}, or raise the limit"))
}

/// Whether so many more bytes may be used; they are counted from now on.
fn take(bytes: usize) -> bool {
    let before = USED.fetch_add(bytes, Ordering::Relaxed);
    let fits = before.checked_add(bytes).is_some_and(|all| all <= limit());
    if !fits {
        USED.fetch_sub(bytes, Ordering::Relaxed);
        REFUSED.set(Some(bytes));
    }
    fits
}

/// Corrects the count from what was taken to what the C library gave.
fn settle(taken: usize, given: usize) {
    match given >= taken {
        true => USED.fetch_add(given - taken, Ordering::Relaxed),
        false => USED.fetch_sub(taken - given, Ordering::Relaxed),
    };
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
    unsafe {
        #[cfg(target_os = "macos")]
        return libc::malloc_size(address);
        #[cfg(not(target_os = "macos"))]
        libc::malloc_usable_size(address)
    }
}

/// `malloc` within the limit.
pub(crate) extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: a null address is a fresh allocation.
    unsafe { realloc(std::ptr::null_mut(), bytes) }
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
        let mut fresh = libc::realloc(address, bytes);
        if fresh.is_null() && bytes > 0 && recycle::release() > 0 {
            fresh = libc::realloc(address, bytes);
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
    // SAFETY: as the caller promises; a kept block is aligned to huge pages and owned by nobody.
    unsafe {
        if is_kept(alignment, bytes) {
            let room = left();
            // What a larger block wastes counts as used, and must not be missing soon.
            if let Some((block, given)) = recycle::take(bytes, bytes.saturating_add(room / 16)) {
                *address = block;
                settle(bytes, given);
                return 0;
            }
            if recycle::kept() > room {
                recycle::release();
            }
        }
        let mut failed = libc::posix_memalign(address, alignment, bytes);
        if failed != 0 && recycle::release() > 0 {
            failed = libc::posix_memalign(address, alignment, bytes);
        }
        settle(bytes, if failed == 0 { size(*address) } else { 0 });
        failed
    }
}

/// Whether blocks so aligned and so large are kept when they are freed.
fn is_kept(alignment: usize, bytes: usize) -> bool {
    alignment.is_multiple_of(HUGE_PAGE) && bytes >= HUGE_FROM
}

/// `free`, counted.
///
/// # Safety
/// The address is null or of the malloc family and was counted; it is not used again.
pub(crate) unsafe extern "C" fn free(address: *mut c_void) {
    // SAFETY: as the caller promises.
    unsafe {
        let bytes = size(address);
        settle(bytes, 0);
        let room = left().min(physical_memory() / KEPT_PART);
        if !is_kept(address.addr(), bytes) || !recycle::keep(address, bytes, room) {
            libc::free(address);
        }
    }
}
