//! Matrix Market text to coordinates.

use crate::chunks::{Chunks, Source};
use crate::counted::Counted;
use crate::cursor::{Cursor, Item, shown};
use crate::error::{FileError, FileErrorCode, Flaw, Parsed, counted, entries};
use crate::header::{Field, File, FileFormat, Header, Layout, Symmetry};
use crate::parts::Scope;
use crate::triplets::{Entry, One, Triplets, integers, too_large};
use std::path::Path;
use tamis_runtime::Coordinates;

/// Reads a matrix from Matrix Market text; `path` names the file in errors.
///
/// Both layouts are read, all fields (`real` and `double` as `f64`, `integer` as `i64`, or as `u64`
/// where only that holds every value, `unsigned-integer` as `u64`, `complex`, `pattern` as ones) and all symmetries, which are expanded to the full matrix. Explicit zeros
/// and duplicates are kept, but for entries of a symmetric matrix that are stored on both sides of
/// the diagonal: those are taken once if they agree, and refused if not. The banner may be in any
/// case, `coord` is `coordinate`, and comments and empty lines may stand anywhere after it.
///
/// # Errors
/// When the text is not a Matrix Market file or contradicts its own header.
pub fn read_matrix_market(text: &[u8], path: &Path) -> Result<File, FileError> {
    read_source(&mut &*text, path)
}

/// Reads a matrix from text that comes in chunks.
pub(crate) fn read_source(source: &mut dyn Source, path: &Path) -> Result<File, FileError> {
    let mut chunks = Chunks::new(source, 2, b"%").map_err(|flaw| flaw.of_file(path))?;
    read_chunks(&mut chunks).map_err(|flaw| chunks.locate(flaw, path))
}

/// The first line of the file.
#[derive(Debug)]
struct Banner {
    layout: Layout,
    field: Field,
    symmetry: Symmetry,
}

/// What stands before the entries.
#[derive(Debug)]
pub(crate) struct Head {
    banner: Banner,
    comments: Vec<String>,
    sizes: Sizes,
}

fn read_chunks(chunks: &mut Chunks) -> Parsed<File> {
    let head = read_head(chunks)?;
    let is_bounded = chunks.left(0).is_some();
    let coordinates = head.entries(chunks, &Scope::File { is_bounded })?;
    Ok(File { coordinates, header: head.header() })
}

/// Reads what stands before the entries, and goes on behind it.
pub(crate) fn read_head(chunks: &mut Chunks) -> Parsed<Head> {
    let mut cursor = chunks.cursor();
    let banner = read_banner(&mut cursor)?;
    let comments = read_comments(&mut cursor)?.into_vec();
    let sizes = read_sizes(&mut cursor, &banner)?;
    let at = cursor.at();
    check_room(&cursor, &sizes, chunks.left(at))?;
    chunks.go_to(at);
    Ok(Head { banner, comments, sizes })
}

impl Head {
    /// What the file says about itself.
    pub(crate) fn header(&self) -> Header {
        let Banner { layout, field, symmetry } = self.banner;
        let stored = self.sizes.stored as usize;
        let (format, comments) = (FileFormat::MatrixMarket, self.comments.clone());
        Header { format, layout, field, symmetry, stored, comments, fill: None }
    }

    /// Rows and columns.
    pub(crate) fn dims(&self) -> Vec<u64> {
        vec![self.sizes.rows, self.sizes.columns]
    }

    /// The entries from where reading goes on, in full.
    pub(crate) fn entries(&self, chunks: &mut Chunks, scope: &Scope) -> Parsed<Coordinates> {
        let (sizes, symmetry) = (&self.sizes, self.banner.symmetry);
        let reading = Reading { chunks, sizes, symmetry, next: (0, 0), scope };
        match self.banner.field {
            Field::Real => reading.all::<f64>(),
            Field::Integer if scope.has_negative() => reading.all::<i64>(),
            Field::Integer => {
                let size = (sizes.rows, sizes.columns);
                let (mut reading, triplets) = reading.begun()?;
                let pinned = |reading: &Reading, flaw| reading.chunks.pinned(flaw);
                let (signed, unsigned) = (Reading::fill::<i64>, Reading::fill::<u64>);
                integers(&mut reading, triplets, size, signed, unsigned, pinned)
            }
            Field::Unsigned => reading.all::<u64>(),
            Field::Pattern => reading.all::<One>(),
            Field::Complex => reading.all::<[f64; 2]>(),
        }
    }

