//! Entries of a file that is larger than memory: read once, and kept on disk by intervals of
//! coordinates.
//!
//! ```text
//! a run for each part of the file:  entries by intervals of one mode, in the order of the file within each
//! rows 0..4096 of all runs:         the entries of these rows, in the order of the file where that matters
//! ```
//!
//! Runs are columns of numbers in a temporary file (distribution sort; Knuth, The Art of Computer Programming 3,
//! 5.4), which goes with the process at the latest.

use crate::at::read_exact_at;
use crate::error::{FileError, FileErrorCode, Flaw};
use crate::parts::{Cut, Found, Part};
use crate::save::not_writable;
use crate::source::not_readable;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use tamis_runtime::budget::{self, Reservation};
use tamis_runtime::temporary::{Readers, Temporary};
use tamis_runtime::{Coordinates, DataType, Values};

/// A run has at most so many intervals, as a power of two.
const INTERVALS: u32 = 14;
/// So many entries are written at once.
const BATCH: usize = 1 << 13;
/// Bytes that a part of the file has at least and at most.
const LEAST: u64 = 1 << 14;
const MOST: u64 = 1 << 28;
/// The list of a part of the file is at most about this part of the memory: it has room to grow, and some are read
/// while another one is sorted.
const PART: u64 = 16;
/// So many parts are read at the same time.
const READERS: usize = 2;

/// A file's entries on disk.
#[derive(Debug)]
pub struct Spill {
    cut: Cut,
    all: Found,
    mode: usize,
    /// Where the entries are kept.
    folder: PathBuf,
    /// Written at its end, and read anywhere.
    file: File,
    reader: File,
    at: u64,
    runs: Vec<Run>,
    entries: u64,
}

/// Entries of a part of the file.
#[derive(Debug)]
struct Run {
    at: u64,
    count: usize,
    /// Bits of a coordinate below the number of its interval.
    shift: u32,
    /// Where the entries of each interval begin.
    begins: Vec<u32>,
    /// The types of coordinates, by mode.
    widths: Vec<DataType>,
    datatype: DataType,
    /// Keeps `begins` counted.
    _counted: Reservation,
}

impl Spill {
    /// Reads a file and keeps its entries in a folder, by their coordinates of a mode. Memory for so many bytes is
    /// used meanwhile, for the most part.
    ///
    /// # Errors
    /// When the file is not what its format demands or stores both sides of a symmetric matrix, which are compared as
    /// a whole; or the folder has no room.
    pub fn read(cut: Cut, mode: usize, memory: u64, folder: &Path) -> Result<Spill, FileError> {
        let refused = |error| not_writable(folder, &error);
        let (temporary, file) = Temporary::file(folder, Readers::User).map_err(refused)?;
        let reader = File::open(temporary.path()).map_err(refused)?;
        // Without a name, the file goes with the process, however that ends.
        drop(temporary);
        let share = (memory / PART).clamp(LEAST, MOST);
        let parts = cut.list_bytes().div_ceil(share).clamp(1, cut.bytes().max(1)) as usize;
        let (runs, all, folder) = (vec![], Found::default(), folder.to_path_buf());
        let mut spill = Spill { cut, all, mode, folder, file, reader, at: 0, runs, entries: 0 };
        spill.read_parts(parts)?;
        match spill.cut.is_two_sided(&spill.all) {
            true => Err(two_sided(spill.cut.path())),
            false => Ok(spill),
        }
    }

    /// Reads parts while those before them are sorted and written, in their order.
    fn read_parts(&mut self, parts: usize) -> Result<(), FileError> {
        let cut = self.cut.clone();
        // What is before a part of an array is known once the one before it is read.
        let readers = if cut.needs_before() { 1 } else { READERS.min(parts) };
        let reading = |first: usize, send: SyncSender<Result<Part, FileError>>| {
            let mut before = Found::default();
            for part in (first..parts).step_by(readers) {
                let read = cut.read(part, parts, cut.needs_before().then_some(&before));
                read.iter().for_each(|part| before.join(&part.found));
                let is_over = read.is_err();
                if send.send(read).is_err() || is_over {
                    break;
                }
            }
        };
        let failure = thread::scope(|scope| {
            let mut received = vec![];
            for first in 0..readers {
                let (send, receive) = sync_channel(0);
                let reader = move || reading(first, send);
                let spawned = thread::Builder::new().spawn_scoped(scope, reader);
                spawned.map_err(|error| no_thread(cut.path(), &error))?;
                received.push(receive);
            }
            for part in 0..parts {
                let read = received[part % readers].recv().expect("a reader tells of its parts");
                match read {
                    Ok(part) => self.keep(part)?,
                    Err(error) => return Ok(Some((part, error))),
                }
            }
            Ok(None)
        })?;
        let failure = match failure {
            // There was no room for this part beside others.
            Some((first, error)) if error.code == FileErrorCode::TooLarge => {
                self.read_alone(first, parts)?
            }
            Some((_, error)) => Some(error),
            None => None,
        };
        if failure.is_none() && self.cut.is_sound(&self.all) {
            return Ok(());
        }
        // Parts do not know their lines.
        Err(self.cut.flaw(parts, &self.all))
    }

