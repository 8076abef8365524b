//! Tensors by the same arrays in more or fewer axes of one element, and where coordinates are stored.
//!
//! ```text
//! csr of 3 x 4 in 1 x 3 x 4    a dense level of one element above the others
//! (0, 2), (1, 1) of csr        the positions 1 and -1, if row 0 has columns 0 and 2 and row 1 has none
//! ```

use crate::array::{coordinates, indices};
use crate::failure::{detached, raised};
use crate::memory::{Access, lent};
use crate::reshape::Index;
use crate::select::{broken, mode};
use crate::tensor::Tensor;
use pyo3::prelude::*;
use tamis::format::{Format, LevelMap, LevelSpec};
use tamis::ids::{Id, Mode};
use tamis::level::{COMPRESSED, DENSE};
use tamis::{Buffer, DataType, Diagnostic, Element, IndexWidth, LevelData, Storage};

/// Whether each level is that of one axis, and dense or compressed.
pub(crate) fn is_plain(levels: &[LevelSpec]) -> bool {
    let is_known = |level: &LevelSpec| level.kind == DENSE || level.kind == COMPRESSED;
    levels.iter().all(|level| is_known(level) && level.stores_mode())
}

/// Whether a tensor has levels that are dense or compressed, in the order of its axes but for those of one
/// element: its entries are in the order of rows, each once.
#[pyfunction]
pub fn is_in_rows(tensor: &Bound<'_, Tensor>) -> bool {
    let known = tensor.get().known();
    let levels = known.storage().format.levels();
    let long = levels.iter().map(mode).filter(|&m| known.dims()[m] != 1);
    is_plain(levels) && long.is_sorted()
}

/// The axis of the outermost level, along which tensors of a format are joined by joining their arrays; nothing
/// for other levels than dense and compressed ones.
#[pyfunction]
pub fn outer_axis(tensor: &Bound<'_, Tensor>) -> Option<usize> {
    let levels = tensor.get().known().storage().format.levels();
    levels.first().filter(|_| is_plain(levels)).map(mode)
}

/// The tensor in other axes: for each its own axis that it is, or none for one of one element. Axes that are left
/// out have one element. Nothing where no format has the same arrays.
#[pyfunction]
pub fn reframed(tensor: &Bound<'_, Tensor>, axes: Vec<Option<usize>>) -> Option<Tensor> {
    let known = tensor.get().known();
    let levels = known.storage().format.levels();
    if !is_plain(levels) {
        return None;
    }
    let (mut specs, mut data) = (vec![], vec![]);
    for (spec, level) in levels.iter().zip(known.levels()) {
        match axes.iter().position(|&axis| axis == Some(mode(spec))) {
            Some(axis) => {
                specs.push(LevelSpec { map: LevelMap::Mode(Mode::new(axis)), kind: spec.kind });
                data.push(level.clone());
            }
            None if spec.kind == DENSE && known.dims()[mode(spec)] == 1 => {}
            None => return None,
        }
    }
    for axis in (0..axes.len()).filter(|&axis| axes[axis].is_none()) {
        // Above a level, whose coordinates stay the innermost.
        let last = specs.len().saturating_sub(1);
        let at = specs.iter().position(|spec| mode(spec) > axis).unwrap_or(last);
        specs.insert(at, LevelSpec { map: LevelMap::Mode(Mode::new(axis)), kind: DENSE });
        data.insert(at, LevelData::default());
    }
    let format = Format::new(specs, axes.len()).ok()?;
    let dims = axes.iter().map(|axis| axis.map_or(Some(1), |a| known.dims().get(a).copied()));
    let (dims, storage) = (dims.collect::<Option<_>>()?, known.storage().clone());
    let storage = Storage { format, ..storage };
    // SAFETY: the levels are those of a valid tensor, or were looked at as such; more or fewer dense levels of
    // one element change no position.
    let made =
        unsafe { tamis::Tensor::from_parts_unchecked(dims, storage, data, known.vals().clone()) };
    Some(Tensor::new(made))
}

/// The number of the line of each entry, given where lines begin and where the last one ends, as integers of
/// 64 bits or of 32.
#[pyfunction]
pub fn lines<'py>(pos: &Bound<'py, PyAny>, is_wide: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = pos.py();
    let pos = indices(pos)?;
    let width = if is_wide { IndexWidth::I64 } else { IndexWidth::I32 };
    let made = detached(py, || numbers_of(&pos, width))?;
    let len = made.len() as u64;
    lent(py, made, &[len], &[0], Access::Given)
}

/// The line of each entry, as integers of a width.
pub(crate) fn numbers_of(pos: &Buffer, width: IndexWidth) -> Result<Buffer, Diagnostic> {
    match (width, pos.as_slice::<i32>(), pos.as_slice::<i64>()) {
        (IndexWidth::I64, Some(pos), _) => numbers::<i32, i64>(pos),
        (IndexWidth::I64, _, Some(pos)) => numbers::<i64, i64>(pos),
        (IndexWidth::I32, Some(pos), _) => numbers::<i32, i32>(pos),
        (IndexWidth::I32, _, Some(pos)) => numbers::<i64, i32>(pos),
        _ => Err(broken()),
    }
}

