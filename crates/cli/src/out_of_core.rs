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
use crate::failure::{Failure, tell};
use crate::lists::{Disk, Kept, Readers};
use crate::ranks::Operand;
use crate::run::{Request, SHOWN, print_first, print_head, writes_standard};
use crate::{inputs, json, progress};
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tamis::budget::Reservation;
use tamis::dist::{Described, Pieces, Tasks, piece};
use tamis::ids::Id;
use tamis::{Code, Coordinates, DataType, Diagnostic, Duplicates, Scalar, Storage, Tensor, budget};
use tamis_io::{Cut, Found, ReadOptions, Spill, Symmetry, WriteOptions};

/// Bytes of code and threads.
const OWN_MEMORY: usize = 40 << 20;

/// Whether the files of a command are larger than the memory that it may use.
pub fn is_larger_than_memory(args: &RunArgs) -> bool {
    let bytes = args.tensors.inputs.iter().filter_map(|text| {
        let (_, file) = text.split_once('=')?;
        Some(Cut::open(Path::new(file.trim()), &ReadOptions::default())?.bytes())
    });
    bytes.sum::<u64>() > budget::limit() as u64
}

/// Runs the command; `failure` is what running it as a whole failed by.
pub fn run(
    args: &RunArgs,
    request: Request,
    failure: Option<Failure>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    check(args, &request)?;
    budget::release();
    let _own = own_memory()?;
    let start = Instant::now();
    let modes = match survey(args, &request)? {
        Survey::Modes(modes) => Some(modes),
        Survey::Unknown => None,
        Survey::Whole(why) => return Err(not_in_parts(failure, &why)),
    };
    let kept = Keeper { request: &request, modes, spills: RefCell::default() };
    let operands = operands(args, &request, &kept)?;
    let tasks = compiled(&request, &operands)?;
    let pieces = tasks.pieces.as_ref().map_err(|why| not_in_parts(failure, why))?;
    if !args.quiet && !args.json {
        tasks.warnings(&described(&operands))?.iter().for_each(|warning| tell(warning));
    }
    let operand_seconds = start.elapsed().as_secs_f64();
    let parts = Parts::of(&tasks, pieces, operands, kept.spills.into_inner())?;
    let start = Instant::now();
    let _computing = progress::stage("computing");
    let mut result = Summary::default();
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
    let seconds = [operand_seconds, start.elapsed().as_secs_f64()];
    match args.json {
        true => result.json(out, &name, &parts, &request, seconds),
        false if writes_standard(&request.outputs) => Ok(()),
        false => result.print(out, &name, &parts, &request, seconds),
    }
}

/// What the process takes beside arrays counts, too.
fn own_memory() -> Result<Reservation, Diagnostic> {
    let mut own = Reservation::default();
    let bytes = OWN_MEMORY.min(budget::limit() / 4);
    own.resize(bytes, "the program", "use more memory")?;
    Ok(own)
}

/// Refuses what is not done part by part.
fn check(args: &RunArgs, request: &Request) -> Result<(), Failure> {
    let format = inputs::standard_format(&args.tensors.formats);
    let is_whole = |(_, path): &&(String, PathBuf)| !tamis_io::is_streamed(path, format);
    if let Some((name, path)) = request.outputs.iter().find(is_whole) {
        let message = format!(
            "{} would be written as a whole, and the operands are larger than memory",
            path.display()
        );
        let help = format!("write -o {name}=FILE.tns or .mtx, or raise the limit");
        return Err(Diagnostic::new(Code::OutOfMemory, message).help(help).into());
    }
    if args.time > 1 {
        let message = "files that are larger than memory are read as they are computed with: such runs are not timed";
        let help = "leave out --time, or raise the limit";
        return Err(Diagnostic::new(Code::InvalidOption, message).help(help).into());
    }
    Ok(())
}

