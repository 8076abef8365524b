//! A profile as a table.

use super::{KernelProfile, LoopProfile, Profile};
use std::fmt;

/// The columns: a name, and whether the sign of loops goes there.
const TITLES: [&str; 10] =
    ["", "iterations", "estimated", "loads", "stores", "bytes", "time", "", "GB/s", "of limit"];

type Line = [String; TITLES.len()];

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages = self.stages.iter().map(|(stage, s)| format!("{stage} {:.3}", 1e3 * s));
        let stages = stages.collect::<Vec<_>>().join(", ");
        writeln!(f, "compiled in {:.3} ms: {stages}", 1e3 * self.compile_seconds())?;
        let runs = match self.runs.len() {
            1 => String::new(),
            runs => format!(" (median of {runs})"),
        };
        let tier = self.runs.last().map_or("", |run| run.ran_on.name());
        let threads = if self.threads == 1 { "" } else { "s" };
        writeln!(
            f,
            "ran in {}{runs} on {tier}, {} thread{threads}; memory moves {:.1} GB/s (triad)",
            time(self.run_seconds()),
            self.threads,
            self.bandwidth / 1e9
        )?;
        let mut lines = vec![TITLES.map(str::to_owned)];
        for kernel in &self.kernels {
            lines.push(self.kernel(kernel));
            lines.extend(kernel.loops.iter().map(|l| of_loop(kernel, l)));
        }
        table(f, &lines)?;
        match self.is_counted {
            true => writeln!(
                f,
                "Iterations, loads and stores are counted, of a loop without those in it. Bytes of a kernel are its \
                 tensors, each once."
            ),
            false => writeln!(
                f,
                "Too many steps to count: iterations are the plan's estimates. Bytes of a kernel are its tensors, \
                 each once."
            ),
        }
    }
}

impl Profile {
    fn kernel(&self, kernel: &KernelProfile) -> Line {
        let count = |of: fn(tamis_ir::interpret::Counts) -> u64| {
            kernel.counts.map_or_else(String::new, |counts| of(counts).to_string())
        };
        let all: f64 = self.kernels.iter().filter_map(|kernel| kernel.seconds).sum();
        let speed = kernel.bytes_per_second();
        let percent = |part: f64| format!("{:.0} %", 100.0 * part);
        let or_none = |text: Option<String>| text.unwrap_or_default();
        [
            format!("{} by {}", kernel.estimate.result, kernel.estimate.name),
            count(|counts| counts.iterations),
            about(kernel.estimate.steps),
            count(|counts| counts.loads),
            count(|counts| counts.stores),
            or_none(kernel.bytes.map(|bytes| size(bytes as f64))),
            or_none(kernel.seconds.map(time)),
            or_none(kernel.seconds.filter(|_| all > 0.0).map(|s| percent(s / all))),
            or_none(speed.map(|speed| format!("{:.2}", speed / 1e9))),
            or_none(speed.map(|speed| percent(speed / self.bandwidth))),
        ]
    }
}

fn of_loop(kernel: &KernelProfile, l: &LoopProfile) -> Line {
    let of = if l.drivers.is_empty() { "" } else { " of " };
    let code = if l.is_of_code { " (of the code)" } else { "" };
    let name = format!("{}{}{of}{}{code}", "  ".repeat(l.depth + 1), l.var, l.drivers.join(", "));
    let count = |of: fn(tamis_ir::interpret::Counts) -> u64| {
        l.counts.map_or_else(String::new, |counts| of(counts).to_string())
    };
    let bytes = l.counts.map_or_else(String::new, |counts| size(counts.moved as f64));
    let share = kernel.seconds.zip(l.share);
    [
        name,
        count(|counts| counts.iterations),
        l.estimated.map_or_else(String::new, about),
        count(|counts| counts.loads),
        count(|counts| counts.stores),
        bytes,
        share.map_or_else(String::new, |(seconds, share)| format!("~{}", time(seconds * share))),
        l.share.map_or_else(String::new, |share| format!("~{:.0} %", 100.0 * share)),
        String::new(),
        String::new(),
    ]
}

/// Lines with their columns below each other: names to the left, numbers to the right.
fn table(f: &mut fmt::Formatter<'_>, lines: &[Line]) -> fmt::Result {
    let width = |k: usize| lines.iter().map(|line| line[k].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..TITLES.len()).map(width).collect();
    for line in lines {
        let mut text = format!("{:<1$}", line[0], widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            text += &format!("  {cell:>width$}");
        }
        writeln!(f, "{}", text.trim_end())?;
    }
    Ok(())
}

/// An estimate: as it is where that is short.
fn about(number: f64) -> String {
    if number < 1e7 { format!("{number:.0}") } else { format!("{number:.1e}") }
}

/// Milliseconds; from one second on, seconds.
fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.3} ms", 1e3 * seconds) } else { format!("{seconds:.3} s") }
}

fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1e4 => format!("{b:.0} B"),
        b if b < 1e7 => format!("{:.1} kB", b / 1e3),
        b if b < 1e10 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}
