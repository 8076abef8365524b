//! The conditions of a race: the same cores for everybody, and which machine this is.

use std::fs;
use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps this process and its children on the last so many cores that it may use; their numbers.
pub fn pin_to_cores(count: usize) -> Result<Vec<usize>, String> {
    let allowed = sched_getaffinity(None).map_err(|e| e.to_string())?;
    let all = (0..CpuSet::MAX_CPU).rev().filter(|&core| allowed.is_set(core));
    let cores: Vec<usize> = all.take(count).collect();
    if cores.len() < count {
        return Err(format!("there are {} cores for {count} threads", cores.len()));
    }
    let mut chosen = CpuSet::new();
    cores.iter().for_each(|&core| chosen.set(core));
    sched_setaffinity(None, &chosen).map_err(|e| e.to_string())?;
    Ok(cores)
}

/// The name of the processor.
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name).to_string()
}

/// Runs a command to its end; the last line of what it says when it fails.
pub fn succeeds(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|e| format!("{name}: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    let text = [done.stdout, done.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    Err(format!("{name}: {}", text.trim().lines().next_back().unwrap_or("failed")))
}
