//! Rutherford-Boeing text to coordinates.

use super::fortran::{Fields, Format, not_a_number};
use crate::chunks::{Chunks, Source};
use crate::counted::Counted;
use crate::cursor::{Cursor, beyond};
use crate::error::{FileError, FileErrorCode, Flaw, Parsed, entries};
use crate::header::{Field, File, FileFormat, Header, Layout, Symmetry};
use crate::number;
use crate::triplets::{Entry, Lines, One, Triplets, integers};
use std::path::Path;
use tamis_runtime::Coordinates;

/// Reads a matrix from Rutherford-Boeing or Harwell-Boeing text; `path` names the file in errors.
///
/// Symmetric, skew-symmetric and hermitian matrices are expanded; explicit zeros are kept. A
/// pattern reads as ones.
///
/// # Errors
/// When the text is not such a file, contradicts its own header, or holds an elemental matrix.
pub fn read_rutherford_boeing(text: &[u8], path: &Path) -> Result<File, FileError> {
    read_source(&mut &*text, path)
}

/// Reads a matrix from text that comes in chunks.
pub(crate) fn read_source(source: &mut dyn Source, path: &Path) -> Result<File, FileError> {
    let mut chunks = Chunks::new(source, HEADER_LINES, b"").map_err(|flaw| flaw.of_file(path))?;
    read_chunks(&mut chunks).map_err(|flaw| chunks.locate(flaw, path))
}

/// Lines of the header, of which the first may be empty and the last is missing without right-hand
/// sides; and one more.
const HEADER_LINES: usize = 6;

/// The lines before the pointers.
struct Preamble {
    comments: Vec<String>,
    field: Field,
    symmetry: Symmetry,
    rows: u64,
    columns: u64,
    stored: u64,
    pointers: Format,
    indices: Format,
    values: Option<Format>,
}

fn read_chunks(chunks: &mut Chunks) -> Parsed<File> {
    let mut cursor = chunks.cursor();
    let preamble = read_preamble(&mut cursor, chunks)?;
    let (at, line) = (cursor.at(), cursor.line());
    chunks.go_to(at);
    let reading = Reading::of(Fields::new(chunks, preamble.pointers), &preamble, line)?;
    let coordinates = match preamble.field {
        Field::Real => reading.all::<f64>()?,
        Field::Integer | Field::Unsigned => {
            let (mut reading, triplets) = reading.begun()?;
            let pinned = |reading: &Reading, flaw| reading.fields.chunks().pinned(flaw);
            let (signed, unsigned) = (Reading::fill::<i64>, Reading::fill::<u64>);
            let sizes = (preamble.rows, preamble.columns);
            integers(&mut reading, triplets, sizes, signed, unsigned, pinned)?
        }
        Field::Pattern => reading.all::<One>()?,
        Field::Complex => reading.all::<[f64; 2]>()?,
    };
    let header = Header {
        format: FileFormat::RutherfordBoeing,
        layout: Layout::Coordinate,
        field: preamble.field,
        symmetry: preamble.symmetry,
        stored: preamble.stored as usize,
        comments: preamble.comments,
        fill: None,
    };
    Ok(File { coordinates, header })
}

/// Whether a text begins as such a file: its second line is of numbers, its third names a type.
pub(crate) fn is_begun(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text, 0, 0);
    cursor.rest_of_line();
    if read_counts(&mut cursor).is_err() {
        return false;
    }
    // Of types that are not read, the reader says so.
    read_type(&mut cursor).map_or_else(|flaw| flaw.code == FileErrorCode::Unsupported, |_| true)
}

/// The numbers of lines, of which that of right-hand sides.
fn read_counts(cursor: &mut Cursor) -> Parsed<u64> {
    cursor.count("number of lines")?;
    for name in ["number of pointer lines", "number of index lines", "number of value lines"] {
        cursor.count(name)?;
    }
    cursor.skip_blanks();
    let right_sides = if cursor.field().is_empty() { 0 } else { cursor.count("lines")? };
    cursor.end_of_line()?;
    Ok(right_sides)
}

