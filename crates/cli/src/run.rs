//! `tamis run`: computes an expression and writes or summarises the results.

use crate::args::RunArgs;
use crate::failure::{Failure, assignment, in_options, invalid, noted, suggested, tell};
use crate::lists::Readers;
use crate::out_of_core::Plan;
use crate::part_by_part::not_in_parts;
use crate::profile::{self, DryRun};
use crate::ranks::{Layout, Operand, Operands, Outcome, Outcomes, Ranks, named};
use crate::recommend::duration;
use crate::streams::{self, Until};
use crate::{inputs, json, notes, out_of_core, progress, written};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tamis::notation::Program;
use tamis::{
    Backend, Code, Diagnostic, FormatSpec, Kernel, Options, Profile, Scalar, Schedule, Storage,
    Tensor, Tuned, budget,
};

/// Of so many runs the times are not kept.
const MOST_TIMES: usize = 1_000_000;

/// Runs the command; where operands are larger than the memory that an option says, part by part.
pub fn run(args: &RunArgs, ranks: Ranks<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    if args.json {
        progress::hide();
    }
    profile::check(args, ranks)?;
    let request = Request::of(args, ranks)?;
    let may_be_cut = args.memory_limit.is_some() && matches!(ranks, Ranks::One) && !args.tune;
    let text = if may_be_cut { out_of_core::bytes_of_text(args) } else { None };
    let Some(text) = text else { return whole(args, request, ranks, out) };
    streams::keep(Until::End);
    let is_larger = text > budget::limit() as u64;
    let plan = is_larger.then(|| Plan::of(args, &request)).transpose()?;
    let mut failure = None;
    if !matches!(plan, Some(Ok(_))) {
        match whole(args, request.clone(), ranks, out) {
            Err(told) if told.is_of_memory() => failure = Some(told),
            outcome => return outcome,
        }
    }
    let plan = match plan {
        Some(plan) => plan,
        None => Plan::of(args, &request)?,
    };
    match plan {
        Ok(_) if args.profile => profile::refuse_parts(),
        Ok(plan) if args.dry_run => profile::tell_parts(args, &request, (&plan, text), out),
        Ok(plan) => out_of_core::run(args, request, plan, failure, out),
        Err(why) => Err(not_in_parts(failure, why)),
    }
}

/// What the arguments say.
#[derive(Clone)]
pub struct Request {
    /// The program.
    pub program: Program,
    /// The formats of all tensors, by name.
    pub formats: BTreeMap<String, FormatSpec>,
    /// How the program is compiled.
    pub options: Options,
    /// Where tensors lie on ranks.
    pub layout: Layout,
    /// Results and where they go.
    pub outputs: Vec<(String, PathBuf)>,
    /// How many threads there are.
    pub threads: usize,
    /// The seconds that parsing the program took.
    parsing: f64,
}

impl Request {
    fn of(args: &RunArgs, ranks: Ranks<'_>) -> Result<Request, Failure> {
        let start = Instant::now();
        let program = tamis::notation::parse(&args.expression)?;
        let parsing = start.elapsed().as_secs_f64();
        let schedule = tamis::schedule::parse(&args.schedule)?;
        let backend = backend(&args.backend)?;
        let datatype = inputs::datatype(&args.tensors)?;
        let threads = tamis::threads::set(args.threads)?;
        inputs::limit_memory(args.memory_limit.as_deref())?;
        check_times(args.time)?;
        let formats = inputs::formats(&program, &args.tensors.formats)?;
        let outputs = outputs(&program, args)?;
        let files = args.tensors.inputs.iter().chain(&args.outputs);
        inputs::check_standard(&args.tensors.formats, files)?;
        let placements = inputs::placements(&program, &args.tensors.formats)?;
        let layout = Layout::of(args.grid.as_deref(), &schedule, placements, ranks.count())?;
        let dimensions = crate::dimensions::dimensions(&program, &args.tensors.dimensions)?;
        let of_result = |(name, _): &(&String, _)| inputs::is_result(&program, name);
        let results = formats.iter().filter(of_result);
        let options = Options {
            results: results.map(|(name, spec)| (name.clone(), spec.clone())).collect(),
            datatype,
            dims: dimensions.vars,
            shapes: dimensions.tensors,
            schedule,
            strict: inputs::strictness(&args.tensors),
            backend,
            ..Options::default()
        };
        Ok(Request { program, formats, options, layout, outputs, threads, parsing })
    }
}

