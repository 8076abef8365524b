//! Coordinates to Rutherford-Boeing text.

use crate::counted::Counted;
use crate::error::{FileError, FileErrorCode, Flaw, Parsed};
use crate::header::{FileFormat, Symmetry, WriteOptions};
use crate::save::not_writable;
use crate::text::{flush_chunk, write_to};
use crate::triangles::Kept;
use std::io::{self, Write};
use std::path::Path;
use tamis_runtime::Coordinates;

/// The most columns that are written: the format spends a number on each, empty or not.
const MOST_COLUMNS: u64 = 1 << 31;

/// Writes a matrix as Rutherford-Boeing text, assembled; `path` names the file in errors.
///
/// The symmetry is what the options say, usually none; they say too whether it is a pattern.
/// Columns follow one another, each sorted by row; duplicates are kept. The first comment is the
/// title. A vector becomes a single column.
///
/// # Errors
/// When the tensor has more than two modes or very many columns, or writing fails.
pub fn write_rutherford_boeing(
    out: &mut dyn Write,
    path: &Path,
    coordinates: &Coordinates,
    options: &WriteOptions,
) -> Result<(), FileError> {
    let (rows, columns) = match *coordinates.dims() {
        [] => (1, 1),
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => {
            let (format, order) = (FileFormat::RutherfordBoeing, coordinates.dims().len());
            return Err(FileError::order(path, format, order));
        }
    };
    if let Some(fill) = coordinates.fill().or(options.fill) {
        let message = format!("Rutherford-Boeing does not tell the fill value {fill}");
        let help = "write a .mtx, .tns or .npz file";
        return Err(FileError::whole(FileErrorCode::Unsupported, path, message, help));
    }
    if columns > MOST_COLUMNS {
        let message = format!("{columns} columns make a Rutherford-Boeing file too large");
        let help = "write a .mtx file, which takes no room for empty columns";
        return Err(FileError::whole(FileErrorCode::TooLarge, path, message, help));
    }
    let too_large = |flaw: Box<Flaw>| {
        let message = format!("the entries cannot be sorted by columns: {}", flaw.message);
        let help = "write a .mtx file, which takes entries in any order";
        FileError::whole(FileErrorCode::TooLarge, path, message, help)
    };
    let kept = Kept::of(options);
    let matrix = Sorted::of(coordinates, (rows, columns), kept).map_err(too_large)?;
    matrix.write(out, title(options)).map_err(|error| not_writable(path, &error))
}

fn title(options: &WriteOptions) -> &str {
    options.comments.first().and_then(|comment| comment.lines().next()).unwrap_or("Tamis")
}

/// The entries of a matrix in the order of the file.
struct Sorted<'a> {
    coordinates: &'a Coordinates,
    rows: u64,
    columns: u64,
    kept: Kept,
    /// Column, row and number of every entry, sorted: looking up the first two by the third would
    /// miss the cache each time.
    entries: Counted<(u64, u64, usize)>,
}

/// So many fields of so many bytes in each line.
struct Column {
    repeat: usize,
    width: usize,
}

impl Column {
    fn lines(&self, numbers: u64) -> u64 {
        numbers.div_ceil(self.repeat as u64)
    }

    /// Lines of up to 80 bytes of integers up to this one.
    fn of_integers(largest: u64) -> Column {
        let width = largest.to_string().len() + 1;
        Column { repeat: (80 / width).max(1), width }
    }
}

