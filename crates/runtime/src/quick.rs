//! Whether arrays plainly keep the promises of their format: a pass over each array that compiles
//! to a few instructions per element, for matrices in compressed rows, columns, blocks and
//! diagonals, fibers and lists.
//!
//! ```text
//! pos 0 2 2 4      crd 1 7 | 0 3        one descent in crd, at the only boundary of segments: ordered
//! ```
//!
//! What it does not vouch for is looked at again by what can tell the reason.

use crate::memory::{Buffer, Element};
use crate::pack::is_list;
#[cfg(target_arch = "x86_64")]
use crate::processor::{self, Level};
use crate::tensor::LevelData;
use crate::threads;
use std::ops::{BitAnd, BitOr};
use tamis_core::format::{Format, LevelMap};
use tamis_core::level::{Header, Part};
use tamis_ir::datatype::DataType;

/// The number of positions of the last level, if the arrays certainly keep every promise. They are
/// those that the format asks for, of its types.
pub(crate) fn positions(format: &Format, dims: &[u64], levels: &[LevelData]) -> Option<u64> {
    let headers = format.headers(dims, &|_| 0);
    if is_list(format) {
        return list(&headers, levels);
    }
    let mut positions = 1u64;
    for (k, (spec, data)) in format.levels().iter().zip(levels).enumerate() {
        let (header, parts) = (&headers[k], spec.kind.parts());
        positions = match (parts, &data.pos, &data.crd) {
            ([], None, None) if is_full(header) && !matches!(spec.map, LevelMap::Slot(_)) => {
                positions.checked_mul(header.size)?
            }
            ([Part::Pos, Part::Crd], Some(pos), Some(crd))
                if header.properties.compact && is_open(format, k) =>
            {
                segments(header, positions, pos, crd)?
            }
            _ => return None,
        };
    }
    Some(positions).filter(|&n| n <= i64::MAX as u64)
}

/// Whether a level has a position for each coordinate of its extent.
fn is_full(header: &Header) -> bool {
    header.properties.full && !header.properties.branchless
}

/// Whether a level may have all coordinates of its extent, whatever those above it are.
fn is_open(format: &Format, level: usize) -> bool {
    let properties = format.levels()[level].kind.properties();
    if properties.interleaved || format.chain_head(level) < level || format.chain_goes_on(level) {
        return false;
    }
    let alone = |map: LevelMap| {
        let others = format.levels().iter().filter(|other| other.map != map);
        others.flat_map(|other| other.map.modes()).all(|mode| !map.modes().contains(&mode))
    };
    match format.levels()[level].map {
        map @ LevelMap::Mode(_) => alone(map),
        LevelMap::Div(..) => true,
        LevelMap::Diff { .. } => level == 0,
        _ => false,
    }
}

/// The number of positions of a compressed level below so many others.
fn segments(header: &Header, parents: u64, pos: &Buffer, crd: &Buffer) -> Option<u64> {
    match (pos.datatype(), crd.datatype()) {
        (DataType::I32, DataType::I32) => segments_of::<i32, i32>(header, parents, pos, crd),
        (DataType::I32, DataType::I64) => segments_of::<i32, i64>(header, parents, pos, crd),
        (DataType::I64, DataType::I32) => segments_of::<i64, i32>(header, parents, pos, crd),
        _ => segments_of::<i64, i64>(header, parents, pos, crd),
    }
}

fn segments_of<P: Index, C: Index>(
    header: &Header,
    parents: u64,
    pos: &Buffer,
    crd: &Buffer,
) -> Option<u64> {
    let (pos, crd) = (pos.as_slice::<P>()?, crd.as_slice::<C>()?);
    let (first, last) = (*pos.first()?, *pos.last()?);
    let properties = header.properties;
    let complete = pos.len() as u64 == parents.checked_add(1)?
        && (first.into(), last.into()) == (0, crd.len() as i64)
        && (properties.ordered || !properties.unique);
    if !complete {
        return None;
    }
    let range = Range::of(header)?;
    // Coordinates are looked at while they are in the cache, those at ends of segments twice.
    let holds = |rows: &[P]| match (properties.ordered, properties.unique) {
        (true, true) => segments_hold(rows, crd, range, |a, b| b <= a),
        (true, false) => segments_hold(rows, crd, range, |a, b| b < a),
        _ => segments_hold(rows, crd, range, |_, _| false),
    };
    let block = |k: usize| &pos[k * ROWS..pos.len().min((k + 1) * ROWS + 1)];
    all(crd.len(), pos.len().div_ceil(ROWS), |k| holds(block(k))).then_some(crd.len() as u64)
}