/// Runs the program on whole operands, or on ranks with parts of them.
fn whole(
    args: &RunArgs,
    request: Request,
    ranks: Ranks<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let asked = args.dry_run.then(|| request.clone());
    let Request { program, formats, mut options, layout, outputs, threads, parsing } = request;
    let (dtype, backend) = (options.datatype, options.backend);
    let start = Instant::now();
    // Tuning runs in this process.
    let readers = Readers::Ranks(if args.tune { Ranks::One } else { ranks });
    let mut operands = inputs::operands(&program, &args.tensors, &formats, dtype, readers)?;
    let operand_seconds = start.elapsed().as_secs_f64();
    let mut told = vec![];
    if args.tune {
        // Each schedule runs: what is slow is said before.
        let all = Operands::on(Ranks::One, operands, &layout)?;
        told = warned(&all.compile(program.clone(), &options)?, &all, &[], args)?;
        let _tuning = progress::stage("tuning");
        let Operands::Whole(all) = all else { unreachable!("one process has all") };
        let tuned = tamis::tune(&program, &named(&all), &options)?;
        operands = all.into_iter().map(|(name, tensor)| (name, Operand::Whole(tensor))).collect();
        if !args.json {
            match writes_standard(&outputs) {
                true => show(&mut io::stderr(), &tuned)?,
                false => show(out, &tuned)?,
            }
        }
        options.schedule = tuned.schedule;
    }
    let operands = Operands::on(ranks, operands, &layout)?;
    let (kernel, compile_ms) = compiled(program, &operands, &options)?;
    notes::host(&kernel, backend);
    notes::quotients(&kernel, &formats, dtype);
    let warnings = warned(&kernel, &operands, &told, args)?;
    let schedule = options.schedule.to_string();
    if let Some(request) = asked {
        let seconds = [operand_seconds, parsing, compile_ms / 1e3];
        let dry = DryRun { kernel, backend, threads, schedule, seconds, warnings };
        return dry.tell(args, &request, operands, out);
    }
    let (results, runs, profile) = match args.profile {
        true => profile::profiled(&kernel, &operands, (args.time, parsing))?,
        false => runs(&kernel, ranks, (&operands, &outputs, &layout), args.time)?,
    };
    written::results(ranks, &results, &outputs, inputs::standard_format(&args.tensors.formats))?;
    let report =
        Report { operand_seconds, compile_ms, runs, backend, threads, schedule, warnings, profile };
    match args.json {
        true => report.json(out, &kernel, &operands, &results)?,
        false if writes_standard(&outputs) => report.profile(&mut io::stderr())?,
        false => report.summary(out, &results, &outputs)?,
    }
    Ok(())
}

/// Whether a result goes to standard output, where nothing else may go then.
pub fn writes_standard(outputs: &[(String, PathBuf)]) -> bool {
    outputs.iter().any(|(_, path)| tamis_io::is_standard(path))
}

/// Refuses to time nothing.
fn check_times(count: usize) -> Result<(), Failure> {
    match count {
        0 => Err(invalid("--time 0", "there is nothing to time", "run at least once")),
        MOST_TIMES.. => Err(invalid(
            "--time",
            "the times of so many runs are not kept",
            "run fewer than a million times",
        )),
        _ => Ok(()),
    }
}

