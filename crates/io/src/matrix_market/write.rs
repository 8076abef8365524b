//! Coordinates to Matrix Market text.

use crate::counted::Counted;
use crate::error::{FileError, FileErrorCode};
use crate::header::{FILL_MARK, FileFormat, Layout, WriteOptions};
use crate::save::not_writable;
use crate::text::{CHUNK, ComplexText, flush_chunk, push_integer, push_value, wide, write_to};
use crate::triangles::{Kept, entries_written};
use std::io::Write;
use std::path::Path;
use tamis_runtime::{Coordinates, DataType, Element, Scalar, Values};

/// Writes a matrix as Matrix Market text; `path` names the file in errors.
///
/// The symmetry is what the options say, usually `general`; the field is `pattern` where they say so, `integer` for integers and truth values,
/// `unsigned-integer` if some are above 2^63 - 1, `real` or `complex` otherwise. A vector becomes a single column, an order-0 tensor a 1 by 1 matrix. In
/// the array layout, duplicates are added and absent entries are the fill value.
///
/// # Errors
/// When the tensor has more than two modes, or writing fails.
pub fn write_matrix_market(
    out: &mut dyn Write,
    path: &Path,
    coordinates: &Coordinates,
    options: &WriteOptions,
) -> Result<(), FileError> {
    let options = &options.with_fill_of(coordinates);
    let shape = Shape::of(coordinates.dims(), path)?;
    let field = field_name(coordinates.vals(), options.fill);
    let written = match options.layout {
        Layout::Coordinate => {
            let count = entries_written(coordinates, options) as u64;
            let text = head(&shape, field, Some(count), options);
            write_entries(out, text, coordinates, &Kept::of(options))
        }
        Layout::Array => {
            let text = head(&shape, field, None, options);
            write_values(out, text, &shape.dense(coordinates, options.fill, path)?)
        }
    };
    written.map_err(|error| not_writable(path, &error))
}

/// What stands before the entries; how many these are, unless that follows from the shape.
fn head(shape: &Shape, field: &str, count: Option<u64>, options: &WriteOptions) -> Vec<u8> {
    let mut text = Vec::with_capacity(CHUNK * 2);
    let layout = layout_name(options.layout);
    let Kept { symmetry, values } = Kept::of(options);
    let field = if values { field } else { "pattern" };
    write_to(&mut text, format_args!("%%MatrixMarket matrix {layout} {field} {symmetry}\n"));
    if let Some(fill) = options.fill {
        write_to(&mut text, format_args!("% {FILL_MARK} {}\n", wide(fill)));
    }
    for line in options.comments.iter().flat_map(|comment| comment.lines()) {
        write_to(&mut text, format_args!("% {line}\n"));
    }
    write_to(&mut text, format_args!("{} {}", shape.rows, shape.columns));
    match count {
        Some(count) => write_to(&mut text, format_args!(" {count}\n")),
        None => text.push(b'\n'),
    }
    text
}

/// Entries that come in parts.
pub(crate) struct InParts {
    shape: Shape,
    options: WriteOptions,
    field: &'static str,
    count: u64,
}

impl InParts {
    /// None yet, of a tensor of these dimensions and this type of values.
    pub(crate) fn new(
        dims: &[u64],
        datatype: DataType,
        options: &WriteOptions,
        path: &Path,
    ) -> Result<InParts, FileError> {
        let field = field_name(&Values::empty(datatype), options.fill);
        Ok(InParts { shape: Shape::of(dims, path)?, options: options.clone(), field, count: 0 })
    }

    /// Writes a line for each entry.
    pub(crate) fn add(
        &mut self,
        out: &mut dyn Write,
        coordinates: &Coordinates,
    ) -> std::io::Result<()> {
        self.count += entries_written(coordinates, &self.options) as u64;
        if is_wide(coordinates.vals()) {
            self.field = field_name(coordinates.vals(), self.options.fill);
        }
        write_entries(out, Vec::with_capacity(CHUNK * 2), coordinates, &Kept::of(&self.options))
    }

    /// What stands before all of them.
    pub(crate) fn head(&self) -> Vec<u8> {
        head(&self.shape, self.field, Some(self.count), &self.options)
    }
}

/// The tensor seen as a matrix.
struct Shape {
    rows: u64,
    columns: u64,
}

impl Shape {
    fn of(dims: &[u64], path: &Path) -> Result<Shape, FileError> {
        match *dims {
            [] => Ok(Shape { rows: 1, columns: 1 }),
            [rows] => Ok(Shape { rows, columns: 1 }),
            [rows, columns] => Ok(Shape { rows, columns }),
            _ => Err(FileError::order(path, FileFormat::MatrixMarket, dims.len())),
        }
    }

