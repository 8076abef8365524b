//! The end of the process: temporaries are removed and the processes that it started are killed.
//!
//! ```text
//! return from main, exit      a handler of the C library; on Windows not at exit
//! SIGINT SIGTERM SIGHUP       a thread of the command, which then has the signal end the process
//! SIGPIPE                     the same: the reader of a pipeline went away
//! Ctrl-C on Windows           a handler, on a thread of its own
//! no memory                   the handler that prints the command's diagnostic; none on Windows
//! SIGKILL                     started processes die with the thread that started them; temporaries stay
//! ```

#[cfg(windows)]
mod console;
#[cfg(unix)]
mod signals;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Killed processes are gone within milliseconds, but for those that nobody waits for.
const PATIENCE: Duration = Duration::from_millis(50);
const TICK: Duration = Duration::from_millis(1);

#[cfg(windows)]
pub(crate) use console::kill;
#[cfg(windows)]
pub use console::on_signals;
#[cfg(unix)]
pub(crate) use signals::kill;
#[cfg(unix)]
pub use signals::on_signals;

/// What ends with the process.
#[derive(Default)]
pub(crate) struct Owned {
    /// The process that it belongs to: a forked one owns nothing of its parent's.
    process: u32,
    temporaries: Vec<PathBuf>,
    /// Process groups, by their first process.
    pub(crate) groups: Vec<u32>,
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

/// Removes a file, or a folder and what is in it, without following links.
pub(crate) fn remove(path: &Path) {
    let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
    // What cannot be removed is left: there is nobody to tell.
    let _ = match is_folder {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    };
}
