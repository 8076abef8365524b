//! `tamis run --memory-limit` on files that are larger than memory: part by part.
//!
//! ```text
//! y(i) = A(i,j) * x(j)     A.mtx is read once and kept on disk by rows; then, for some rows after the other:
//!                          these rows of A are packed, multiplied by all of x, and their y is written
//! ```
//!
//! What a part needs and gives is that of a task of a task graph ([`Tasks`]), as with Dask; parts run one after the other.
//! Results have the bits of the whole, for the reason that is told there.

use crate::args::RunArgs;
use crate::failure::{Failure, in_options, noted, tell};
use crate::lists::{Disk, Kept, Readers};
use crate::part_by_part::{From, Parts, WhyNot, check_order, not_in_parts};
use crate::ranks::Operand;
use crate::run::{Request, SHOWN, print_first, print_head, writes_standard};
use crate::streams::{self, Until};
use crate::{inputs, json, lists, progress};
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tamis::budget::Reservation;
use tamis::dist::{Described, Tasks};
use tamis::ids::Id;
use tamis::{Code, Coordinates, DataType, Diagnostic, Scalar, Tensor, budget};
use tamis_io::{
    Field, FileError, FileErrorCode, Found, ReadOptions, Spill, Symmetry, WriteOptions,
};

/// Bytes of code and threads.
const OWN_MEMORY: usize = 40 << 20;

/// How many bytes the files of a command have that can be cut; none if there are no such files.
pub fn bytes_of_text(args: &RunArgs) -> Option<u64> {
    let bytes = args.tensors.inputs.iter().filter_map(|text| {
        let (_, file) = text.split_once('=')?;
        Some(streams::cut(Path::new(file.trim()), &ReadOptions::default())?.bytes())
    });
    bytes.reduce(|some, others| some + others)
}

/// How operands are cut, as far as that is known before files are read.
pub struct Plan {
    /// The modes by which they are, if dimensions are known; none of one that each part needs as a whole.
    modes: Option<BTreeMap<String, Option<usize>>>,
    /// The variable whose loop is cut, if dimensions are known.
    pub var: Option<String>,
}

impl Plan {
    /// The plan of a command, or why it is not run part by part; a failure that a run as a whole would end in, too.
    pub fn of(args: &RunArgs, request: &Request) -> Result<Result<Plan, WhyNot>, Failure> {
        if let Some(why) = refused(args, request) {
            return Ok(Err(why));
        }
        let guess = Guess { request, is_sure: Cell::new(true) };
        let surveyed = operands_of(args, request, Readers::Disk(&guess))
            .and_then(|operands| compiled(request, &operands));
        let pieces = surveyed.map(|tasks| {
            let pieces = tasks.pieces.clone().map_err(WhyNot::of)?;
            check_order(&tasks, &pieces).map(|()| pieces)
        });
        match (pieces, guess.is_sure.into_inner()) {
            (Ok(Ok(pieces)), _) => {
                Ok(Ok(Plan { modes: Some(pieces.operands), var: Some(pieces.var) }))
            }
            (Ok(Err(why)), true) => Ok(Err(why)),
            (Err(failure), true) if failure.is_of_memory() => {
                Ok(Err(WhyNot::of(failure.message())))
            }
            (Err(failure), is_sure) if is_sure || is_of_request(&failure) => Err(failure),
            _ => Ok(Ok(Plan { modes: None, var: None })),
        }
    }
}

/// Whether a failure does not depend on dimensions.
fn is_of_request(failure: &Failure) -> bool {
    match failure {
        Failure::Diagnostic(d) => d.code == Code::OrderMismatch,
        Failure::File(_) => !failure.is_of_memory(),
    }
}

/// What options say against running part by part.
fn refused(args: &RunArgs, request: &Request) -> Option<WhyNot> {
    let format = inputs::standard_format(&args.tensors.formats);
    let is_whole = |(_, path): &&(String, PathBuf)| !tamis_io::is_streamed(path, format);
    if let Some((name, path)) = request.outputs.iter().find(is_whole) {
        return Some(WhyNot {
            why: format!("{} is written as a whole", path.display()),
            help: format!("write -o {name}=FILE.tns or .mtx, or raise the limit"),
        });
    }
    (args.time > 1).then(|| WhyNot {
        why: format!("each of {} runs would read the files again", args.time),
        help: "leave out --time, or raise the limit".to_owned(),
    })
}

