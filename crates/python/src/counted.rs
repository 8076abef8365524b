//! How many entries other than 0 the lines of an axis have, by the positions where lines end, or by coordinates.
//!
//! ```text
//! pos 0 2 2 5, crd 0 3 0 1 3, values 1 1 3 2 0    2, 0 and 2 of each row; 2, 1, 0 and 1 of each column
//! ```

use crate::axes::is_plain;
use crate::failure::detached;
use crate::memory::{Access, lent};
use crate::select::{broken, mode};
use crate::tensor::Tensor;
use pyo3::prelude::*;
use tamis::level::{COMPRESSED, DENSE};
use tamis::{Buffer, Diagnostic, Element, LevelData, Truth};

/// How many entries other than 0 each line along an axis has, in the order of the other axes. Nothing for formats
/// whose other levels are not dense and in the order of their axes, but for the lines across those of a matrix, and
/// for types of which it is not known what is 0.
#[pyfunction]
pub fn line_counts<'py>(
    tensor: &Bound<'py, Tensor>,
    axis: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, known) = (tensor.py(), tensor.get().known());
    let levels = known.storage().format.levels();
    let Some((last, above)) = levels.split_last().filter(|_| is_plain(levels)) else {
        return Ok(None);
    };
    let is_dense = above.iter().all(|level| level.kind == DENSE);
    if last.kind != COMPRESSED || !is_dense || !above.iter().map(mode).is_sorted() {
        return Ok(None);
    }
    let across = match mode(last) == axis {
        true => None,
        false if above.len() == 1 => usize::try_from(known.dims()[mode(last)]).ok(),
        false => return Ok(None),
    };
    let known = tensor.get().checked(py)?;
    let counts = detached(py, || {
        let Some(marks) = marks(known.vals()) else { return Ok(None) };
        let LevelData { pos: Some(pos), crd: Some(crd), .. } = &known.levels()[above.len()] else {
            return Err(broken());
        };
        match across {
            None => along(pos, marks.as_deref()).map(Some),
            Some(size) => by_coordinate(crd, size, marks.as_deref()).map(Some),
        }
    })?;
    let Some(counts) = counts else { return Ok(None) };
    let len = counts.len() as u64;
    lent(py, Buffer::from_vec(counts), &[len], &[0], Access::Given).map(Some)
}

/// For each value 1, or 0 if it is 0; nothing inside where none is, nothing at all for types of which that is not
/// known here.
fn marks(vals: &Buffer) -> Option<Option<Vec<u8>>> {
    fn of<T: Element>(vals: &Buffer, is_zero: impl Fn(&T) -> bool) -> Option<Option<Vec<u8>>> {
        // Blocks without a way out in between are looked at by vectors.
        let has_zero = |block: &[T]| block.iter().fold(false, |found, x| found | is_zero(x));
        let mark = |vals: &[T]| vals.iter().map(|x| u8::from(!is_zero(x))).collect();
        let vals = vals.as_slice::<T>()?;
        Some(vals.chunks(BLOCK).any(has_zero).then(|| mark(vals)))
    }
    fn number<T: Element + PartialEq + Default>(vals: &Buffer) -> Option<Option<Vec<u8>>> {
        of(vals, |x: &T| *x == T::default())
    }
    number::<f64>(vals)
        .or_else(|| number::<f32>(vals))
        .or_else(|| number::<[f64; 2]>(vals))
        .or_else(|| number::<[f32; 2]>(vals))
        .or_else(|| number::<i64>(vals))
        .or_else(|| number::<i32>(vals))
        .or_else(|| number::<i16>(vals))
        .or_else(|| number::<i8>(vals))
        .or_else(|| number::<u64>(vals))
        .or_else(|| number::<u32>(vals))
        .or_else(|| number::<u16>(vals))
        .or_else(|| number::<u8>(vals))
        .or_else(|| of(vals, |x: &Truth| x.byte() == 0))
}

/// So many values are looked at together.
const BLOCK: usize = 4096;

/// How many marked entries each line has; without marks, how many entries.
fn along(pos: &Buffer, marks: Option<&[u8]>) -> Result<Vec<i64>, Diagnostic> {
    fn between<P: Element + Into<i64>>(pos: &[P], marks: Option<&[u8]>) -> Vec<i64> {
        let pairs = pos.iter().zip(&pos[1.min(pos.len())..]);
        let ends = pairs.map(|(&p, &q)| (p.into(), q.into()));
        match marks {
            None => ends.map(|(p, q)| q - p).collect(),
            Some(marks) => {
                let count = |line: &[u8]| line.iter().map(|&mark| i64::from(mark)).sum();
                ends.map(|(p, q)| count(&marks[p as usize..q as usize])).collect()
            }
        }
    }
    match (pos.as_slice::<i32>(), pos.as_slice::<i64>()) {
        (Some(pos), _) => Ok(between(pos, marks)),
        (_, Some(pos)) => Ok(between(pos, marks)),
        _ => Err(broken()),
    }
}

/// How many marked entries each coordinate has; without marks, how many entries.
fn by_coordinate(crd: &Buffer, size: usize, marks: Option<&[u8]>) -> Result<Vec<i64>, Diagnostic> {
    fn among<C: Element + Into<i64>>(crd: &[C], size: usize, marks: Option<&[u8]>) -> Vec<i64> {
        let mut counts = vec![0; size];
        match marks {
            None => crd.iter().for_each(|&c| counts[c.into() as usize] += 1),
            Some(marks) => crd
                .iter()
                .zip(marks)
                .for_each(|(&c, &mark)| counts[c.into() as usize] += i64::from(mark)),
        }
        counts
    }
    tamis::budget::check("the counts", 8.0 * size as f64, tamis::budget::SMALLER_RESULT)?;
    match (crd.as_slice::<i32>(), crd.as_slice::<i64>()) {
        (Some(crd), _) => Ok(among(crd, size, marks)),
        (_, Some(crd)) => Ok(among(crd, size, marks)),
        _ => Err(broken()),
    }
}
