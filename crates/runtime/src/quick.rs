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
use rayon::prelude::*;
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
            ([Part::Pos, Part::Crd], Some(pos), Some(crd)) if is_open(format, k) => {
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
    let blocks = pos.len().div_ceil(ROWS);
    let block = |k: usize| &pos[k * ROWS..pos.len().min((k + 1) * ROWS + 1)];
    let all = match crd.len() >= LARGE {
        true => (0..blocks).into_par_iter().all(|k| holds(block(k))),
        false => (0..blocks).all(|k| holds(block(k))),
    };
    all.then_some(crd.len() as u64)
}

/// So many segments are looked at together: short ones are still in the first cache when their ends
/// are looked at.
const ROWS: usize = 256;

/// From so many elements on arrays are looked at by several threads.
pub(crate) const LARGE: usize = 1 << 18;

/// A number of an array of positions or coordinates.
trait Index: Element + Ord + Into<i64> {
    /// The same bits without a sign.
    type Distance: Ord + Copy + Default;
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
    if processor::allows(Level::V3) {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { segments_hold_wide(ends, crd, range, descends) };
    }
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

/// How many neighbours descend of which a segment begins with the second.
///
/// # Safety
/// The ends are positions in the array, or its end, and ascend.
#[inline(always)]
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
        let pair = unsafe { [at - 1, at].map(|at| *crd.get_unchecked(at as usize)) };
        u64::from(descends(pair[0], pair[1]))
    };
    let ends = &ends[from..=to];
    let none_is_empty = ends.iter().zip(&ends[1..]).fold(true, |all, (a, b)| all & (a < b));
    if none_is_empty {
        return ends[..ends.len() - 1].iter().map(|&at| descends_at(at)).sum();
    }
    // Which segments are empty is unpredictable: branchless.
    ends.windows(2).map(|w| descends_at(w[0]) & u64::from(w[0] < w[1])).sum()
}

/// Whether all coordinates lie in the range.
fn lie_inside<C: Index>(crd: &[C], range: Range) -> bool {
    #[cfg(target_arch = "x86_64")]
    if processor::allows(Level::V3) {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { lie_inside_wide(crd, range) };
    }
    scanned(crd, range, |_, _| false).is_some()
}

/// The same with instructions that compare several numbers at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn lie_inside_wide<C: Index>(crd: &[C], range: Range) -> bool {
    scanned(crd, range, |_, _| false).is_some()
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
    let slices = crds.iter().map(|crd| crd.as_slice::<C>()).collect::<Option<Vec<&[C]>>>()?;
    let inside = headers
        .iter()
        .zip(&slices)
        .all(|(header, crd)| Range::of(header).is_some_and(|range| lie_inside(crd, range)));
    let ordered = headers.iter().filter(|h| h.properties.ordered).count();
    let in_order = match ordered {
        0 => !unique,
        n if n == headers.len() => (1..slices[0].len()).all(|at| {
            let order = slices.iter().map(|crd| crd[at - 1].cmp(&crd[at]));
            match order.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => !unique,
                std::cmp::Ordering::Greater => false,
            }
        }),
        _ => false,
    };
    (inside && in_order).then_some(())
}

#[cfg(test)]
mod tests {
    use crate::tensor::Tensor;

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
}
