//! How many entries other than 0 the lines of an axis have, by the positions where lines end.
//!
//! ```text
//! pos 0 2 2 5, values 1 1 3 2 5    2, 0 and 3
//! ```

use crate::axes::is_plain;
use crate::failure::detached;
use crate::memory::{Access, lent};
use crate::select::{broken, mode};
use crate::tensor::Tensor;
use pyo3::prelude::*;
use tamis::level::{COMPRESSED, DENSE};
use tamis::{Buffer, Diagnostic, Element};

/// How many entries each line along an axis has, in the order of the other axes, where none of them is 0. Nothing
/// where one is, and for formats whose other levels are not dense and in the order of their axes.
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
    let is_line = last.kind == COMPRESSED && mode(last) == axis;
    if !(is_dense && is_line && above.iter().map(mode).is_sorted()) {
        return Ok(None);
    }
    let known = tensor.get().checked(py)?;
    let counts = detached(py, || match has_zero(known.vals()) {
        Some(false) => {
            let pos = known.levels().last().and_then(|level| level.pos.as_ref());
            counts(pos.ok_or_else(broken)?).map(Some)
        }
        Some(true) | None => Ok(None),
    })?;
    let Some(counts) = counts else { return Ok(None) };
    let len = counts.len() as u64;
    lent(py, Buffer::from_vec(counts), &[len], &[0], Access::Given).map(Some)
}

/// Whether one of the values is 0; nothing for types of which that is not known here.
fn has_zero(vals: &Buffer) -> Option<bool> {
    fn among<T: Element + PartialEq + Default>(vals: &Buffer) -> Option<bool> {
        let is_zero = |x: &T| *x == T::default();
        // Blocks without a way out in between are looked at by vectors.
        let has = |block: &[T]| block.iter().fold(false, |found, x| found | is_zero(x));
        vals.as_slice::<T>().map(|vals| vals.chunks(BLOCK).any(has))
    }
    among::<f64>(vals)
        .or_else(|| among::<f32>(vals))
        .or_else(|| among::<i64>(vals))
        .or_else(|| among::<i32>(vals))
        .or_else(|| among::<i16>(vals))
        .or_else(|| among::<i8>(vals))
        .or_else(|| among::<u64>(vals))
        .or_else(|| among::<u32>(vals))
        .or_else(|| among::<u16>(vals))
        .or_else(|| among::<u8>(vals))
}

/// So many values are looked at together.
const BLOCK: usize = 4096;

fn counts(pos: &Buffer) -> Result<Vec<i64>, Diagnostic> {
    fn between<P: Element + Into<i64>>(pos: &[P]) -> Vec<i64> {
        pos.iter().zip(&pos[1.min(pos.len())..]).map(|(&p, &q)| q.into() - p.into()).collect()
    }
    match (pos.as_slice::<i32>(), pos.as_slice::<i64>()) {
        (Some(pos), _) => Ok(between(pos)),
        (_, Some(pos)) => Ok(between(pos)),
        _ => Err(broken()),
    }
}
