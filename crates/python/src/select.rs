//! What keys of numbers, slices and arrays select of a tensor of dense and compressed levels, or of a list
//! ([`crate::listed`]), by its arrays: no kernel is compiled, and where rows are selected no others are read.
//!
//! ```text
//! T[2:4] of csr    pos 0 1 3 5 6          rows 2 and 3 are the positions 3..6 of columns
//!                  crd 7 0 2 1 3 5        pos 0 2 3, crd 1 3 5
//! ```

use crate::array::coordinates;
use crate::failure::detached;
use crate::listed;
use crate::lookup::{Lookup, places};
use crate::tensor::valid;
use pyo3::prelude::*;
use std::ops::Range;
use tamis::format::{Format, LevelSpec};
use tamis::ids::{Id, Mode};
use tamis::level::{COMPRESSED, DENSE, Part};
use tamis::{Buffer, Code, Diagnostic, Element, IndexWidth, LevelData, Storage, Tensor};

/// What is selected of an axis.
#[derive(Clone, Debug)]
pub(crate) enum Pick {
    /// Every coordinate.
    All,
    /// One. The result lacks the axis where its level is the outermost.
    At(u64),
    /// So many, each by a step behind the one before.
    Steps { start: i64, step: i64, len: u64 },
    /// These, in any order and as often as they are here.
    List(Vec<u64>),
}

impl Pick {
    /// How many coordinates are selected of so many.
    pub(crate) fn len(&self, size: u64) -> u64 {
        match self {
            Pick::All => size,
            Pick::At(_) => 1,
            Pick::Steps { len, .. } => *len,
            Pick::List(list) => list.len() as u64,
        }
    }

    /// Whether greater coordinates have greater positions, one each.
    pub(crate) fn ascends(&self) -> bool {
        match self {
            Pick::All | Pick::At(_) => true,
            Pick::Steps { step, .. } => *step > 0,
            Pick::List(list) => list.is_sorted_by(|a, b| a < b),
        }
    }

