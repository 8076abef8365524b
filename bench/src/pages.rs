//! One page policy for everybody: this process's allocator asks for huge pages as NumPy does for its arrays.
//!
//! Adding sparse matrices is page faults above all, so a library that does not ask would lose by its pages
//! and not by its code. (glibc can ask by itself, `glibc.malloc.hugetlb=1`, but release 2.36 compares an
//! unterminated string and does so only in some processes.)

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mm::{Advice, madvise};

/// Which pages large arrays lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Transparent huge pages, for everybody.
    Huge,
    /// Small pages, for everybody.
    Small,
}

impl Pages {
    /// Follows this policy from now on.
    pub fn adopt(self) {
        HUGE.store(self == Self::Huge, Ordering::Relaxed);
        settle_thresholds();
    }

    /// The policy in force.
    pub fn current() -> Self {
        if HUGE.load(Ordering::Relaxed) { Self::Huge } else { Self::Small }
    }

    /// What NumPy has to find in its environment to follow the policy.
    pub fn for_numpy(self) -> (&'static str, &'static str) {
        ("NUMPY_MADVISE_HUGEPAGE", if self == Self::Huge { "1" } else { "0" })
    }

    /// What `peers/pages.c` has to find in its environment to follow the policy.
    pub fn for_libc(self) -> Option<(&'static str, &'static str)> {
        (self == Self::Huge).then_some(("TAMIS_BENCH_HUGE", "1"))
    }

    /// For people, with the kernel's own setting, which can overrule.
    pub fn describe(self) -> String {
        let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        let setting = setting.unwrap_or_else(|_| "unknown".into());
        format!("{self:?} (kernel: {})", setting.trim()).to_lowercase()
    }
}

/// glibc maps a large block anew for every allocation, and moves the limit of "large" up to 32 MiB as
/// blocks are freed. One such block, freed before anything is timed, spares the first contender the faults
/// that the last would not have. `peers/__main__.py` does the same.
fn settle_thresholds() {
    drop(black_box(vec![1u8; (32 << 20) - (64 << 10)]));
}

static HUGE: AtomicBool = AtomicBool::new(false);

/// The system's allocator, with advice to the kernel about large blocks.
pub struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// NumPy's threshold.
const LARGE: usize = 4 << 20;
const PAGE: usize = 4096;

fn advise(block: *mut u8, size: usize) -> *mut u8 {
    if size >= LARGE && !block.is_null() && HUGE.load(Ordering::Relaxed) {
        let skip = block.align_offset(PAGE);
        // SAFETY: whole pages within a block just allocated; the advice does not change what they hold.
        // A kernel that declines leaves small pages, which is no error.
        let _ = unsafe {
            madvise(block.add(skip).cast(), (size - skip) & !(PAGE - 1), Advice::LinuxHugepage)
        };
    }
    block
}

// SAFETY: every method hands its arguments to the system's allocator, whose contract is the same, and
// returns the block it gave.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        advise(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        advise(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        advise(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}
