//! The thread pool, shared with the user's: rayon's global one, and running the parts of a task on it.

use rayon::prelude::*;
use std::env::VarError;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// The variable of the environment that gives the number of threads.
const VARIABLE: &str = "TAMIS_NUM_THREADS";
/// More threads than this are a mistake.
const MOST: usize = 4096;

/// Sets the number of threads, from the argument or `TAMIS_NUM_THREADS`, and returns how many
/// there are: fewer where the system gives no more. Only the first call in a process has an effect.
pub fn set(wanted: Option<usize>) -> Result<usize, Diagnostic> {
    let said = match std::env::var(VARIABLE) {
        Ok(empty) if empty.is_empty() => Err(VarError::NotPresent),
        said => said,
    };
    let (text, wanted) = match (wanted, said) {
        (Some(n), _) => (n.to_string(), Some(n)),
        (None, Ok(text)) => (format!("{VARIABLE}={text}"), text.trim().parse().ok()),
        (None, Err(VarError::NotUnicode(text))) => (format!("{VARIABLE}={}", text.display()), None),
        (None, Err(VarError::NotPresent)) => {
            let usual = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok());
            let all = || thread::available_parallelism().map_or(1, usize::from);
            start(usual.filter(|n| (1..=MOST).contains(n)).unwrap_or_else(all));
            return Ok(count());
        }
    };
    let Some(threads) = wanted.filter(|n| (1..=MOST).contains(n)) else { return Err(wrong(&text)) };
    start(threads);
    Ok(count())
}

/// Starts the pool, unless there is one. Its threads start first and wait for their work, since a
/// pool that gets too few of them cannot be started again.
fn start(wanted: usize) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| start_pool(wanted));
}

fn start_pool(wanted: usize) {
    let start_one = || {
        let (sender, receiver) = mpsc::channel::<rayon::ThreadBuilder>();
        let wait = move || receiver.recv().map_or((), rayon::ThreadBuilder::run);
        thread::Builder::new().spawn(wait).ok().map(|_| sender)
    };
    let mut waiting: Vec<_> = (0..wanted).map_while(|_| start_one()).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(waiting.len().max(1));
    // Both fail where there is a pool already.
    let _ = match waiting.is_empty() {
        true => pool.use_current_thread().build_global(),
        false => {
            let hand = |thread: rayon::ThreadBuilder| {
                let sent = waiting.pop().map(|sender| sender.send(thread).is_ok());
                sent.filter(|&sent| sent).map(drop).ok_or_else(|| ErrorKind::OutOfMemory.into())
            };
            pool.spawn_handler(hand).build_global()
        }
    };
}

fn wrong(text: &str) -> Diagnostic {
    Diagnostic::new(Code::InvalidOption, format!("{text} is not a number of threads"))
        .help(format!("give a number from 1 to {MOST}"))
}

/// The processor time of the calling thread, where the system tells it: what others on the machine do is no part of it.
pub fn time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the address is that of a time of our own.
        let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
        let (seconds, rest) = (u64::try_from(now.tv_sec).ok()?, u32::try_from(now.tv_nsec).ok()?);
        (failed == 0).then(|| Duration::new(seconds, rest))
    }
    #[cfg(not(unix))]
    None
}

/// How many threads compute.
pub fn count() -> usize {
    rayon::current_num_threads()
}

/// Runs `part` for each number below `count`, on all threads. It takes a `dyn` function, as the others here do, so that
/// rayon's generic code is compiled once and not for each caller.
pub(crate) fn each(count: usize, part: &(dyn Fn(usize) + Sync)) {
    match count {
        // The calling thread need not wait for another.
        0 | 1 => (0..count).for_each(part),
        _ => (0..count).into_par_iter().for_each(part),
    }
}

/// Whether something holds of all of `0..count`.
pub(crate) fn all(count: usize, holds: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    match count {
        0 | 1 => (0..count).all(holds),
        _ => (0..count).into_par_iter().all(holds),
    }
}

/// The results of `part` for each number below `count`, in this order. Each is stored behind a lock, which takes a few
/// tens of nanoseconds: for parts of many elements.
pub(crate) fn map<T: Send>(count: usize, part: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    each(count, &|k| *locked(&results[k]) = Some(part(k)));
    // If a part had panicked, `each` would have, and none is missing here.
    results.iter().filter_map(|result| locked(result).take()).collect()
}

/// Takes a lock. A part that panics while it has the lock makes `each` panic, so that nobody reads what it left.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