    /// How many values of an array the chunks have.
    pub(crate) fn count(&self, chunks: &mut Chunks) -> Parsed<u64> {
        let fields = if self.banner.field == Field::Complex { 2 } else { 1 };
        let mut count = 0;
        loop {
            let mut cursor = chunks.cursor();
            while cursor.next_entry(b"%") {
                cursor.take_field();
                count += 1;
            }
            if !chunks.next()? {
                return Ok(count / fields);
            }
        }
    }
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
fn read_comments(cursor: &mut Cursor) -> Parsed<Counted<String>> {
    let mut comments = Counted::default();
    loop {
        cursor.skip_blanks();
        let mut line = cursor.clone();
        let text = line.rest_of_line();
        match text {
            [] if line.at() > cursor.at() => {}
            [b'%', comment @ ..] => {
                let comment = String::from_utf8_lossy(comment).trim().to_string();
                cursor.check_fill(&comment)?;
                comments.push_text(comment)?;
            }
            _ => return Ok(comments),
        }
        *cursor = line;
    }
}

/// The line of sizes.
#[derive(Debug)]
struct Sizes {
    rows: u64,
    columns: u64,
    layout: Layout,
    /// How many entries the file has, or should have.
    stored: u128,
}

impl Sizes {
    /// How many entries the file has to have, and why.
    fn announced(&self) -> String {
        match self.layout {
            Layout::Coordinate => format!("the header announces {}", entries(self.stored)),
            Layout::Array => {
                let count = values(self.stored);
                format!("an array of {} rows and {} columns has {count}", self.rows, self.columns)
            }
        }
    }
}

fn read_sizes(cursor: &mut Cursor, banner: &Banner) -> Parsed<Sizes> {
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
    let (full, order) = (u128::from(rows) * u128::from(columns), u128::from(rows));
    let stored = match (banner.layout, banner.symmetry) {
        (Layout::Coordinate, _) => cursor.count("number of entries")?.into(),
        (Layout::Array, Symmetry::General) => full,
        (Layout::Array, Symmetry::SkewSymmetric) => (full - order) / 2,
        (Layout::Array, Symmetry::Symmetric | Symmetry::Hermitian) => (full + order) / 2,
    };
    cursor.end_of_line()?;
    Ok(Sizes { rows, columns, layout: banner.layout, stored })
}

/// Refuses more entries than `bytes` have room for, before memory is reserved for them.
fn check_room(cursor: &Cursor, sizes: &Sizes, bytes: Option<u64>) -> Parsed<()> {
    let claimed = sizes.stored;
    let room = bytes.map(|bytes| match sizes.layout {
        // The shortest line is two digits, a blank and its end; the last may lack that.
        Layout::Coordinate => bytes / 4 + 1,
        // The shortest value is one digit and a blank.
        Layout::Array => bytes.div_ceil(2),
    });
    match room {
        Some(room) if claimed <= room.into() => Ok(()),
        _ if claimed > usize::MAX as u128 / 32 => Err(too_large(claimed, cursor.at())),
        None => Ok(()),
        Some(room) => {
            let announced = sizes.announced();
            Err(truncated(cursor, format!("{announced}, the file has room for at most {room}")))
        }
    }
}

/// The entries of a file or of a part of it, which are read chunk by chunk.
struct Reading<'c, 's> {
    chunks: &'c mut Chunks<'s>,
    sizes: &'c Sizes,
    symmetry: Symmetry,
    /// The row and column of the next value of an array, each column from its first stored row on.
    next: (u64, u64),
    scope: &'c Scope,
}

impl<'c, 's> Reading<'c, 's> {
    fn all<V: Entry>(self) -> Parsed<Coordinates> {
        let (rows, columns) = (self.sizes.rows, self.sizes.columns);
        let (mut reading, mut triplets) = self.begun::<V>()?;
        reading.fill(&mut triplets)?;
        triplets.finish(rows, columns)
    }

    /// Before the first entry, with room for all where the file may have so many.
    fn begun<V: Entry>(mut self) -> Parsed<(Reading<'c, 's>, Triplets<V>)> {
        self.next = self.value(self.scope.before());
        let mut triplets = Triplets::new(self.symmetry);
        match self.scope {
            Scope::File { is_bounded: true } => triplets.reserve(self.sizes.stored as usize)?,
            Scope::File { is_bounded: false } => {}
            Scope::Part { expected, .. } => {
                triplets = triplets.of_part();
                triplets.reserve(*expected)?;
            }
        }
        Ok((self, triplets))
    }

