//! What happens where memory runs out in code that cannot say so: the command ends with a
//! diagnostic.
//!
//! What grows with operands and results asks before it allocates. What is left are small blocks
//! that Rust's standard library and others allocate without a way to fail, where the system gives
//! no more: Rust ends the process by `abort` then, which says nothing to the user.

use std::cell::Cell;

thread_local! {
    /// The size of the block that this thread was refused last, unless it got one as large since: what reports
    /// the refusal may take small ones.
    static REFUSED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Notes what became of a request for memory of a size, which is passed on.
pub(crate) fn noted(block: *mut u8, size: usize) -> *mut u8 {
    // Threads that end allocate too; nothing is noted then.
    let _ = REFUSED.try_with(|refused| match block.is_null() {
        true => refused.set(Some(size)),
        false => refused.set(refused.get().filter(|&larger| size < larger)),
    });
    block
}

/// Lets the process end with a diagnostic and exit status 1 where memory runs out, if its allocator
/// is [`HugePages`](crate::HugePages). Its temporaries are removed. On Windows it ends as without this.
pub fn end_with_diagnostic() {
    #[cfg(unix)]
    on_abort::install();
}

#[cfg(unix)]
mod on_abort {
    use super::REFUSED;
    use crate::ending;
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

    /// Memory that is given back before temporaries are removed, which takes some.
    static KEPT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    /// Reading a folder takes 32 KB.
    const KEPT_BYTES: usize = 1 << 18;

    /// Has the signal of `abort` handled.
    pub(super) fn install() {
        // SAFETY: the block is freed by `free`, once.
        KEPT.store(unsafe { libc::malloc(KEPT_BYTES) }, Ordering::Relaxed);
        let handler: extern "C" fn(libc::c_int) = on_abort;
        // SAFETY: the handler only calls what is safe in signal handlers, or where an allocation failed.
        unsafe { libc::signal(libc::SIGABRT, handler as libc::sighandler_t) };
    }

    /// Ends the process: with a diagnostic if memory ran out on this thread, else as `abort` does.
    extern "C" fn on_abort(_: libc::c_int) {
        const TEXT: &[u8] = b"error[out-of-memory]: the system gives no more memory\n  \
            = help: work on a smaller part, in a format that takes less, or with fewer threads\n";
        static IS_ENDING: AtomicBool = AtomicBool::new(false);
        if REFUSED.try_with(Cell::get).is_ok_and(|refused| refused.is_some()) {
            // An allocation below may fail, too: then this handler is called again.
            if !IS_ENDING.swap(true, Ordering::Relaxed) {
                // SAFETY: it was allocated by `malloc`, and nobody else has it any more. The signal is that of
                // `abort` on this thread, called when an allocation had failed and returned: allocating and
                // freeing are safe here.
                unsafe { libc::free(KEPT.swap(std::ptr::null_mut(), Ordering::Relaxed)) };
                ending::end();
            }
            // SAFETY: both are safe in signal handlers, and the text has this length.
            unsafe {
                libc::write(2, TEXT.as_ptr().cast(), TEXT.len());
                libc::_exit(1);
            }
        }
        // SAFETY: both are safe in signal handlers.
        unsafe {
            libc::signal(libc::SIGABRT, libc::SIG_DFL);
            libc::raise(libc::SIGABRT);
        }
    }
}
