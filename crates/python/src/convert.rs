//! Tensors in other formats and of other shapes, without a kernel where that is nothing but a list of
//! entries.
//!
//! ```text
//! [[0, 2], [0, 0]] to csr     the entry (0, 1) of 2; elements that are 0 are none
//! 2x6 to 3x4                  the entry (1, 2), element 8 of all, is (2, 0)
//! ```

use crate::array::known_format;
use crate::axes::numbers_of;
use crate::compressed;
use crate::listed;
use crate::memory::buffer;
use crate::select::positions;
use crate::tensor::valid;
use crate::threads::on_threads;
use std::ops::Range;
use tamis::format::Format;
use tamis::ids::Id;
use tamis::level::{COMPRESSED, DENSE, Part};
use tamis::{
    Buffer, Coordinates, Diagnostic, Duplicates, Element, IndexWidth, LevelData, Scalar, Storage,
    Tensor, ToFormat, Truth, Values,
};

/// The tensor in another storage. Elements of a dense one that are the fill value are no entries
/// of a sparse one.
pub(crate) fn converted(tensor: &Tensor, storage: &Storage) -> Result<Tensor, Diagnostic> {
    if tensor.storage() == storage {
        return Ok(tensor.clone());
    }
    if let Some(made) = compressed::of_list(tensor, storage) {
        return made;
    }
    if !tensor.storage().format.is_full() || storage.format.is_full() {
        return on_threads(usize::MAX, || tensor.to_format(storage));
    }
    let list = entries(tensor, storage)?;
    on_threads(usize::MAX, || tamis::pack(&list, storage, Duplicates::Sum))
}

/// A matrix of compressed rows or columns as the list of its entries, by the same arrays but for the numbers of
/// its lines; nothing for others.
pub(crate) fn as_list(tensor: &Tensor, storage: &Storage) -> Option<Result<Tensor, Diagnostic>> {
    let own = tensor.storage();
    let ([line, other], [top, last]) = (own.format.levels(), storage.format.levels()) else {
        return None;
    };
    let is_compressed = line.kind == DENSE && other.kind == COMPRESSED;
    let is_in_order =
        top.kind.properties().ordered && (top.map == line.map && last.map == other.map);
    let is_alike = (own.datatype, own.crd) == (storage.datatype, storage.crd)
        && own.fill.same_value(storage.fill);
    let (Some(pos), Some(crd)) = (&tensor.levels()[1].pos, &tensor.levels()[1].crd) else {
        return None;
    };
    if !is_compressed || !is_in_order || !is_alike || !listed::is_known(&storage.format) {
        return None;
    }
    let stored = tensor.vals().len();
    let lines = match numbers_of(pos, storage.crd) {
        Ok(lines) if lines.len() == stored && crd.len() == stored => lines,
        Ok(_) => return None,
        Err(told) => return Some(Err(told)),
    };
    let ends = positions(vec![0, stored as i64], storage.pos);
    let levels = vec![
        LevelData { pos: Some(ends), crd: Some(lines), ..LevelData::default() },
        LevelData { crd: Some(crd.clone()), ..LevelData::default() },
    ];
    let (dims, vals) = (tensor.dims().to_vec(), tensor.vals().clone());
    Some(match cfg!(debug_assertions) {
        true => valid(dims, storage.clone(), levels, vals),
        // SAFETY: the entries of a valid matrix in its order; builds with assertions look.
        false => Ok(unsafe { Tensor::from_parts_unchecked(dims, storage.clone(), levels, vals) }),
    })
}

/// The tensor with each coordinate once: entries of the same coordinate are added up in a list.
pub(crate) fn canonical(tensor: Tensor) -> Result<Tensor, Diagnostic> {
    if !tensor.storage().format.has_duplicates() {
        return Ok(tensor);
    }
    let order = tensor.dims().len();
    let format = known_format(if order == 1 { "sparse" } else { "coo" }, order)?;
    converted(&tensor, &Storage { format, pos: IndexWidth::I64, ..tensor.storage().clone() })
}

/// The elements of a dense tensor that another storage stores.
fn entries(tensor: &Tensor, storage: &Storage) -> Result<Coordinates, Diagnostic> {
    let fill = storage.fill.computed(tensor.vals().datatype());
    let stored = |count: usize, value: &dyn Fn(usize) -> Scalar| -> Vec<usize> {
        (0..count).filter(|&n| !value(n).same_value(fill)).collect()
    };
    if !tensor.storage().format.is_basic() {
        // Blocks and diagonals have values outside of the tensor, which are not elements.
        let all = tensor.to_coordinates()?;
        let kept = all.picked(&stored(all.vals().len(), &|n| all.vals().get(n)))?;
        let (dims, crds, vals) = kept.into_parts();
        return Coordinates::new(dims, crds, vals);
    }
    let vals = tensor.vals();
    let places = stored(vals.len(), &|n| vals.get(n));
    let crds = coordinates(tensor, &places);
    Coordinates::new(tensor.dims().to_vec(), crds, Values::gathered(vals, &places))
}

/// The coordinates of some elements of a tensor whose levels are dense.
fn coordinates(tensor: &Tensor, places: &[usize]) -> Vec<Vec<u64>> {
    let mut crds = vec![vec![]; tensor.dims().len()];
    let mut below = 1;
    for level in tensor.storage().format.levels().iter().rev() {
        let mode = level.map.modes()[0].index();
        let size = tensor.dims()[mode] as usize;
        crds[mode] = places.iter().map(|&n| (n / below % size) as u64).collect();
        below *= size;
    }
    crds
}