/// Runs the command; `failure` is what running it as a whole failed by.
pub fn run(
    args: &RunArgs,
    request: Request,
    plan: Plan,
    failure: Option<Failure>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    streams::keep(Until::Next);
    budget::release();
    budget::return_freed();
    let _own = own_memory()?;
    let start = Instant::now();
    let kept = Keeper { request: &request, modes: plan.modes, spills: RefCell::default() };
    let operands = operands(args, &request, &kept)?;
    let operand_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let tasks = compiled(&request, &operands)?;
    let compile_seconds = start.elapsed().as_secs_f64();
    let pieces =
        tasks.pieces.as_ref().map_err(|why| not_in_parts(failure, WhyNot::of(why.clone())))?;
    let warnings = tasks.warnings(&described(&operands))?;
    if !args.quiet && !args.json {
        warnings.iter().for_each(|w| tell(&in_options(w)));
    }
    let parts = Parts::of(&tasks, pieces, operands, kept.spills.into_inner())?;
    let start = Instant::now();
    let _computing = progress::stage("computing");
    let mut result = Summary { operand_seconds, compile_seconds, warnings, ..Summary::default() };
    let name = result_name(&tasks);
    match request.outputs.first() {
        Some((_, path)) => {
            let fill = Some(tasks.storage.fill).filter(|fill| !fill.is_zero());
            let format = inputs::standard_format(&args.tensors.formats);
            let options = WriteOptions { fill, format, ..WriteOptions::default() };
            let about = (&tasks.dims[..], tasks.storage.datatype);
            tamis_io::write_in_parts(path, about, &options, |write| {
                parts.run(&mut |part, list| {
                    result.add(part, list);
                    Ok(write(list)?)
                })
            })?;
        }
        None => parts.run(&mut |part, list| {
            result.add(part, list);
            Ok(())
        })?,
    }
    result.run_seconds = start.elapsed().as_secs_f64();
    match args.json {
        true => result.json(out, &name, &parts, &request),
        false if writes_standard(&request.outputs) => Ok(()),
        false => result.print(out, &name, &parts, &request),
    }
}

/// What the process takes beside arrays counts, too.
fn own_memory() -> Result<Reservation, Diagnostic> {
    let mut own = Reservation::default();
    let bytes = OWN_MEMORY.min(budget::limit() / 4);
    own.resize(bytes, "the program", "use more memory")?;
    Ok(own)
}

/// What the beginnings of files tell.
struct Guess<'g> {
    request: &'g Request,
    /// Whether they say all dimensions.
    is_sure: Cell<bool>,
}

impl Disk for Guess<'_> {
    fn keep(
        &self,
        name: &str,
        path: &Path,
        order: usize,
        options: &ReadOptions,
    ) -> Result<Option<Kept>, Failure> {
        let Some(cut) = streams::cut(path, options) else { return Ok(None) };
        let (own, said) = cut.said_dims();
        if own < order {
            return Err(lists::of_other_order(&self.request.program, (name, path), order, own));
        }
        let header = cut.header();
        let dims = match said {
            Some(dims) => dims,
            None => {
                self.is_sure.set(self.is_sure.get() && own != order);
                let parts = cut.bytes().div_ceil(1 << 16).max(1) as usize;
                let first = cut.read(0, parts, Some(&Found::default()))?;
                cut.dims(&first.found)
            }
        };
        if own != order {
            // Modes of one coordinate may be left out; those of the beginning do not become shorter.
            return match lists::squeezed(&dims, order) {
                false => {
                    Err(lists::of_other_order(&self.request.program, (name, path), order, own))
                }
                true => Ok(None),
            };
        }
        let several = if header.symmetry == Symmetry::General { 1 } else { 2 };
        let entries = match header.stored {
            0 => cut.bytes() / (6 * (order as u64 + 1)),
            stored => several * stored as u64,
        };
        let datatype = match header.field {
            Field::Integer => DataType::I64,
            Field::Unsigned => DataType::U64,
            Field::Complex => DataType::C128,
            Field::Real | Field::Pattern => DataType::F64,
        };
        Ok(Some(Kept { dims, entries, datatype, header }))
    }
}

/// Keeps files on disk.
struct Keeper<'k> {
    request: &'k Request,
    /// The modes by which operands are cut, if that is known; none where a part needs the whole.
    modes: Option<BTreeMap<String, Option<usize>>>,
    spills: RefCell<BTreeMap<String, Spill>>,
}

impl Disk for Keeper<'_> {
    fn keep(
        &self,
        name: &str,
        path: &Path,
        order: usize,
        options: &ReadOptions,
    ) -> Result<Option<Kept>, Failure> {
        let outermost = || {
            let format = &self.request.formats.get(name)?.format;
            Some(format.levels().first()?.map.modes().first()?.index())
        };
        let mode = match &self.modes {
            Some(modes) => modes.get(name).copied().flatten(),
            None => Some(outermost().unwrap_or(0)),
        };
        let cut = mode.and_then(|_| streams::cut(path, options));
        let Some((cut, mode)) = cut.filter(|cut| cut.said_dims().0 == order).zip(mode) else {
            return Ok(None);
        };
        let header = cut.header();
        let _reading = progress::stage(format!("reading {}", path.display()));
        let memory = budget::limit().saturating_sub(budget::used()) as u64;
        let spill = Spill::read(cut, mode, memory, &folder()?)?;
        let (dims, entries, datatype) = (spill.dims(), spill.entries(), spill.datatype());
        self.spills.borrow_mut().insert(name.to_owned(), spill);
        Ok(Some(Kept { dims, entries, datatype, header }))
    }
}

/// The folder for temporary files.
fn folder() -> Result<PathBuf, Failure> {
    let folder = tamis::temporary::system_folder();
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(Failure::File(FileError {
        code: FileErrorCode::NotWritable,
        path: folder,
        line: None,
        column: None,
        message: "what is larger than memory is kept in this folder, and it is none".to_owned(),
        help: "name a folder with room in TMPDIR".to_owned(),
    }))
}

