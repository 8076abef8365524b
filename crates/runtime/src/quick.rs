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
use crate::tensor::LevelData;
use tamis_core::datatype::DataType;
use tamis_core::format::{Format, LevelMap};
use tamis_core::level::{Header, Part};

/// The number of positions of the last level, if the arrays certainly keep every promise. They are
/// those that the format asks for, of its types.
pub(crate) fn positions(format: &Format, dims: &[u64], levels: &[LevelData]) -> Option<u64> {
    let headers = format.headers(dims, &|_| 0);
    if is_list(format) {
        return list(format, &headers, levels);
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

fn segments_of<P, C>(header: &Header, parents: u64, pos: &Buffer, crd: &Buffer) -> Option<u64>
where
    P: Element + Into<i64> + PartialOrd,
    C: Element + Into<i64> + PartialOrd,
{
    let (pos, crd) = (pos.as_slice::<P>()?, crd.as_slice::<C>()?);
    let properties = header.properties;
    let (first, last) = (*pos.first()?, *pos.last()?);
    let complete = pos.len() as u64 == parents.checked_add(1)?
        && (first.into(), last.into()) == (0, crd.len() as i64)
        && pairs(pos, |a, b| a > b) == 0
        && lie_within(header, crd);
    if !complete {
        return None;
    }
    let ordered = match (properties.ordered, properties.unique) {
        (true, true) => ascend(pos, crd, |a, b| a >= b),
        (true, false) => ascend(pos, crd, |a, b| a > b),
        (false, unique) => !unique,
    };
    ordered.then_some(crd.len() as u64)
}

/// Whether every coordinate lies in the extent of its level.
fn lie_within<C: Element + Into<i64>>(header: &Header, crd: &[C]) -> bool {
    let outside = |c: &C| u64::from((*c).into().wrapping_sub(header.least) as u64 >= header.size);
    crd.iter().map(outside).sum::<u64>() == 0
}

/// How many neighbours a relation holds for.
fn pairs<T: Copy>(items: &[T], holds: impl Fn(T, T) -> bool) -> u64 {
    let behind = items.get(1..).unwrap_or_default();
    items.iter().zip(behind).map(|(&a, &b)| u64::from(holds(a, b))).sum()
}

/// Whether neighbours descend nowhere but where a segment ends. Positions ascend from 0 to the
/// number of coordinates.
fn ascend<P, C>(pos: &[P], crd: &[C], descends: impl Fn(C, C) -> bool) -> bool
where
    P: Element + Into<i64>,
    C: Element,
{
    let ends = pos.windows(2).map(|w| (w[0].into() as usize, w[1].into() as usize));
    let between = ends.filter(|&(begin, end)| begin < end && 0 < begin);
    let at_ends = between.map(|(begin, _)| u64::from(descends(crd[begin - 1], crd[begin]))).sum();
    pairs(crd, &descends) == at_ends
}

/// The number of entries of a list of coordinates.
fn list(format: &Format, headers: &[Header], levels: &[LevelData]) -> Option<u64> {
    let last = headers.last()?.properties;
    if headers.iter().any(|h| h.properties.interleaved || !h.properties.compact) {
        return None;
    }
    if format.levels().iter().any(|l| !matches!(l.map, LevelMap::Mode(_))) {
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

fn list_of<C>(headers: &[Header], crds: &[&Buffer], unique: bool) -> Option<()>
where
    C: Element + Into<i64> + Ord,
{
    let slices = crds.iter().map(|crd| crd.as_slice::<C>()).collect::<Option<Vec<&[C]>>>()?;
    let inside = headers.iter().zip(&slices).all(|(header, crd)| lie_within(header, crd));
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
