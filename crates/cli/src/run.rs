//! `tamis run`: computes an expression and writes or summarises the results.

use crate::args::RunArgs;
use crate::failure::{Failure, assignment, invalid, note, warn};
use crate::{inputs, progress};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tamis::{Backend, Code, Coordinates, Diagnostic, Kernel, Options, Schedule, Tensor, Tuned};

/// Runs the command.
pub fn run(args: &RunArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let program = tamis::notation::parse(&args.expression)?;
    let schedule = tamis::schedule::parse(&args.schedule)?;
    let backend = backend(&args.backend)?;
    let dtype = inputs::datatype(&args.tensors)?;
    let threads = tamis::threads::set(args.threads)?;
    inputs::limit_memory(args.memory_limit.as_deref())?;
    if args.time == 0 {
        return Err(invalid("--time 0", "there is nothing to time", "run at least once"));
    }
    if args.json {
        progress::hide();
    }
    let formats = inputs::formats(&program, &args.tensors.formats)?;
    let outputs = outputs(&program, args)?;
    let held = inputs::operands(&program, &args.tensors, &formats, dtype)?;
    let operands: Vec<(&str, &Tensor)> = held.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let dimensions = crate::dimensions::dimensions(&program, &args.tensors.dimensions)?;
    let results = formats.into_iter().filter(|(name, _)| inputs::is_result(&program, name));
    let mut options = Options {
        results: results.collect(),
        datatype: dtype,
        dims: dimensions.vars,
        shapes: dimensions.tensors,
        schedule,
        strict: inputs::strictness(&args.tensors),
        backend,
        ..Options::default()
    };
    if args.tune {
        let _tuning = progress::stage("tuning");
        let tuned = tamis::tune(&program, &operands, &options)?;
        if !args.json {
            show(out, &tuned)?;
        }
        options.schedule = tuned.schedule;
    }
    let (kernel, compile_ms) = compiled(program, &operands, &options)?;
    note_host(&kernel, backend);
    let warnings = kernel.warnings(&operands)?;
    warnings.iter().filter(|_| !args.quiet).for_each(warn);
    let (results, seconds) = runs(&kernel, &operands, args.time)?;
    write(&results, &outputs)?;
    let report = Report {
        compile_ms,
        seconds,
        backend,
        ran_on: kernel.ran_on().unwrap_or(backend),
        threads,
        schedule: options.schedule.to_string(),
        warnings,
    };
    match args.json {
        true => report.json(out, &results)?,
        false => report.summary(out, &results, &outputs)?,
    }
    Ok(())
}

/// The kernel of a program, and how many milliseconds its compilation took.
fn compiled(
    program: tamis::notation::Program,
    operands: &[(&str, &Tensor)],
    options: &Options,
) -> Result<(Kernel, f64), Diagnostic> {
    let _compiling = progress::stage("compiling");
    let start = Instant::now();
    let kernel = Kernel::of_program(program, operands, options)?;
    Ok((kernel, start.elapsed().as_secs_f64() * 1e3))
}

/// Writes results to their files.
fn write(results: &[(String, Tensor)], outputs: &[(String, PathBuf)]) -> Result<(), Failure> {
    for (name, path) in outputs {
        let Some((_, tensor)) = results.iter().find(|(n, _)| n == name) else { continue };
        progress::write(path, &entries(tensor)?)?;
    }
    Ok(())
}

/// Tells which kernels do not run on the GPU that was asked for.
fn note_host(kernel: &Kernel, backend: Backend) {
    if backend.target().gpu {
        tamis::explain::on_host(&kernel.compiled().functions).iter().for_each(|host| note(host));
    }
}

/// Results by name.
type Named = Vec<(String, Tensor)>;

/// The results of the last of some runs, and how long each took, in seconds.
fn runs(
    kernel: &Kernel,
    operands: &[(&str, &Tensor)],
    count: usize,
) -> Result<(Named, Vec<f64>), Failure> {
    let mut seconds = vec![];
    let mut results = vec![];
    for run in 1..=count {
        let _computing = progress::stage(match count {
            1 => "computing".to_owned(),
            runs => format!("computing, run {run} of {runs}"),
        });
        drop(std::mem::take(&mut results));
        let start = Instant::now();
        results = kernel.run(operands)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok((results, seconds))
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
            tried.iter().try_for_each(|(s, t)| writeln!(out, "  {:9.3} ms  {}", t * 1e3, text(s)))
        }
    }
}

/// What a file holds of a tensor: the stored entries, or all of them where the fill value is not
/// what files leave out.
fn entries(tensor: &Tensor) -> Result<Coordinates, Diagnostic> {
    if tensor.storage().fill.is_zero() {
        return tensor.to_coordinates();
    }
    let mut spec = tamis::format::parse("dense", Some(tensor.dims().len()))?;
    spec.datatype = Some(tensor.storage().datatype);
    spec.fill = Some(tensor.storage().fill);
    let storage = spec.resolve(tensor.storage().datatype)?;
    let dense = tamis::pack(&tensor.to_coordinates()?, &storage, tamis::Duplicates::Refuse)?;
    dense.to_coordinates()
}

