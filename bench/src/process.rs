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

/// The processor, the level of its instructions, its caches and the memory.
pub fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let level = match (has("avx512f") && has("avx512vl"), has("avx2") && has("fma")) {
        (true, _) => "x86-64-v4",
        (_, true) => "x86-64-v3",
        _ => std::env::consts::ARCH,
    };
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = memory.split_whitespace().nth(1).and_then(|word| word.parse::<f64>().ok());
    let memory = kilobytes.map_or(String::new(), |kb| format!(", {:.0} GB memory", kb / 1e6));
    format!("{}, {level}, caches {}{memory}", processor(), caches().join(", "))
}

/// The caches of the first core: level, kind and size.
fn caches() -> Vec<String> {
    let cache = |n: usize| {
        let of = |what: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{n}/{what}");
            fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
        };
        let kind = of("type")?;
        let kind = if kind == "Unified" { String::new() } else { kind.to_lowercase() + " " };
        Some(format!("L{} {kind}{}", of("level")?, of("size")?))
    };
    (0..8).map_while(cache).collect()
}

/// The load of the last minute.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
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