    /// Reads the parts from one on, one after the other: an error is of memory, or one of the file.
    fn read_alone(&mut self, first: usize, parts: usize) -> Result<Option<FileError>, FileError> {
        for part in first..parts {
            let before = self.cut.needs_before().then(|| self.all.clone());
            match self.cut.read(part, parts, before.as_ref()) {
                Ok(part) => self.keep(part)?,
                Err(error) if error.code == FileErrorCode::TooLarge => return Err(error),
                Err(error) => return Ok(Some(error)),
            }
        }
        Ok(None)
    }

    fn keep(&mut self, part: Part) -> Result<(), FileError> {
        self.all.join(&part.found);
        self.add(&part.into_coordinates())
    }

    /// The dimensions of the tensor.
    pub fn dims(&self) -> Vec<u64> {
        self.cut.dims(&self.all)
    }

    /// The mode by whose coordinates entries are found.
    pub fn mode(&self) -> usize {
        self.mode
    }

    /// How many entries there are, of a symmetric matrix in full.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The type of the values.
    pub fn datatype(&self) -> DataType {
        let first = self.runs.first().map_or(DataType::F64, |run| run.datatype);
        self.cut.datatype(first, &self.all)
    }

    /// Intervals begin at multiples of this, a power of two.
    pub fn step(&self) -> u64 {
        1 << self.runs.iter().map(|run| run.shift).max().unwrap_or(0)
    }

    /// How many entries each interval has that begins at a multiple of a size, itself one of [`Spill::step`].
    pub fn weights(&self, size: u64) -> Vec<u64> {
        let mut weights = vec![0; self.dims()[self.mode].div_ceil(size) as usize];
        for run in &self.runs {
            for (interval, ends) in run.begins.windows(2).enumerate() {
                let at = ((interval as u64) << run.shift) / size;
                weights[at as usize] += u64::from(ends[1] - ends[0]);
            }
        }
        weights
    }

    /// The entries of an interval, whose ends are multiples of [`Spill::step`] or the end of the dimension, as a
    /// tensor of their own: coordinates of the mode count from its begin.
    ///
    /// # Errors
    /// When they do not fit in memory, or cannot be read.
    pub fn list(&self, interval: Range<u64>) -> Result<Coordinates, FileError> {
        let mut dims = self.dims();
        dims[self.mode] = interval.end - interval.start;
        let found: Vec<(&Run, Range<usize>)> =
            self.runs.iter().map(|run| (run, run.range(&interval))).collect();
        let count: usize = found.iter().map(|(_, range)| range.len()).sum();
        let datatype = self.datatype();
        let bytes = count as f64 * (8 * dims.len() + datatype.size()) as f64;
        budget::check("a part of the file", bytes, budget::SMALLER_RESULT)
            .map_err(|told| Flaw::of_memory(told).of_file(self.cut.path()))?;
        let mut crds: Vec<Vec<u64>> = dims.iter().map(|_| Vec::with_capacity(count)).collect();
        let mut vals = Values::empty(datatype);
        for (run, range) in found.into_iter().filter(|(_, range)| !range.is_empty()) {
            for (mode, crds) in crds.iter_mut().enumerate() {
                let first = if mode == self.mode { interval.start } else { 0 };
                match self.numbers(run.column(mode), run.widths[mode], &range)? {
                    Values::U32(own) => crds.extend(own.iter().map(|&at| u64::from(at) - first)),
                    Values::U64(own) => crds.extend(own.iter().map(|&at| at - first)),
                    _ => unreachable!("coordinates are numbers of 32 or 64 bits"),
                }
            }
            let own = self.numbers(run.values(), run.datatype, &range)?;
            vals.extend_bytes(self.cut.typed(own, &self.all)?.as_bytes());
        }
        let list = Coordinates::new(dims, crds, vals);
        list.map_err(|told| Flaw::of_list(told).of_file(self.cut.path()))
    }

