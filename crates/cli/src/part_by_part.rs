//! Parts of a program that run on operands which are larger than memory.
//!
//! ```text
//! y(i) = A(i,j) * x(j)     A: on disk, x: in memory      rows 0..5000 of A as a matrix of their own, all of x
//! ```

use crate::failure::Failure;
use crate::ranks::Operand;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use tamis::dist::{Pieces, Tasks, piece};
use tamis::ids::Id;
use tamis::{Code, Coordinates, Diagnostic, Duplicates, Storage, Tensor, budget};
use tamis_io::Spill;

/// The rows that parts begin at are at most so many, as a power of two.
const MOST_UNITS: u32 = 16;

/// A program and where its parts come from.
pub struct Parts<'p> {
    /// The program.
    pub tasks: &'p Tasks,
    /// What a part needs.
    pub pieces: &'p Pieces,
    /// The operands.
    pub sources: Vec<Source>,
    /// Parts begin at multiples of this.
    unit: u64,
    /// About how many bytes each of these takes.
    weights: Vec<u64>,
}

/// An operand.
pub struct Source {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub from: From,
    /// How it is stored.
    pub storage: Storage,
    /// The mode by which it is cut, if a part does not need the whole.
    mode: Option<usize>,
}

/// Where an operand is.
pub enum From {
    /// In memory, as a whole.
    Memory(Tensor),
    /// On disk.
    Disk(Spill),
}

/// Lists, what they are sorted in, and tensors take so many times the bytes of entries.
const TIMES: u64 = 3;
/// Parts that run at the same time take this part of the memory that is left, before their results.
const PART: u64 = 2;
/// So many parts run at the same time.
const WORKERS: usize = 2;

/// What a part gives: the unit behind it, its result, and the entries of that where they are in the whole.
type Given = Result<(u64, (Tensor, Coordinates)), Failure>;
/// What takes that.
pub type Take<'t> = dyn FnMut(&Tensor, &Coordinates) -> Result<(), Failure> + 't;

