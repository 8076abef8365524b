//! The end of the process: temporaries are removed and the processes that it started are killed.
//!
//! ```text
//! return from main, exit      a handler of the C library
//! SIGINT SIGTERM SIGHUP       a thread of the command, which then has the signal end the process
//! SIGPIPE                     the same: the reader of a pipeline went away
//! no memory                   the handler that prints the command's diagnostic
//! SIGKILL                     started processes die with the thread that started them; temporaries stay
//! ```

use std::io::{self, Read};
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Killed processes are gone within milliseconds, but for those that nobody waits for.
const PATIENCE: Duration = Duration::from_millis(50);
const TICK: Duration = Duration::from_millis(1);

/// Has signals that end the process remove its temporaries first. For commands: a library leaves
/// signals to its program.
pub fn on_signals() {
    let Ok((mut told, tells)) = UnixStream::pair() else { return };
    let waits = move || {
        let mut signal = [0];
        if told.read_exact(&mut signal).is_ok() {
            end_by(i32::from(signal[0]));
        }
    };
    if std::thread::Builder::new().stack_size(1 << 18).spawn(waits).is_err() {
        return;
    }
    TELLS.store(tells.into_raw_fd(), Ordering::Relaxed);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
        let handler = tell as extern "C" fn(libc::c_int);
        // SAFETY: the handler only does what handlers may: it writes to a socket, and waits.
        let before = unsafe { libc::signal(signal, handler as libc::sighandler_t) };
        // Rust ignores SIGPIPE; whoever started the process may have it ignore others, as nohup does.
        if before == libc::SIG_IGN && signal != libc::SIGPIPE {
            // SAFETY: as it was before.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
}

/// The end of the socket that handlers write to.
static TELLS: AtomicI32 = AtomicI32::new(-1);

/// Seconds after which another signal ends the process, whatever the first one's end waits for.
const STUCK: libc::time_t = 2;

/// Tells the thread that ends the process.
extern "C" fn tell(signal: libc::c_int) {
    static FIRST: AtomicI64 = AtomicI64::new(0);
    // SAFETY: handlers may ask for the time.
    let now = unsafe { libc::time(std::ptr::null_mut()) };
    let first = FIRST.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err_and(|first| now - first > STUCK) {
        // SAFETY: both may be called in handlers.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    let byte = signal as u8;
    // SAFETY: one byte is written to a socket that stays open.
    unsafe { libc::write(TELLS.load(Ordering::Relaxed), (&raw const byte).cast(), 1) };
    if signal == libc::SIGPIPE {
        // Writing would go on with an error to report.
        loop {
            // SAFETY: handlers may wait.
            unsafe { libc::pause() };
        }
    }
}

/// Removes everything and has a signal end the process.
fn end_by(signal: libc::c_int) -> ! {
    let mut owned = owned();
    owned.end();
    // Other threads that would create or rename a file wait for the end.
    std::mem::forget(owned);
    // SAFETY: the default action ends the process; the first process of a container ignores it, and
    // leaves with the status that shells have for it.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}

/// What ends with the process.
#[derive(Default)]
pub(crate) struct Owned {
    /// The process that it belongs to: a forked one owns nothing of its parent's.
    process: u32,
    temporaries: Vec<PathBuf>,
    /// Process groups, by their first process.
    pub(crate) groups: Vec<libc::pid_t>,
    is_ending: bool,
}

/// Locked while something is created or renamed, so that nothing is left between that and its entry here.
pub(crate) fn owned() -> MutexGuard<'static, Owned> {
    static AT_EXIT: Once = Once::new();
    // SAFETY: the handler neither unwinds nor relies on anything that ends before the process does.
    AT_EXIT.call_once(|| _ = unsafe { libc::atexit(at_exit) });
    let mut owned = OWNED.lock().unwrap_or_else(PoisonError::into_inner);
    if owned.process != std::process::id() {
        *owned = Owned { process: std::process::id(), ..Owned::default() };
    }
    owned
}

static OWNED: Mutex<Owned> =
    Mutex::new(Owned { process: 0, temporaries: vec![], groups: vec![], is_ending: false });

extern "C" fn at_exit() {
    end();
}

/// Removes and kills everything, unless another thread holds it for long.
pub(crate) fn end() {
    // A forked process may have the lock of a thread that it does not have: it owns nothing.
    let until = Instant::now() + PATIENCE;
    while let Err(TryLockError::WouldBlock) = OWNED.try_lock() {
        if until < Instant::now() {
            return;
        }
        std::thread::sleep(TICK);
    }
    owned().end();
}

impl Owned {
    /// Creates a file or folder, removed at the end of the process.
    pub(crate) fn create<T>(
        &mut self,
        path: &Path,
        create: impl FnOnce(&Path) -> io::Result<T>,
    ) -> io::Result<T> {
        self.goes_on()?;
        let created = create(path)?;
        self.temporaries.push(path.to_owned());
        Ok(created)
    }

    /// Renames a temporary file, which stays from then on.
    pub(crate) fn rename(&mut self, path: &Path, target: &Path) -> io::Result<()> {
        std::fs::rename(path, target)?;
        self.temporaries.retain(|other| other != path);
        Ok(())
    }

    /// Removes a temporary file or folder, if it was not renamed.
    pub(crate) fn remove(&mut self, path: &Path) {
        if let Some(at) = self.temporaries.iter().position(|other| other == path) {
            remove(&self.temporaries.swap_remove(at));
        }
    }

    /// Refuses what would begin once the process ends.
    pub(crate) fn goes_on(&self) -> io::Result<()> {
        match self.is_ending {
            true => Err(io::Error::other("the process ends")),
            false => Ok(()),
        }
    }

    fn end(&mut self) {
        self.is_ending = true;
        self.groups.drain(..).for_each(kill);
        self.temporaries.drain(..).for_each(|path| remove(&path));
    }
}

/// Kills a group and waits until nothing of it is left.
pub(crate) fn kill(group: libc::pid_t) {
    let begin = Instant::now();
    // SAFETY: the group was started by this process, and its first process was not waited for.
    unsafe { libc::kill(-group, libc::SIGKILL) };
    // SAFETY: as above; no status is asked for. Signal 0 only asks whether there is a process.
    let is_left = || unsafe {
        while libc::waitpid(-group, std::ptr::null_mut(), libc::WNOHANG) > 0 {}
        libc::kill(-group, 0) == 0
    };
    while is_left() && begin.elapsed() < PATIENCE {
        std::thread::sleep(TICK);
    }
}

/// Removes a file, or a folder and what is in it, without following links.
pub(crate) fn remove(path: &Path) {
    let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
    // What cannot be removed is left: there is nobody to tell.
    let _ = match is_folder {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    };
}
