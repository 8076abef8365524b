//! What `scipy.sparse.save_npz` writes: csr, csc, bsr, dia, and coo of any order.
//!
//! Matrices are written as csr where entries are ordered by rows, as csc where they are by columns, as coo otherwise.

use super::array::{Array, Data, select, truncated};
use super::levels::{check_length, expanded};
use super::{Archive, entries, unsupported, wrong};
use crate::counted::Counted;
use crate::error::Parsed;
use std::io::{Read, Seek};
use tamis_runtime::{Coordinates, Values};

/// Reads an archive.
pub(super) fn read(archive: &mut Archive<impl Read + Seek>) -> Parsed<Coordinates> {
    let format = archive.array("format")?.text()?;
    let dims = archive.indices("shape")?;
    match (format.as_str(), &dims[..]) {
        ("csr", &[rows, _]) => compressed(archive, dims, rows, Compressed::Rows),
        ("csr", &[_]) => compressed(archive, dims, 1, Compressed::Vector),
        ("csc", &[_, columns]) => compressed(archive, dims, columns, Compressed::Columns),
        ("bsr", &[rows, columns]) => blocks(archive, rows, columns),
        ("dia", &[rows, columns]) => diagonals(archive, rows, columns),
        ("coo", _) => coordinates(archive, dims),
        ("csr" | "csc" | "bsr" | "dia", _) => {
            Err(wrong(format!("{format} of {} dimensions", dims.len())))
        }
        _ => Err(unsupported(format!("the format {format}"), "convert it with .tocoo() in SciPy")),
    }
}

/// What is compressed.
#[derive(Clone, Copy)]
enum Compressed {
    Rows,
    Columns,
    /// The only row of a vector.
    Vector,
}

fn compressed(
    archive: &mut Archive<impl Read + Seek>,
    dims: Vec<u64>,
    count: u64,
    which: Compressed,
) -> Parsed<Coordinates> {
    let pointers = archive.indices("indptr")?;
    check_length("indptr", pointers.len(), count.saturating_add(1))?;
    let mut inner = archive.indices("indices")?;
    let outer = expanded(&pointers, ["indptr", "indices"], 0..count, inner.len())?;
    inner.truncate(outer.len());
    let vals = archive.array("data")?.numbers()?;
    if vals.len() < outer.len() {
        return Err(wrong(format!("data has {} values instead of {}", vals.len(), outer.len())));
    }
    let vals = truncated(vals, outer.len());
    let crds = match which {
        Compressed::Rows => vec![outer, inner],
        Compressed::Columns => vec![inner, outer],
        Compressed::Vector => vec![inner],
    };
    entries(dims, crds, vals)
}

fn blocks(archive: &mut Archive<impl Read + Seek>, rows: u64, columns: u64) -> Parsed<Coordinates> {
    let data = archive.array("data")?;
    let [count, height, width] = data.shape[..] else { return Err(wrong("data has no blocks")) };
    if height == 0 || width == 0 || !rows.is_multiple_of(height) || !columns.is_multiple_of(width) {
        return Err(wrong(format!("blocks of {height} x {width} do not tile the matrix")));
    }
    let pointers = archive.indices("indptr")?;
    check_length("indptr", pointers.len(), (rows / height).saturating_add(1))?;
    let across = archive.indices("indices")?;
    let down = expanded(&pointers, ["indptr", "indices"], 0..rows / height, across.len())?;
    if (down.len() as u64) > count {
        return Err(wrong(format!("data has {count} blocks instead of {}", down.len())));
    }
    let (mut crd_rows, mut crd_columns) = (Counted::default(), Counted::default());
    for (&down, &across) in down.iter().zip(&across) {
        if across >= columns / width {
            return Err(wrong(format!("indices has {across}, beyond the matrix")));
        }
        for row in 0..height {
            for column in 0..width {
                crd_rows.push(down * height + row)?;
                crd_columns.push(across * width + column)?;
            }
        }
    }
    let crds = vec![crd_rows.into_vec(), crd_columns.into_vec()];
    let vals = truncated(data.numbers()?, crds[0].len());
    entries(vec![rows, columns], crds, vals)
}