/// Whether something holds of all parts of so many elements: on several threads where there are many. One thread
/// is the one that asks, in whose cache they may be.
fn all(elements: usize, parts: usize, holds: impl Fn(usize) -> bool + Sync) -> bool {
    match elements >= LARGE && threads::count() > 1 {
        true => threads::all(parts, &holds),
        false => (0..parts).all(holds),
    }
}

/// So many segments are looked at together: short ones are still in the first cache when their ends
/// are looked at.
const ROWS: usize = 256;

/// From so many elements on arrays are looked at by several threads.
pub(crate) const LARGE: usize = 1 << 18;

/// A number of an array of positions or coordinates.
trait Index: Element + Ord + Into<i64> {
    /// The same bits without a sign.
    type Distance: Ord
        + Copy
        + Default
        + BitAnd<Output = Self::Distance>
        + BitOr<Output = Self::Distance>
        + From<bool>;
    /// The nearest number of the type.
    fn nearest(x: i64) -> Self;
    /// How far a number lies above another; further than all others if it lies below.
    fn above(self, least: Self) -> Self::Distance;
    /// One more if something holds.
    fn counted(self, holds: bool) -> Self;
}

macro_rules! index {
    ($($t:ty as $distance:ty),*) => {$(
        impl Index for $t {
            type Distance = $distance;
            fn nearest(x: i64) -> $t {
                x.clamp(<$t>::MIN.into(), <$t>::MAX.into()) as $t
            }
            fn above(self, least: $t) -> $distance {
                self.wrapping_sub(least) as $distance
            }
            fn counted(self, holds: bool) -> $t {
                self + <$t>::from(holds)
            }
        }
    )*};
}
index!(i32 as u32, i64 as u64);

/// The coordinates that a level may have.
#[derive(Clone, Copy)]
struct Range {
    least: i64,
    last: i64,
}

impl Range {
    fn of(header: &Header) -> Option<Range> {
        let last = header.least.checked_add(i64::try_from(header.size).ok()?)? - 1;
        Some(Range { least: header.least, last })
    }
}

/// Whether segments, of which these are the ends, ascend within the array of coordinates, and these
/// lie in their range and descend nowhere but between segments.
fn segments_hold<P: Index, C: Index>(
    ends: &[P],
    crd: &[C],
    range: Range,
    descends: impl Fn(C, C) -> bool,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if processor::allows(Level::V4) {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { segments_hold_widest(ends, crd, range, descends) };
    } else if processor::allows(Level::V3) {
        // SAFETY: as above.
        return unsafe { segments_hold_wide(ends, crd, range, descends) };
    }
    segments_hold_plain(ends, crd, range, descends)
}

/// The same with vectors of 512 bits, which compare numbers of 64 bits without a sign, too.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn segments_hold_widest<P: Index, C: Index>(
    ends: &[P],
    crd: &[C],
    range: Range,
    descends: impl Fn(C, C) -> bool,
) -> bool {
    segments_hold_plain(ends, crd, range, descends)
}

/// The same with instructions that compare several numbers at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn segments_hold_wide<P: Index, C: Index>(
    ends: &[P],
    crd: &[C],
    range: Range,
    descends: impl Fn(C, C) -> bool,
) -> bool {
    segments_hold_plain(ends, crd, range, descends)
}