    /// The first coordinate and how many there are, where one follows the other.
    pub(crate) fn row(&self) -> Option<(i64, u64)> {
        match *self {
            Pick::At(c) => Some((c as i64, 1)),
            Pick::Steps { start, step: 1, len } => Some((start, len)),
            _ => None,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Pick {
    type Error = PyErr;

    fn extract(pick: Borrowed<'_, 'py, PyAny>) -> PyResult<Pick> {
        if pick.is_none() {
            return Ok(Pick::All);
        }
        if let Ok(c) = pick.extract() {
            return Ok(Pick::At(c));
        }
        if let Ok((start, step, len)) = pick.extract() {
            return Ok(Pick::Steps { start, step, len });
        }
        coordinates(&pick).map(Pick::List)
    }
}

/// What is selected, in arrays that nobody has looked at yet.
pub(crate) struct Selected {
    pub(crate) dims: Vec<u64>,
    pub(crate) storage: Storage,
    pub(crate) levels: Vec<LevelData>,
    pub(crate) vals: Buffer,
}

/// Whether the arrays of a format tell what is selected.
pub(crate) fn is_known(format: &Format) -> bool {
    let Some((last, above)) = format.levels().split_last() else { return false };
    let is_basic = |level: &LevelSpec| level.kind == DENSE || level.kind == COMPRESSED;
    let is_mode = |level: &LevelSpec| level.stores_mode();
    // Rows may be unordered.
    let kind = last.kind.properties();
    let is_open = kind.compact && !kind.branchless && !kind.interleaved;
    let is_segmented = is_open && last.kind.parts() == [Part::Pos, Part::Crd];
    let is_rows = above.iter().all(is_basic) && (is_basic(last) || is_segmented);
    format.levels().iter().all(is_mode) && is_rows || listed::is_known(format)
}

/// The mode whose coordinates are the positions of the outermost level: where some of them are
/// selected, nothing is read of the others. Nothing if that level lists its coordinates.
pub(crate) fn row_mode(format: &Format) -> Option<usize> {
    format.levels().first().filter(|first| first.kind == DENSE).map(mode)
}

pub(crate) fn mode(level: &LevelSpec) -> usize {
    level.map.modes()[0].index()
}

/// Positions are selected in blocks of this size.
const BLOCK: usize = 1024;

/// Positions of a level, in the order of the result.
pub(crate) type Ranges = Vec<Range<usize>>;

/// A level of the result.
pub(crate) enum Level {
    Dense,
    /// Where the children of each position end, from 0 on, and their coordinates.
    Listed(Vec<i64>, Buffer),
}

/// The tensor that picks select of one, one for each mode. Of arrays that somebody else may change the result is
/// checked.
pub(crate) fn selected(
    py: Python<'_>,
    tensor: &Tensor,
    picks: &[Pick],
    is_own: bool,
) -> PyResult<Tensor> {
    detached(py, || {
        let Selected { dims, storage, levels, vals } = arrays(tensor, picks)?;
        match is_own && !cfg!(debug_assertions) {
            // SAFETY: parts of arrays that keep the promises of their format, in the order of the result, keep
            // them; builds with assertions look.
            true => Ok(unsafe { Tensor::from_parts_unchecked(dims, storage, levels, vals) }),
            false => valid(dims, storage, levels, vals),
        }
    })
}

/// The tensor that picks select of one whose arrays may have changed: a list, or among others some
/// coordinates of the outermost level, which are looked at alone.
pub(crate) fn of_borrowed(py: Python<'_>, tensor: &Tensor, picks: &[Pick]) -> PyResult<Tensor> {
    if listed::is_known(&tensor.storage().format) {
        // What is read is looked at on the way.
        return selected(py, tensor, picks, false);
    }
    let (mut rows, mut rest) = (vec![Pick::All; picks.len()], picks.to_vec());
    if let Some(row) = row_mode(&tensor.storage().format) {
        (rows[row], rest[row]) = match &picks[row] {
            &Pick::At(c) => (Pick::Steps { start: c as i64, step: 1, len: 1 }, Pick::At(0)),
            other => (other.clone(), Pick::All),
        };
    }
    selected(py, &selected(py, tensor, &rows, false)?, &rest, true)
}

fn arrays(tensor: &Tensor, picks: &[Pick]) -> Result<Selected, Diagnostic> {
    if listed::is_known(&tensor.storage().format) {
        return listed::arrays(tensor, picks);
    }
    let found = crate::lines::whole(tensor, picks);
    if let Some(found) = found.or_else(|| crate::across::some(tensor, picks)) {
        return found;
    }
    let mut ranges: Ranges = vec![Range { start: 0, end: 1 }];
    let mut levels = vec![];
    for (spec, data) in tensor.storage().format.levels().iter().zip(tensor.levels()) {
        let (size, pick) = (tensor.dims()[mode(spec)], &picks[mode(spec)]);
        let (Some(pos), Some(crd)) = (&data.pos, &data.crd) else {
            ranges = placed(&ranges, size, pick);
            levels.push(Level::Dense);
            continue;
        };
        let children = Children {
            segments: segments(pos, crd.len(), &ranges)?,
            crd,
            ordered: spec.kind.properties().ordered,
            unique: spec.kind.properties().unique,
        };
        let (ends, picked);
        (ends, picked, ranges) = match (crd.as_slice::<i32>(), crd.as_slice::<i64>()) {
            (Some(list), _) => children.picked(list, size, pick)?,
            (_, Some(list)) => children.picked(list, size, pick)?,
            _ => return Err(broken()),
        };
        levels.push(Level::Listed(ends, picked));
    }
    check(&ranges, tensor.vals().len())?;
    let vals = tensor.vals().gathered(&ranges)?;
    Ok(put_together(tensor, picks, levels, vals))
}

/// The result of its levels, without those of single coordinates at the top.
pub(crate) fn put_together(
    tensor: &Tensor,
    picks: &[Pick],
    mut levels: Vec<Level>,
    vals: Buffer,
) -> Selected {
    let mut specs = tensor.storage().format.levels().to_vec();
    let mut dims: Vec<u64> =
        tensor.dims().iter().zip(picks).map(|(&size, pick)| pick.len(size)).collect();
    let mut storage = tensor.storage().clone();
    let mut modes: Vec<usize> = (0..dims.len()).collect();
    while let [first, second, ..] = levels.as_mut_slice()
        && matches!(picks[mode(&specs[0])], Pick::At(_))
    {
        match (first, second) {
            (Level::Dense, _) => {}
            // Nothing is stored at the coordinate.
            (Level::Listed(..), Level::Listed(ends, _)) => ends.resize(2, 0),
            (Level::Listed(..), Level::Dense) => break,
        }
        levels.remove(0);
        let dropped = mode(&specs.remove(0));
        modes.retain(|&mode| mode != dropped);
    }
    dims = modes.iter().map(|&mode| dims[mode]).collect();
    let place = |m: Mode| modes.iter().position(|&mode| mode == m.index()).map_or(m, Mode::new);
    for spec in &mut specs {
        spec.map = spec.map.map(place);
    }
    storage.format = Format::new(specs, dims.len()).expect("levels of a format, by other modes");
    let longest = levels.iter().map(|level| match level {
        Level::Dense => 0,
        Level::Listed(ends, _) => ends.last().copied().unwrap_or(0) as u64,
    });
    storage.pos = storage.pos.max(IndexWidth::for_max(longest.max().unwrap_or(0)));
    let width = storage.pos;
    let levels = levels.into_iter().map(|level| match level {
        Level::Dense => LevelData::default(),
        Level::Listed(ends, crd) => {
            LevelData { pos: Some(positions(ends, width)), crd: Some(crd), ..LevelData::default() }
        }
    });
    Selected { dims, storage, levels: levels.collect(), vals }
}

pub(crate) fn positions(ends: Vec<i64>, width: IndexWidth) -> Buffer {
    match width {
        IndexWidth::I32 => Buffer::from_vec(ends.into_iter().map(|end| end as i32).collect()),
        IndexWidth::I64 => Buffer::from_vec(ends),
    }
}

/// The positions of a dense level below some of the level above.
fn placed(parents: &Ranges, size: u64, pick: &Pick) -> Ranges {
    let size = size as usize;
    if let Pick::All = pick {
        return parents.iter().map(|p| p.start * size..p.end * size).collect();
    }
    let starts = parents.iter().flat_map(Range::clone).map(|parent| parent * size);
    let one = |at: usize| at..at + 1;
    match (pick, pick.row()) {
        (_, Some((start, len))) => {
            let mut made = vec![];
            let row = |first: usize| first + start as usize..first + start as usize + len as usize;
            starts.map(row).for_each(|range| append(&mut made, range));
            made
        }
        (&Pick::Steps { start, step, len }, _) => starts
            .flat_map(|first| {
                (0..len as i64).map(move |n| one(first + (start + step * n) as usize))
            })
            .collect(),
        (Pick::List(list), _) => {
            starts.flat_map(|first| list.iter().map(move |&c| one(first + c as usize))).collect()
        }
        (Pick::All | Pick::At(_), _) => vec![],
    }
}

/// Adds a range behind others, one with the last if it follows that.
pub(crate) fn append(ranges: &mut Ranges, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ if range.is_empty() => {}
        _ => ranges.push(range),
    }
}

/// The children of positions in a compressed level, a range for each.
fn segments(pos: &Buffer, coordinates: usize, parents: &Ranges) -> Result<Ranges, Diagnostic> {
    fn read<T: Element + Into<i64>>(
        pos: &[T],
        coordinates: usize,
        parents: &Ranges,
    ) -> Option<Ranges> {
        let mut made = Vec::with_capacity(parents.iter().map(Range::len).sum());
        for parents in parents {
            let ends = pos.get(parents.start..parents.end + 1)?;
            for pair in ends.windows(2) {
                let (begin, end): (i64, i64) = (pair[0].into(), pair[1].into());
                if !(0 <= begin && begin <= end && end as usize <= coordinates) {
                    return None;
                }
                made.push(begin as usize..end as usize);
            }
        }
        Some(made)
    }
    let made = match (pos.as_slice::<i32>(), pos.as_slice::<i64>()) {
        (Some(pos), _) => read(pos, coordinates, parents),
        (_, Some(pos)) => read(pos, coordinates, parents),
        _ => None,
    };
    made.ok_or_else(broken)
}

/// The children of some positions in a compressed level.
struct Children<'t> {
    /// A range for each position.
    segments: Ranges,
    crd: &'t Buffer,
    /// Whether the coordinates of each segment ascend.
    ordered: bool,
    /// Whether each coordinate is in a segment once.
    unique: bool,
}

/// Where the children of each position end, their coordinates, and their positions.
type Picked = (Vec<i64>, Buffer, Ranges);

impl Children<'_> {
    /// What is selected of them, whose coordinates are a list.
    fn picked<C>(self, crd: &[C], size: u64, pick: &Pick) -> Result<Picked, Diagnostic>
    where
        C: Element + Into<i64> + TryFrom<i64> + Ord,
    {
        match (pick, pick.row().filter(|_| self.ordered)) {
            (Pick::All, _) => self.all(),
            (_, Some((start, len))) => self.between(crd, start, start.saturating_add_unsigned(len)),
            _ => self.found(crd, size, pick),
        }
    }

