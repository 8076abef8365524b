//! SciPy's sparse arrays and matrices as tensors of the same arrays.
//!
//! | SciPy | format |
//! |---|---|
//! | csr, csc | `csr`, `csc`; a vector is `sparse` |
//! | coo | `coo` of its order, `coo(nonordered,nonunique)` where it is not sorted |
//! | bsr | `bcsr(r,c)` |
//! | dia | `(i, j) -> (j-i: compressed, j: range)` |
//!
//! Rows whose columns are not sorted, or there twice, are `csr(nonordered,nonunique)` until they are
//! copied in order; kernels that need no order take them as they are.

use crate::array::{indices, known_format, values};
use crate::convert::converted;
use crate::failure::{detached, raised, refused};
use crate::operand::helper;
use crate::tensor::valid;
use pyo3::intern;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tamis::{Buffer, Code, DataType, Diagnostic, Format, IndexWidth, LevelData, Storage, Tensor};

/// SciPy's formats that tensors share arrays with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheme {
    Csr,
    Csc,
    Coo,
    Bsr,
    Dia,
}

/// The levels of SciPy's diagonals, which are as long as the matrix is wide.
pub(crate) const DIAGONALS: &str = "(i, j) -> (j-i: compressed, j: range)";

/// The tensor with the arrays of a sparse array or matrix.
pub(crate) fn tensor(object: &Bound<'_, PyAny>, scheme: Scheme) -> PyResult<Tensor> {
    let dims: Vec<u64> = object.getattr(intern!(object.py(), "shape"))?.extract()?;
    match scheme {
        Scheme::Csr | Scheme::Csc => compressed(object, scheme, dims),
        Scheme::Coo => list(object, dims),
        Scheme::Bsr => blocks(object, dims),
        Scheme::Dia => diagonals(object, dims),
    }
}

fn compressed(object: &Bound<'_, PyAny>, scheme: Scheme, dims: Vec<u64>) -> PyResult<Tensor> {
    let py = object.py();
    let (levels, vals) = lines(object, dims.len())?;
    let names = names(dims.len(), scheme);
    let is_vector = dims.len() == 1;
    let tensor = of_rows(py, dims, names, levels, vals)?;
    if is_vector { in_order(py, tensor, names.0) } else { Ok(tensor) }
}

/// The formats of compressed rows or columns, in order and in any order.
fn names(axes: usize, scheme: Scheme) -> (&'static str, &'static str) {
    match (axes, scheme) {
        (1, _) => ("sparse", "sparse(nonordered, nonunique)"),
        (_, Scheme::Csc) => ("csc", "csc(nonordered, nonunique)"),
        _ => ("csr", "csr(nonordered, nonunique)"),
    }
}

/// The levels and values of compressed rows or columns.
fn lines(object: &Bound<'_, PyAny>, axes: usize) -> PyResult<(Vec<LevelData>, Buffer)> {
    let (pos, crd, vals) = rows(object)?;
    let level = LevelData { pos: Some(pos), crd: Some(crd), ..LevelData::default() };
    let mut levels = vec![LevelData::default(); axes - 1];
    levels.push(level);
    Ok((levels, vals))
}

/// A matrix of compressed rows or columns as if these were in order: all that was looked at is that coordinates lie
/// in the matrix. `None` if they do not, or for anything else. For code that ignores the order.
pub(crate) fn in_unchecked_order(
    object: &Bound<'_, PyAny>,
    scheme: Scheme,
) -> PyResult<Option<Tensor>> {
    let dims: Vec<u64> = object.getattr(intern!(object.py(), "shape"))?.extract()?;
    if dims.len() != 2 || !matches!(scheme, Scheme::Csr | Scheme::Csc) {
        return Ok(None);
    }
    let (levels, vals) = lines(object, 2)?;
    let (canonical, loose) = names(2, scheme);
    let made = of_parts(dims, loose, levels, vals).ok();
    let format = known_format(canonical, 2).map_err(|d| raised(object.py(), &d))?;
    Ok(made.map(|tensor| stored_as(tensor, format)))
}

/// The tensor with its arrays in a format with the same levels, whose promises nobody checks.
pub(crate) fn stored_as(tensor: Tensor, format: Format) -> Tensor {
    let (dims, storage, levels, vals) = tensor.into_parts();
    let storage = Storage { format, ..storage };
    // SAFETY: the formats differ in whether coordinates are in order, and each there once. What may break that promise is
    // checked before other code reads it than what ignores the order.
    unsafe { Tensor::from_parts_unchecked(dims, storage, levels, vals) }
}

/// The same operand with its order checked, where [`in_unchecked_order`] did not.
pub(crate) fn in_checked_order(py: Python<'_>, tensor: Tensor) -> PyResult<Tensor> {
    let Some(scheme) = scheme(&tensor.storage().format) else { return Ok(tensor) };
    let fill = tensor.storage().fill;
    let (dims, _, levels, vals) = tensor.into_parts();
    let names = names(dims.len(), scheme);
    let made = of_rows(py, dims, names, levels, vals)?;
    made.with_fill(fill).map_err(|d| raised(py, &d))
}

