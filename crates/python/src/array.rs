//! NumPy arrays, and everything with the buffer protocol, as dense tensors and arrays of tensors.

use crate::borrowing::stable;
use crate::failure::{raised, refused};
use crate::foreign::View;
use crate::operand::helper;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tamis::level::DENSE;
use tamis::{Buffer, Code, DataType, Diagnostic, Format, LevelData, Storage, Tensor, format};

/// A dense tensor of an array's elements, where they are; of a copy if they do not follow one
/// another in any order of the axes.
pub(crate) fn dense(array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = array.py();
    let ordered = |view: View| view.order().map(|order| (view, order));
    let (view, order) = match View::of(array)?.and_then(ordered) {
        Some(known) => known,
        // Copied by NumPy, which knows every layout and type, or refuses it.
        None => {
            let copy = helper(py, "plain_array")?.call1((array,))?;
            View::of(&copy)?.and_then(ordered).ok_or_else(|| unreadable(&copy))?
        }
    };
    let dims = view.shape.clone();
    let storage = Storage::of(dense_format(&order).map_err(|d| raised(py, &d))?, view.datatype);
    let levels = vec![LevelData::default(); dims.len()];
    Tensor::try_from_parts(dims, storage, levels, view.into_buffer()).map_err(|d| raised(py, &d))
}

/// Every element, the axes in this order.
fn dense_format(order: &[usize]) -> Result<Format, Diagnostic> {
    if order.iter().enumerate().all(|(k, &axis)| k == axis) {
        return Ok(Format::in_order(order.iter().map(|_| DENSE)));
    }
    let list = |axes: &mut dyn Iterator<Item = String>| axes.collect::<Vec<_>>().join(", ");
    let modes = list(&mut (0..order.len()).map(|axis| format!("m{axis}")));
    let levels = list(&mut order.iter().map(|axis| format!("m{axis}: dense")));
    known_format(&format!("({modes}) -> ({levels})"), order.len())
}

/// A format by its text, read once.
pub(crate) fn known_format(text: &str, order: usize) -> Result<Format, Diagnostic> {
    static KNOWN: Mutex<Option<HashMap<(String, usize), Format>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_with(HashMap::new);
    if let Some(format) = known.get(&(text.to_owned(), order)) {
        return Ok(format.clone());
    }
    let format = format::parse(text, Some(order))?.format;
    known.insert((text.to_owned(), order), format.clone());
    Ok(format)
}

/// The values of a sparse tensor, as many as the array has elements in its own order.
pub(crate) fn values(array: &Bound<'_, PyAny>) -> PyResult<(Vec<u64>, Buffer)> {
    if let Some(view) = View::of(array)?
        && is_row_major(&view)
    {
        return Ok((view.shape.clone(), view.into_buffer()));
    }
    let copy = helper(array.py(), "plain_array")?.call1((array,))?;
    let view = View::of(&copy)?.ok_or_else(|| unreadable(&copy))?;
    Ok((view.shape.clone(), view.into_buffer()))
}

/// Positions or coordinates, of 32 or 64 bits with sign; others are copied if they fit.
pub(crate) fn indices(array: &Bound<'_, PyAny>) -> PyResult<Buffer> {
    let widths = [DataType::I32, DataType::I64];
    if let Some(view) = View::of(array)?
        && widths.contains(&view.datatype)
        && view.shape.len() == 1
        && is_row_major(&view)
    {
        return stable(array.py(), view.into_buffer());
    }
    let copy = helper(array.py(), "index_array")?.call1((array,))?;
    Ok(View::of(&copy)?.ok_or_else(|| unreadable(&copy))?.into_buffer())
}

/// Coordinates, which are not negative.
pub(crate) fn coordinates(array: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    fn of<T: Copy + Into<i64>>(array: &[T]) -> Option<Vec<u64>> {
        // What was copied is looked at: the array may be written meanwhile.
        let list: Vec<u64> = array.iter().map(|&c| c.into() as u64).collect();
        list.iter().all(|&c| c <= i64::MAX as u64).then_some(list)
    }
    let known = indices(array)?;
    let list = match (known.as_slice::<i64>(), known.as_slice::<i32>()) {
        (Some(array), _) => of(array),
        (_, Some(array)) => of(array),
        _ => None,
    };
    list.ok_or_else(|| {
        let message = "a coordinate is negative".to_owned();
        refused(array.py(), Code::InvalidTensor, message, "count from 0")
    })
}

fn is_row_major(view: &View) -> bool {
    view.order().is_some_and(|order| order.is_sorted())
}

fn unreadable(array: &Bound<'_, PyAny>) -> PyErr {
    let py = array.py();
    let refusal = helper(py, "unreadable").and_then(|refuse| refuse.call1((array,)));
    match refusal {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