    fn all(self) -> Result<Picked, Diagnostic> {
        let (mut ends, mut end) = (self.ends(), 0);
        ends.extend(self.segments.iter().map(|segment| {
            end += segment.len() as i64;
            end
        }));
        let mut below = self.segments;
        below.dedup_by(|next, last| {
            let follows = next.start == last.end;
            if follows {
                last.end = next.end;
            }
            follows || next.start >= next.end
        });
        Ok((ends, self.crd.gathered(&below)?, below))
    }

    /// Those whose coordinates are from one on below another, counted from there.
    fn between<C>(self, crd: &[C], start: i64, stop: i64) -> Result<Picked, Diagnostic>
    where
        C: Element + Into<i64> + TryFrom<i64> + Ord,
    {
        let (mut ends, mut made, mut below) = (self.ends(), vec![], vec![]);
        for segment in self.segments {
            let place = |c: i64| crd[segment.clone()].partition_point(|&d| d.into() < c);
            let (lo, hi) = (place(start), place(stop));
            let within = segment.start + lo..segment.start + hi;
            for &c in &crd[within.clone()] {
                made.push(coordinate::<C>(c.into() - start)?);
            }
            append(&mut below, within);
            ends.push(made.len() as i64);
        }
        Ok((ends, Buffer::from_vec(made), below))
    }

