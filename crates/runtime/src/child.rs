//! Programs that we start: in a process group of their own that does not outlive us, for so long at most.

use crate::ending::{self, Owned, owned};
use crate::interrupt::Interrupt;
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tamis_ir::diagnostic::Diagnostic;

/// How often is asked whether a program ended: at first, and later.
const SOON: Duration = Duration::from_micros(500);
const LATER: Duration = Duration::from_millis(10);

/// Why there is no output of a program.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It cannot be started.
    Start(io::Error),
    /// It did not end in time.
    Hangs,
    /// Its output is not wanted any more.
    Interrupted(Diagnostic),
}

/// Runs a program until it ends, or until a time; its temporaries, and what it prints, go to a folder of
/// ours.
pub(crate) fn run(command: &mut Command, folder: &Path, until: Instant) -> Result<Output, Failure> {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let file = |path: &Path| File::create(path).map_err(Failure::Start);
    command.env("TMPDIR", folder);
    #[cfg(unix)]
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(file(&out)?).stderr(file(&err)?);
    dies_with_us(command);
    let _runs = Runs::begin();
    let mut child = owned().start(command).map_err(Failure::Start)?;
    let status = match wait(&mut child, until) {
        Ok(status) => status,
        Err(failure) => {
            owned().kill(&child);
            return Err(failure);
        }
    };
    let read = |path: &Path| std::fs::read(path).map_err(Failure::Start);
    Ok(Output { status, stdout: read(&out)?, stderr: read(&err)? })
}

fn wait(child: &mut Child, until: Instant) -> Result<ExitStatus, Failure> {
    let interrupt = Interrupt::current();
    let mut pause = SOON;
    loop {
        if let Some(status) = owned().ended(child).map_err(Failure::Start)? {
            return Ok(status);
        }
        if let Some(interrupt) = &interrupt {
            interrupt.check().map_err(Failure::Interrupted)?;
        }
        if Instant::now() >= until {
            return Err(Failure::Hangs);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LATER);
    }
}

impl Owned {
    /// Starts a process that leads a group, killed at the end of this one.
    fn start(&mut self, command: &mut Command) -> io::Result<Child> {
        self.goes_on()?;
        let child = command.spawn()?;
        self.groups.push(child.id());
        Ok(child)
    }

    /// The status of a started process, once it ended.
    fn ended(&mut self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        let status = child.try_wait()?;
        if status.is_some() {
            // Its number may be another process's from now on.
            self.groups.retain(|&group| group != child.id());
        }
        Ok(status)
    }

    /// Kills a started process and its group.
    fn kill(&mut self, child: &Child) {
        let group = child.id();
        if self.groups.contains(&group) {
            self.groups.retain(|&other| other != group);
            ending::kill(group);
        }
    }
}

/// How many programs this process has started, if none of them runs: what is timed meanwhile is not slowed by
/// them as long as the number stays.
pub fn quiet() -> Option<u64> {
    own();
    let started = STARTED.load(Ordering::Relaxed);
    (ENDED.load(Ordering::Relaxed) == started).then_some(started)
}

static STARTED: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// A program that runs.
struct Runs;

impl Runs {
    fn begin() -> Runs {
        own();
        STARTED.fetch_add(1, Ordering::Relaxed);
        Runs
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Forgets the programs of the process that this one was forked from.
fn own() {
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    if PROCESS.swap(process, Ordering::Relaxed) != process {
        ENDED.store(STARTED.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Has the system kill a program when this thread ends, which waits for it: when this process is killed.
#[cfg(target_os = "linux")]
fn dies_with_us(command: &mut Command) {
    let parent = std::process::id();
    let asks = move || {
        // SAFETY: both calls only ask the system.
        let is_late = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0
                || libc::getppid() as u32 != parent
        };
        if is_late { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
    };
    // SAFETY: the closure does nothing but system calls between fork and exec.
    unsafe { command.pre_exec(asks) };
}

/// Other systems have no such request.
#[cfg(not(target_os = "linux"))]
fn dies_with_us(_: &mut Command) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests start programs too, so that it may take a while until there is none.
    #[test]
    fn it_is_quiet_while_no_program_runs() {
        let folder = crate::temporary::Temporary::folder(&std::env::temp_dir()).expect("a folder");
        let until = Instant::now() + Duration::from_secs(20);
        let asleep = std::thread::scope(|scope| {
            let sleeps = scope.spawn(|| {
                run(Command::new("sleep").arg("0.3"), folder.path(), until).expect("it ends")
            });
            let mut is_quiet = true;
            while !sleeps.is_finished() {
                is_quiet = quiet().is_some();
                std::thread::sleep(Duration::from_millis(20));
                if !is_quiet {
                    break;
                }
            }
            !is_quiet
        });
        assert!(asleep, "it was never told that a program runs");
        while quiet().is_none() {
            assert!(Instant::now() < until, "no program runs any more");
            std::thread::sleep(LATER);
        }
    }
}