fn read_preamble(cursor: &mut Cursor, chunks: &Chunks) -> Parsed<Preamble> {
    let comments = title_and_key(cursor.rest_of_line());
    let right_sides = read_counts(cursor)?;
    let (field, symmetry) = read_type(cursor)?;
    let sizes = cursor.clone();
    let rows = cursor.count("number of rows")?;
    let columns = cursor.count("number of columns")?;
    let stored = cursor.count("number of entries")?;
    cursor.rest_of_line();
    if symmetry != Symmetry::General && rows != columns {
        let message = format!("a {rows} by {columns} matrix cannot be {symmetry}");
        let help = "only a square matrix has a symmetry: correct its type";
        return Err(sizes.flaw(FileErrorCode::Range, message, help));
    }
    let has_values = field != Field::Pattern;
    let [pointers, indices, values] = read_formats(cursor, has_values)?;
    if right_sides > 0 {
        cursor.rest_of_line();
    }
    check_room(&sizes, chunks.left(cursor.at()), columns, stored)?;
    let values = Some(values).filter(|_| has_values);
    Ok(Preamble { comments, field, symmetry, rows, columns, stored, pointers, indices, values })
}

/// The title, which is 72 bytes wide, and the key behind it, unless they are blank.
fn title_and_key(line: &[u8]) -> Vec<String> {
    let (title, key) = line.split_at(line.len().min(72));
    [title, key]
        .map(|text| String::from_utf8_lossy(text).trim().to_string())
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect()
}

fn read_type(cursor: &mut Cursor) -> Parsed<(Field, Symmetry)> {
    cursor.skip_blanks();
    let start = cursor.clone();
    let letters = cursor.take_field().to_ascii_lowercase();
    let [field, symmetry, form] = letters[..] else {
        return Err(start.unexpected("a matrix type such as \"rua\""));
    };
    let field = match field {
        b'r' => Field::Real,
        b'c' => Field::Complex,
        b'i' => Field::Integer,
        b'p' | b'q' => Field::Pattern,
        _ => return Err(start.unexpected("a matrix type that starts with r, c, i, p or q")),
    };
    let symmetry = match symmetry {
        b's' => Symmetry::Symmetric,
        b'u' | b'r' => Symmetry::General,
        b'h' => Symmetry::Hermitian,
        b'z' => Symmetry::SkewSymmetric,
        _ => return Err(start.unexpected("a matrix type with s, u, h, z or r in the middle")),
    };
    match (form, field, symmetry) {
        (b'a', Field::Pattern, Symmetry::SkewSymmetric) => {
            let message = "a matrix without values cannot be skew-symmetric";
            Err(start.flaw(FileErrorCode::Unsupported, message, "correct its type in line 3"))
        }
        (b'a', ..) => Ok((field, symmetry)),
        (b'e', ..) => {
            let help = "assemble its elements first, and store it as a matrix of type ..a";
            Err(start.flaw(FileErrorCode::Unsupported, "elemental matrices are not read", help))
        }
        _ => Err(start.unexpected("a matrix type that ends in a or e")),
    }
}

/// The formats of pointers, row numbers and values; of values any where there are none.
fn read_formats(cursor: &mut Cursor, has_values: bool) -> Parsed<[Format; 3]> {
    let start = cursor.at();
    let line = cursor.rest_of_line();
    let mut formats = [Format { repeat: 1, width: 1 }; 3];
    let mut at = 0;
    for format in &mut formats[..2 + usize::from(has_values)] {
        let open = line[at..].iter().position(|&b| b == b'(').map_or(line.len(), |p| at + p);
        let length = closing_parenthesis(&line[open..]);
        *format = Format::parse(&line[open..open + length]).ok_or_else(|| {
            let message = "expected three Fortran formats of one kind of number each";
            let help = "line 4 is such as: (26I3)          (26I3)          (3E26.18)";
            Flaw::new(FileErrorCode::Syntax, start + open, message, help)
        })?;
        at = open + length;
    }
    Ok(formats)
}

/// The length of the text up to the parenthesis that closes the one at its start.
fn closing_parenthesis(text: &[u8]) -> usize {
    let mut depth = 0usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth <= 1 => return at + 1,
            b')' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Refuses sizes that the rest of the file cannot hold, before memory is reserved for them.
fn check_room(sizes: &Cursor, room: Option<u64>, columns: u64, stored: u64) -> Parsed<()> {
    let numbers = u128::from(columns) + 1 + u128::from(stored);
    if room.is_none_or(|room| numbers <= room.into()) {
        return Ok(());
    }
    let message = format!(
        "the header announces {columns} columns and {}, more than the file has room for",
        entries(stored)
    );
    let help = "the file may be incomplete: fetch it again, or correct its header";
    Err(sizes.flaw(FileErrorCode::Truncated, message, help))
}

/// The entries of a file: columns and rows, which were read, and values, which follow.
struct Reading<'c, 's, 'p> {
    fields: Fields<'c, 's>,
    preamble: &'p Preamble,
    /// Where each column starts among the entries, from 0; one number more than columns.
    pointers: Counted<usize>,
    rows: Counted<u64>,
    lines: Lines,
    /// The column of the next value.
    column: usize,
}