/// A matrix of compressed rows or columns in the format that promises no order; `None` for anything else.
pub(crate) fn loosened(tensor: &Tensor) -> Option<Tensor> {
    let format = &tensor.storage().format;
    let scheme = scheme(format).filter(|_| tensor.dims().len() == 2)?;
    let (canonical, loose) = names(2, scheme);
    let is_ordered = matches!(scheme, Scheme::Csr | Scheme::Csc)
        && known_format(canonical, 2).is_ok_and(|known| known == *format);
    let loose = known_format(loose, 2).ok().filter(|_| is_ordered)?;
    Some(stored_as(tensor.clone(), loose))
}

fn blocks(object: &Bound<'_, PyAny>, dims: Vec<u64>) -> PyResult<Tensor> {
    let py = object.py();
    let (pos, crd) = structure(object)?;
    let (shape, vals) = values(&object.getattr(intern!(py, "data"))?)?;
    let &[_, rows, columns] = shape.as_slice() else {
        let message = format!("the blocks of a bsr array have the shape {shape:?}");
        return Err(refused(py, Code::InvalidTensor, message, "give them three axes"));
    };
    let canonical = format!("bcsr({rows},{columns})");
    let loose = format!(
        "(i, j) -> (i/{rows}: dense, j/{columns}: compressed(nonordered, nonunique), \
         i%{rows}: dense, j%{columns}: dense)"
    );
    let mut levels = vec![LevelData::default(); 4];
    levels[1] = LevelData { pos: Some(pos), crd: Some(crd), ..LevelData::default() };
    let tensor = of_rows(py, dims, (&canonical, &loose), levels, vals)?;
    in_order(py, tensor, &canonical)
}

/// Whether a tensor has the arrays of SciPy's rows or columns whose coordinates are unordered.
pub(crate) fn is_loose(tensor: &Tensor) -> bool {
    let format = &tensor.storage().format;
    let ordered = format.levels().iter().all(|level| level.kind.properties().ordered);
    !ordered && matches!(scheme(format), Some(Scheme::Csr | Scheme::Csc))
}

/// A copy in order of a tensor of rows or columns that are unordered; others as they are.
pub(crate) fn ordered(py: Python<'_>, tensor: Tensor) -> PyResult<Tensor> {
    if !is_loose(&tensor) {
        return Ok(tensor);
    }
    let scheme = scheme(&tensor.storage().format).unwrap_or(Scheme::Csr);
    let (canonical, _) = names(tensor.dims().len(), scheme);
    in_order(py, tensor, canonical)
}

/// The tensor in a format whose coordinates are in order.
fn in_order(py: Python<'_>, tensor: Tensor, canonical: &str) -> PyResult<Tensor> {
    let storage = tensor.storage().clone();
    let format = known_format(canonical, storage.format.order()).map_err(|d| raised(py, &d))?;
    detached(py, move || converted(&tensor, &Storage { format, ..storage }))
}

/// The tensor of these arrays in the first of two formats that they are valid in.
fn of_rows(
    py: Python<'_>,
    dims: Vec<u64>,
    (canonical, loose): (&str, &str),
    levels: Vec<LevelData>,
    vals: Buffer,
) -> PyResult<Tensor> {
    let made = of_parts(dims.clone(), canonical, levels.clone(), vals.clone());
    let refused = match made {
        Ok(tensor) => return Ok(tensor),
        Err(refused) => refused,
    };
    if refused.code != Code::InvalidTensor {
        return Err(raised(py, &refused));
    }
    of_parts(dims, loose, levels, vals).map_err(|d| raised(py, &d))
}

fn list(object: &Bound<'_, PyAny>, dims: Vec<u64>) -> PyResult<Tensor> {
    let py = object.py();
    let coords = object.getattr(intern!(py, "coords"))?;
    let crds: Vec<Buffer> =
        coords.try_iter()?.map(|crd| indices(&crd?)).collect::<PyResult<Vec<Buffer>>>()?;
    let (_, vals) = values(&object.getattr(intern!(py, "data"))?)?;
    of_list(py, dims, crds, vals)
}

/// The tensor of a list of coordinates, all of the same width.
pub(crate) fn of_list(
    py: Python<'_>,
    dims: Vec<u64>,
    crds: Vec<Buffer>,
    vals: Buffer,
) -> PyResult<Tensor> {
    let pos = Some(Buffer::from_vec(vec![0i64, vals.len() as i64]));
    let of_mode = |crd: Buffer| LevelData { crd: Some(crd), ..LevelData::default() };
    let mut levels: Vec<LevelData> = crds.into_iter().map(of_mode).collect();
    if let Some(first) = levels.first_mut() {
        first.pos = pos;
    }
    let (canonical, loose) = match dims.len() {
        1 => ("sparse", "sparse(nonordered, nonunique)"),
        _ => ("coo", "coo(nonordered, nonunique)"),
    };
    let made = match begins_in_order(&levels) {
        true => of_parts(dims.clone(), canonical, levels.clone(), vals.clone()),
        false => Err(Diagnostic::new(Code::InvalidTensor, "unordered coordinates")),
    };
    let made = made.or_else(|_| of_parts(dims, loose, levels, vals));
    made.map_err(|d| raised(py, &d))
}