#[inline(always)]
fn segments_hold_plain<P: Index, C: Index>(
    ends: &[P],
    crd: &[C],
    range: Range,
    descends: impl Fn(C, C) -> bool,
) -> bool {
    let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else { return true };
    let (first, last): (i64, i64) = (first.into(), last.into());
    let places = Range { least: 0, last: crd.len() as i64 };
    if scanned(ends, places, |a, b| b < a) != Some(0) {
        return false;
    }
    let (begin, end) = (first as usize, last as usize);
    let neighbours = &crd[begin.saturating_sub(1)..end];
    // SAFETY: the ends ascend within the array.
    scanned(neighbours, range, &descends) == Some(unsafe { between(ends, crd, descends) })
}

/// How many neighbours descend of which a segment begins with the second. Not for the vectors of its callers, whose
/// gathers take longer than loads one by one.
///
/// # Safety
/// The ends are positions in the array, or its end, and ascend.
#[inline(never)]
unsafe fn between<P: Index, C: Index>(
    ends: &[P],
    crd: &[C],
    descends: impl Fn(C, C) -> bool,
) -> u64 {
    let Some((_, starts)) = ends.split_last() else { return 0 };
    let (Some(&first), Some(&last)) = (starts.first(), starts.last()) else { return 0 };
    // Segments that begin with the array follow nothing, those at its end have nothing.
    let is_inside = first.into() > 0 && last.into() < crd.len() as i64;
    let (from, to) = match is_inside {
        true => (0, starts.len()),
        false => (
            starts.partition_point(|&at| at.into() == 0),
            starts.partition_point(|&at| at.into() < crd.len() as i64),
        ),
    };
    if from >= to {
        return 0;
    }
    let descends_at = |at: P| {
        let at: i64 = at.into();
        // SAFETY: the ends ascend, so that this one is neither at the begin nor at the end, as those
        // at both ends of the slice are not. With checks it all takes a quarter longer.
        let (before, own) =
            unsafe { (*crd.get_unchecked(at as usize - 1), *crd.get_unchecked(at as usize)) };
        u64::from(descends(before, own))
    };
    let ends = &ends[from..=to];
    let none_is_empty = ends.iter().zip(&ends[1..]).fold(true, |all, (a, b)| all & (a < b));
    if none_is_empty {
        return ends[..ends.len() - 1].iter().map(|&at| descends_at(at)).sum();
    }
    // Which segments are empty is unpredictable: branchless.
    ends.windows(2).map(|w| descends_at(w[0]) & u64::from(w[0] < w[1])).sum()
}

/// How many neighbours descend, if all coordinates lie in the range.
#[inline(always)]
fn scanned<C: Index>(crd: &[C], range: Range, descends: impl Fn(C, C) -> bool) -> Option<u64> {
    let (least, last) = (C::nearest(range.least), C::nearest(range.last));
    let mut descents = 0;
    let mut furthest = C::Distance::default();
    for at in (0..crd.len()).step_by(1 << 14) {
        let block = &crd[at..crd.len().min(at + (1 << 14))];
        let mut count = C::nearest(0);
        for (&a, &b) in block.iter().zip(&block[1..]) {
            furthest = furthest.max(a.above(least));
            count = count.counted(descends(a, b));
        }
        let end = block[block.len() - 1];
        furthest = furthest.max(end.above(least));
        let next = crd.get(at + block.len()).is_some_and(|&next| descends(end, next));
        descents += count.into() as u64 + u64::from(next);
    }
    let inside = crd.is_empty() || (range.least <= range.last && furthest <= last.above(least));
    inside.then_some(descents)
}

/// The number of entries of a list of coordinates.
fn list(headers: &[Header], levels: &[LevelData]) -> Option<u64> {
    let last = headers.last()?.properties;
    if headers.iter().any(|h| h.properties.interleaved || !h.properties.compact) {
        return None;
    }
    let crds = levels.iter().map(|l| l.crd.as_ref()).collect::<Option<Vec<&Buffer>>>()?;
    let len = crds.first()?.len();
    let pos = levels.first()?.pos.as_ref()?;
    let bounds = pos.len() == 2 && pos.index(0) == 0 && pos.index(1) == len as i64;
    if !bounds || crds.iter().any(|crd| crd.len() != len) {
        return None;
    }
    match crds.first()?.datatype() {
        DataType::I32 => list_of::<i32>(headers, &crds, last.unique)?,
        _ => list_of::<i64>(headers, &crds, last.unique)?,
    }
    Some(len as u64)
}