/// Why the program is not run part by part, beside what is wrong anyway.
fn not_in_parts(failure: Option<Failure>, why: &str) -> Failure {
    let told = match failure {
        Some(Failure::Diagnostic(d)) => d.message,
        Some(Failure::File(e)) => format!("{}: {}", e.path.display(), e.message),
        None => {
            let limit = budget::limit() as f64 / 1e6;
            format!("the operands are larger than the memory limit of {limit:.1} MB")
        }
    };
    let message = format!("{told}; and the program is not run part by part: {why}");
    let help = "raise the limit, or write a program or choose formats whose outermost loop is over rows of the large \
         operand and of the result";
    Diagnostic::new(Code::OutOfMemory, message).help(help).into()
}

/// By which modes operands are cut, as far as that is known before files are read.
enum Survey {
    Modes(BTreeMap<String, Option<usize>>),
    /// The program is run as a whole, for this reason.
    Whole(String),
    /// Dimensions are not known.
    Unknown,
}

fn survey(args: &RunArgs, request: &Request) -> Result<Survey, Failure> {
    let guess = Guess { is_sure: RefCell::new(true) };
    let surveyed = operands_of(args, request, Readers::Disk(&guess))
        .and_then(|operands| compiled(request, &operands));
    match (surveyed, guess.is_sure.into_inner()) {
        (Ok(tasks), is_sure) => match tasks.pieces {
            Ok(pieces) => Ok(Survey::Modes(pieces.operands)),
            Err(why) if is_sure => Ok(Survey::Whole(why)),
            Err(_) => Ok(Survey::Unknown),
        },
        (Err(failure), true) => Err(failure),
        (Err(_), false) => Ok(Survey::Unknown),
    }
}

/// What the beginnings of files tell.
struct Guess {
    /// Whether they say all dimensions.
    is_sure: RefCell<bool>,
}

impl Disk for Guess {
    fn keep(
        &self,
        _: &str,
        path: &Path,
        order: usize,
        options: &ReadOptions,
    ) -> Result<Option<Kept>, Failure> {
        let Some(cut) = Cut::open(path, options) else { return Ok(None) };
        let (own, said) = cut.said_dims();
        if own != order {
            return Ok(None);
        }
        let header = cut.header();
        let dims = match said {
            Some(dims) => dims,
            None => {
                self.is_sure.replace(false);
                let parts = cut.bytes().div_ceil(1 << 16).max(1) as usize;
                let first = cut.read(0, parts, Some(&Found::default()))?;
                cut.dims(&first.found)
            }
        };
        let several = if header.symmetry == Symmetry::General { 1 } else { 2 };
        let entries = match header.stored {
            0 => cut.bytes() / (6 * (order as u64 + 1)),
            stored => several * stored as u64,
        };
        Ok(Some(Kept { dims, entries, datatype: DataType::F64, header }))
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
        let cut = mode.and_then(|_| Cut::open(path, options));
        let Some((cut, mode)) = cut.filter(|cut| cut.said_dims().0 == order).zip(mode) else {
            return Ok(None);
        };
        let header = cut.header();
        let _reading = progress::stage(format!("reading {}", path.display()));
        let memory = budget::limit().saturating_sub(budget::used()) as u64;
        let spill = Spill::read(cut, mode, memory, &std::env::temp_dir())?;
        let (dims, entries, datatype) = (spill.dims(), spill.entries(), spill.datatype());
        self.spills.borrow_mut().insert(name.to_owned(), spill);
        Ok(Some(Kept { dims, entries, datatype, header }))
    }
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

/// A program and where its parts come from.
struct Parts<'p> {
    tasks: &'p Tasks,
    pieces: &'p Pieces,
    sources: Vec<Source>,
    /// Parts begin at multiples of this.
    unit: u64,
    /// About how many bytes each of these takes.
    weights: Vec<u64>,
}

/// An operand.
struct Source {
    name: String,
    from: From,
    storage: Storage,
    /// The mode by which it is cut, if a part does not need the whole.
    mode: Option<usize>,
}

enum From {
    Memory(Tensor),
    Disk(Spill),
}

/// Lists, what they are sorted in, and tensors take so many times the bytes of entries.
const TIMES: u64 = 3;
/// A part takes this part of the memory that is left, before its result.
const PART: u64 = 4;