impl<'a> Sorted<'a> {
    fn of(
        coordinates: &'a Coordinates,
        (rows, columns): (u64, u64),
        kept: Kept,
    ) -> Parsed<Sorted<'a>> {
        let crd = |mode: usize, entry: usize| coordinates.crds().get(mode).map_or(0, |c| c[entry]);
        let stored = coordinates.vals().len();
        let mut entries = Counted::with_room(stored)?;
        let mut written = (0..stored).filter(|&entry| kept.has(coordinates, entry));
        written.try_for_each(|entry| entries.push((crd(1, entry), crd(0, entry), entry)))?;
        entries.sort_unstable();
        Ok(Sorted { coordinates, rows, columns, kept, entries })
    }

    fn write(&self, out: &mut dyn Write, title: &str) -> io::Result<()> {
        let stored = self.entries.len() as u64;
        let pointers = Column::of_integers(stored + 1);
        let indices = Column::of_integers(self.rows);
        let values = self.value_column();
        let mut text = self.header(title, &pointers, &indices, &values).into_bytes();
        let mut position = 0;
        let starts = (0..=self.columns).map(|column| {
            while position < self.entries.len() && self.entries[position].0 < column {
                position += 1;
            }
            (position + 1).to_string()
        });
        write_fields(out, &mut text, &pointers, starts)?;
        let rows = self.entries.iter().map(|&(_, row, _)| (row + 1).to_string());
        write_fields(out, &mut text, &indices, rows)?;
        if self.kept.values {
            write_fields(out, &mut text, &values, self.value_fields())?;
        }
        out.write_all(&text)
    }

    fn header(&self, title: &str, pointers: &Column, indices: &Column, values: &Column) -> String {
        let stored = self.entries.len() as u64;
        let counts = [
            pointers.lines(self.columns + 1),
            indices.lines(stored),
            values.lines(stored * self.parts() as u64),
        ];
        let datatype = self.coordinates.vals().datatype();
        let (field, letter, decimals) = match datatype.is_complex() {
            true => ('c', 'E', ".16"),
            false if datatype.is_float() => ('r', 'E', ".16"),
            false => ('i', 'I', ""),
        };
        let field = if self.kept.values { field } else { 'p' };
        let symmetry = match self.kept.symmetry {
            Symmetry::General if self.rows == self.columns => 'u',
            Symmetry::General => 'r',
            Symmetry::Symmetric => 's',
            Symmetry::SkewSymmetric => 'z',
            Symmetry::Hermitian => 'h',
        };
        let title: String = title.chars().filter(char::is_ascii).take(72).collect();
        let pointer_format = format!("({}I{})", pointers.repeat, pointers.width);
        let index_format = format!("({}I{})", indices.repeat, indices.width);
        let value_format = match self.kept.values {
            true => format!("({}{letter}{}{decimals})", values.repeat, values.width),
            false => String::new(),
        };
        format!(
            "{title:<80}\n{:14}{:14}{:14}{:14}\n{field}{symmetry}a{:11}{:14}{:14}{:14}{:14}\n\
             {pointer_format:<16}{index_format:<16}{value_format:<20}\n",
            counts.iter().sum::<u64>(),
            counts[0],
            counts[1],
            counts[2],
            "",
            self.rows,
            self.columns,
            stored,
            0
        )
    }

    /// How many numbers a value has.
    fn parts(&self) -> usize {
        match self.kept.values {
            true if self.coordinates.vals().datatype().is_complex() => 2,
            true => 1,
            false => 0,
        }
    }

    fn value_column(&self) -> Column {
        // Sign, digit, point, 16 decimals, E-308, and a blank: the longest of the shortest texts that read back exactly.
        let width = self.integer_fields().map(|field| field.len() + 1).max().unwrap_or(25);
        Column { repeat: (80 / width).max(1), width }
    }

    /// The values if they are integers, else nothing.
    fn integer_fields(&self) -> Box<dyn Iterator<Item = String> + '_> {
        let entries = self.entries.iter().map(|&(_, _, entry)| entry);
        let values = self.coordinates.vals();
        match values.datatype().is_float() {
            true => Box::new(std::iter::empty()),
            false => Box::new(entries.map(|e| values.get(e).to_string())),
        }
    }

    fn value_fields(&self) -> Box<dyn Iterator<Item = String> + '_> {
        let entries = self.entries.iter().map(|&(_, _, entry)| entry);
        let values = self.coordinates.vals();
        let parts = self.parts();
        let numbers = move |e| values.get(e).parts().into_iter().take(parts);
        match values.datatype().is_float() {
            true => Box::new(entries.flat_map(numbers).map(|x| float_field(x.as_f64()))),
            false => self.integer_fields(),
        }
    }
}

fn float_field(value: f64) -> String {
    let text = format!("{value:E}");
    match text.split_once('E') {
        // Fortran takes digits without a point for decimals.
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

fn write_fields(
    out: &mut dyn Write,
    text: &mut Vec<u8>,
    column: &Column,
    fields: impl Iterator<Item = String>,
) -> io::Result<()> {
    let mut in_line = 0;
    for field in fields {
        write_to(text, format_args!("{field:>width$}", width = column.width));
        in_line += 1;
        if in_line == column.repeat {
            text.push(b'\n');
            in_line = 0;
            flush_chunk(out, text)?;
        }
    }
    if in_line > 0 {
        text.push(b'\n');
    }
    Ok(())
}