/// Whether the first coordinates of a list ascend, and some far apart. Unordered lists show it there, and need not be
/// looked at from end to end to tell where.
fn begins_in_order(levels: &[LevelData]) -> bool {
    let crds: Vec<&Buffer> = levels.iter().filter_map(|level| level.crd.as_ref()).collect();
    let shortest = crds.iter().map(|crd| crd.len()).min().unwrap_or(0);
    let place = |at: usize| crds.iter().map(move |crd| crd.index(at));
    let ascend = |step: usize| {
        let count = shortest.div_ceil(step).min(64);
        (1..count).all(|n| place((n - 1) * step).lt(place(n * step)))
    };
    ascend(1) && ascend((shortest / 64).max(1))
}

fn diagonals(object: &Bound<'_, PyAny>, dims: Vec<u64>) -> PyResult<Tensor> {
    let py = object.py();
    let of = |object: &Bound<'_, PyAny>| -> PyResult<Result<Tensor, Diagnostic>> {
        let crd = indices(&object.getattr(intern!(py, "offsets"))?)?;
        let (shape, vals) = values(&object.getattr(intern!(py, "data"))?)?;
        let pos = Some(Buffer::from_vec(vec![0i64, crd.len() as i64]));
        let level = LevelData { pos, crd: Some(crd), ..LevelData::default() };
        if shape.last() != dims.last() {
            return Ok(Err(Diagnostic::new(Code::InvalidTensor, "diagonals of another length")));
        }
        Ok(of_parts(dims.clone(), DIAGONALS, vec![level, LevelData::default()], vals))
    };
    if let Ok(tensor) = of(object)? {
        return Ok(tensor);
    }
    // In another order, shorter than the matrix is wide, or outside of it.
    let plain = helper(py, "plain_diagonals")?.call1((object,))?;
    of(&plain)?.map_err(|d| raised(py, &d))
}

/// A tensor of arrays, whose widths the format takes over.
fn of_parts(
    dims: Vec<u64>,
    format: &str,
    levels: Vec<LevelData>,
    vals: Buffer,
) -> Result<Tensor, Diagnostic> {
    let mut storage = Storage::of(known_format(format, dims.len())?, vals.datatype());
    let width = |array: &Buffer| match array.datatype() {
        DataType::I64 => IndexWidth::I64,
        _ => IndexWidth::I32,
    };
    if let Some(pos) = levels.iter().find_map(|level| level.pos.as_ref()) {
        storage.pos = width(pos);
    }
    if let Some(crd) = levels.iter().find_map(|level| level.crd.as_ref()) {
        storage.crd = width(crd);
    }
    valid(dims, storage, levels, vals)
}

fn rows(object: &Bound<'_, PyAny>) -> PyResult<(Buffer, Buffer, Buffer)> {
    let (pos, crd) = structure(object)?;
    let (_, vals) = values(&object.getattr(intern!(object.py(), "data"))?)?;
    Ok(truncated(pos, crd, vals))
}

/// SciPy lets arrays be longer than what the last position says.
fn truncated(pos: Buffer, crd: Buffer, vals: Buffer) -> (Buffer, Buffer, Buffer) {
    let stored = pos.len().checked_sub(1).map_or(0, |last| pos.index(last));
    match usize::try_from(stored) {
        Ok(n) if n <= crd.len() && n <= vals.len() => (pos, crd.truncated(n), vals.truncated(n)),
        _ => (pos, crd, vals),
    }
}

fn structure(object: &Bound<'_, PyAny>) -> PyResult<(Buffer, Buffer)> {
    let py = object.py();
    let pos = indices(&object.getattr(intern!(py, "indptr"))?)?;
    let crd = indices(&object.getattr(intern!(py, "indices"))?)?;
    Ok((pos, crd))
}

/// The scheme in which SciPy would hold a tensor, if it has one for the format; each format is looked at
/// once.
pub(crate) fn scheme(format: &Format) -> Option<Scheme> {
    static KNOWN: Mutex<Option<HashMap<Format, Option<Scheme>>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_with(HashMap::new);
    if let Some(scheme) = known.get(format) {
        return *scheme;
    }
    *known.entry(format.clone()).or_insert(scheme_of(format))
}

fn scheme_of(format: &Format) -> Option<Scheme> {
    let Some(name) = format.name() else {
        let diagonals = known_format(DIAGONALS, 2).ok()?;
        return (*format == diagonals).then_some(Scheme::Dia);
    };
    // SciPy's lists may be unordered, with duplicate coordinates.
    let (word, arguments) = name.split_once('(').unwrap_or((&name, ""));
    match word {
        "csr" | "sparse" => Some(Scheme::Csr),
        "csc" => Some(Scheme::Csc),
        "coo" if !arguments.contains("aos") => Some(Scheme::Coo),
        "dia" => Some(Scheme::Dia),
        "bcsr" => Some(Scheme::Bsr),
        _ => None,
    }
}
