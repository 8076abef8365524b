//! Giving up what takes too long: a flag that kernels look at between their parts.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// Asks for the end of what runs under it; clones ask for the same.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

thread_local! {
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

impl Interrupt {
    /// Does work that ends with a diagnostic soon after it is asked to: kernels in parts stop
    /// between these, others when they are done.
    pub fn over<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Some(self.clone()));
        let restored = Restored(before);
        let done = work();
        drop(restored);
        done
    }

    /// Asks for the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The one over what this thread does.
    pub fn current() -> Option<Interrupt> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The diagnostic, once the end was asked for.
    pub fn check(&self) -> Result<(), Diagnostic> {
        match self.0.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Diagnostic::new(Code::Interrupted, "the computation was interrupted")
                .help("run it again to have its result")),
        }
    }
}

/// Puts back what was there, after a panic too.
struct Restored(Option<Interrupt>);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
