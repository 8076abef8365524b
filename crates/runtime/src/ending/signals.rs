//! Ends of processes on Unix: by signals, and of programs that the process started.

use super::{PATIENCE, TICK, owned};
use std::io::Read;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::time::Instant;

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

/// Kills a group and waits until nothing of it is left.
pub(crate) fn kill(group: u32) {
    let group = group as libc::pid_t;
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
