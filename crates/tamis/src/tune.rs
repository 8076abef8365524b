//! The fastest of several schedules for some operands, found by running them, and remembered.
//!
//! ```text
//! C(i,j) = A(i,j) * B(i,j)      no commands           4.1 ms
//!                               mergeby(j, gallop)    0.9 ms
//!                               reorder(j, i)         9.8 ms
//! ```
//!
//! Tried are the schedule that was asked for, and the same followed by each order of loops that the
//! compiler weighed and by another way to merge each loop. What is as fast as it can be on one
//! machine is kept on its disk: by program, formats, threads, and sizes to a factor of two.

use crate::{Kernel, Options, cache};
use std::time::{Duration, Instant};
use tamis_core::notation;
use tamis_core::schedule::{self, Schedule};
use tamis_ir::diagnostic::Diagnostic;
use tamis_runtime::disk_cache::Cache;
use tamis_runtime::{Tensor, threads};

/// Orders whose cost is thought to be more than so many times that of the best are not tried, nor schedules
/// of so many times the steps of the one that was asked for.
const HOPELESS: f64 = 20.0;
/// How often each schedule is run, at most, one after the other; and for how long altogether.
const ROUNDS: usize = 7;
const LONG: Duration = Duration::from_secs(5);
/// A schedule that takes so many times as long as the best is not run again.
const SLOW: f64 = 3.0;
/// Another schedule has to be so many times as fast as the one that was asked for.
const WORTH: f64 = 1.05;

/// What was found out.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The fastest schedule.
    pub schedule: Schedule,
    /// What was tried, fastest first, with the least time that a run took, in seconds; nothing if
    /// it was known from an earlier time.
    pub tried: Vec<(Schedule, f64)>,
}

/// Finds the fastest of the schedules that continue the one in the options. Sums may be added up in
/// another order by each, so results may differ by rounding.
pub fn tune(
    program: &notation::Program,
    operands: &[(&str, &Tensor)],
    options: &Options,
) -> Result<Tuned, Diagnostic> {
    let subject = subject(program, operands, options);
    let notes = Cache::open(&["tuned", &subject]);
    let known = notes.find().and_then(|bytes| String::from_utf8(bytes).ok());
    let known = known.and_then(|text| schedule::parse(&text).ok());
    // Another version may have noted what this one does not know.
    let known = known.and_then(|schedule| Way::new(program, operands, options, schedule).ok());
    if let Some(way) = known {
        return Ok(Tuned { schedule: way.schedule, tried: vec![] });
    }
    let mut ways = vec![Way::new(program, operands, options, options.schedule.clone())?];
    for commands in continuations(&ways[0].kernel) {
        let longer = match options.schedule.is_empty() {
            true => commands,
            false => format!("{}; {commands}", options.schedule),
        };
        // What the program or its formats do not allow is not a way, and the same code is no other.
        let Ok(schedule) = schedule::parse(&longer) else { continue };
        let Ok(way) = Way::new(program, operands, options, schedule) else { continue };
        let is_hopeless = way.steps(operands) > HOPELESS * ways[0].steps(operands);
        if !is_hopeless && !ways.iter().any(|known| known.is_like(&way)) {
            ways.push(way);
        }
    }
    time(&mut ways, operands)?;
    let asked = ways[0].seconds;
    ways.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let fastest = &ways[0];
    let schedule = match fastest.seconds * WORTH < asked {
        true => fastest.schedule.clone(),
        false => options.schedule.clone(),
    };
    notes.store(schedule.to_string().as_bytes());
    Ok(Tuned { schedule, tried: ways.into_iter().map(|w| (w.schedule, w.seconds)).collect() })
}

/// A schedule with its kernel, and the least time that this took, in seconds.
struct Way {
    schedule: Schedule,
    kernel: Kernel,
    seconds: f64,
}

impl Way {
    fn new(
        program: &notation::Program,
        operands: &[(&str, &Tensor)],
        options: &Options,
        schedule: Schedule,
    ) -> Result<Way, Diagnostic> {
        // Which tier a kernel of `auto` runs on is told by how long it takes.
        let backend = options.backend.at_first();
        let options = Options { schedule: schedule.clone(), backend, ..options.clone() };
        let kernel = Kernel::of_program(program.clone(), operands, &options)?;
        Ok(Way { schedule, kernel, seconds: f64::INFINITY })
    }

    /// About how many steps it takes; none where that is not known.
    fn steps(&self, operands: &[(&str, &Tensor)]) -> f64 {
        self.kernel.estimate(operands).map_or(0.0, |estimate| estimate.steps())
    }

    /// Whether another is the same code.
    fn is_like(&self, other: &Way) -> bool {
        let code = |way: &Way| {
            let functions = way.kernel.compiled().functions.iter();
            functions.map(|f| f.function.to_string()).collect::<Vec<_>>()
        };
        code(self) == code(other)
    }
}

/// Runs all in rounds, so that what else the machine does in the meantime harms each of them alike.
/// The first run of each counts only where it tells that the way is slow. A way that fails, as for want of memory, is
/// none, unless it is the first.
fn time(ways: &mut Vec<Way>, operands: &[(&str, &Tensor)]) -> Result<(), Diagnostic> {
    let mut best = f64::INFINITY;
    let mut run = |way: &mut Way| {
        let start = Instant::now();
        way.kernel.run(operands)?;
        let seconds = start.elapsed().as_secs_f64();
        best = f64::min(best, seconds);
        // What caches that are cold cost is far less.
        way.seconds = if seconds > HOPELESS * best { seconds } else { f64::INFINITY };
        Ok::<(), Diagnostic>(())
    };
    let mut first = ways.remove(0);
    run(&mut first)?;
    ways.retain_mut(|way| run(way).is_ok());
    ways.insert(0, first);
    let begin = Instant::now();
    for _ in 0..ROUNDS {
        for way in ways.iter_mut() {
            let is_new = way.seconds == f64::INFINITY;
            if is_new || (way.seconds < SLOW * best && begin.elapsed() < LONG) {
                let start = Instant::now();
                way.kernel.run(operands)?;
                way.seconds = way.seconds.min(start.elapsed().as_secs_f64());
                best = best.min(way.seconds);
            }
        }
    }
    Ok(())
}

/// Everything that the choice depends on.
fn subject(program: &notation::Program, operands: &[(&str, &Tensor)], options: &Options) -> String {
    let key = cache::key(&program.to_string(), operands, options);
    format!("{key}on {} threads by {}", threads::count(), env!("CARGO_PKG_VERSION"))
}

/// Commands that give the last kernel of a program other loops.
fn continuations(kernel: &Kernel) -> Vec<String> {
    let program = &kernel.compiled().program;
    let Some(last) = schedule::computing(program) else { return vec![] };
    let name = |v: &tamis_ir::ids::IndexVar| program.vars[*v].as_str();
    let hoped_for = last.choices.first().map_or(0.0, |c| c.cost * HOPELESS);
    // With commands, operands are read as they are stored.
    let others = last.choices.iter().filter(|c| c.cost <= hoped_for && c.copied.is_empty());
    let others = others.filter(|c| c.loops.len() > 1);
    let orders = others.map(|choice| {
        let loops: Vec<&str> = choice.loops.iter().map(name).collect();
        format!("reorder({})", loops.join(", "))
    });
    let mut loops = last.body.loops();
    loops.dedup();
    let merges = loops.iter().map(|v| format!("mergeby({}, gallop)", name(v)));
    orders.chain(merges).collect()
}
