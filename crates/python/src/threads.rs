//! The threads that kernels run on, before and after a fork, and how much memory they may take.

use crate::failure::{raised, refused};
use crate::size::Size;
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tamis::Code;

/// Set where the pool of all rayon users is not to serve, since a number of threads was asked for.
static OWN: AtomicBool = AtomicBool::new(false);

/// Set where that number is 1.
static ONE: AtomicBool = AtomicBool::new(false);

/// Set where it cannot, since the process was forked and has none of its threads.
static FORKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The pool of one thread that is this one: what it works on is in its caches, and nobody is waited for. It
    /// stays while the thread lives, so that only threads have one that asked for one thread.
    static ALONE: OnceCell<ThreadPool> = const { OnceCell::new() };
}

/// Work on fewer elements runs in one part: it is done where it is asked for, which takes less than
/// to have a thread of another pool do it.
const SMALL: usize = 1 << 14;

struct Own {
    threads: Option<usize>,
    pool: Option<Arc<ThreadPool>>,
}

static POOL: Mutex<Own> = Mutex::new(Own { threads: None, pool: None });

/// Does work on so many elements on the threads of this process.
pub(crate) fn on_threads<T: Send>(elements: usize, work: impl FnOnce() -> T + Send) -> T {
    let forked = FORKED.load(Ordering::Relaxed);
    if !forked && (elements < SMALL || !OWN.load(Ordering::Relaxed)) {
        return work();
    }
    ALONE.with(|alone| match alone.get() {
        Some(alone) if ONE.load(Ordering::Relaxed) => alone.install(work),
        _ => match pool() {
            Some(pool) => pool.install(work),
            None => work(),
        },
    })
}

fn pool() -> Option<Arc<ThreadPool>> {
    let mut own = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if own.pool.is_none() {
        let threads = own.threads.unwrap_or(0);
        own.pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new);
    }
    own.pool.clone()
}

/// Sets the number of threads that the environment asks for, if it does.
pub(crate) fn follow_environment(py: Python<'_>) -> PyResult<()> {
    match std::env::var_os("TAMIS_NUM_THREADS") {
        None => Ok(()),
        Some(_) => tamis::threads::set(None).map(drop).map_err(|d| raised(py, &d)),
    }
}

/// Forgets threads that a forked process does not have.
#[pyfunction]
pub fn after_fork() {
    FORKED.store(true, Ordering::Relaxed);
    if let Ok(mut own) = POOL.try_lock() {
        // Its threads are gone: waiting for them to end would not end.
        std::mem::forget(own.pool.take());
    }
}

/// Sets on how many threads kernels run from now on; results have the same bits for any number.
#[pyfunction]
pub fn set_num_threads(py: Python<'_>, threads: Size) -> PyResult<()> {
    let threads = threads.number();
    let Some(threads) = usize::try_from(threads).ok().filter(|n| (1..=4096).contains(n)) else {
        let message = format!("{threads} is not a number of threads");
        return Err(refused(py, Code::InvalidOption, message, "give a number from 1 to 4096"));
    };
    if threads == 1 {
        ALONE.with(|alone| {
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            if alone.get().is_none()
                && let Ok(pool) = one.build()
            {
                let _ = alone.set(pool);
            }
        });
    }
    py.detach(|| {
        let mut own = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        (own.threads, own.pool) = (Some(threads), None);
        ONE.store(threads == 1, Ordering::Relaxed);
        OWN.store(true, Ordering::Relaxed);
    });
    Ok(())
}

/// On how many threads kernels run: what `set_num_threads` or the environment's
/// `TAMIS_NUM_THREADS` said, else as many as there are processors.
#[pyfunction]
pub fn get_num_threads(py: Python<'_>) -> PyResult<usize> {
    if OWN.load(Ordering::Relaxed) || FORKED.load(Ordering::Relaxed) {
        return Ok(py.detach(|| on_threads(usize::MAX, rayon::current_num_threads)));
    }
    tamis::threads::set(None).map_err(|diagnostic| raised(py, &diagnostic))
}

/// Sets how many bytes the arrays that Tamis allocates may take in all; what would go beyond
/// raises `MemoryError` before it is allocated.
#[pyfunction]
pub fn set_memory_limit(bytes: Size) {
    // What is beyond the addresses is no limit.
    tamis::budget::set_limit(usize::try_from(bytes.number()).unwrap_or(usize::MAX));
}

/// Refuses, with `MemoryError`, what would take more bytes than there are, or than the limit leaves.
#[pyfunction]
pub fn check_memory(py: Python<'_>, what: &str, bytes: f64) -> PyResult<()> {
    tamis::budget::check(what, bytes, tamis::budget::SMALLER_RESULT).map_err(|d| raised(py, &d))
}

/// Gives memory that is kept of freed arrays for the next ones back to the system; returns how many
/// bytes that were.
#[pyfunction]
pub fn release_memory() -> usize {
    tamis::budget::release()
}
