//! Blocks of the C library, which kernels, packing and results share: one of them frees what another one asked for.

use std::ffi::c_void;

/// Every block is aligned to this.
pub(crate) const ALIGNMENT: usize = 16;

pub(crate) use host::{aligned, free, realloc, size};

/// `malloc` and those beside it.
#[cfg(unix)]
mod host {
    use super::c_void;

    /// A block of so many bytes at least, or null.
    pub(crate) fn aligned(alignment: usize, bytes: usize) -> *mut c_void {
        let mut block = std::ptr::null_mut();
        // SAFETY: the address of the block is our own.
        match unsafe { libc::posix_memalign(&mut block, alignment, bytes) } {
            0 => block,
            _ => std::ptr::null_mut(),
        }
    }

    /// The block with another size, maybe at another address, or null.
    ///
    /// # Safety
    /// The address is null or of a block, which is not used again if there is another.
    pub(crate) unsafe fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
        // SAFETY: as the caller promises.
        unsafe { libc::realloc(address, bytes) }
    }

    /// # Safety
    /// The address is null or of a block, which is not used again.
    pub(crate) unsafe fn free(address: *mut c_void) {
        // SAFETY: as the caller promises.
        unsafe { libc::free(address) }
    }

    /// What a block takes.
    ///
    /// # Safety
    /// The address is of a block.
    pub(crate) unsafe fn size(address: *mut c_void) -> usize {
        // SAFETY: as the caller promises.
        unsafe {
            #[cfg(target_os = "macos")]
            return libc::malloc_size(address);
            #[cfg(not(target_os = "macos"))]
            libc::malloc_usable_size(address)
        }
    }
}

/// Aligned blocks, of which Windows does not tell the size: it lies in front of each.
#[cfg(windows)]
mod host {
    use super::{ALIGNMENT, c_void};

    unsafe extern "C" {
        /// A block of which the byte at the offset is aligned.
        fn _aligned_offset_malloc(bytes: usize, alignment: usize, offset: usize) -> *mut c_void;
        fn _aligned_free(block: *mut c_void);
    }

    /// What lies in front of a block: its bytes.
    const HEAD: usize = ALIGNMENT;

    /// A block of so many bytes at least, or null.
    pub(crate) fn aligned(alignment: usize, bytes: usize) -> *mut c_void {
        assert!(alignment.is_power_of_two(), "blocks are aligned to powers of two");
        let Some(all) = bytes.checked_add(HEAD) else { return std::ptr::null_mut() };
        // SAFETY: the alignment is a power of two, and there is room for the head.
        unsafe {
            let begin = _aligned_offset_malloc(all, alignment.max(ALIGNMENT), HEAD);
            if begin.is_null() {
                return begin;
            }
            begin.cast::<usize>().write(bytes);
            begin.byte_add(HEAD)
        }
    }

    /// The block with another size and the least alignment, or null. What has room in it stays where it is.
    ///
    /// # Safety
    /// The address is null or of a block, which is not used again if there is another.
    pub(crate) unsafe fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
        // SAFETY: as the caller promises; both blocks have so many bytes and do not overlap.
        unsafe {
            let old = if address.is_null() { 0 } else { size(address) };
            if !address.is_null() && bytes <= old && bytes > old / 2 {
                return address;
            }
            let fresh = aligned(ALIGNMENT, bytes);
            if !fresh.is_null() && !address.is_null() {
                fresh.cast::<u8>().copy_from_nonoverlapping(address.cast(), old.min(bytes));
                free(address);
            }
            fresh
        }
    }

    /// # Safety
    /// The address is null or of a block, which is not used again.
    pub(crate) unsafe fn free(address: *mut c_void) {
        if !address.is_null() {
            // SAFETY: the head lies in front of the block.
            unsafe { _aligned_free(address.byte_sub(HEAD)) }
        }
    }

    /// What a block takes.
    ///
    /// # Safety
    /// The address is of a block.
    pub(crate) unsafe fn size(address: *mut c_void) -> usize {
        // SAFETY: the head lies in front of the block.
        unsafe { address.byte_sub(HEAD).cast::<usize>().read() }
    }
}
