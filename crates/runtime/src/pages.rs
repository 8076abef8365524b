//! An allocator that asks for huge pages, which tensors with unordered accesses gain much from.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: tamis_runtime::HugePages = tamis_runtime::HugePages;
//! # fn main() {}
//! ```

use std::alloc::{GlobalAlloc, Layout, System};

use crate::exhausted::noted;

/// The system's allocator, which offers large blocks for huge pages where the system asks for that
/// (Linux with `transparent_hugepage` at `madvise`; elsewhere it only allocates).
///
/// Results of kernels are allocated so in any program; this is for programs that fill large
/// operands themselves.
pub struct HugePages;

// SAFETY: every method hands its arguments to the system's allocator, whose contract is the same, and
// returns the block it gave.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        offered(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        offered(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        offered(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

/// A block, after its whole pages were offered if it is large.
fn offered(block: *mut u8, size: usize) -> *mut u8 {
    #[cfg(target_os = "linux")]
    if size >= crate::memory::HUGE_FROM && !block.is_null() {
        const PAGE: usize = 4096;
        let skip = block.align_offset(PAGE);
        // SAFETY: these are whole pages within a block just allocated, and the advice does not change
        // what they hold. A system that declines leaves small pages, which is no error.
        unsafe {
            let pages = block.add(skip).cast();
            libc::madvise(pages, (size - skip) & !(PAGE - 1), libc::MADV_HUGEPAGE);
        }
    }
    noted(block, size)
}