impl<'p> Parts<'p> {
    /// The parts of a program and its operands, some of which are kept on disk.
    pub fn of(
        tasks: &'p Tasks,
        pieces: &'p Pieces,
        operands: Vec<(String, Operand)>,
        mut spills: BTreeMap<String, Spill>,
    ) -> Result<Parts<'p>, Failure> {
        check_order(tasks, pieces).map_err(|why| not_in_parts(None, why))?;
        let mut sources = vec![];
        for (name, operand) in operands {
            let mode = pieces.operands.get(&name).copied().flatten();
            let (storage, from) = match (operand, spills.remove(&name)) {
                (Operand::OnDisk(described), Some(spill)) => {
                    if mode.is_some_and(|mode| mode != spill.mode()) {
                        let why = format!("{name} would be read by its mode {}", spill.mode() + 1);
                        return Err(not_in_parts(None, WhyNot::of(why)));
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
        let step = step.max((pieces.size >> MOST_UNITS).next_power_of_two());
        let shared = 1 << pieces.block.trailing_zeros().min(step.trailing_zeros());
        let unit = (pieces.block / shared).saturating_mul(step);
        let mut weights = vec![0u64; pieces.size.div_ceil(unit) as usize];
        for source in &sources {
            source.weigh(unit, &mut weights);
        }
        if tasks.storage.format.is_full() {
            let dims = tasks.dims.iter().enumerate();
            let row = dims
                .filter(|(m, _)| *m != pieces.mode)
                .map(|(_, &d)| d)
                .fold(1, u64::saturating_mul);
            let entry = 8 * (tasks.dims.len() as u64 + 2);
            let bytes = row.saturating_mul(entry.saturating_mul(unit));
            weights.iter_mut().for_each(|w| *w = w.saturating_add(bytes));
        }
        Ok(Parts { tasks, pieces, sources, unit, weights })
    }

    /// Runs parts, some at the same time, and gives away what they give in their order.
    pub fn run(&self, take: &mut Take<'_>) -> Result<(), Failure> {
        let (mut at, count) = (0, self.weights.len() as u64);
        while let Some(_too_large) = self.several(&mut at, take)? {
            // Once more, now that no other part takes memory.
            budget::release();
            let (part, list) = self.part(self.interval(&(at..at + 1)))?;
            take(&part, &list)?;
            at += 1;
            if at >= count {
                break;
            }
        }
        Ok(())
    }

    /// Runs parts from a unit on, some at the same time, until all were taken, or up to a unit that did not fit in
    /// memory beside others.
    fn several(&self, at: &mut u64, take: &mut Take<'_>) -> Result<Option<Failure>, Failure> {
        let left = budget::limit().saturating_sub(budget::used()) as u64;
        let (most, mut parts, mut begin) = (left / (PART * WORKERS as u64), vec![], *at);
        while parts.is_empty() || begin < self.weights.len() as u64 {
            let end = self.end(begin, most);
            parts.push(begin..end);
            begin = end;
        }
        let parts = &parts;
        thread::scope(|scope| {
            let mut received = vec![];
            for first in 0..WORKERS.min(parts.len()) {
                let (send, receive) = sync_channel(0);
                let working = move || {
                    let own = parts.iter().skip(first).step_by(WORKERS);
                    // Nobody receives any more once a part failed.
                    let _ = own.cloned().try_for_each(|units| {
                        self.halves(units, &send)?;
                        send.send(None).map_err(drop)
                    });
                };
                let spawned = thread::Builder::new().spawn_scoped(scope, working);
                spawned.map_err(|error| no_thread(&error))?;
                received.push(receive);
            }
            for part in 0..parts.len() {
                while let Ok(Some(given)) = received[part % WORKERS].recv() {
                    let (end, (part, list)) = match given {
                        Err(failure) if failure.is_of_memory() => return Ok(Some(failure)),
                        given => given?,
                    };
                    take(&part, &list)?;
                    *at = end;
                }
            }
            Ok(None)
        })
    }

    /// Runs a part, or its halves one after the other where memory is too small; an error if what they give is not
    /// wanted any more.
    fn halves(&self, units: Range<u64>, send: &SyncSender<Option<Given>>) -> Result<(), ()> {
        match self.part(self.interval(&units)) {
            Err(failure) if failure.is_of_memory() && units.end > units.start + 1 => {
                budget::release();
                let middle = units.start.midpoint(units.end);
                self.halves(units.start..middle, send)?;
                self.halves(middle..units.end, send)
            }
            given => {
                let is_over = given.is_err();
                send.send(Some(given.map(|given| (units.end, given)))).map_err(drop)?;
                if is_over { Err(()) } else { Ok(()) }
            }
        }
    }

    /// The coordinates of units.
    fn interval(&self, units: &Range<u64>) -> Range<u64> {
        let end = units.end.saturating_mul(self.unit).min(self.pieces.size);
        units.start.saturating_mul(self.unit).min(end)..end
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
                let tensor = self.packed(&list)?;
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
                Ok(self.packed(&list)?)
            }
        }
    }

    fn packed(&self, list: &Coordinates) -> Result<Tensor, Diagnostic> {
        let of_operand =
            |d: Diagnostic| Diagnostic { message: format!("{}: {}", self.name, d.message), ..d };
        tamis::pack(list, &self.storage, Duplicates::Sum).map_err(of_operand)
    }

    /// Whether every coordinate of a mode has a position, stored or not.
    fn has_all(&self, mode: usize) -> bool {
        let mut levels = self.storage.format.levels().iter();
        let first = levels.find(|level| level.map.modes().iter().any(|m| m.index() == mode));
        first.is_none_or(|level| level.kind.properties().full)
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
                others.map(|(_, &d)| d).fold(1, u64::saturating_mul)
            }
            // Positions, if there are some of each coordinate.
            false => u64::from(self.has_all(mode)),
        };
        let entry = 8 * (dims.len() as u64 + 1) * TIMES;
        for (weight, entries) in weights.iter_mut().zip(entries) {
            let positions = row.saturating_mul(unit.saturating_mul(8));
            let bytes = entries.saturating_mul(entry).saturating_add(positions);
            *weight = weight.saturating_add(bytes);
        }
    }
}

/// Refuses parts whose results would not follow each other in that of the whole.
pub fn check_order(tasks: &Tasks, pieces: &Pieces) -> Result<(), WhyNot> {
    let outermost = tasks.storage.format.levels().first().map(|level| level.map.modes());
    if outermost.is_none_or(|modes| modes[0].index() != pieces.mode) {
        let why = format!("parts of {} would not follow each other in its result", pieces.var);
        return Err(WhyNot::of(why));
    }
    Ok(())
}

/// Why a program is not run part by part, and the way out.
#[derive(Clone)]
pub struct WhyNot {
    /// The reason.
    pub why: String,
    /// The way out.
    pub help: String,
}

impl WhyNot {
    /// A reason that lies in the program.
    pub fn of(why: impl Into<String>) -> WhyNot {
        let help = "raise the limit, or write a program or choose formats whose outermost loop is over rows of the \
             large operand and of the result";
        WhyNot { why: why.into(), help: help.to_owned() }
    }
}

/// What is told of memory that is too small, with why the program is not run part by part.
pub fn not_in_parts(failure: Option<Failure>, WhyNot { why, help }: WhyNot) -> Failure {
    let told = failure.map_or_else(
        || {
            let limit = budget::limit() as f64 / 1e6;
            format!("the operands are larger than the memory limit of {limit:.1} MB")
        },
        |failure| failure.message(),
    );
    let message = format!("{told}; and the program is not run part by part: {why}");
    Diagnostic::new(Code::OutOfMemory, message).help(help).into()
}

fn no_thread(error: &io::Error) -> Failure {
    let message = format!("no thread can be started: {error}");
    Diagnostic::new(Code::OutOfMemory, message).help("end other programs").into()
}
