//! Lists of coordinates as compressed rows or columns: entries are counted into lines, and sorted in those alone that
//! are not in order.
//!
//! ```text
//! (0, 1) (2, 0) (2, 2), csr    in order: pos 0 1 1 3, crd 1 0 2; the coordinates and values are those of the list
//! (2, 2) (0, 1) (2, 0), csr    counts 1 0 2: crd 1 2 0 by lines, 1 0 2 in order
//! ```

use crate::convert::own;
use crate::foreign::is_foreign;
use crate::listed;
use crate::reshape::Index;
use crate::select::mode;
use crate::tensor::valid;
use tamis::level::{COMPRESSED, DENSE};
use tamis::{Buffer, Diagnostic, Element, IndexWidth, LevelData, Storage, Tensor, Truth, budget};

/// A list of coordinates as compressed rows or columns, entries of the same coordinate added up; nothing for other
/// formats, and for some types where a coordinate is there twice.
pub(crate) fn of_list(tensor: &Tensor, storage: &Storage) -> Option<Result<Tensor, Diagnostic>> {
    let known = tensor.storage();
    let ([_, _], [line, other]) = (known.format.levels(), storage.format.levels()) else {
        return None;
    };
    let is_compressed = line.kind == DENSE && other.kind == COMPRESSED;
    let is_alike = (known.datatype, known.crd) == (storage.datatype, storage.crd)
        && known.fill.same_value(storage.fill);
    // Positions are 32 bits wide, perhaps, and the numbers of entries always.
    let is_numbered = i32::try_from(tensor.vals().len()).is_ok();
    if !is_compressed || !is_alike || !is_numbered || !listed::is_known(&known.format) {
        return None;
    }
    let column = |map| {
        let at = known.format.levels().iter().position(|level| level.map == map)?;
        tensor.levels()[at].crd.as_ref()
    };
    let columns = (column(line.map)?, column(other.map)?);
    let lines = tensor.dims()[mode(line)];
    if columns.0.len() != tensor.vals().len() || columns.1.len() != tensor.vals().len() {
        return None;
    }
    if let Err(told) =
        budget::check("an array of row ends", 8.0 * lines as f64, budget::SMALLER_RESULT)
    {
        return Some(Err(told));
    }
    let top = &known.format.levels()[0];
    let is_sorted = top.kind.properties().ordered && !known.format.has_duplicates();
    if is_sorted && top.map != line.map {
        // Kernels count such a list on several threads.
        return None;
    }
    let made = counted::<i32>(columns, tensor.vals(), lines as usize, is_sorted)
        .or_else(|| counted::<i64>(columns, tensor.vals(), lines as usize, is_sorted))?;
    Some(made.and_then(|(ends, crd, vals)| {
        let pos = Some(positions(ends, storage.pos));
        let level = LevelData { pos, crd: Some(crd), ..LevelData::default() };
        let (dims, levels) = (tensor.dims().to_vec(), vec![LevelData::default(), level]);
        let has_foreign = [columns.0, columns.1, tensor.vals()].into_iter().any(is_foreign);
        match has_foreign || cfg!(debug_assertions) {
            true => valid(dims, storage.clone(), levels, vals),
            // SAFETY: the entries of a valid matrix, of each line in order; builds with assertions look.
            false => {
                Ok(unsafe { Tensor::from_parts_unchecked(dims, storage.clone(), levels, vals) })
            }
        }
    }))
}

/// Where lines end, and the coordinates and values in the order of lines.
type Counted = (Vec<u32>, Buffer, Buffer);

/// The entries of each line in the order of their coordinates, in which the list is, or may be; nothing for types that
/// are not known here.
fn counted<C: Index + Ord>(
    (line, other): (&Buffer, &Buffer),
    vals: &Buffer,
    lines: usize,
    is_sorted: bool,
) -> Option<Result<Counted, Diagnostic>> {
    let (line, crd) = (line.as_slice::<C>()?, other.as_slice::<C>()?);
    if is_sorted || ascends(line, crd) {
        let ends = match line.len() / MANY < lines {
            true => counts(line, lines)?,
            false => searched(line, lines),
        };
        return Some(shared(other).and_then(|crd| Ok((ends, crd, shared(vals)?))));
    }
    let bytes = line.len() * (size_of::<C>() + vals.datatype().size());
    if let Err(told) = budget::check("a copy of the list", bytes as f64, budget::SMALLER_RESULT) {
        return Some(Err(told));
    }
    // Where the next entry of each line goes, which is where the line ends in the end.
    let mut next = counts(line, lines)?;
    let entries = (line, crd);
    let made = scattered::<C, f64>(entries, vals, &mut next)
        .or_else(|| scattered::<C, f32>(entries, vals, &mut next))
        .or_else(|| scattered::<C, [f64; 2]>(entries, vals, &mut next))
        .or_else(|| scattered::<C, [f32; 2]>(entries, vals, &mut next))
        .or_else(|| scattered::<C, i64>(entries, vals, &mut next))
        .or_else(|| scattered::<C, i32>(entries, vals, &mut next))
        .or_else(|| scattered::<C, u8>(entries, vals, &mut next))
        .or_else(|| scattered::<C, Truth>(entries, vals, &mut next))??;
    next.rotate_right(1);
    next[0] = 0;
    Some(Ok((next, made.0, made.1)))
}