    /// Those whose coordinates are in a pick, in its order.
    fn found<C>(self, crd: &[C], size: u64, pick: &Pick) -> Result<Picked, Diagnostic>
    where
        C: Element + Into<i64> + TryFrom<i64> + Ord,
    {
        let lookup = match pick {
            Pick::List(list) => Some(Lookup::of(list, size, crd.len())),
            _ => None,
        };
        if self.ordered && pick.ascends() {
            return match &lookup {
                Some(Lookup::Table(table)) => self.filtered::<C>(|at| {
                    let place = table.get(crd[at].into() as usize);
                    i64::from(place.copied().unwrap_or(0)) - 1
                }),
                _ => self.filtered::<C>(|at| {
                    let mut found = -1;
                    places(pick, lookup.as_ref(), crd[at].into(), |place| found = place as i64);
                    found
                }),
            };
        }
        let (mut ends, mut made, mut below) = (self.ends(), vec![], vec![]);
        let mut found: Vec<(u64, usize)> = vec![];
        let descends = self.ordered && self.unique && matches!(pick, Pick::Steps { .. });
        for segment in self.segments {
            found.clear();
            let mut look = |at: usize| {
                places(pick, lookup.as_ref(), crd[at].into(), |place| found.push((place, at)));
            };
            match descends {
                true => segment.rev().for_each(&mut look),
                false => segment.for_each(&mut look),
            }
            if !descends && !found.is_sorted() {
                found.sort_unstable();
            }
            for &(place, at) in &found {
                made.push(coordinate::<C>(place as i64)?);
                append(&mut below, at..at + 1);
            }
            ends.push(made.len() as i64);
        }
        Ok((ends, Buffer::from_vec(made), below))
    }

