//! Coordinates to FROSTT text.

use crate::error::FileError;
use crate::header::{FILL_MARK, WriteOptions};
use crate::save::not_writable;
use crate::text::{CHUNK, ComplexText, flush_chunk, push_integer, push_value, wide, write_to};
use std::io::{self, Write};
use std::path::Path;
use tamis_runtime::{Coordinates, Scalar};

/// Writes a tensor as plain FROSTT text; `path` names the file in errors.
///
/// The first line gives the dimensions; floats are the shortest text that reads back exactly as an `f64`. A
/// tensor of order 0 is its value alone, the fill value if it has none, without comments.
///
/// # Errors
/// When writing fails.
pub fn write_frostt(
    out: &mut dyn Write,
    path: &Path,
    coordinates: &Coordinates,
    options: &WriteOptions,
) -> Result<(), FileError> {
    let options = &options.with_fill_of(coordinates);
    write_text(out, coordinates, options).map_err(|error| not_writable(path, &error))
}

fn write_text(
    out: &mut dyn Write,
    coordinates: &Coordinates,
    options: &WriteOptions,
) -> io::Result<()> {
    write_head(out, coordinates.dims(), options)?;
    if coordinates.dims().is_empty() && coordinates.vals().is_empty() {
        let value = options.fill.unwrap_or(Scalar::I64(0));
        return writeln!(out, "{}", wide(value));
    }
    write_entries(out, coordinates)
}

/// Writes what stands before the entries.
pub(crate) fn write_head(
    out: &mut dyn Write,
    dims: &[u64],
    options: &WriteOptions,
) -> io::Result<()> {
    if dims.is_empty() {
        return Ok(());
    }
    let mut text = b"# dims:".to_vec();
    for &dim in dims {
        text.push(b' ');
        push_integer(&mut text, dim);
    }
    text.push(b'\n');
    if let Some(fill) = options.fill {
        write_to(&mut text, format_args!("# {FILL_MARK} {}\n", wide(fill)));
    }
    for line in options.comments.iter().flat_map(|comment| comment.lines()) {
        write_to(&mut text, format_args!("# {line}\n"));
    }
    out.write_all(&text)
}

/// Writes a line for each entry.
pub(crate) fn write_entries(out: &mut dyn Write, coordinates: &Coordinates) -> io::Result<()> {
    let mut text = Vec::with_capacity(CHUNK * 2);
    for entry in 0..coordinates.vals().len() {
        for crd in coordinates.crds() {
            push_integer(&mut text, crd[entry] + 1);
            text.push(b' ');
        }
        push_value(&mut text, coordinates.vals(), entry, ComplexText::OneField);
        text.push(b'\n');
        flush_chunk(out, &mut text)?;
    }
    out.write_all(&text)
}