/// Where lines end if each has as many entries as occur in a list; nothing if one is none of them.
fn counts<C: Index>(line: &[C], lines: usize) -> Option<Vec<u32>> {
    let mut ends = vec![0u32; lines.checked_add(1)?];
    for c in line {
        *ends.get_mut(c.number().checked_add(1)?)? += 1;
    }
    for k in 0..lines {
        ends[k + 1] += ends[k];
    }
    Some(ends)
}

/// Where lines end in a list that is sorted, by a search for each.
fn searched<C: Index>(line: &[C], lines: usize) -> Vec<u32> {
    let mut end = 0;
    let ends = (0..lines).map(|k| {
        let mut step = MANY;
        while line.get(end + step).is_some_and(|c| c.number() <= k) {
            (end, step) = (end + step, 2 * step);
        }
        let rest = &line[end..line.len().min(end + step)];
        end += rest.partition_point(|c| c.number() <= k);
        end as u32
    });
    std::iter::once(0).chain(ends).collect()
}

/// Of so many entries to a line, or more, the end is searched in less time than they are counted.
const MANY: usize = 16;

/// Whether each entry of a list is behind the one before it.
fn ascends<C: Index + Ord>(line: &[C], other: &[C]) -> bool {
    let all: [&[C]; 4] = [line, other, line.get(1..).unwrap_or(&[]), other.get(1..).unwrap_or(&[])];
    let count = line.len().min(other.len()).saturating_sub(1);
    // Blocks without a way out in between are looked at by vectors.
    (0..count).step_by(BLOCK).all(|begin| {
        let [line, other, next, behind] = all.map(|x| &x[begin..count.min(begin + BLOCK)]);
        let (now, then) = (line.iter().zip(other), next.iter().zip(behind));
        now.zip(then).fold(true, |all, ((l, o), (m, p))| all & ((l < m) | (l == m) & (o < p)))
    })
}

/// So many entries are looked at together.
const BLOCK: usize = 4096;

/// The coordinates and values in the order of lines, each line in order, which ends where the next one is to be then;
/// nothing for another type of values, nothing inside where these cannot be added up.
fn scattered<C: Index + Ord, T: Summed>(
    (line, other): (&[C], &[C]),
    vals: &Buffer,
    next: &mut [u32],
) -> Option<Option<(Buffer, Buffer)>> {
    let vals = vals.as_slice::<T>()?;
    let mut crd = vec![C::narrowed(0); line.len()];
    let mut made = vec![T::default(); line.len()];
    for ((c, other), value) in line.iter().zip(other).zip(vals) {
        let (place, to) = (next.get_mut(c.number()), line.len());
        let Some(place) = place.filter(|place| (**place as usize) < to) else { return Some(None) };
        crd[*place as usize] = *other;
        made[*place as usize] = *value;
        *place += 1;
    }
    // Entries that are there several times become one, and those behind them move up to it.
    let (mut begin, mut to, mut line) = (0, 0, vec![]);
    for end in next {
        let own = begin..*end as usize;
        if own.start > own.end {
            // Somebody wrote the list meanwhile.
            return Some(None);
        }
        begin = own.end;
        let is_sorted = crd[own.clone()].is_sorted_by(|a, b| a < b);
        if is_sorted && to == own.start {
            to = own.end;
            continue;
        }
        line.clear();
        line.extend(crd[own.clone()].iter().copied().zip(made[own].iter().copied()));
        if !is_sorted {
            line.sort_by_key(|&(c, _)| c);
        }
        for same in line.chunk_by(|a, b| a.0 == b.0) {
            let sum = match same {
                [(_, only)] => Some(*only),
                _ => T::sum(same.iter().map(|&(_, value)| value)),
            };
            let Some(sum) = sum else { return Some(None) };
            (crd[to], made[to]) = (same[0].0, sum);
            to += 1;
        }
        *end = to as u32;
    }
    crd.truncate(to);
    made.truncate(to);
    Some(Some((Buffer::from_vec(crd), Buffer::from_vec(made))))
}

/// Values of entries of which several become one.
trait Summed: Element + Default {
    /// Their sum in this order, as exact as kernels add; nothing for types of which it may be refused.
    fn sum(_: impl Iterator<Item = Self>) -> Option<Self> {
        None
    }
}

impl Summed for f64 {
    fn sum(values: impl Iterator<Item = f64>) -> Option<f64> {
        values.reduce(|a, b| a + b)
    }
}

impl Summed for f32 {
    fn sum(values: impl Iterator<Item = f32>) -> Option<f32> {
        values.map(f64::from).reduce(|a, b| a + b).map(|sum| sum as f32)
    }
}

impl Summed for [f64; 2] {
    fn sum(values: impl Iterator<Item = [f64; 2]>) -> Option<[f64; 2]> {
        values.reduce(|a, b| [a[0] + b[0], a[1] + b[1]])
    }
}

impl Summed for i64 {
    fn sum(values: impl Iterator<Item = i64>) -> Option<i64> {
        values.reduce(i64::wrapping_add)
    }
}

impl Summed for [f32; 2] {}
impl Summed for i32 {}
impl Summed for u8 {}
impl Summed for Truth {}

/// An array, or a copy of one that somebody else may write.
fn shared(array: &Buffer) -> Result<Buffer, Diagnostic> {
    if is_foreign(array) { own(array) } else { Ok(array.clone()) }
}

/// Where lines end, as numbers of a width.
fn positions(ends: Vec<u32>, width: IndexWidth) -> Buffer {
    match width {
        IndexWidth::I32 => Buffer::from_vec(ends.into_iter().map(|end| end as i32).collect()),
        IndexWidth::I64 => Buffer::from_vec(ends.into_iter().map(i64::from).collect()),
    }
}