impl<'c, 's, 'p> Reading<'c, 's, 'p> {
    /// Reads pointers and rows, from a line of this number on.
    fn of(
        mut fields: Fields<'c, 's>,
        preamble: &'p Preamble,
        line: u64,
    ) -> Parsed<Reading<'c, 's, 'p>> {
        let stored = preamble.stored as usize;
        let mut rows = Counted::with_room(stored)?;
        let pointers = read_pointers(&mut fields, preamble)?;
        let mut lines = Lines::default();
        fields.go_on(preamble.indices);
        for entry in 0..stored {
            rows.push(fields.integer("row number", 1, preamble.rows)? - 1)?;
            if preamble.symmetry != Symmetry::General {
                lines.note(entry, line + fields.lines() - 1)?;
            }
        }
        fields.go_on(preamble.values.unwrap_or(preamble.indices));
        Ok(Reading { fields, preamble, pointers, rows, lines, column: 0 })
    }

    fn all<V: FixedEntry>(self) -> Parsed<Coordinates> {
        let preamble = self.preamble;
        let (mut reading, mut triplets) = self.begun::<V>()?;
        reading.fill(&mut triplets)?;
        drop(reading);
        triplets.finish(preamble.rows, preamble.columns)
    }

    /// Before the first value, with room for all.
    fn begun<V: FixedEntry>(self) -> Parsed<(Reading<'c, 's, 'p>, Triplets<V>)> {
        let mut triplets = Triplets::new(self.preamble.symmetry);
        triplets.reserve(self.rows.len())?;
        Ok((self, triplets))
    }

    /// Reads the values that are missing, from one on that could not be read.
    fn fill<V: FixedEntry>(&mut self, triplets: &mut Triplets<V>) -> Parsed<()> {
        while triplets.len() < self.rows.len() {
            let entry = triplets.len();
            while self.pointers[self.column + 1] <= entry {
                self.column += 1;
            }
            let value = V::read_fixed(&mut self.fields).inspect_err(|_| self.fields.back())?;
            let place = (self.fields.at(), self.lines.of(entry).unwrap_or(0));
            triplets.push(self.rows[entry], self.column as u64, value, place)?;
        }
        Ok(())
    }
}

/// Where each column starts among the entries, from 0; one number more than columns.
fn read_pointers(fields: &mut Fields, preamble: &Preamble) -> Parsed<Counted<usize>> {
    let mut pointers = Counted::with_room((preamble.columns as usize).saturating_add(1))?;
    let last = preamble.stored + 1;
    let mut least = 1;
    for column in 0..=preamble.columns {
        // The first pointer is 1 and the last closes the entries, so that none is left out.
        let most = if column == 0 { 1 } else { last };
        let at_least = if column == preamble.columns { last.max(least) } else { least };
        least = fields.integer("column pointer", at_least, most)?;
        pointers.push(least as usize - 1)?;
    }
    Ok(pointers)
}

/// A kind of value in fields of fixed width.
trait FixedEntry: Entry {
    fn read_fixed(fields: &mut Fields) -> Parsed<Self>;
}

impl FixedEntry for One {
    fn read_fixed(_: &mut Fields) -> Parsed<One> {
        Ok(One)
    }
}

impl FixedEntry for f64 {
    fn read_fixed(fields: &mut Fields) -> Parsed<f64> {
        let (field, at) = fields.next("a number")?;
        let value = match number::leading_float(field, 0) {
            Some((value, end)) if end == field.len() => return Ok(value),
            _ => number::fortran_float(field).ok_or_else(|| not_a_number("a number", field, at))?,
        };
        match number::is_beyond(field, value) {
            true => Err(beyond(field, at)),
            false => Ok(value),
        }
    }
}

impl FixedEntry for i64 {
    fn read_fixed(fields: &mut Fields) -> Parsed<i64> {
        fields.integer("integer", i64::MIN, i64::MAX)
    }
}

impl FixedEntry for u64 {
    fn read_fixed(fields: &mut Fields) -> Parsed<u64> {
        fields.integer("integer", u64::MIN, u64::MAX)
    }
}

impl FixedEntry for [f64; 2] {
    fn read_fixed(fields: &mut Fields) -> Parsed<[f64; 2]> {
        Ok([f64::read_fixed(fields)?, f64::read_fixed(fields)?])
    }
}