fn list_of<C: Index>(headers: &[Header], crds: &[&Buffer], unique: bool) -> Option<()> {
    let crds = crds.iter().map(|crd| crd.as_slice::<C>()).collect::<Option<Vec<&[C]>>>()?;
    let ranges = headers.iter().map(Range::of).collect::<Option<Vec<Range>>>()?;
    let neighbours = match headers.iter().filter(|h| h.properties.ordered).count() {
        0 if unique => return None,
        0 => Neighbours::Any,
        n if n < headers.len() => return None,
        _ if unique => Neighbours::Ascend,
        _ => Neighbours::DoNotDescend,
    };
    let len = crds.first()?.len();
    let part = |k: usize| k * PART..len.min((k + 1) * PART + 1);
    let holds = |k: usize| {
        let part: Vec<&[C]> = crds.iter().map(|crd| &crd[part(k)]).collect();
        entries_hold(&part, &ranges, neighbours)
    };
    all(len, len.div_ceil(PART), holds).then_some(())
}

/// What is promised of the coordinates of an entry and the next one, outermost first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Neighbours {
    Any,
    Ascend,
    DoNotDescend,
}

/// Entries of a list that one thread checks.
const PART: usize = 1 << 14;
/// Entries of one pass over all columns: they fit the first cache.
const ENTRIES: usize = 512;

/// Whether the coordinates of entries lie in their ranges and keep a promise.
fn entries_hold<C: Index>(crds: &[&[C]], ranges: &[Range], neighbours: Neighbours) -> bool {
    #[cfg(target_arch = "x86_64")]
    if processor::allows(Level::V4) {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { entries_hold_widest(crds, ranges, neighbours) };
    } else if processor::allows(Level::V3) {
        // SAFETY: as above.
        return unsafe { entries_hold_wide(crds, ranges, neighbours) };
    }
    entries_hold_plain(crds, ranges, neighbours)
}

/// The same with vectors of 512 bits, which compare numbers of 64 bits without a sign, too.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn entries_hold_widest<C: Index>(crds: &[&[C]], ranges: &[Range], neighbours: Neighbours) -> bool {
    entries_hold_plain(crds, ranges, neighbours)
}

/// The same with instructions that compare several numbers at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn entries_hold_wide<C: Index>(crds: &[&[C]], ranges: &[Range], neighbours: Neighbours) -> bool {
    entries_hold_plain(crds, ranges, neighbours)
}

