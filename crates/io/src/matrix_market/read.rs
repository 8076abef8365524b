//! Matrix Market text to coordinates.

use crate::cursor::{Cursor, Item, shown};
use crate::error::{FileError, FileErrorCode, Flaw, Parsed, entries};
use crate::header::{Field, File, FileFormat, Header, Layout, Symmetry};
use crate::triplets::{Entry, One, Triplets, too_large, with_or_without_sign};
use std::path::Path;
use tamis_runtime::Coordinates;

/// Reads a matrix from Matrix Market text; `path` names the file in errors.
///
/// Both layouts are read, all fields (`real` and `double` as `f64`, `integer` as `i64`, or as `u64`
/// where only that holds every value, `unsigned-integer` as `u64`, `complex`, `pattern` as ones) and all symmetries, which are expanded to the full matrix. Explicit zeros
/// and duplicates are kept. The banner may be in any case, `coord` is `coordinate`, and comments
/// and empty lines may stand anywhere after it.
///
/// # Errors
/// When the text is not a Matrix Market file or contradicts its own header.
pub fn read_matrix_market(text: &[u8], path: &Path) -> Result<File, FileError> {
    read_text(text).map_err(|flaw| flaw.locate(path, text))
}

/// The first line of the file.
struct Banner {
    layout: Layout,
    field: Field,
    symmetry: Symmetry,
}

fn read_text(text: &[u8]) -> Parsed<File> {
    let mut cursor = Cursor::new(text);
    let banner = read_banner(&mut cursor)?;
    let comments = read_comments(&mut cursor);
    let coordinates = match banner.field {
        Field::Real => read_entries::<f64>(&mut cursor, &banner)?,
        Field::Integer => {
            with_or_without_sign(read_entries::<i64>(&mut cursor.clone(), &banner), || {
                read_entries::<u64>(&mut cursor, &banner)
            })?
        }
        Field::Unsigned => read_entries::<u64>(&mut cursor, &banner)?,
        Field::Pattern => read_entries::<One>(&mut cursor, &banner)?,
        Field::Complex => read_entries::<[f64; 2]>(&mut cursor, &banner)?,
    };
    let (coordinates, stored) = coordinates;
    let Banner { layout, field, symmetry } = banner;
    let header =
        Header { format: FileFormat::MatrixMarket, layout, field, symmetry, stored, comments };
    Ok(File { coordinates, header })
}

const BANNER_HELP: &str = "the first line is: %%MatrixMarket matrix coordinate|array \
     real|integer|complex|pattern general|symmetric|skew-symmetric|hermitian";

fn read_banner(cursor: &mut Cursor) -> Parsed<Banner> {
    let start = cursor.at();
    banner_word(cursor, "%%MatrixMarket", |word| match word {
        b"%%matrixmarket" | b"%matrixmarket" => Some(()),
        _ => None,
    })?;
    banner_word(cursor, "\"matrix\"", |word| (word == b"matrix").then_some(()))?;
    let layout = banner_word(cursor, "\"coordinate\" or \"array\"", |word| match word {
        b"coordinate" | b"coord" => Some(Layout::Coordinate),
        b"array" => Some(Layout::Array),
        _ => None,
    })?;
    let field = banner_word(cursor, "a field such as \"real\"", |word| match word {
        b"real" | b"double" => Some(Field::Real),
        b"integer" => Some(Field::Integer),
        b"unsigned-integer" => Some(Field::Unsigned),
        b"pattern" => Some(Field::Pattern),
        b"complex" => Some(Field::Complex),
        _ => None,
    })?;
    let symmetry = banner_word(cursor, "a symmetry such as \"general\"", |word| match word {
        b"general" => Some(Symmetry::General),
        b"symmetric" => Some(Symmetry::Symmetric),
        b"skew-symmetric" | b"skew" => Some(Symmetry::SkewSymmetric),
        b"hermitian" => Some(Symmetry::Hermitian),
        _ => None,
    })?;
    cursor.end_of_line()?;
    check_meaning(Banner { layout, field, symmetry }, start)
}

/// The next word of the banner, in any case, as what it means.
fn banner_word<T>(
    cursor: &mut Cursor,
    expected: &str,
    meaning: impl Fn(&[u8]) -> Option<T>,
) -> Parsed<T> {
    cursor.skip_blanks();
    let here = cursor.clone();
    let word = cursor.take_field();
    meaning(&word.to_ascii_lowercase()).ok_or_else(|| {
        let found = here.shown_field();
        here.flaw(FileErrorCode::Syntax, format!("expected {expected}, found {found}"), BANNER_HELP)
    })
}

fn check_meaning(banner: Banner, at: usize) -> Parsed<Banner> {
    let message = match (banner.layout, banner.field, banner.symmetry) {
        (Layout::Array, Field::Pattern, _) => "an array without values has no content",
        (_, Field::Pattern, Symmetry::SkewSymmetric) => {
            "a matrix without values cannot be skew-symmetric"
        }
        (_, Field::Unsigned, Symmetry::SkewSymmetric) => {
            "a matrix without signs cannot be skew-symmetric"
        }
        _ => return Ok(banner),
    };
    Err(Flaw::new(FileErrorCode::Unsupported, at, message, "correct the first line of the file"))
}

/// The comments between the banner and the sizes.
fn read_comments(cursor: &mut Cursor) -> Vec<String> {
    let mut comments = Vec::new();
    loop {
        cursor.skip_blanks();
        let mut line = cursor.clone();
        let text = line.rest_of_line();
        match text {
            [] if line.at() > cursor.at() => {}
            [b'%', comment @ ..] => {
                comments.push(String::from_utf8_lossy(comment).trim().to_string());
            }
            _ => return comments,
        }
        *cursor = line;
    }
}

