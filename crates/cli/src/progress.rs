//! What takes long, on the last line of a terminal.
//!
//! ```text
//! reading web.mtx  [########............]  41 % of 1.2 GB  3 s
//! writing y.tns  130 MB  2 s
//! computing  17 s
//! ```
//!
//! A line appears once a stage takes longer than a second and goes when it ends. Nothing is
//! written where standard error is no terminal, or where [`hide`] was called.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tamis::Coordinates;
use tamis_io::{File, FileError, Progress, ReadOptions, WriteOptions};

/// A stage is worth a line after this time.
const PATIENCE: Duration = Duration::from_secs(1);
/// The line is drawn so often.
const TICK: Duration = Duration::from_millis(100);
/// Characters of the bar.
const BAR: usize = 20;
/// Characters of a name.
const NAME: usize = 32;

static HIDDEN: AtomicBool = AtomicBool::new(false);
static CURRENT: Mutex<Option<Current>> = Mutex::new(None);

/// The stage that runs, and whether its line stands on the terminal.
struct Current {
    what: String,
    since: Instant,
    is_file: bool,
    drawn: bool,
}

/// A stage of a command; it ends when this is dropped.
#[must_use]
pub struct Stage(());

/// Shows no stage from now on.
pub fn hide() {
    HIDDEN.store(true, Relaxed);
}

/// Reads a file.
pub fn read(path: &Path, options: &ReadOptions) -> Result<File, FileError> {
    let _reading = begin(format!("reading {}", short(path)), true);
    tamis_io::read_with(path, options)
}

/// Writes a file.
pub fn write(path: &Path, list: &Coordinates, options: &WriteOptions) -> Result<(), FileError> {
    let _writing = begin(format!("writing {}", short(path)), true);
    tamis_io::write(path, list, options)
}

/// Anything else that may take long.
pub fn stage(what: impl Into<String>) -> Stage {
    begin(what.into(), false)
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(Current { drawn: true, .. }) = current().take() {
            put("");
        }
    }
}

fn begin(what: String, is_file: bool) -> Stage {
    static DRAWS: Once = Once::new();
    if !HIDDEN.load(Relaxed) && std::io::stderr().is_terminal() {
        *current() = Some(Current { what, since: Instant::now(), is_file, drawn: false });
        // Without a thread nothing is drawn, which is no reason to stop.
        DRAWS.call_once(|| drop(thread::Builder::new().spawn(draw)));
    }
    Stage(())
}

fn current() -> MutexGuard<'static, Option<Current>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Draws as long as the process lives.
fn draw() {
    loop {
        thread::sleep(TICK);
        // The lock is held while drawing, so that no line comes after its stage.
        if let Some(stage) = current().as_mut().filter(|stage| stage.since.elapsed() > PATIENCE) {
            stage.drawn = true;
            let progress = stage.is_file.then(tamis_io::progress);
            put(&line(&stage.what, progress, stage.since.elapsed().as_secs()));
        }
    }
}

/// Replaces the last line.
fn put(line: &str) {
    let mut err = std::io::stderr();
    // A line that cannot be shown is no reason to stop.
    let _ = write!(err, "\r\x1b[K{line}").and_then(|()| err.flush());
}

fn line(what: &str, progress: Option<Progress>, seconds: u64) -> String {
    match progress {
        Some(Progress { done, total: Some(total) }) if done > 0 => {
            let share = (done as f64 / total as f64).min(1.0);
            let full = (share * BAR as f64) as usize;
            let bar = format!("[{}{}]", "#".repeat(full), ".".repeat(BAR - full));
            let percent = (share * 100.0) as u32;
            format!("{what}  {bar} {percent:3} % of {}  {seconds} s", size(total))
        }
        Some(Progress { done, total: None }) if done > 0 => {
            format!("{what}  {}  {seconds} s", size(done))
        }
        _ => format!("{what}  {seconds} s"),
    }
}

fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b => format!("{:.0} MB", b / 1e6),
    }
}

/// The name of a file, short, and without what a terminal would obey.
fn short(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = name.chars().map(|c| if c.is_control() { '?' } else { c });
    let name: Vec<char> = name.collect();
    match name.len() > NAME {
        true => format!("..{}", name[name.len() - NAME + 2..].iter().collect::<String>()),
        false => name.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_how_far_a_file_is() {
        let of = |done, total| Some(Progress { done, total });
        assert_eq!(
            line("reading a.mtx", of(500_000_000, Some(1_200_000_000)), 3),
            "reading a.mtx  [########............]  41 % of 1.2 GB  3 s"
        );
        assert_eq!(line("writing y.tns", of(130_000_000, None), 2), "writing y.tns  130 MB  2 s");
        assert_eq!(line("reading a.mtx", of(0, Some(9)), 2), "reading a.mtx  2 s");
        assert_eq!(line("computing", None, 17), "computing  17 s");
    }

    #[test]
    fn names_fit_the_line_and_do_nothing_to_it() {
        assert_eq!(short(Path::new("folder/a\x1b[2J.mtx")), "a?[2J.mtx");
        let long = short(Path::new(&"x".repeat(100)));
        assert_eq!(long.len(), NAME);
    }
}