#[inline(always)]
fn entries_hold_plain<C: Index>(crds: &[&[C]], ranges: &[Range], neighbours: Neighbours) -> bool {
    let len = crds.first().map_or(0, |crd| crd.len());
    for at in (0..len).step_by(ENTRIES) {
        // The next entry is that of the next block, too.
        let end = len.min(at + ENTRIES + 1);
        let mut holds = [C::Distance::from(neighbours != Neighbours::Ascend); ENTRIES];
        for (crd, &range) in crds.iter().zip(ranges).rev() {
            let block = &crd[at..end];
            if scanned(block, range, |_, _| false).is_none() {
                return false;
            }
            if neighbours == Neighbours::Any {
                continue;
            }
            // An outer coordinate decides, where both are the same an inner one does.
            for ((&a, &b), holds) in block.iter().zip(&block[1..]).zip(&mut holds) {
                *holds = C::Distance::from(a < b) | (C::Distance::from(a == b) & *holds);
            }
        }
        let mut all = C::Distance::from(true);
        for &holds in &holds[..end - at - 1] {
            all = all & holds;
        }
        if neighbours != Neighbours::Any && all != C::Distance::from(true) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::memory::Buffer;
    use crate::tensor::{LevelData, Tensor};
    use tamis_core::format;
    use tamis_ir::datatype::{DataType, IndexWidth};

    /// Small matrices by rows, of which many break a promise: positions that descend or go beyond,
    /// coordinates outside, descending or twice.
    #[test]
    fn rows_hold_where_they_plainly_do() {
        let mut state = 7u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let mut valid = 0;
        for _ in 0..20_000 {
            let (rows, columns) = (random(5), 1 + random(5));
            let (mut pos, mut crd) = (vec![0i32], vec![]);
            for _ in 0..rows {
                let row = (0..columns as i32).filter(|_| random(2) == 0);
                crd.extend(row);
                pos.push(crd.len() as i32);
            }
            if random(2) == 0 && !crd.is_empty() {
                let at = random(crd.len() as u64) as usize;
                crd[at] = random(columns + 3) as i32 - 1;
            }
            if random(4) == 0 {
                let at = random(pos.len() as u64) as usize;
                pos[at] = random(crd.len() as u64 + 3) as i32 - 1;
            }
            let ends = pos[0] == 0 && pos[rows as usize] == crd.len() as i32 && pos.is_sorted();
            let holds = ends
                && pos.windows(2).all(|w| {
                    let row = &crd[w[0] as usize..w[1] as usize];
                    row.is_sorted_by(|a, b| a < b)
                        && row.iter().all(|c| (0..columns as i32).contains(c))
                });
            let vals = vec![1.0; crd.len()];
            let made = Tensor::csr([rows, columns], pos, crd, vals);
            assert_eq!(made.is_ok(), holds);
            valid += u32::from(holds);
        }
        assert!((4000..16_000).contains(&valid), "{valid}");
    }
    /// Lists of three coordinates, longer than what is looked at together, of which many break a promise at one
    /// entry: outside of the dimension, descending, or there twice.
    #[test]
    fn lists_hold_where_they_plainly_do() {
        let mut state = 3u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let mut valid = 0;
        for round in 0..400 {
            let len = [1, 2, 511, 512, 513, 1025, (1 << 14) + 1][round % 7];
            let mut entries: Vec<[i32; 3]> =
                (0..len).map(|n| [n / 40, n / 4 % 10, 2 * (n % 4)]).collect();
            let at = random(len as u64) as usize;
            match random(4) {
                0 => entries[at][random(3) as usize] = if random(2) == 0 { -1 } else { len + 10 },
                1 => entries[at] = entries[random(len as u64) as usize],
                2 => entries[at][2] += 1,
                _ => {}
            }
            let dims = [len as u64 / 40 + 1, 10, 8];
            let inside =
                entries.iter().all(|e| e.iter().zip(dims).all(|(&c, d)| 0 <= c && (c as u64) < d));
            for (name, ordered) in [
                ("coo", entries.is_sorted_by(|a, b| a < b)),
                ("coo(nonunique)", entries.is_sorted()),
                ("coo(nonordered, nonunique)", true),
            ] {
                let of = |k: usize| entries.iter().map(|e| e[k]).collect::<Vec<i32>>();
                let mut levels: Vec<LevelData> = (0..3)
                    .map(|k| LevelData {
                        crd: Some(Buffer::from_vec(of(k))),
                        ..LevelData::default()
                    })
                    .collect();
                levels[0].pos = Some(Buffer::from_vec(vec![0, len]));
                let format = format::parse(name, Some(3)).and_then(|f| f.resolve(DataType::F64));
                let mut storage = format.unwrap_or_else(|d| panic!("{d}"));
                (storage.pos, storage.crd) = (IndexWidth::I32, IndexWidth::I32);
                let vals = Buffer::from_vec(vec![1.0; len as usize]);
                let made = Tensor::try_from_parts(dims.to_vec(), storage, levels, vals);
                assert_eq!(made.is_ok(), inside && ordered, "{name} {len} {at}");
                valid += u32::from(made.is_ok());
            }
        }
        assert!((500..1150).contains(&valid), "{valid}");
    }
}