    /// Those to whose positions `place` gives a coordinate in the result, not a negative number; in their order.
    /// Each is written, and counted if it is one of them: processors do not predict which are.
    fn filtered<C>(self, place: impl Fn(usize) -> i64) -> Result<Picked, Diagnostic>
    where
        C: Element + TryFrom<i64>,
    {
        let (mut ends, mut made, mut below) = (self.ends(), vec![], vec![]);
        let (mut coords, mut positions, mut count) = ([0i64; BLOCK], [0usize; BLOCK], 0);
        let mut keep = |coords: &[i64], positions: &[usize]| -> Result<usize, Diagnostic> {
            for (&c, &at) in coords.iter().zip(positions) {
                made.push(coordinate::<C>(c)?);
                append(&mut below, at..at + 1);
            }
            Ok(made.len())
        };
        let mut kept = 0;
        for mut rest in self.segments {
            while !rest.is_empty() {
                if count == BLOCK {
                    kept = keep(&coords, &positions)?;
                    count = 0;
                }
                let stop = rest.end.min(rest.start + BLOCK - count);
                for at in rest.start..stop {
                    let c = place(at);
                    coords[count % BLOCK] = c;
                    positions[count % BLOCK] = at;
                    count += usize::from(c >= 0);
                }
                rest.start = stop;
            }
            ends.push((kept + count) as i64);
        }
        keep(&coords[..count], &positions[..count])?;
        Ok((ends, Buffer::from_vec(made), below))
    }

    fn ends(&self) -> Vec<i64> {
        let mut ends = Vec::with_capacity(self.segments.len() + 1);
        ends.push(0);
        ends
    }
}

fn coordinate<C: TryFrom<i64>>(c: i64) -> Result<C, Diagnostic> {
    C::try_from(c).map_err(|_| broken())
}

pub(crate) fn check(ranges: &Ranges, len: usize) -> Result<(), Diagnostic> {
    match ranges.iter().all(|range| range.end <= len) {
        true => Ok(()),
        false => Err(broken()),
    }
}

/// Checks that there is a pick for each axis, of coordinates that it has.
pub(crate) fn check_picks(dims: &[u64], picks: &[Pick]) -> Result<(), Diagnostic> {
    let holds = |(pick, &size): (&Pick, &u64)| match *pick {
        Pick::At(c) => c < size,
        Pick::Steps { start, step, len: len @ 1.. } => {
            let last = start.saturating_add(step.saturating_mul(len as i64 - 1));
            [start, last].iter().all(|c| (0..size as i64).contains(c))
        }
        Pick::List(ref list) => list.iter().all(|c| *c < size),
        Pick::All | Pick::Steps { .. } => true,
    };
    if picks.len() == dims.len() && picks.iter().zip(dims).all(holds) {
        return Ok(());
    }
    let message = "the key is not one coordinate, or some, of each axis";
    Err(Diagnostic::new(Code::DimensionMismatch, message).help("write tensor[key]"))
}

pub(crate) fn broken() -> Diagnostic {
    Diagnostic::new(Code::InvalidTensor, "positions lie outside of the arrays that they are for")
        .help("check how the arrays were made, and whether somebody changed them")
}