/// What is slow about a kernel, said unless it was before or nobody wants to know.
fn warned(
    kernel: &Kernel,
    operands: &Operands,
    told: &[Diagnostic],
    args: &RunArgs,
) -> Result<Vec<Diagnostic>, Diagnostic> {
    let warnings = operands.warnings(kernel)?;
    if !args.quiet && !args.json {
        warnings
            .iter()
            .filter(|warning| !told.contains(warning))
            .for_each(|w| tell(&in_options(w)));
    }
    Ok(warnings)
}

/// The kernel of a program, and how many milliseconds its compilation took.
fn compiled(
    program: Program,
    operands: &Operands,
    options: &Options,
) -> Result<(Kernel, f64), Diagnostic> {
    let _compiling = progress::stage("compiling");
    let start = Instant::now();
    let kernel = operands.compile(program, options)?;
    Ok((kernel, start.elapsed().as_secs_f64() * 1e3))
}

/// A run: how long it took, and the backend whose code ran.
pub struct Run {
    /// The seconds.
    pub seconds: f64,
    /// The backend.
    pub ran_on: Option<Backend>,
    /// How many ranks there were, and the bytes that they sent each other.
    pub sent: Option<(usize, u64)>,
}

/// The results of the last of some runs, and what each took.
fn runs(
    kernel: &Kernel,
    ranks: Ranks<'_>,
    (operands, outputs, layout): (&Operands, &[(String, PathBuf)], &Layout),
    count: usize,
) -> Result<(Outcomes, Vec<Run>, Option<Profile>), Diagnostic> {
    let mut runs = vec![];
    let mut results = vec![];
    for run in 1..=count {
        let _computing = progress::stage(match count {
            1 => "computing".to_owned(),
            runs => format!("computing, run {run} of {runs}"),
        });
        drop(std::mem::take(&mut results));
        let ran = operands.run(ranks, kernel, (outputs, layout))?;
        results = ran.results;
        runs.push(Run { seconds: ran.seconds, ran_on: kernel.ran_on(), sent: ran.sent });
    }
    Ok((results, runs, None))
}

/// The schedules that were tried, fastest first.
fn show(out: &mut dyn Write, tuned: &Tuned) -> io::Result<()> {
    let text = |schedule: &Schedule| match schedule.is_empty() {
        true => "no commands".to_owned(),
        false => schedule.to_string(),
    };
    match &tuned.tried[..] {
        [] => writeln!(out, "tuned before: {}", text(&tuned.schedule)),
        tried => {
            writeln!(out, "tuned:")?;
            tried.iter().try_for_each(|(s, t)| writeln!(out, "  {:>12}  {}", duration(*t), text(s)))
        }
    }
}

struct Report {
    /// Reading, generating and packing.
    operand_seconds: f64,
    compile_ms: f64,
    runs: Vec<Run>,
    backend: Backend,
    threads: usize,
    schedule: String,
    warnings: Vec<Diagnostic>,
    profile: Option<Profile>,
}

impl Report {
    fn json(
        &self,
        out: &mut dyn Write,
        kernel: &Kernel,
        operands: &Operands,
        results: &[(String, Outcome)],
    ) -> io::Result<()> {
        let ran_on = |run: &Run| run.ran_on.unwrap_or(self.backend).name();
        let results = results.iter().map(|(name, result)| match result {
            Outcome::Whole(tensor) => json::tensor(name, tensor),
            Outcome::OfRanks(parts) => json::distributed(name, &parts[0]),
        });
        let seconds: Vec<f64> = self.runs.iter().map(|run| run.seconds).collect();
        let object = json!({
            "results": results.collect::<Vec<_>>(),
            "operands": operands.json(),
            "kernels": json::kernels(kernel, self.backend),
            "parts": null,
            "backend": self.backend.name(),
            "ran_on": self.runs.iter().map(ran_on).collect::<Vec<_>>(),
            "threads": self.threads,
            "ranks": self.runs.last().and_then(|run| run.sent).map_or(1, |(ranks, _)| ranks),
            "bytes_sent": self.runs.last().and_then(|run| run.sent).map_or(0, |(_, sent)| sent),
            "schedule": self.schedule,
            "operand_seconds": self.operand_seconds,
            "compile_seconds": self.compile_ms / 1e3,
            "run_seconds": seconds,
            "median_run_seconds": self.median_seconds(),
            "warnings": self.warnings.iter().map(json::diagnostic).collect::<Vec<_>>(),
            "notes": noted(),
            "profile": self.profile.as_ref().map(profile::json),
        });
        json::print(out, object)
    }

