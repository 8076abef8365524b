//! Formats with levels that are written in order below a hash map. No kernel writes them, since
//! positions in a hash map are known only when all its coordinates are: kernels write a list, which
//! is packed in two steps, both in terms of level coordinates.
//!
//! ```text
//! (i: hashed, j: compressed)      the entries (7,0) (2,3) (7,5)
//! i: hashed                       7 -> slot 3, 2 -> slot 6: the numbers 1 and 2 are its values
//! slot: dense, j: compressed      (3,0) (6,3) (3,5): its levels but the first lie below
//! ```
//!
//! Diagonals are counted from the least one in the meantime, and the positions in them are all stored;
//! coordinates that follow from others are left out.

use std::collections::HashMap;
use tamis_core::format::{Format, FormatSpec, LevelMap, LevelSpec, Storage};
use tamis_core::level::{COMPRESSED, DENSE, OFFSET, RANGE};
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::Id;
use tamis_runtime::{Buffer, Coordinates, LevelData, Tensor, Values, budget};

/// Whether a format is one of these, and its levels follow from coordinates one by one.
pub(crate) fn is_scattered(format: &Format) -> bool {
    let follows = |level: &LevelSpec| !matches!(level.map, LevelMap::Slot(_));
    format.unwritable_level().is_some() && format.levels().iter().all(follows)
}

/// Whether tensors can be stored in a format: not where levels in order lie below a hash map beside
/// slots.
pub fn is_writable(format: &Format) -> bool {
    format.unwritable_level().is_none() || is_scattered(format)
}

/// What kernels write instead.
pub(crate) fn stand_in(format: &Format) -> Format {
    Format::in_order(vec![COMPRESSED; format.order()])
}

/// What kernels write of a result of a format.
pub(crate) fn written(spec: &FormatSpec) -> FormatSpec {
    match is_scattered(&spec.format) {
        true => FormatSpec { format: stand_in(&spec.format), ..spec.clone() },
        false => spec.clone(),
    }
}

/// A tensor of entries at different coordinates.
pub(crate) fn pack(list: Coordinates, storage: &Storage) -> Result<Tensor, Diagnostic> {
    // Coordinates of levels, and a hash map of them.
    let entry = 8 * (storage.format.levels().len() + 2 * list.dims().len()) + 64;
    let bytes = list.vals().len() as f64 * entry as f64;
    budget::check("the coordinates of entries", bytes, budget::SMALLER_RESULT)?;
    let (dims, crds, vals) = list.into_parts();
    let of_level = |map: LevelMap| match map {
        LevelMap::Div(m, size) => {
            let crds = crds[m.index()].iter().map(|c| c / size).collect();
            (dims[m.index()].div_ceil(size), crds)
        }
        LevelMap::Mod(m, size) => (size, crds[m.index()].iter().map(|c| c % size).collect()),
        LevelMap::Diff { plus, minus } => {
            let (plus, minus) = (plus.index(), minus.index());
            let pairs = crds[plus].iter().zip(&crds[minus]);
            let crds = pairs.map(|(p, m)| p + (dims[minus] - 1 - m)).collect();
            ((dims[plus] + dims[minus]).saturating_sub(1), crds)
        }
        LevelMap::Mode(m) | LevelMap::Slot(m) => (dims[m.index()], crds[m.index()].clone()),
    };
    let stored = || storage.format.levels().iter().filter(|level| level.kind != OFFSET);
    let (sizes, columns) = stored().map(|level| of_level(level.map)).unzip();
    let kinds: Vec<_> =
        stored().map(|level| if level.kind == RANGE { DENSE } else { level.kind }).collect();
    let plain = Storage { format: Format::in_order(kinds), ..storage.clone() };
    let (mut levels, vals) = levels(Coordinates::new(sizes, columns, vals)?, &plain)?;
    for (k, spec) in storage.format.levels().iter().enumerate() {
        if spec.kind == OFFSET {
            levels.insert(k, LevelData::default());
        }
    }
    for (level, spec) in levels.iter_mut().zip(storage.format.levels()) {
        let LevelMap::Diff { minus, .. } = spec.map else { continue };
        // Levels that are listed in order hold diagonals as they are.
        if let Some(crd) = level.crd.as_mut().filter(|_| spec.kind.append().is_some()) {
            let least = dims[minus.index()] as i64 - 1;
            let raw = (0..crd.len()).map(|k| crd.index(k) - least);
            *crd = match storage.crd {
                IndexWidth::I32 => Buffer::from_vec(raw.map(|c| c as i32).collect()),
                IndexWidth::I64 => Buffer::from_vec(raw.collect()),
            };
        }
    }
    Tensor::try_from_parts(dims, storage.clone(), levels, vals)
}

/// The arrays of a format whose levels are the modes.
fn levels(list: Coordinates, storage: &Storage) -> Result<(Vec<LevelData>, Buffer), Diagnostic> {
    let Some(hashed) = storage.format.first_scattered().filter(|_| is_scattered(&storage.format))
    else {
        let tensor = crate::pack(&list, storage, crate::Duplicates::Refuse)?;
        return Ok((tensor.levels().to_vec(), tensor.vals().clone()));
    };
    let kinds: Vec<_> = storage.format.levels().iter().map(|level| level.kind).collect();
    let (above, below) = kinds.split_at(hashed + 1);
    let (numbers, distinct) = distinct(&list, above.len())?;
    let map = Storage {
        format: Format::in_order(above.to_vec()),
        datatype: DataType::I64,
        fill: Scalar::I64(0),
        ..*storage
    };
    let (mut all, slots) = levels(distinct, &map)?;
    let mut slot_of = vec![0; numbers.len()];
    for (slot, &number) in slots.as_slice::<i64>().unwrap_or_default().iter().enumerate() {
        // Numbers count from 1; slots that hold none have the fill value.
        if number > 0 {
            slot_of[number as usize - 1] = slot as u64;
        }
    }
    let (mut dims, mut crds, vals) = list.into_parts();
    dims.splice(..above.len(), [slots.len() as u64]);
    crds.splice(..above.len(), [numbers.iter().map(|&n| slot_of[n]).collect()]);
    let kinds = [&[DENSE], below].concat();
    let rest = Storage { format: Format::in_order(kinds), ..storage.clone() };
    let (more, vals) = levels(Coordinates::new(dims, crds, vals)?, &rest)?;
    all.extend(more.into_iter().skip(1));
    Ok((all, vals))
}

/// The different coordinates in the first modes, with the numbers from 1 as values, and, less one,
/// the number of those of each entry.
fn distinct(list: &Coordinates, modes: usize) -> Result<(Vec<usize>, Coordinates), Diagnostic> {
    let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut crds = vec![vec![]; modes];
    let mut place = vec![0; modes];
    let mut numbers = Vec::with_capacity(list.vals().len());
    for n in 0..list.vals().len() {
        place.iter_mut().zip(list.crds()).for_each(|(c, column)| *c = column[n]);
        let number = known.get(&place).copied().unwrap_or_else(|| {
            let next = known.len();
            known.insert(place.clone(), next);
            crds.iter_mut().zip(&place).for_each(|(column, &c): (&mut Vec<u64>, _)| column.push(c));
            next
        });
        numbers.push(number);
    }
    let vals = Values::I64((1..=known.len() as i64).collect());
    Ok((numbers, Coordinates::new(list.dims()[..modes].to_vec(), crds, vals)?))
}
