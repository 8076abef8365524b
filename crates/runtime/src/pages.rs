//! An allocator that asks for huge pages, which tensors with unordered accesses gain much from.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: tamis_runtime::HugePages = tamis_runtime::HugePages;
//! # fn main() {}
//! ```

use std::alloc::{GlobalAlloc, Layout};

use crate::exhausted::noted;

/// From this size on memory begins with a line of the cache: vectors of 64 bytes lie on two lines else, which takes
/// sparse matrices times rows of 32 numbers twice as long.
pub(crate) const LINES_FROM: usize = 1 << 10;
/// Bytes of a line.
pub(crate) const LINE: usize = 64;
/// From this size on memory is aligned to, and offered for, huge pages.
pub(crate) const HUGE_FROM: usize = 4 << 20;
/// Memory of that size and more is aligned to this. Windows has no advice to offer it by.
pub(crate) const HUGE_PAGE: usize = if cfg!(windows) { LINE } else { 2 << 20 };

/// The system's allocator, which offers large blocks for huge pages where the system asks for that
/// (Linux with `transparent_hugepage` at `madvise`; elsewhere it only allocates).
///
/// Results of kernels are allocated so in any program; this is for programs that fill large
/// operands themselves.
pub struct HugePages;

// SAFETY: every method hands its arguments to those of the host, whose contracts are the same, and returns the block that
// these gave.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        offered(unsafe { host::alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        offered(unsafe { host::alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        offered(unsafe { host::realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { host::dealloc(block, layout) }
    }
}

/// The C library's blocks: each is freed as it is, however it was aligned, and grows in place where it can. What is not
/// filled with zeros begins with a line of the cache if it is not small.
#[cfg(unix)]
mod host {
    use super::{LINE, LINES_FROM};
    use crate::blocks::ALIGNMENT;
    use std::alloc::Layout;

    pub(super) unsafe fn alloc(layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        let align = if size >= LINES_FROM { align.max(LINE) } else { align };
        if align <= ALIGNMENT {
            // SAFETY: it may be called with any size.
            return unsafe { libc::malloc(size) }.cast();
        }
        let mut block = std::ptr::null_mut();
        // SAFETY: the alignment is a power of two and a multiple of the size of a pointer.
        match unsafe { libc::posix_memalign(&mut block, align, size) } {
            0 => block.cast(),
            _ => std::ptr::null_mut(),
        }
    }

    pub(super) unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            // SAFETY: it may be called with any size.
            return unsafe { libc::calloc(layout.size(), 1) }.cast();
        }
        // SAFETY: a block has the size that was asked for.
        unsafe {
            let block = alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    pub(super) unsafe fn realloc(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            // SAFETY: the block is of the C library.
            return unsafe { libc::realloc(block.cast(), size) }.cast();
        }
        // SAFETY: the caller promises that the size with this alignment is a layout; the copy stays within both blocks.
        unsafe {
            let fresh = alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !fresh.is_null() {
                fresh.copy_from_nonoverlapping(block, size.min(layout.size()));
                dealloc(block, layout);
            }
            fresh
        }
    }

    pub(super) unsafe fn dealloc(block: *mut u8, _: Layout) {
        // SAFETY: the block is of the C library.
        unsafe { libc::free(block.cast()) }
    }
}

/// The system's allocator.
#[cfg(not(unix))]
mod host {
    use std::alloc::{GlobalAlloc, Layout, System};

    pub(super) unsafe fn alloc(layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    pub(super) unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    pub(super) unsafe fn realloc(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    pub(super) unsafe fn dealloc(block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// A block, after its whole pages were offered if it is large.
fn offered(block: *mut u8, size: usize) -> *mut u8 {
    #[cfg(target_os = "linux")]
    if size >= HUGE_FROM && !block.is_null() {
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

#[cfg(test)]
mod tests {
    use super::{HUGE_FROM, HugePages, LINE, LINES_FROM};
    use crate::memory::{Buffer, allocate};
    use std::alloc::{GlobalAlloc, Layout};
    use tamis_ir::datatype::DataType;

    const SIZES: [usize; 5] = [LINES_FROM, 1 << 15, 1 << 18, HUGE_FROM - 8, HUGE_FROM];

    /// Also where blocks are used again.
    #[test]
    fn results_begin_with_a_line() {
        for size in SIZES.repeat(3) {
            let address = allocate(DataType::F64, size / 8).unwrap_or_else(|d| panic!("{d}"));
            assert!(address.addr().is_multiple_of(LINE), "{size}");
            // SAFETY: the memory was allocated for so many elements and is owned here.
            drop(unsafe { Buffer::from_malloc(address, size / 8, DataType::F64) });
        }
    }

    /// They keep what they hold where they grow and shrink.
    #[test]
    #[cfg(unix)]
    fn operands_begin_with_a_line() {
        for size in SIZES {
            let layout = Layout::from_size_align(size, 8).unwrap_or_else(|e| panic!("{e}"));
            let grown = Layout::from_size_align(2 * size, 8).unwrap_or_else(|e| panic!("{e}"));
            // SAFETY: each block is used within its size, and freed as it was allocated last.
            unsafe {
                let block = HugePages.alloc(layout);
                assert!(block.addr().is_multiple_of(LINE), "{size}");
                block.write_bytes(7, size);
                let block = HugePages.realloc(block, layout, 2 * size);
                assert_eq!((*block, *block.add(size - 1)), (7, 7));
                let block = HugePages.realloc(block, grown, 100);
                assert_eq!((*block, *block.add(99)), (7, 7));
                HugePages.dealloc(block, Layout::from_size_align(100, 8).unwrap_or(layout));
            }
        }
    }
}
