//! The arrays of a tensor from sorted entries, in two passes over them.
//!
//! The first counts the coordinates that each chunk of entries adds to each level, which says
//! where every chunk writes; the second writes. Chunks do not depend on the number of threads.
//!
//! ```text
//! entries    (0,1) (0,3) | (2,0) (2,2) (2,3)      two chunks, csr
//! count                2 | 3
//! pos        0      2      2                5     a begin is written when its row is reached
//! crd        1     3     | 0     2     3
//! ```

use super::entries::Entries;
use super::values::{Stored, bits};
use super::{Arrays, Duplicates, too_wide};
use crate::extent::too_large;
use crate::memory::{Buffer, Building};
use crate::tensor::LevelData;
use crate::threads;
use std::ops::Range;
use tamis_core::format::Storage;
use tamis_ir::datatype::IndexWidth;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::Id;

/// Entries of a chunk.
const CHUNK: usize = 1 << 16;

/// The levels and values of a tensor that stores these entries; `dims` are those of the levels.
pub(super) fn build<E: Entries, T: Stored>(
    entries: &E,
    storage: &Storage,
    dims: &[u64],
    duplicates: Duplicates,
) -> Result<Arrays, Diagnostic> {
    let chunks = chunks(entries, dims.len());
    let counts: Vec<Vec<usize>> =
        threads::map(chunks.len(), &|c| count(entries, chunks[c].clone(), dims.len()));
    let (starts, nodes) = starts(&counts, dims.len());
    if duplicates == Duplicates::Refuse
        && let Some(n) = (1..entries.len()).find(|&n| entries.differs(n) == dims.len())
    {
        return Err(duplicate(entries, storage, n));
    }
    let out: Output<T> = Output::new(storage, dims, &nodes)?;
    if storage.format.levels().last().is_none_or(|level| level.kind.properties().full) {
        out.fill(T::store(T::read(bits(storage.fill, storage.datatype)))?);
    }
    let ends: Vec<Result<Vec<Next>, Diagnostic>> = threads::map(chunks.len(), &|c| {
        Writer::new(entries, &out, &chunks[c], &starts[c]).run(chunks[c].clone())
    });
    let mut end = vec![Next::default(); dims.len()];
    for next in ends {
        end = next?;
    }
    // SAFETY: the chunks wrote all entries, and their elements were filled where not all have one.
    Ok(unsafe { out.finish(&end) })
}

/// Ranges of entries of which none starts with the coordinates of the one before.
fn chunks<E: Entries>(entries: &E, order: usize) -> Vec<Range<usize>> {
    let mut chunks = vec![];
    let mut start = 0;
    while start < entries.len() {
        let mut end = entries.len().min(start + CHUNK);
        while end < entries.len() && entries.differs(end) == order {
            end += 1;
        }
        chunks.push(start..end);
        start = end;
    }
    chunks
}

/// How many entries of a chunk differ from the one before in each level first, or, at the end, in
/// none.
fn count<E: Entries>(entries: &E, chunk: Range<usize>, order: usize) -> Vec<usize> {
    let mut counts = vec![0; order + 1];
    for n in chunk {
        counts[if n == 0 { 0 } else { entries.differs(n) }] += 1;
    }
    counts
}

/// How many coordinates there are in each level before each chunk, and in all.
fn starts(counts: &[Vec<usize>], order: usize) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut nodes = vec![0; order];
    let mut starts = vec![];
    for count in counts {
        starts.push(nodes.clone());
        let mut new = 0;
        for (total, &first) in nodes.iter_mut().zip(count) {
            new += first;
            *total += new;
        }
    }
    (starts, nodes)
}

fn duplicate<E: Entries>(entries: &E, storage: &Storage, n: usize) -> Diagnostic {
    let mut place = vec![String::new(); storage.format.order()];
    for (k, level) in storage.format.levels().iter().enumerate() {
        place[level.map.modes()[0].index()] = entries.coordinate(k, n).to_string();
    }
    let message = format!("the coordinate ({}) occurs twice", place.join(", "));
    Diagnostic::new(Code::DuplicateEntry, message).help("remove one, or let them be summed")
}

/// A positions or coordinates array under construction.
enum Numbers {
    I32(Building<i32>),
    I64(Building<i64>),
}

impl Numbers {
    fn new(width: IndexWidth, len: usize) -> Result<Numbers, Diagnostic> {
        Ok(match width {
            IndexWidth::I32 => Numbers::I32(Building::new(len)?),
            IndexWidth::I64 => Numbers::I64(Building::new(len)?),
        })
    }

    /// # Safety
    /// As for [`Building::write`]; the number fits the width.
    unsafe fn write(&self, at: usize, number: u64) {
        // SAFETY: the caller promises so.
        unsafe {
            match self {
                Numbers::I32(array) => array.write(at, number as i32),
                Numbers::I64(array) => array.write(at, number as i64),
            }
        }
    }

    /// # Safety
    /// As for [`Building::finish`].
    unsafe fn finish(self) -> Buffer {
        // SAFETY: the caller promises so.
        unsafe {
            match self {
                Numbers::I32(array) => array.finish(),
                Numbers::I64(array) => array.finish(),
            }
        }
    }
}

/// A level under construction.
enum Level {
    /// Positions by arithmetic: the dimension.
    Full(usize),
    /// Positions in order of appearance: the number of parents, `pos` and `crd`.
    Compressed(usize, Numbers, Numbers),
}