    /// Keeps the entries of the next part of the file.
    fn add(&mut self, list: &Coordinates) -> Result<(), FileError> {
        let crds = &list.crds()[self.mode];
        let count = crds.len();
        let Some(&largest) = crds.iter().max() else { return Ok(()) };
        let shift = (u64::BITS - largest.leading_zeros()).saturating_sub(INTERVALS);
        let mut begins = vec![0u32; (largest >> shift) as usize + 2];
        crds.iter().for_each(|&at| begins[(at >> shift) as usize + 1] += 1);
        for interval in 1..begins.len() {
            begins[interval] += begins[interval - 1];
        }
        let width = |crds: &Vec<u64>| match crds.iter().max() {
            Some(&largest) if largest > u64::from(u32::MAX) => DataType::U64,
            _ => DataType::U32,
        };
        let (mut counted, mut sorted) = (Reservation::default(), Reservation::default());
        let reserved = counted.resize(4 * begins.len(), "where runs begin", "");
        let order = reserved.map_err(Flaw::of_memory);
        let order = order.and_then(|()| order_of(crds, shift, &begins, &mut sorted));
        let order = order.map_err(|flaw| flaw.of_file(self.cut.path()))?;
        let run = Run {
            at: self.at,
            count,
            shift,
            begins,
            widths: list.crds().iter().map(width).collect(),
            datatype: list.vals().datatype(),
            _counted: counted,
        };
        self.at = run.values() + (count * run.datatype.size()) as u64;
        self.entries += count as u64;
        let written = write(&self.file, list, &run, order.as_deref());
        written.map_err(|error| not_writable(&self.folder, &error))?;
        self.runs.push(run);
        Ok(())
    }

    /// A range of a column.
    fn numbers(
        &self,
        column: u64,
        datatype: DataType,
        range: &Range<usize>,
    ) -> Result<Values, FileError> {
        let size = datatype.size();
        let mut bytes = vec![0; range.len() * size];
        let read = read_exact_at(&self.reader, &mut bytes, column + (range.start * size) as u64);
        read.map_err(|error| not_readable(&error).of_file(&self.folder))?;
        let mut numbers = Values::empty(datatype);
        numbers.extend_bytes(&bytes);
        Ok(numbers)
    }
}

impl Run {
    /// Where the coordinates of a mode begin.
    fn column(&self, mode: usize) -> u64 {
        let before = self.widths[..mode].iter().map(|width| width.size());
        self.at + (self.count * before.sum::<usize>()) as u64
    }

    /// Where the values begin.
    fn values(&self) -> u64 {
        self.column(self.widths.len())
    }

    /// The entries of an interval of coordinates.
    fn range(&self, interval: &Range<u64>) -> Range<usize> {
        let begin = |at: u64| {
            let interval = at.div_ceil(1 << self.shift).min(self.begins.len() as u64 - 1);
            self.begins[interval as usize] as usize
        };
        begin(interval.start)..begin(interval.end)
    }
}

/// The entries by intervals; none where they lie so.
fn order_of(
    crds: &[u64],
    shift: u32,
    begins: &[u32],
    counted: &mut Reservation,
) -> Result<Option<Vec<u32>>, Box<Flaw>> {
    if crds.is_sorted_by_key(|at| at >> shift) {
        return Ok(None);
    }
    counted.resize(4 * crds.len(), "an order of entries", "").map_err(Flaw::of_memory)?;
    let (mut next, mut order) = (begins.to_vec(), vec![0; crds.len()]);
    for (entry, at) in crds.iter().enumerate() {
        let next = &mut next[(at >> shift) as usize];
        order[*next as usize] = entry as u32;
        *next += 1;
    }
    Ok(Some(order))
}

fn write(file: &File, list: &Coordinates, run: &Run, order: Option<&[u32]>) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let batches = || (0..run.count).step_by(BATCH).map(|at| at..run.count.min(at + BATCH));
    let Some(order) = order else {
        for (crds, width) in list.crds().iter().zip(&run.widths) {
            batches().try_for_each(|batch| {
                let all = crds[batch].iter().copied();
                out.write_all(numbers(all, *width).as_bytes())
            })?;
        }
        out.write_all(list.vals().as_bytes())?;
        return out.flush();
    };
    for (crds, width) in list.crds().iter().zip(&run.widths) {
        batches().try_for_each(|batch| {
            let all = order[batch].iter().map(|&entry| crds[entry as usize]);
            out.write_all(numbers(all, *width).as_bytes())
        })?;
    }
    let mut bytes = vec![];
    for batch in batches() {
        bytes.clear();
        let entries: Vec<usize> = order[batch].iter().map(|&entry| entry as usize).collect();
        list.vals().put_bytes(&entries, &mut bytes);
        out.write_all(&bytes)?;
    }
    out.flush()
}

/// Coordinates as numbers of a type.
fn numbers(crds: impl Iterator<Item = u64>, width: DataType) -> Values {
    match width {
        DataType::U32 => Values::U32(crds.map(|at| at as u32).collect()),
        _ => Values::U64(crds.collect()),
    }
}

fn no_thread(path: &Path, error: &std::io::Error) -> FileError {
    let message = format!("no thread can be started to read the file: {error}");
    FileError::whole(FileErrorCode::TooLarge, path, message, "end other programs")
}

fn two_sided(path: &Path) -> FileError {
    let message = "the file is larger than memory, and both sides of the diagonal of its symmetric matrix would have \
         to be compared";
    let help = "store one triangle, or raise the memory limit";
    FileError::whole(FileErrorCode::TooLarge, path, message, help)
}