impl<'p> Parts<'p> {
    fn of(
        tasks: &'p Tasks,
        pieces: &'p Pieces,
        operands: Vec<(String, Operand)>,
        mut spills: BTreeMap<String, Spill>,
    ) -> Result<Parts<'p>, Failure> {
        let outermost = tasks.storage.format.levels().first().map(|level| level.map.modes());
        if outermost.is_none_or(|modes| modes[0].index() != pieces.mode) {
            let why = format!("parts of {} would not follow each other in its result", pieces.var);
            return Err(not_in_parts(None, &why));
        }
        let mut sources = vec![];
        for (name, operand) in operands {
            let mode = pieces.operands.get(&name).copied().flatten();
            let (storage, from) = match (operand, spills.remove(&name)) {
                (Operand::OnDisk(described), Some(spill)) => {
                    if mode.is_some_and(|mode| mode != spill.mode()) {
                        let why = format!("{name} would be read by its mode {}", spill.mode() + 1);
                        return Err(not_in_parts(None, &why));
                    }
                    (described.storage, From::Disk(spill))
                }
                (Operand::Whole(tensor), _) => (tensor.storage().clone(), From::Memory(tensor)),
                _ => unreachable!("operands are in memory or on disk"),
            };
            sources.push(Source { name, from, storage, mode }.loaded()?);
        }
        let step = |source: &Source| match &source.from {
            From::Disk(spill) => spill.step(),
            From::Memory(_) => 1,
        };
        // Steps are powers of two.
        let step = sources.iter().map(step).max().unwrap_or(1);
        let shared = 1 << pieces.block.trailing_zeros().min(step.trailing_zeros());
        let unit = (pieces.block / shared).saturating_mul(step);
        let mut weights = vec![0u64; pieces.size.div_ceil(unit) as usize];
        for source in &sources {
            source.weigh(unit, &mut weights);
        }
        if tasks.storage.format.is_full() {
            let dims = tasks.dims.iter().enumerate();
            let row: u64 = dims.filter(|(m, _)| *m != pieces.mode).map(|(_, &d)| d).product();
            let entry = 8 * (tasks.dims.len() as u64 + 2);
            weights.iter_mut().for_each(|w| *w += row.saturating_mul(entry * unit));
        }
        Ok(Parts { tasks, pieces, sources, unit, weights })
    }

    /// Runs one part after the other, smaller ones where memory is too small, and gives their entries away; how many
    /// parts there were is counted by who takes them.
    fn run(
        &self,
        take: &mut dyn FnMut(&Tensor, &Coordinates) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let left = budget::limit().saturating_sub(budget::used()) as u64;
        let (mut most, mut at) = (left / PART, 0);
        loop {
            let end = self.end(at, most);
            let interval = at * self.unit..(end * self.unit).min(self.pieces.size);
            match self.part(interval) {
                Ok((part, list)) => take(&part, &list)?,
                Err(failure) if failure.is_of_memory() && end > at + 1 => {
                    budget::release();
                    most = self.weights[at as usize..end as usize].iter().sum::<u64>() / 2;
                    continue;
                }
                Err(failure) => return Err(failure),
            }
            at = end;
            if at >= self.weights.len() as u64 {
                return Ok(());
            }
        }
    }

    /// Where a part of at most so many bytes ends that begins at a unit: behind that at least.
    fn end(&self, at: u64, most: u64) -> u64 {
        let mut bytes = 0u64;
        let fits = |weight: &&u64| {
            bytes = bytes.saturating_add(**weight);
            bytes <= most
        };
        let count = self.weights[at as usize..].iter().take_while(fits).count() as u64;
        (at + count.max(1)).min(self.weights.len() as u64)
    }

    /// What the program gives for an interval.
    fn part(&self, interval: Range<u64>) -> Result<(Tensor, Coordinates), Failure> {
        let mut own = vec![];
        for source in &self.sources {
            if let Some(mode) = source.mode {
                own.push((source.name.as_str(), source.piece(mode, interval.clone())?));
            }
        }
        let whole = self.sources.iter().filter_map(|source| match (&source.from, source.mode) {
            (From::Memory(tensor), None) => Some((source.name.as_str(), tensor)),
            _ => None,
        });
        let pieces = own.iter().map(|(name, tensor)| (*name, tensor));
        let operands: Vec<(&str, &Tensor)> = whole.chain(pieces).collect();
        let mut results = self.tasks.kernel.run(&operands)?;
        drop(own);
        let (_, part) = results.pop().expect("a program with pieces has a result");
        let (_, mut crds, vals) = part.to_coordinates()?.into_parts();
        crds[self.pieces.mode].iter_mut().for_each(|at| *at += interval.start);
        Ok((part, Coordinates::new(self.tasks.dims.clone(), crds, vals)?))
    }
}