fn operands(
    args: &RunArgs,
    request: &Request,
    keeper: &Keeper<'_>,
) -> Result<Vec<(String, Operand)>, Failure> {
    operands_of(args, request, Readers::Disk(keeper))
}

fn operands_of(
    args: &RunArgs,
    request: &Request,
    readers: Readers<'_>,
) -> Result<Vec<(String, Operand)>, Failure> {
    let dtype = request.options.datatype;
    inputs::operands(&request.program, &args.tensors, &request.formats, dtype, readers)
}

/// What is known of operands.
fn described(operands: &[(String, Operand)]) -> Vec<(&str, Described)> {
    let of = |operand: &Operand| match operand {
        Operand::OnDisk(described) => described.clone(),
        Operand::Whole(tensor) => Described {
            dims: tensor.dims().to_vec(),
            storage: tensor.storage().clone(),
            stored: Some(tensor.vals().len()),
        },
        Operand::OfRanks(_) => unreachable!("there is one process"),
    };
    operands.iter().map(|(name, operand)| (name.as_str(), of(operand))).collect()
}

fn compiled(request: &Request, operands: &[(String, Operand)]) -> Result<Tasks, Failure> {
    let described = described(operands);
    Ok(Tasks::compile(request.program.clone(), &described, &request.options)?)
}

fn result_name(tasks: &Tasks) -> String {
    let program = tasks.kernel.program();
    let last = program.statements.last().map(|statement| statement.result.tensor);
    last.map_or(String::new(), |id| program.tensors[id].name.clone())
}

/// What is shown of a result of which no more is kept.
#[derive(Default)]
struct Summary {
    parts: usize,
    stored: usize,
    first: Vec<(Vec<u64>, Scalar)>,
    /// The sum of floats, in their order.
    sum: Option<f64>,
    /// Reading, and keeping on disk.
    operand_seconds: f64,
    compile_seconds: f64,
    run_seconds: f64,
    warnings: Vec<Diagnostic>,
}

impl Summary {
    fn add(&mut self, part: &Tensor, list: &Coordinates) {
        self.parts += 1;
        self.stored += part.nnz();
        let more = SHOWN.saturating_sub(self.first.len()).min(list.vals().len());
        let entry = |n: usize| {
            let place = list.crds().iter().map(|crds| crds[n]).collect();
            (place, list.vals().get(n))
        };
        self.first.extend((0..more).map(entry));
        if let tamis::Values::F64(vals) = list.vals() {
            let before = self.sum.unwrap_or(-0.0);
            self.sum = Some(vals.iter().fold(before, |sum, x| sum + x));
        }
    }

    fn print(
        &self,
        out: &mut dyn Write,
        name: &str,
        parts: &Parts<'_>,
        request: &Request,
    ) -> Result<(), Failure> {
        let Tasks { dims, storage, .. } = parts.tasks;
        print_head(out, name, dims, (self.stored, storage))?;
        match request.outputs.first() {
            Some((_, path)) => writeln!(out, "  written to {}", path.display())?,
            None => {
                let sum = self.sum.filter(|_| storage.fill.is_zero());
                print_first(out, self.stored, &self.first, sum)?;
            }
        }
        let (count, var) = (self.parts, &parts.pieces.var);
        let (reading, running) = (self.operand_seconds, self.run_seconds);
        let backend = request.options.backend.name();
        writeln!(
            out,
            "read in {reading:.3} s, ran part by part in {running:.3} s, {count} of {var}, on {backend}"
        )?;
        Ok(())
    }

    fn json(
        &self,
        out: &mut dyn Write,
        name: &str,
        parts: &Parts<'_>,
        request: &Request,
    ) -> Result<(), Failure> {
        let Tasks { dims, storage, kernel, .. } = parts.tasks;
        let operands = parts.sources.iter().map(|source| match &source.from {
            From::Memory(tensor) => json::tensor(&source.name, tensor),
            From::Disk(spill) => {
                let stored = spill.entries() as usize;
                json::described(&source.name, &spill.dims(), &source.storage, stored)
            }
        });
        let ran_on = kernel.ran_on().unwrap_or(request.options.backend).name();
        let object = json!({
            "results": [json::described(name, dims, storage, self.stored)],
            "operands": operands.collect::<Vec<_>>(),
            "kernels": json::kernels(kernel, request.options.backend),
            "parts": self.parts,
            "backend": request.options.backend.name(),
            "ran_on": [ran_on],
            "threads": request.threads,
            "ranks": 1,
            "bytes_sent": 0,
            "schedule": request.options.schedule.to_string(),
            "operand_seconds": self.operand_seconds,
            "compile_seconds": self.compile_seconds,
            "run_seconds": [self.run_seconds],
            "median_run_seconds": self.run_seconds,
            "warnings": self.warnings.iter().map(json::diagnostic).collect::<Vec<_>>(),
            "notes": noted(),
            "profile": null,
        });
        Ok(json::print(out, object)?)
    }
}