fn numbers<P: Element + Into<i64>, I: Index>(pos: &[P]) -> Result<Buffer, Diagnostic> {
    let Some(&last) = pos.last() else { return Ok(Buffer::from_vec(Vec::<I>::new())) };
    let count = last.into().max(0);
    let mut made = Vec::with_capacity(count.min(1 << 30) as usize);
    for (block, ends) in pos[1..].chunks(EMPTY).enumerate() {
        let begin: i64 = pos[block * EMPTY].into();
        if begin != made.len() as i64 {
            return Err(broken());
        }
        // All bits at once, since most lines are empty where there are more of them than entries.
        if ends.iter().fold(0, |bits, &end| bits | (end.into() ^ begin)) == 0 {
            continue;
        }
        for (k, &end) in ends.iter().enumerate() {
            let line = I::narrowed((block * EMPTY + k) as u64);
            let count = end.into() - made.len() as i64;
            let count = usize::try_from(count).map_err(|_| broken())?;
            made.extend(std::iter::repeat_n(line, count));
        }
    }
    Ok(Buffer::from_vec(made))
}

/// So many lines are skipped together if they have no entries.
const EMPTY: usize = 16;

/// The positions of the values at some coordinates, of which there is an array for each axis; -1 where nothing is
/// stored. Nothing for formats in which positions are not found by level.
#[pyfunction]
pub fn positions<'py>(
    tensor: &Bound<'py, Tensor>,
    coords: Vec<Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = tensor.py();
    if !is_plain(tensor.get().known().storage().format.levels()) {
        return Ok(None);
    }
    let known = tensor.get().checked(py)?;
    let lists = coords.iter().map(coordinates).collect::<PyResult<Vec<_>>>()?;
    let fits = |(list, &size): (&Vec<u64>, &u64)| {
        list.len() == lists[0].len() && list.iter().all(|&c| c < size)
    };
    if lists.len() != known.dims().len() || !lists.iter().zip(known.dims()).all(fits) {
        return Err(raised(py, &broken()));
    }
    let found = detached(py, || Ok(found(&known, &lists)))?;
    let len = found.len() as u64;
    lent(py, Buffer::from_vec(found), &[len], &[0], Access::Given).map(Some)
}

fn found(tensor: &tamis::Tensor, coords: &[Vec<u64>]) -> Vec<i64> {
    let mut at = vec![0i64; coords.first().map_or(1, Vec::len)];
    for (spec, data) in tensor.storage().format.levels().iter().zip(tensor.levels()) {
        let (size, coords) = (tensor.dims()[mode(spec)] as i64, &coords[mode(spec)]);
        let (Some(pos), Some(crd)) = (&data.pos, &data.crd) else {
            let stored = at.iter_mut().zip(coords).filter(|(at, _)| **at >= 0);
            stored.for_each(|(at, &c)| *at = *at * size + c as i64);
            continue;
        };
        match (pos.datatype(), crd.datatype()) {
            (DataType::I32, DataType::I32) => search::<i32, i32>(pos, crd, &mut at, coords),
            (DataType::I32, _) => search::<i32, i64>(pos, crd, &mut at, coords),
            (_, DataType::I32) => search::<i64, i32>(pos, crd, &mut at, coords),
            _ => search::<i64, i64>(pos, crd, &mut at, coords),
        }
    }
    at
}

/// So many searches begin together.
const SEARCHES: usize = 32;

/// The positions of coordinates among the children of some positions, by binary search.
fn search<P, C>(pos: &Buffer, crd: &Buffer, at: &mut [i64], coords: &[u64])
where
    P: Element + Into<i64>,
    C: Element + Into<i64>,
{
    let pos = pos.as_slice::<P>().unwrap_or_default();
    let crd = crd.as_slice::<C>().unwrap_or_default();
    let (mut begins, mut lengths) = ([0; SEARCHES], [0; SEARCHES]);
    for (at, coords) in at.chunks_mut(SEARCHES).zip(coords.chunks(SEARCHES)) {
        let mut touched = 0;
        for (k, &parent) in at.iter().enumerate() {
            let (begin, end): (i64, i64) = match usize::try_from(parent) {
                Ok(parent) => (pos[parent].into(), pos[parent + 1].into()),
                Err(_) => (0, 0),
            };
            (begins[k], lengths[k]) = (begin as usize, (end - begin) as usize);
        }
        for &begin in &begins[..at.len()] {
            touched ^= crd.get(begin).map_or(0, |&c| c.into());
        }
        // Memory is waited for once for all, not in each search.
        std::hint::black_box(touched);
        for (k, (at, &c)) in at.iter_mut().zip(coords).enumerate() {
            let children = &crd[begins[k]..][..lengths[k]];
            let place = children.partition_point(|&d| d.into() < c as i64);
            let is_stored = children.get(place).is_some_and(|&d| d.into() == c as i64);
            *at = if is_stored { (begins[k] + place) as i64 } else { -1 };
        }
    }
}