impl Source {
    /// The same in memory, if each part needs all of it.
    fn loaded(self) -> Result<Source, Failure> {
        match &self.from {
            From::Disk(spill) if self.mode.is_none() => {
                let list = spill.list(0..spill.dims()[spill.mode()])?;
                let tensor = tamis::pack(&list, &self.storage, Duplicates::Sum)?;
                Ok(Source { from: From::Memory(tensor), ..self })
            }
            _ => Ok(self),
        }
    }

    /// An interval of a mode.
    fn piece(&self, mode: usize, interval: Range<u64>) -> Result<Tensor, Failure> {
        match &self.from {
            From::Memory(tensor) => Ok(piece(tensor, mode, interval)?),
            From::Disk(spill) => {
                let list = spill.list(interval)?;
                Ok(tamis::pack(&list, &self.storage, Duplicates::Sum)?)
            }
        }
    }

    /// Adds the bytes that units take.
    fn weigh(&self, unit: u64, weights: &mut [u64]) {
        let Some(mode) = self.mode else { return };
        let (dims, entries) = match &self.from {
            From::Disk(spill) => (spill.dims(), spill.weights(unit)),
            From::Memory(tensor) => {
                let each = tensor.vals().len() as u64 / weights.len().max(1) as u64;
                (tensor.dims().to_vec(), vec![each; weights.len()])
            }
        };
        let row: u64 = match self.storage.format.is_full() {
            true => {
                let others = dims.iter().enumerate().filter(|(m, _)| *m != mode);
                others.map(|(_, &d)| d).product()
            }
            // Positions.
            false => 1,
        };
        let entry = 8 * (dims.len() as u64 + 1) * TIMES;
        for (weight, entries) in weights.iter_mut().zip(entries) {
            let bytes = entries * entry + row.saturating_mul(8 * unit);
            *weight = weight.saturating_add(bytes);
        }
    }
}

/// What is shown of a result of which no more is kept.
#[derive(Default)]
struct Summary {
    parts: usize,
    stored: usize,
    first: Vec<(Vec<u64>, Scalar)>,
    /// The sum of floats, in their order.
    sum: Option<f64>,
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
        [reading, computing]: [f64; 2],
    ) -> Result<(), Failure> {
        let Tasks { dims, storage, .. } = parts.tasks;
        print_head(out, name, dims, (self.stored, storage))?;
        match request.outputs.first() {
            Some((_, path)) => writeln!(out, "  written to {}", path.display())?,
            None => print_first(out, self.stored, &self.first, self.sum)?,
        }
        let (count, var) = (self.parts, &parts.pieces.var);
        let backend = request.options.backend.name();
        writeln!(
            out,
            "read in {reading:.3} s, ran part by part in {computing:.3} s, {count} of {var}, on {backend}"
        )?;
        Ok(())
    }

    fn json(
        &self,
        out: &mut dyn Write,
        name: &str,
        parts: &Parts<'_>,
        request: &Request,
        [reading, computing]: [f64; 2],
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
            "parts": self.parts,
            "backend": request.options.backend.name(),
            "ran_on": [ran_on],
            "threads": request.threads,
            "schedule": request.options.schedule.to_string(),
            "operand_seconds": reading,
            "run_seconds": [computing],
        });
        Ok(json::print(out, object)?)
    }
}