    /// Reads the entries that are missing, from where reading goes on: in front of one that could
    /// not be read.
    fn fill<V: Entry>(&mut self, triplets: &mut Triplets<V>) -> Parsed<()> {
        let (stored, before) = (self.sizes.stored as usize, self.scope.before() as usize);
        let most = if self.scope.is_known() { stored.saturating_sub(before) } else { usize::MAX };
        loop {
            let shortest = if self.sizes.layout == Layout::Array { 2 } else { 4 };
            let fitting = self.chunks.in_chunk() / shortest + 1;
            triplets.reserve(fitting.min(most - triplets.len()))?;
            let (at, read) = match self.sizes.layout {
                Layout::Coordinate => self.fill_lines(triplets, most),
                Layout::Array => self.fill_values(triplets, most),
            };
            self.chunks.go_to(at);
            read?;
            if triplets.len() == most {
                let mut cursor = self.chunks.cursor();
                if cursor.next_entry(b"%") {
                    return Err(expected_end(&cursor, self.sizes));
                }
            }
            if self.chunks.next()? {
                continue;
            }
            return match triplets.len() == most || !self.scope.is_last() {
                true => Ok(()),
                false => Err(missing(&self.chunks.cursor(), self.sizes, before + triplets.len())),
            };
        }
    }

    /// Reads the entries of the chunk; where it stopped, and why if that is not the end of the chunk.
    fn fill_lines<V: Entry>(&self, triplets: &mut Triplets<V>, most: usize) -> (usize, Parsed<()>) {
        let (rows, columns) = (self.sizes.rows, self.sizes.columns);
        let mut cursor = self.chunks.cursor();
        while triplets.len() < most && cursor.next_entry(b"%") {
            let (at, line) = (cursor.at(), cursor.line());
            let read = match read_entry::<V>(&mut cursor, rows, columns) {
                Ok((row, column, value)) => triplets.push(row, column, value, (at, line)),
                Err(flaw) => Err(ragged::<V>(&cursor, at, flaw)),
            };
            if let Err(flaw) = read {
                return (at, Err(flaw));
            }
        }
        (cursor.at(), Ok(()))
    }

    /// Reads the values of an array in the chunk, as [`Reading::fill_lines`] does.
    fn fill_values<V: Entry>(
        &mut self,
        triplets: &mut Triplets<V>,
        most: usize,
    ) -> (usize, Parsed<()>) {
        let mut cursor = self.chunks.cursor();
        let (mut row, mut column) = self.next;
        let mut read = Ok(());
        while triplets.len() < most && cursor.next_entry(b"%") {
            let start = cursor.clone();
            let place = (cursor.at(), cursor.line());
            let pushed = V::read(&mut cursor).and_then(|x| triplets.push(row, column, x, place));
            if pushed.is_err() {
                (cursor, read) = (start, pushed);
                break;
            }
            row += 1;
            if row == self.sizes.rows {
                column += 1;
                row = self.first_row(column);
            }
        }
        let at = cursor.at();
        self.next = (row, column);
        (at, read)
    }

    /// The row and column of a value of an array, by how many are before it.
    fn value(&self, mut before: u64) -> (u64, u64) {
        let mut column = match self.symmetry {
            Symmetry::General => before / self.sizes.rows.max(1),
            _ => 0,
        };
        before -= column * self.sizes.rows;
        while self.symmetry != Symmetry::General && column < self.sizes.columns {
            let rows = self.sizes.rows - self.first_row(column);
            if before < rows {
                break;
            }
            before -= rows;
            column += 1;
        }
        (self.first_row(column) + before, column)
    }

    /// The first row of a column that an array stores.
    fn first_row(&self, column: u64) -> u64 {
        match self.symmetry {
            Symmetry::General => 0,
            Symmetry::SkewSymmetric => column + 1,
            Symmetry::Symmetric | Symmetry::Hermitian => column,
        }
    }
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

fn missing(cursor: &Cursor, sizes: &Sizes, found: usize) -> Box<Flaw> {
    truncated(cursor, format!("{}, the file ends after {found}", sizes.announced()))
}

fn truncated(cursor: &Cursor, message: impl Into<String>) -> Box<Flaw> {
    let help = "the file may be incomplete: fetch it again, or correct its header";
    cursor.flaw(FileErrorCode::Truncated, message, help)
}

#[cold]
fn expected_end(cursor: &Cursor, sizes: &Sizes) -> Box<Flaw> {
    let (found, count) = (shown(cursor.field()), sizes.stored);
    let (stored, help) = match sizes.layout {
        Layout::Coordinate => (entries(count), "correct the number of entries in the header"),
        Layout::Array => (values(count), "correct the dimensions or the symmetry in the header"),
    };
    let message = format!("expected the end of the file after {stored}, found {found}");
    cursor.flaw(FileErrorCode::Syntax, message, help)
}

fn values(count: u128) -> String {
    counted(count, "value", "values")
}