/// Zeros on diagonals are padding.
fn diagonals(
    archive: &mut Archive<impl Read + Seek>,
    rows: u64,
    columns: u64,
) -> Parsed<Coordinates> {
    let data = archive.array("data")?;
    let [count, length] = data.shape[..] else { return Err(wrong("data has no diagonals")) };
    let offsets = archive.array("offsets")?.numbers()?;
    check_length("offsets", offsets.len(), count)?;
    let vals = data.numbers()?;
    let (mut crd_rows, mut crd_columns) = (Counted::default(), Counted::default());
    let mut places: Counted<usize> = Counted::default();
    for diagonal in 0..count {
        let offset = offsets.get(diagonal as usize).to_string().parse::<i64>();
        let offset = offset.map_err(|_| wrong("offsets are no integers"))?;
        for column in 0..length.min(columns) {
            let row = i128::from(column) - i128::from(offset);
            let place = (diagonal * length + column) as usize;
            if (0..i128::from(rows)).contains(&row) && !vals.get(place).is_zero() {
                crd_rows.push(row as u64)?;
                crd_columns.push(column)?;
                places.push(place)?;
            }
        }
    }
    let vals = select(&vals, places.iter().copied())?;
    entries(vec![rows, columns], vec![crd_rows.into_vec(), crd_columns.into_vec()], vals)
}

fn coordinates(archive: &mut Archive<impl Read + Seek>, dims: Vec<u64>) -> Parsed<Coordinates> {
    let vals = archive.array("data")?.numbers()?;
    let crds = match dims.len() {
        2 if archive.has("row") => vec![archive.indices("row")?, archive.indices("col")?],
        order => {
            let array = archive.array("coords")?;
            if array.shape != [order as u64, vals.len() as u64] {
                return Err(wrong("coords is not one row per dimension"));
            }
            let all = array.indices("coords")?;
            (0..order).map(|m| all[m * vals.len()..(m + 1) * vals.len()].to_vec()).collect()
        }
    };
    entries(dims, crds, vals)
}

/// The arrays of an archive.
pub(super) fn parts(list: &Coordinates) -> Parsed<Vec<(&'static str, Array)>> {
    let vals: Values = list.vals().clone();
    let mut parts = match list.crds() {
        [rows, columns] => {
            let is_short = |mode: usize| list.dims()[mode] <= 4 * (rows.len() as u64 + 256);
            let compressed = |format, outer: &[u64], count, inner: &[u64]| -> Parsed<Vec<_>> {
                Ok(vec![
                    ("format", Array::of_text(format)),
                    ("indices", Array::of_indices(inner)?),
                    ("indptr", Array::of_indices(&starts(outer, count)?)?),
                ])
            };
            match () {
                () if is_short(0) && rows.is_sorted() => {
                    compressed("csr", rows, list.dims()[0], columns)?
                }
                () if is_short(1) && columns.is_sorted() => {
                    compressed("csc", columns, list.dims()[1], rows)?
                }
                () => vec![
                    ("format", Array::of_text("coo")),
                    ("row", Array::of_indices(rows)?),
                    ("col", Array::of_indices(columns)?),
                ],
            }
        }
        crds => {
            let shape = vec![crds.len() as u64, vals.len() as u64];
            let coords = Array { shape, ..Array::of_indices(crds.iter().flatten())? };
            vec![("format", Array::of_text("coo")), ("coords", coords)]
        }
    };
    let is_array = Array { shape: vec![], data: Data::Numbers(Values::Bool(vec![1])) };
    parts.push(("shape", Array::of_indices(list.dims())?));
    parts.push(("_is_array", is_array));
    parts.push(("data", Array::of_values(vals)));
    Ok(parts)
}

/// Where the entries of each row start.
fn starts(rows: &[u64], count: u64) -> Parsed<Vec<u64>> {
    let mut starts = Counted::with_room(count as usize + 1)?;
    let mut at = 0;
    for row in 0..=count {
        while rows.get(at).is_some_and(|&r| r < row) {
            at += 1;
        }
        starts.push(at as u64)?;
    }
    Ok(starts.into_vec())
}