struct Report {
    compile_ms: f64,
    seconds: Vec<f64>,
    backend: Backend,
    /// The backend whose code ran last.
    ran_on: Backend,
    threads: usize,
    schedule: String,
    warnings: Vec<Diagnostic>,
}

impl Report {
    fn json(&self, out: &mut dyn Write, results: &[(String, Tensor)]) -> io::Result<()> {
        let Some((_, tensor)) = results.last() else { return Ok(()) };
        let list = |items: Vec<String>| items.join(", ");
        let dims = list(tensor.dims().iter().map(u64::to_string).collect());
        let seconds = list(self.seconds.iter().map(|s| format!("{s:e}")).collect());
        let warnings = list(self.warnings.iter().map(warning).collect());
        writeln!(
            out,
            "{{\"dims\": [{dims}], \"nnz\": {}, \"seconds\": [{seconds}], \"compile_ms\": {:.3}, \
             \"backend\": \"{}\", \"ran_on\": \"{}\", \"threads\": {}, \"schedule\": \"{}\", \
             \"warnings\": [{warnings}]}}",
            tensor.nnz(),
            self.compile_ms,
            self.backend.name(),
            self.ran_on.name(),
            self.threads,
            self.schedule
        )
    }

    fn summary(
        &self,
        out: &mut dyn Write,
        results: &[(String, Tensor)],
        outputs: &[(String, PathBuf)],
    ) -> io::Result<()> {
        for (name, tensor) in results {
            let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
            let dims = if dims.is_empty() { "a scalar".to_owned() } else { dims.join(" x ") };
            writeln!(out, "{name}: {dims}, {} stored, {}", tensor.nnz(), tensor.storage())?;
            match outputs.iter().find(|(n, _)| n == name) {
                Some((_, path)) => writeln!(out, "  written to {}", path.display())?,
                None => print_entries(out, tensor)?,
            }
        }
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2];
        let runs =
            if sorted.len() > 1 { format!(" (median of {})", sorted.len()) } else { String::new() };
        let tier = match self.backend {
            Backend::Auto => format!(" ({})", self.ran_on.name()),
            _ => String::new(),
        };
        writeln!(
            out,
            "compiled in {:.3} ms, ran in {:.3} ms{runs} on {}{tier}",
            self.compile_ms,
            median * 1e3,
            self.backend.name()
        )
    }
}

/// A warning as an object of JSON.
fn warning(warning: &Diagnostic) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    let text = |text: &str| format!("\"{}\"", text.chars().map(escaped).collect::<String>());
    let help = warning.help.as_deref().unwrap_or_default();
    let (code, message) = (warning.code.name(), text(&warning.message));
    format!("{{\"code\": \"{code}\", \"message\": {message}, \"help\": {}}}", text(help))
}

/// The first entries of a tensor, read where they are.
fn print_entries(out: &mut dyn Write, tensor: &Tensor) -> io::Result<()> {
    const SHOWN: usize = 8;
    let (stored, first) = (tensor.nnz(), tensor.first_entries(SHOWN));
    for (place, value) in &first {
        let place: Vec<String> = place.iter().map(u64::to_string).collect();
        match place.is_empty() {
            true => writeln!(out, "  {value}")?,
            false => writeln!(out, "  ({}) {value}", place.join(","))?,
        }
    }
    if stored > first.len() {
        writeln!(out, "  .. {} more", stored - first.len())?;
    }
    match tensor.sum_of_floats() {
        Some(sum) if stored > 1 => writeln!(out, "  sum {sum}"),
        _ => Ok(()),
    }
}

fn outputs(
    program: &tamis::notation::Program,
    args: &RunArgs,
) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut outputs: Vec<(String, PathBuf)> = vec![];
    for text in &args.outputs {
        let (name, file) = assignment("-o", text)?;
        let results = program.results();
        let Some(result) = program.tensor(name).filter(|id| results.contains(id)) else {
            let message = format!("the expression has no result named {name}");
            return Err(Diagnostic::new(Code::UnknownTensor, message)
                .help("name a result with -o")
                .into());
        };
        let path = PathBuf::from(file);
        if tamis_io::FileFormat::of(&path).is_none() {
            return Err(invalid(
                &format!("-o {text}"),
                "the file format is unknown",
                "end the name in .tns, .mtx or .rb, with or without .gz",
            ));
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
        tamis_io::check_writable(&path, program.tensors[result].order)?;
        outputs.push((name.to_owned(), path));
    }
    Ok(outputs)
}

/// The backend of a name.
pub fn backend(name: &str) -> Result<Backend, Failure> {
    Backend::parse(name).ok_or_else(|| {
        let known: Vec<&str> = Backend::ALL.iter().map(|b| b.name()).collect();
        Diagnostic::new(Code::UnsupportedBackend, format!("there is no backend {name} here"))
            .help(format!("use one of {}", known.join(", ")))
            .into()
    })
}