fn read_entries<V: Entry>(cursor: &mut Cursor, banner: &Banner) -> Parsed<(Coordinates, usize)> {
    if !cursor.next_entry(b"%") {
        return Err(truncated(cursor, "the line of sizes is missing"));
    }
    let start = cursor.clone();
    let rows = cursor.count("number of rows")?;
    let columns = cursor.count("number of columns")?;
    if banner.symmetry != Symmetry::General && rows != columns {
        let message = format!("a {rows} by {columns} matrix cannot be {}", banner.symmetry);
        return Err(start.flaw(
            FileErrorCode::Range,
            message,
            "only a square matrix has a symmetry: declare it general",
        ));
    }
    match banner.layout {
        Layout::Coordinate => {
            let stored = cursor.count("number of entries")?;
            cursor.end_of_line()?;
            read_coordinate::<V>(cursor, rows, columns, stored, banner.symmetry)
        }
        Layout::Array => {
            cursor.end_of_line()?;
            read_array::<V>(cursor, rows, columns, banner.symmetry)
        }
    }
}

fn read_coordinate<V: Entry>(
    cursor: &mut Cursor,
    rows: u64,
    columns: u64,
    stored: u64,
    symmetry: Symmetry,
) -> Parsed<(Coordinates, usize)> {
    let stored = fitting(cursor, stored.into(), cursor.lines_left())?;
    let mut triplets = Triplets::<V>::with_room(stored, symmetry, cursor.at())?;
    for found in 0..stored {
        if !cursor.next_entry(b"%") {
            return Err(missing(cursor, stored, found));
        }
        let line = cursor.at();
        let (row, column, value) = match read_entry::<V>(cursor, rows, columns) {
            Ok(entry) => entry,
            Err(flaw) => return Err(ragged::<V>(cursor, line, flaw)),
        };
        triplets.push(row, column, value, line)?;
    }
    expect_end(cursor, stored)?;
    Ok((triplets.finish(rows, columns), stored))
}

#[inline(always)]
fn read_entry<V: Entry>(cursor: &mut Cursor, rows: u64, columns: u64) -> Parsed<(u64, u64, V)> {
    let row = cursor.coordinate(Item::Row, rows)?;
    let column = cursor.coordinate(Item::Column, columns)?;
    let value = V::read(cursor)?;
    cursor.end_of_line()?;
    Ok((row, column, value))
}

#[cold]
fn ragged<V: Entry>(cursor: &Cursor, line: usize, flaw: Box<Flaw>) -> Box<Flaw> {
    let fields = match V::FIELDS {
        0 => "row and column",
        1 => "row, column and value",
        _ => "row, column, real and imaginary part",
    };
    cursor.moved_to(line).ragged(flaw, 2 + V::FIELDS, fields)
}

fn read_array<V: Entry>(
    cursor: &mut Cursor,
    rows: u64,
    columns: u64,
    symmetry: Symmetry,
) -> Parsed<(Coordinates, usize)> {
    let (full, order) = (u128::from(rows) * u128::from(columns), u128::from(rows));
    let stored = match symmetry {
        Symmetry::General => full,
        Symmetry::SkewSymmetric => (full - order) / 2,
        Symmetry::Symmetric | Symmetry::Hermitian => (full + order) / 2,
    };
    // The shortest value is one digit and a blank.
    let stored = fitting(cursor, stored, cursor.remaining().div_ceil(2))?;
    let mut triplets = Triplets::<V>::with_room(stored, symmetry, cursor.at())?;
    let mut found = 0;
    // Counting what is stored, not columns, ends at once for a matrix without rows.
    let mut column = 0;
    while found < stored {
        let first = match symmetry {
            Symmetry::General => 0,
            Symmetry::SkewSymmetric => column + 1,
            Symmetry::Symmetric | Symmetry::Hermitian => column,
        };
        for row in first..rows {
            if !cursor.next_entry(b"%") {
                return Err(missing(cursor, stored, found));
            }
            let place = cursor.at();
            triplets.push(row, column, V::read(cursor)?, place)?;
            found += 1;
        }
        column += 1;
    }
    expect_end(cursor, stored)?;
    Ok((triplets.finish(rows, columns), stored))
}

/// The number of entries that the header claims, once the rest of the file has `room` for them.
fn fitting(cursor: &Cursor, claimed: u128, room: usize) -> Parsed<usize> {
    if claimed <= room as u128 {
        return Ok(claimed as usize);
    }
    if claimed > usize::MAX as u128 / 32 {
        return Err(too_large(claimed, cursor.at()));
    }
    let message =
        format!("the header announces {}, the file has room for at most {room}", entries(claimed));
    Err(truncated(cursor, message))
}

fn missing(cursor: &Cursor, announced: usize, found: usize) -> Box<Flaw> {
    let message =
        format!("the header announces {}, the file ends after {found}", entries(announced));
    truncated(cursor, message)
}

fn truncated(cursor: &Cursor, message: impl Into<String>) -> Box<Flaw> {
    let help = "the file may be incomplete: fetch it again, or correct its header";
    cursor.flaw(FileErrorCode::Truncated, message, help)
}

fn expect_end(cursor: &mut Cursor, stored: usize) -> Parsed<()> {
    if !cursor.next_entry(b"%") {
        return Ok(());
    }
    let found = shown(cursor.field());
    let message = format!("expected the end of the file after {}, found {found}", entries(stored));
    Err(cursor.flaw(FileErrorCode::Syntax, message, "correct the number of entries in the header"))
}