/// The arrays under construction.
struct Output<T> {
    levels: Vec<Level>,
    vals: Building<T>,
}

impl<T: Stored> Output<T> {
    fn new(storage: &Storage, dims: &[u64], nodes: &[usize]) -> Result<Self, Diagnostic> {
        let mut parents = 1usize;
        let mut levels = vec![];
        for (k, level) in storage.format.levels().iter().enumerate() {
            if level.kind.properties().full {
                let size = (parents as u64).checked_mul(dims[k]).filter(|&n| n <= i64::MAX as u64);
                parents = size.ok_or_else(|| too_large(dims))? as usize;
                levels.push(Level::Full(dims[k] as usize));
            } else {
                if storage.pos == IndexWidth::I32 && nodes[k] > i32::MAX as usize {
                    return Err(too_wide("position", nodes[k] as u64));
                }
                let pos = Numbers::new(storage.pos, parents + 1)?;
                let crd = Numbers::new(storage.crd, nodes[k])?;
                levels.push(Level::Compressed(parents, pos, crd));
                parents = nodes[k];
            }
        }
        Ok(Output { levels, vals: Building::new(parents)? })
    }

    fn fill(&self, value: T) {
        let len = self.vals.len();
        threads::each(len.div_ceil(CHUNK), &|c| {
            for at in c * CHUNK..len.min((c + 1) * CHUNK) {
                // SAFETY: each index is below the length and written once.
                unsafe { self.vals.write(at, value) }
            }
        });
    }

    /// # Safety
    /// All entries and values are written; `end` is where the last chunk ended.
    unsafe fn finish(self, end: &[Next]) -> Arrays {
        let mut levels = vec![];
        for (level, end) in self.levels.into_iter().zip(end) {
            let Level::Compressed(parents, pos, crd) = level else {
                levels.push(LevelData::default());
                continue;
            };
            // SAFETY: the segments that have not begun are those of parents after the last entry.
            let (pos, crd) = unsafe {
                (end.begun..=parents).for_each(|parent| pos.write(parent, end.position as u64));
                (pos.finish(), crd.finish())
            };
            levels.push(LevelData { pos: Some(pos), crd: Some(crd), ..LevelData::default() });
        }
        // SAFETY: the caller promises so.
        (levels, unsafe { self.vals.finish() })
    }
}

/// Where a compressed level goes on.
#[derive(Clone, Copy, Default)]
struct Next {
    /// The next position.
    position: usize,
    /// The parents whose segments have begun.
    begun: usize,
}

/// Writes the entries of one chunk.
struct Writer<'o, E, T> {
    entries: &'o E,
    out: &'o Output<T>,
    /// The position of the entry before in the root and in each level.
    place: Vec<usize>,
    next: Vec<Next>,
}

impl<'o, E: Entries, T: Stored> Writer<'o, E, T> {
    fn new(entries: &'o E, out: &'o Output<T>, chunk: &Range<usize>, start: &[usize]) -> Self {
        let mut place = vec![0; start.len() + 1];
        let mut next = vec![Next::default(); start.len()];
        if chunk.start > 0 {
            for (k, (level, &start)) in out.levels.iter().zip(start).enumerate() {
                next[k] = Next { position: start, begun: place[k] + 1 };
                place[k + 1] = match level {
                    Level::Full(size) => {
                        place[k] * size + entries.coordinate(k, chunk.start - 1) as usize
                    }
                    Level::Compressed(..) => start - 1,
                };
            }
        }
        Writer { entries, out, place, next }
    }

    fn run(mut self, chunk: Range<usize>) -> Result<Vec<Next>, Diagnostic> {
        let order = self.next.len();
        let mut n = chunk.start;
        let mut differs = if n == 0 { 0 } else { self.entries.differs(n) };
        while n < chunk.end {
            for k in differs..order {
                self.descend(k, n);
            }
            let mut sum = T::read(self.entries.bits(n));
            n += 1;
            while n < chunk.end {
                differs = self.entries.differs(n);
                if differs < order {
                    break;
                }
                sum = T::add(sum, T::read(self.entries.bits(n)));
                n += 1;
            }
            // SAFETY: positions lie below the number of values, and entries of one position follow
            // each other in one chunk.
            unsafe { self.out.vals.write(self.place[order], T::store(sum)?) };
        }
        Ok(self.next)
    }

    /// Takes an entry that is new in a level down into it.
    #[inline]
    fn descend(&mut self, k: usize, n: usize) {
        let parent = self.place[k];
        let coordinate = self.entries.coordinate(k, n);
        match &self.out.levels[k] {
            Level::Full(size) => self.place[k + 1] = parent * size + coordinate as usize,
            Level::Compressed(_, pos, crd) => {
                let next = &mut self.next[k];
                // SAFETY: sorted entries reach parents in order, so the begin of a segment is
                // written once, by the first entry of its parent or of the next that has any; the
                // counts give each chunk positions of its own. Numbers fit their widths: the
                // largest were checked.
                unsafe {
                    while next.begun <= parent {
                        pos.write(next.begun, next.position as u64);
                        next.begun += 1;
                    }
                    crd.write(next.position, coordinate);
                }
                self.place[k + 1] = next.position;
                next.position += 1;
            }
        }
    }
}