    fn summary(
        &self,
        out: &mut dyn Write,
        results: &[(String, Outcome)],
        outputs: &[(String, PathBuf)],
    ) -> io::Result<()> {
        for (name, result) in results {
            let (dims, stored) = match result {
                Outcome::Whole(tensor) => (tensor.dims(), tensor.nnz()),
                Outcome::OfRanks(parts) => (parts[0].dims(), parts[0].stored()),
            };
            print_head(out, name, dims, (stored, result.storage()))?;
            let mut files = outputs.iter().filter(|(n, _)| n == name).map(|(_, f)| f.display());
            files.clone().try_for_each(|file| writeln!(out, "  written to {file}"))?;
            if let (Outcome::Whole(tensor), None) = (result, files.next()) {
                print_entries(out, tensor)?;
            }
        }
        match &self.profile {
            None => self.times(out),
            Some(_) => self.profile(out),
        }
    }

    /// The median of what runs took.
    fn median_seconds(&self) -> f64 {
        let mut sorted: Vec<f64> = self.runs.iter().map(|run| run.seconds).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// What compilation took, and the runs, and on what they ran.
    fn times(&self, out: &mut dyn Write) -> io::Result<()> {
        let runs = match self.runs.len() {
            1 => String::new(),
            count => format!(" (median of {count})"),
        };
        let tiers = match self.backend {
            Backend::Auto => format!(" ({})", tiers(&self.runs)),
            _ => String::new(),
        };
        let sent = match self.runs.last().and_then(|run| run.sent) {
            Some((1, _)) => ", 1 rank".to_owned(),
            Some((ranks, sent)) => format!(", {ranks} ranks, which sent {sent} bytes"),
            None => String::new(),
        };
        writeln!(
            out,
            "compiled in {}, ran in {}{runs} on {}{tiers}{sent}",
            duration(self.compile_ms / 1e3),
            duration(self.median_seconds()),
            self.backend.name()
        )
    }

    /// Where the time went, if that was asked for.
    fn profile(&self, out: &mut dyn Write) -> io::Result<()> {
        self.profile.as_ref().map_or(Ok(()), |profile| write!(out, "\n{profile}"))
    }
}

/// How many runs each tier had; its name alone where there is one.
fn tiers(runs: &[Run]) -> String {
    let count = |tier: &Backend| runs.iter().filter(|run| run.ran_on == Some(*tier)).count();
    let ran = [Backend::C, Backend::Jit].map(|tier| (tier.name(), count(&tier)));
    let ran: Vec<_> = ran.into_iter().filter(|(_, count)| *count > 0).collect();
    match ran[..] {
        [(name, _)] => name.to_owned(),
        _ => ran.iter().map(|(name, n)| format!("{n} {name}")).collect::<Vec<_>>().join(", "),
    }
}

/// What a result is.
pub fn print_head(
    out: &mut dyn Write,
    name: &str,
    dims: &[u64],
    (stored, storage): (usize, &Storage),
) -> io::Result<()> {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    let dims = if dims.is_empty() { "a scalar".to_owned() } else { dims.join(" x ") };
    writeln!(out, "{name}: {dims}, {stored} stored, {storage}")
}

/// The first entries of a tensor, read where they are.
fn print_entries(out: &mut dyn Write, tensor: &Tensor) -> io::Result<()> {
    let (stored, first) = (tensor.nnz(), tensor.first_entries(SHOWN));
    let sum = tensor.sum_of_floats().filter(|_| tensor.storage().fill.is_zero());
    print_first(out, stored, &first, sum)
}

/// So many entries are printed.
pub const SHOWN: usize = 8;

/// The first entries of so many, and the sum of all, where they are floats.
pub fn print_first(
    out: &mut dyn Write,
    stored: usize,
    first: &[(Vec<u64>, Scalar)],
    sum: Option<f64>,
) -> io::Result<()> {
    for (place, value) in first {
        let place: Vec<String> = place.iter().map(u64::to_string).collect();
        match place.is_empty() {
            true => writeln!(out, "  {value}")?,
            false => writeln!(out, "  ({}) {value}", place.join(","))?,
        }
    }
    if stored > first.len() {
        writeln!(out, "  .. {} more", stored - first.len())?;
    }
    match sum {
        // As the entries are written: nan.
        Some(sum) if stored > 1 => writeln!(out, "  sum {}", sum.to_string().to_lowercase()),
        _ => Ok(()),
    }
}

fn outputs(program: &Program, args: &RunArgs) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut outputs: Vec<(String, PathBuf)> = vec![];
    for text in &args.outputs {
        let results = program.results();
        let names: Vec<&str> =
            results.iter().map(|&id| program.tensors[id].name.as_str()).collect();
        let first = names.iter().find(|n| !outputs.iter().any(|(name, _)| name == *n));
        let (name, file) = assignment("-o", text, || first.map(|&name| name.to_owned()))?;
        let Some(result) = program.tensor(name).filter(|id| results.contains(id)) else {
            let message = format!("the expression has no result named {name}");
            let help = match (&names[..], tamis::nearest(name, names.iter().copied())) {
                // A copy of it is a result.
                _ if program.tensor(name).is_some() => {
                    format!(
                        "{name} is an operand: write its copy, as in {name}_copy(i) = {name}(i), and -o {name}_copy={file}"
                    )
                }
                (&[only], _) | (_, Some(only)) => format!("write -o {only}={file}"),
                _ => format!("its results are {}", names.join(", ")),
            };
            return Err(Diagnostic::new(Code::UnknownTensor, message).help(help).into());
        };
        let path = PathBuf::from(file);
        let is_standard = tamis_io::is_standard(&path);
        if is_standard && args.json {
            let reason = "--json goes to standard output, too";
            return Err(invalid(&format!("-o {text}"), reason, "write the result to a file"));
        }
        // Spelled another way, it is the same file still.
        let same =
            |other: &Path| std::path::absolute(other).ok() == std::path::absolute(&path).ok();
        if outputs.iter().any(|(n, p)| n == name && same(p)) {
            continue;
        }
        if let Some((other, _)) = outputs.iter().find(|(_, p)| same(p)) {
            return Err(invalid(
                &format!("-o {text}"),
                &format!("{other} goes to the same file"),
                "give each result a file of its own",
            ));
        }
        let standard = inputs::standard_format(&args.tensors.formats);
        tamis_io::check_writable(&path, program.tensors[result].order, standard)?;
        outputs.push((name.to_owned(), path));
    }
    Ok(outputs)
}

/// The backend of a name.
pub fn backend(name: &str) -> Result<Backend, Failure> {
    Backend::parse(name).ok_or_else(|| {
        let known: Vec<&str> = Backend::ALL.iter().map(|b| b.name()).collect();
        Diagnostic::new(Code::UnsupportedBackend, format!("there is no backend {name} here"))
            .help(suggested(name, &known, "use one of"))
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_each_tier_are_counted() {
        let of = |jit: usize, c: usize| {
            let run = |tier| move |_| Run { seconds: 0.1, ran_on: Some(tier), sent: None };
            let runs = (0..jit).map(run(Backend::Jit)).chain((0..c).map(run(Backend::C)));
            tiers(&runs.collect::<Vec<_>>())
        };
        assert_eq!(of(20, 180), "180 c, 20 jit");
        assert_eq!((of(3, 0), of(0, 3)), ("jit".to_owned(), "c".to_owned()));
    }
}
