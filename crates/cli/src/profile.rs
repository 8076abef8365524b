//! `tamis run --profile` and `--dry-run`: where the time of a run goes, and what one is going to take.
//!
//! ```text
//! y: about 600 stored, dense
//! memory: about 292.8 kB of 20.3 GB: operands 288.0 kB, results 4.8 kB, workspaces 0 B
//! steps: about 24002: i 600, j of A 23402
//! ```

use crate::args::RunArgs;
use crate::failure::{Failure, invalid, note, noted};
use crate::json;
use crate::out_of_core::{self, Plan};
use crate::part_by_part::WhyNot;
use crate::ranks::{Operands, Outcomes, Ranks, named, whole};
use crate::recommend::{duration, size};
use crate::run::{Request, Run};
use serde_json::{Value, json};
use std::io::{self, Write};
use tamis::{Backend, Diagnostic, Estimate, Kernel, LoopEstimate, Profile, budget};

/// Refuses what is known of one process alone.
pub fn check(args: &RunArgs, ranks: Ranks<'_>) -> Result<(), Failure> {
    let option = match (args.profile, args.dry_run) {
        (true, _) => "--profile",
        (_, true) => "--dry-run",
        _ => return Ok(()),
    };
    match ranks {
        Ranks::One => Ok(()),
        _ => {
            let reason = "each rank has a part of the operands, and this is told of one process";
            let help = format!(
                "leave out --ranks and --mpi; `tamis explain .. --emit comm --ranks {}`, with the same \
                 -f, -i and -g, tells what each rank computes and sends",
                ranks.count()
            );
            Err(invalid(option, reason, &help))
        }
    }
}

/// Refuses a profile of a program that runs part by part.
pub fn refuse_parts() -> Result<(), Failure> {
    let reason = "the program runs part by part";
    Err(invalid("--profile", reason, "use more memory, or smaller operands"))
}

/// The results of the last of some runs, what each took, and where its time went; `parsing` took so many seconds.
pub fn profiled(
    kernel: &Kernel,
    operands: &Operands,
    (count, parsing): (usize, f64),
) -> Result<(Outcomes, Vec<Run>, Option<Profile>), Diagnostic> {
    let Operands::Whole(all) = operands else { unreachable!("ranks have no profile") };
    let (results, mut profile) = kernel.profile(&named(all), count)?;
    profile.stages.insert(0, ("parse", parsing));
    let run = |run: &tamis::RunProfile| Run {
        seconds: run.seconds,
        ran_on: Some(run.ran_on),
        sent: None,
    };
    Ok((whole(results), profile.runs.iter().map(run).collect(), Some(profile)))
}

/// A profile as JSON.
pub fn json(profile: &Profile) -> Value {
    let kernels = profile.kernels.iter().map(|kernel| {
        let counts = kernel.counts;
        let speed = kernel.bytes_per_second();
        json!({
            "name": kernel.estimate.name,
            "result": kernel.estimate.result,
            "seconds": kernel.seconds,
            "bytes": kernel.bytes,
            "bytes_per_second": speed,
            "share_of_limit": speed.map(|speed| speed / profile.bandwidth),
            "values": kernel.values,
            "estimated_values": json::count(kernel.estimate.values),
            "iterations": counts.map(|c| c.iterations),
            "estimated_iterations": json::count(kernel.estimate.steps),
            "loads": counts.map(|c| c.loads),
            "stores": counts.map(|c| c.stores),
            "bytes_moved": counts.map(|c| c.moved),
            "workspace_bytes": counts.map(|c| c.bytes),
            "loops": kernel.loops.iter().map(loop_json).collect::<Vec<_>>(),
        })
    });
    json!({
        "stages": stages(&profile.stages),
        "bandwidth": profile.bandwidth,
        "counted": profile.is_counted,
        "kernels": kernels.collect::<Vec<_>>(),
    })
}

fn loop_json(l: &tamis::LoopProfile) -> Value {
    json!({
        "variable": l.var,
        "of_code": l.is_of_code,
        "depth": l.depth,
        "drivers": l.drivers,
        "iterations": l.counts.map(|c| c.iterations),
        "estimated_iterations": l.estimated.map(json::count),
        "loads": l.counts.map(|c| c.loads),
        "stores": l.counts.map(|c| c.stores),
        "bytes_moved": l.counts.map(|c| c.moved),
        "share": l.share,
    })
}