    /// All values of the matrix, in column-major order.
    fn dense(
        &self,
        coordinates: &Coordinates,
        fill: Option<Scalar>,
        path: &Path,
    ) -> Result<Values, FileError> {
        let size = u128::from(self.rows) * u128::from(self.columns);
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let place = |entry: usize| {
            let column = coordinates.crds().get(1).map_or(0, |c| c[entry]);
            let row = coordinates.crds().first().map_or(0, |c| c[entry]);
            (column * self.rows + row) as usize
        };
        let too_large = || {
            let bytes = size.saturating_mul(coordinates.vals().datatype().size() as u128);
            let message =
                format!("an array of {size} values does not fit in memory: it takes {bytes} bytes");
            let help = "write only the stored entries";
            FileError::whole(FileErrorCode::TooLarge, path, message, help)
        };
        let dense = match coordinates.vals() {
            Values::Bool(v) => scatter(v, (length, fill), place, |a, b| a | b).map(Values::Bool),
            Values::I8(v) => scatter(v, (length, fill), place, i8::wrapping_add).map(Values::I8),
            Values::I16(v) => scatter(v, (length, fill), place, i16::wrapping_add).map(Values::I16),
            Values::I32(v) => scatter(v, (length, fill), place, i32::wrapping_add).map(Values::I32),
            Values::I64(v) => scatter(v, (length, fill), place, i64::wrapping_add).map(Values::I64),
            Values::U8(v) => scatter(v, (length, fill), place, u8::wrapping_add).map(Values::U8),
            Values::U16(v) => scatter(v, (length, fill), place, u16::wrapping_add).map(Values::U16),
            Values::U32(v) => scatter(v, (length, fill), place, u32::wrapping_add).map(Values::U32),
            Values::U64(v) => scatter(v, (length, fill), place, u64::wrapping_add).map(Values::U64),
            Values::F16(v) => scatter(v, (length, fill), place, |a, b| a + b).map(Values::F16),
            Values::Bf16(v) => scatter(v, (length, fill), place, |a, b| a + b).map(Values::Bf16),
            Values::F32(v) => scatter(v, (length, fill), place, |a, b| a + b).map(Values::F32),
            Values::F64(v) => scatter(v, (length, fill), place, |a, b| a + b).map(Values::F64),
            Values::C64(v) => {
                let add = |a: [f32; 2], b: [f32; 2]| [a[0] + b[0], a[1] + b[1]];
                scatter(v, (length, fill), place, add).map(Values::C64)
            }
            Values::C128(v) => {
                let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
                scatter(v, (length, fill), place, add).map(Values::C128)
            }
        };
        dense.ok_or_else(too_large)
    }
}

/// The values added at their positions among `length` elements, all others the fill value; `None` where memory is
/// too small.
fn scatter<T: Element>(
    values: &[T],
    (length, fill): (usize, Option<Scalar>),
    place: impl Fn(usize) -> usize,
    add: impl Fn(T, T) -> T,
) -> Option<Vec<T>> {
    let mut dense: Vec<T> = Counted::with_room(length).ok()?.into_vec();
    let zero = T::of(Scalar::I64(0));
    dense.resize(length, zero);
    for (entry, &value) in values.iter().enumerate() {
        let place = place(entry);
        dense[place] = add(dense[place], value);
    }
    if let Some(fill) = fill.map(T::of) {
        let mut is_absent: Vec<bool> = Counted::with_room(length).ok()?.into_vec();
        is_absent.resize(length, true);
        (0..values.len()).for_each(|entry| is_absent[place(entry)] = false);
        let absent = dense.iter_mut().zip(is_absent).filter(|(_, is_absent)| *is_absent);
        absent.for_each(|(element, _)| *element = fill);
    }
    Some(dense)
}

fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::Coordinate => "coordinate",
        Layout::Array => "array",
    }
}

/// Whether there are integers beyond those with sign.
fn is_wide(values: &Values) -> bool {
    matches!(values, Values::U64(v) if v.iter().any(|&x| x > i64::MAX as u64))
}

fn field_name(values: &Values, fill: Option<Scalar>) -> &'static str {
    let datatype = values.datatype();
    match datatype.is_complex() {
        true => "complex",
        false if datatype.is_float() => "real",
        // Other programs read `integer` more often, where it serves.
        false if is_wide(values) || fill.is_some_and(|fill| !fill.fits(DataType::I64)) => {
            "unsigned-integer"
        }
        false => "integer",
    }
}

fn write_entries(
    out: &mut dyn Write,
    mut text: Vec<u8>,
    coordinates: &Coordinates,
    kept: &Kept,
) -> std::io::Result<()> {
    for entry in (0..coordinates.vals().len()).filter(|&n| kept.has(coordinates, n)) {
        for mode in 0..2 {
            push_integer(&mut text, coordinates.crds().get(mode).map_or(1, |crd| crd[entry] + 1));
            text.push(b' ');
        }
        match kept.values {
            true => push_value(&mut text, coordinates.vals(), entry, ComplexText::TwoFields),
            false => drop(text.pop()),
        }
        text.push(b'\n');
        flush_chunk(out, &mut text)?;
    }
    out.write_all(&text)
}

fn write_values(out: &mut dyn Write, mut text: Vec<u8>, values: &Values) -> std::io::Result<()> {
    for position in 0..values.len() {
        push_value(&mut text, values, position, ComplexText::TwoFields);
        text.push(b'\n');
        flush_chunk(out, &mut text)?;
    }
    out.write_all(&text)
}