/// The elements of a tensor, in the order of rows, in axes of other sizes.
pub(crate) fn reshaped(
    tensor: &Tensor,
    dims: Vec<u64>,
    format: Format,
) -> Result<Tensor, Diagnostic> {
    let list = tensor.to_coordinates()?;
    let mut places = vec![0u64; list.vals().len()];
    for (crds, &size) in list.crds().iter().zip(tensor.dims()) {
        places.iter_mut().zip(crds).for_each(|(place, &c)| *place = *place * size + c);
    }
    let mut crds = vec![vec![]; dims.len()];
    for (k, &size) in dims.iter().enumerate().skip(1).rev() {
        let coordinate = |place: &mut u64| {
            let c = *place % size;
            *place /= size;
            c
        };
        crds[k] = places.iter_mut().map(coordinate).collect();
    }
    if let Some(first) = crds.first_mut() {
        *first = places;
    }
    let largest = dims.iter().copied().max().unwrap_or(0).max(list.vals().len() as u64);
    let width = IndexWidth::for_max(largest);
    let storage = Storage { format, pos: width, crd: width, ..tensor.storage().clone() };
    let (_, _, vals) = list.into_parts();
    let list = Coordinates::new(dims, crds, vals)?;
    on_threads(usize::MAX, || tamis::pack(&list, &storage, Duplicates::Sum))
}

/// The elements `(i, i + offset)` of a matrix whose rows or columns are compressed, each found by a
/// search; nothing for other formats.
pub(crate) fn diagonal(tensor: &Tensor, offset: i64) -> Option<Result<Tensor, Diagnostic>> {
    let [first, second] = tensor.storage().format.levels() else { return None };
    if first.kind != DENSE || second.kind != COMPRESSED {
        return None;
    }
    let level = &tensor.levels()[1];
    let (Some(pos), Some(crd)) = (&level.pos, &level.crd) else { return None };
    let [line, other] = [first, second].map(|level| level.map.modes()[0].index());
    let shift = if line == 0 { offset } else { offset.checked_neg()? };
    let [lines, others] = [line, other].map(|mode| tensor.dims()[mode] as i64);
    let begin = shift.saturating_neg().max(0);
    let len = lines.min(others.saturating_sub(shift)).saturating_sub(begin).max(0);
    let within = (begin..begin + len, shift);
    let found = match (crd.as_slice::<i32>(), crd.as_slice::<i64>()) {
        (Some(crd), _) => match (pos.as_slice::<i32>(), pos.as_slice::<i64>()) {
            (Some(pos), _) => searched(pos, crd, within),
            (_, Some(pos)) => searched(pos, crd, within),
            _ => return None,
        },
        (_, Some(crd)) => match (pos.as_slice::<i32>(), pos.as_slice::<i64>()) {
            (Some(pos), _) => searched(pos, crd, within),
            (_, Some(pos)) => searched(pos, crd, within),
            _ => return None,
        },
        _ => return None,
    };
    let at: Vec<usize> = found.iter().map(|&(_, at)| at).collect();
    let crd = found.iter().map(|&(line, _)| line - begin).collect();
    let storage = Storage { format: Format::in_order([COMPRESSED]), ..tensor.storage().clone() };
    let level = LevelData {
        pos: Some(positions(vec![0, at.len() as i64], storage.pos)),
        crd: Some(listed::coordinates(crd, storage.crd)),
        ..LevelData::default()
    };
    let vals = buffer(Values::gathered(tensor.vals(), &at));
    Some(valid(vec![len as u64], storage, vec![level], vals))
}

/// The lines that have the coordinate by so much beyond their own, and its position.
fn searched<P: Element + Into<i64>, C: Element + Into<i64>>(
    pos: &[P],
    crd: &[C],
    (lines, shift): (Range<i64>, i64),
) -> Vec<(i64, usize)> {
    let mut found = vec![];
    let mut begin = pos.get(lines.start as usize).map_or(0, |&p| p.into() as usize);
    for line in lines {
        let end = pos[line as usize + 1].into() as usize;
        let (children, wanted) = (&crd[begin..end], line + shift);
        let place = match children.len() {
            ..FEW => children.iter().position(|&c| c.into() == wanted),
            _ => Some(children.partition_point(|&c| c.into() < wanted)),
        };
        if let Some(place) = place
            && children.get(place).is_some_and(|&c| c.into() == wanted)
        {
            found.push((line, begin + place));
        }
        begin = end;
    }
    found
}

/// Fewer coordinates than these are looked at one after the other.
const FEW: usize = 16;

/// Whether values fit the levels of a tensor: truth values are of two bytes alone.
pub(crate) fn has_room(known: &Tensor, storage: &Storage, vals: &Buffer) -> bool {
    let is_alike = known.storage().format == storage.format;
    let is_fit = vals.len() == known.vals().len() && vals.datatype() == storage.datatype;
    is_alike && is_fit && vals.as_slice::<Truth>().is_none_or(|v| v.iter().all(|b| b.byte() <= 1))
}

/// A copy of an array.
pub(crate) fn own(array: &Buffer) -> Result<Buffer, Diagnostic> {
    array.gathered(&[Range { start: 0, end: array.len() }])
}

/// Copies of the arrays of levels.
pub(crate) fn own_levels(levels: &[LevelData]) -> Result<Vec<LevelData>, Diagnostic> {
    let mut made = vec![LevelData::default(); levels.len()];
    for (copy, level) in made.iter_mut().zip(levels) {
        for part in Part::ALL {
            *copy.part_mut(part) = level.part(part).map(own).transpose()?;
        }
    }
    Ok(made)
}