/// The seconds of each stage of compilation, by its name.
fn stages(stages: &[(&'static str, f64)]) -> Value {
    stages.iter().map(|(name, seconds)| ((*name).to_owned(), json!(seconds))).collect()
}

/// What a run is going to take.
pub struct DryRun {
    /// The kernel.
    pub kernel: Kernel,
    /// What was asked for to run it.
    pub backend: Backend,
    /// How many threads there are.
    pub threads: usize,
    /// The commands.
    pub schedule: String,
    /// What reading and packing operands took, parsing, and compilation: seconds.
    pub seconds: [f64; 3],
    /// What is slow.
    pub warnings: Vec<Diagnostic>,
}

impl DryRun {
    /// Tells it, and whether there is room for it.
    pub fn tell(
        &self,
        args: &RunArgs,
        request: &Request,
        operands: Operands,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let Operands::Whole(all) = &operands else { unreachable!("ranks run no such") };
        let estimate = self.kernel.estimate(&named(all))?;
        let described = operands.json();
        // A run in parts does not have them.
        drop(operands);
        let fit = Fit::of(args, request, estimate.bytes(self.threads))?;
        match args.json {
            true => self.json(&estimate, (described, &fit), out)?,
            false => {
                self.text(&estimate, out)?;
                fit.note();
            }
        }
        Ok(())
    }

    fn text(&self, estimate: &Estimate, out: &mut dyn Write) -> io::Result<()> {
        let program = &self.kernel.compiled().program;
        for (kernel, made) in estimate.kernels.iter().zip(&program.kernels) {
            let storage = program.storage(made.result);
            let role = if kernel.is_temporary { " (a temporary)" } else { "" };
            let (name, stored) = (&kernel.result, about(kernel.values));
            writeln!(out, "{name}{role}: about {stored} stored, {storage}")?;
        }
        writeln!(
            out,
            "memory: about {} of {}: operands {}, results {}, workspaces {}",
            size(estimate.bytes(self.threads) as u64),
            size(budget::limit() as u64),
            size(estimate.operand_bytes),
            size(estimate.result_bytes() as u64),
            size(estimate.workspace_bytes(self.threads) as u64)
        )?;
        let loops = estimate.kernels.iter().flat_map(|kernel| &kernel.loops).map(trips);
        let loops = loops.collect::<Vec<_>>().join(", ");
        let colon = if loops.is_empty() { "" } else { ": " };
        writeln!(out, "steps: about {}{colon}{loops}", about(estimate.steps()))?;
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        let first = match self.backend.at_first() {
            first if first == self.backend => String::new(),
            first => format!(" ({} at first)", first.name()),
        };
        let name = self.backend.name();
        writeln!(out, "runs on: {name}{first}, {} {threads}", self.threads)?;
        let [reading, parsing, compiling] = self.seconds;
        let (reading, compiling) = (duration(reading), duration(parsing + compiling));
        writeln!(out, "read operands in {reading}, compiled in {compiling}; nothing was computed")
    }

    fn json(
        &self,
        estimate: &Estimate,
        (operands, fit): (Vec<Value>, &Fit),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let kernels = estimate.kernels.iter().map(|kernel| {
            let loops = kernel.loops.iter().map(|l| {
                json!({
                    "variable": l.var,
                    "depth": l.depth,
                    "drivers": l.drivers,
                    "iterations": json::count(l.iterations),
                })
            });
            json!({
                "name": kernel.name,
                "result": kernel.result,
                "temporary": kernel.is_temporary,
                "cut": kernel.is_cut,
                "steps": json::count(kernel.steps),
                "values": json::count(kernel.values),
                "bytes": json::count(kernel.bytes),
                "workspace_bytes": json::count(kernel.workspace_bytes),
                "loops": loops.collect::<Vec<_>>(),
            })
        });
        let [reading, parsing, compiling] = self.seconds;
        let mut of_stages = stages(self.kernel.stages());
        of_stages["parse"] = json!(parsing);
        let mut object = json!({
            "operands": operands,
            "kernels": kernels.collect::<Vec<_>>(),
            "backend": self.backend.name(),
            "tier": self.backend.at_first().name(),
            "threads": self.threads,
            "schedule": self.schedule,
            "steps": json::count(estimate.steps()),
            "bytes": json::count(estimate.bytes(self.threads)),
            "operand_bytes": estimate.operand_bytes,
            "result_bytes": json::count(estimate.result_bytes()),
            "workspace_bytes": json::count(estimate.workspace_bytes(self.threads)),
            "limit_bytes": budget::limit(),
            "operand_seconds": reading,
            "compile_seconds": compiling,
            "stages": of_stages,
            "warnings": self.warnings.iter().map(json::diagnostic).collect::<Vec<_>>(),
            "notes": noted(),
        });
        fit.put(&mut object);
        json::print(out, object)
    }
}

/// How a run gets by with the memory that it may take.
enum Fit {
    /// As a whole.
    Whole,
    /// Part by part, by the loop over this variable; none where files have to be read to know whether.
    Parts(Option<String>),
    /// Not, and why it does not run part by part.
    Not(WhyNot),
}

impl Fit {
    /// That of a run which takes about so many bytes.
    fn of(args: &RunArgs, request: &Request, bytes: f64) -> Result<Fit, Failure> {
        if bytes <= budget::limit() as f64 {
            return Ok(Fit::Whole);
        }
        let not = |why: &str, help: &str| {
            Ok(Fit::Not(WhyNot { why: why.to_owned(), help: help.to_owned() }))
        };
        match (&args.memory_limit, out_of_core::bytes_of_text(args)) {
            (None, _) => not("there is no --memory-limit", "give one: some programs keep to it"),
            (_, None) => not("no operand is a plain .mtx or .tns file", "raise the limit"),
            _ => Ok(match Plan::of(args, request)? {
                Ok(plan) => Fit::Parts(plan.var),
                Err(why) => Fit::Not(why),
            }),
        }
    }

    /// Tells what is not as a whole.
    fn note(&self) {
        const MORE: &str = "that is more memory than it may take";
        match self {
            Fit::Whole => {}
            Fit::Parts(Some(var)) => note(&format!("{MORE}: it runs part by part, cut at {var}")),
            Fit::Parts(None) => note(&format!("{MORE}: {UNKNOWN}")),
            Fit::Not(WhyNot { why, help }) => {
                note(&format!("{MORE}, and the program is not run part by part: {why}; {help}"));
            }
        }
    }

    /// Adds it to what is told as JSON.
    fn put(&self, object: &mut Value) {
        let (in_parts, var, why) = match self {
            Fit::Whole => (Some(false), None, None),
            Fit::Parts(var) => (var.as_ref().map(|_| true), var.as_ref(), None),
            Fit::Not(not) => (Some(false), None, Some(&not.why)),
        };
        object["part_by_part"] = json!(in_parts);
        object["cut_variable"] = json!(var);
        object["not_in_parts"] = json!(why);
    }
}

/// What is told where files do not say their dimensions.
const UNKNOWN: &str = "it runs part by part, if its outermost loop can be cut; the files tell";

/// Tells of a program whose operands do not fit in memory, so that it would run part by part; its files have so many
/// bytes of text.
pub fn tell_parts(
    args: &RunArgs,
    request: &Request,
    (plan, bytes): (&Plan, u64),
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (backend, threads) = (request.options.backend.name(), request.threads);
    let limit = budget::limit();
    if args.json {
        let mut object = json!({
            "backend": backend,
            "tier": request.options.backend.at_first().name(),
            "threads": threads,
            "schedule": request.options.schedule.to_string(),
            "limit_bytes": limit,
            "warnings": [],
            "notes": noted(),
        });
        OF_OPERANDS.iter().for_each(|&key| object[key] = Value::Null);
        Fit::Parts(plan.var.clone()).put(&mut object);
        return Ok(json::print(out, object)?);
    }
    let how = match &plan.var {
        Some(var) => format!("it runs part by part, cut at {var}"),
        None => UNKNOWN.to_owned(),
    };
    let (bytes, limit) = (size(bytes), size(limit as u64));
    writeln!(out, "memory: the operands, of files of {bytes}, do not fit in {limit}: {how}")?;
    let s = if threads == 1 { "" } else { "s" };
    writeln!(out, "runs on: {backend}, {threads} thread{s}")?;
    Ok(writeln!(out, "operands were not read as a whole; nothing was computed")?)
}

/// What only operands in memory tell.
const OF_OPERANDS: [&str; 10] = [
    "operands",
    "kernels",
    "steps",
    "bytes",
    "operand_bytes",
    "result_bytes",
    "workspace_bytes",
    "operand_seconds",
    "compile_seconds",
    "stages",
];

/// A loop and how often it iterates.
fn trips(l: &LoopEstimate) -> String {
    let of = if l.drivers.is_empty() { "" } else { " of " };
    format!("{}{of}{} {}", l.var, l.drivers.join(", "), about(l.iterations))
}

/// A number as people read it.
fn about(number: f64) -> String {
    if number < 1e7 { format!("{number:.0}") } else { format!("{number:.1e}") }
}
