//! Text files that are read in parts, cut at their lines: by several ranks at once, or one part after the other.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real general
//! 3 3 4                        the head, which is read first
//! 1 1 0.5   2 1 4              part 0 of 2
//! 3 1 1     3 3 2              part 1 of 2
//! ```
//!
//! A part is read without the others. What the whole file has to be (as many entries as its header announces,
//! numbers of one type) is checked once all parts were [`Found`]. A part that is told what is before it fails by
//! what the whole file fails by, at the same line.

use crate::at::read_exact_at;
use crate::chunks::Chunks;
use crate::error::{FileError, FileErrorCode, Flaw};
use crate::file::{is_standard, take_fill};
use crate::header::{Field, FileFormat, Header, Layout, ReadOptions, Symmetry};
use crate::lines::lines_of_part;
use crate::marks::{self, ABOVE, LOWER, NEGATIVE, UPPER, Wanted};
use crate::source::{Plain, Stretch, not_readable};
use crate::{frostt, matrix_market};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use tamis_runtime::{Coordinates, DataType, Scalar, Values};

/// What is read of a file.
pub(crate) enum Scope {
    /// All of it; whether its size confirmed the number of entries.
    File { is_bounded: bool },
    /// A part.
    Part {
        /// What is before it, if that is known.
        before: Option<Found>,
        is_last: bool,
        /// About how many entries it has, where that is known.
        expected: usize,
    },
}

impl Scope {
    /// How many entries are before it, as far as known.
    pub fn before(&self) -> u64 {
        match self {
            Scope::Part { before: Some(before), .. } => before.entries,
            _ => 0,
        }
    }

    /// About how many entries a part has.
    pub fn expected(&self) -> usize {
        match self {
            Scope::Part { expected, .. } => *expected,
            Scope::File { .. } => 0,
        }
    }

    /// Whether it is known what is before it.
    pub fn is_known(&self) -> bool {
        !matches!(self, Scope::Part { before: None, .. })
    }

    /// Whether the file ends with it, and what is before it is known.
    pub fn is_last(&self) -> bool {
        match self {
            Scope::File { .. } => true,
            Scope::Part { before, is_last, .. } => *is_last && before.is_some(),
        }
    }

    /// Whether the file is known to have an integer below 0.
    pub fn has_negative(&self) -> bool {
        matches!(self, Scope::Part { before: Some(before), .. } if before.marks & NEGATIVE != 0)
    }
}

/// What parts of a file have. Of several parts it is joined.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// How many lines.
    pub lines: u64,
    /// How many entries, as the file has them.
    pub entries: u64,
    /// Kinds of values and of entries, a bit each.
    pub marks: u64,
    /// The largest coordinate of each mode, counted from 1.
    pub largest: Vec<u64>,
}

impl Found {
    /// Of these parts and of the next ones.
    pub fn join(&mut self, next: &Found) {
        self.lines += next.lines;
        self.entries = self.entries.saturating_add(next.entries);
        self.marks |= next.marks;
        self.largest.resize(self.largest.len().max(next.largest.len()), 0);
        self.largest.iter_mut().zip(&next.largest).for_each(|(all, &own)| *all = own.max(*all));
    }
}

/// A part of a file that was read.
#[derive(Debug)]
pub struct Part {
    /// The entries, of a symmetric matrix in full; [`Cut::finished`] gives them the dimensions and the type of the
    /// whole.
    coordinates: Coordinates,
    /// What was found.
    pub found: Found,
}

impl Part {
    /// A part of these entries.
    pub(crate) fn new(coordinates: Coordinates, found: Found) -> Part {
        Part { coordinates, found }
    }

    /// The entries, with the dimensions and the type of the part.
    pub(crate) fn into_coordinates(self) -> Coordinates {
        self.coordinates
    }

    /// How many entries it has in full.
    pub fn entries(&self) -> u64 {
        self.coordinates.vals().len() as u64
    }
}

/// A file that is read in parts.
///
/// ```
/// use std::path::Path;
/// use tamis_io::{Cut, Found, ReadOptions};
///
/// # let folder = tamis_io::temporary::Temporary::folder(&std::env::temp_dir()).unwrap();
/// # let path = &folder.path().join("A.tns");
/// std::fs::write(path, "# dims: 9 9\n1 1 0.5\n2 1 4\n3 1 1\n9 9 2\n").unwrap();
/// let cut = Cut::open(path, &ReadOptions::default()).expect("text can be cut");
/// let parts = [cut.read(0, 2, None)?, cut.read(1, 2, None)?];
/// let mut all = Found::default();
/// parts.iter().for_each(|part| all.join(&part.found));
/// assert!(cut.is_sound(&all) && all.entries == 4);
/// for part in parts {
///     assert_eq!(cut.finished(part, &all)?.dims(), [9, 9]);
/// }
/// # Ok::<(), tamis_io::FileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cut {
    path: PathBuf,
    /// The file itself: another one may get its name.
    file: Arc<File>,
    /// When it was last written to, where that is known.
    written: Option<SystemTime>,
    head: Arc<Head>,
    /// The first byte of the entries, and how many lines end before it.
    start: u64,
    lines: u64,
    /// How many bytes follow.
    length: u64,
}

#[derive(Debug)]
enum Head {
    Matrix(matrix_market::Head),
    Tensor(frostt::Head),
}

impl Cut {
    /// A file that can be read in parts: plain text of Matrix Market or FROSTT that begins well. None for others, of
    /// which [`read_with`](crate::read_with) tells what is wrong, if anything is.
    pub fn open(path: &Path, options: &ReadOptions) -> Option<Cut> {
        let format = FileFormat::of(path)?;
        if is_standard(path) || !matches!(format, FileFormat::MatrixMarket | FileFormat::Frostt) {
            return None;
        }
        // Pipes are read once, by one reader.
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let mut plain = Plain::open(path).ok()?;
        let size = plain.size.filter(|_| !plain.is_gzip() && plain.other(format).is_none())?;
        let (head, start, lines) = match format {
            FileFormat::MatrixMarket => {
                let mut chunks = Chunks::new(&mut plain, 2, b"%").ok()?;
                let head = matrix_market::read_head(&mut chunks).ok()?;
                (Head::Matrix(head), chunks.cursor().at(), chunks.cursor().line() - 1)
            }
            _ => {
                let mut chunks = Chunks::new(&mut plain, 3, frostt::COMMENTS).ok()?;
                let head = frostt::read_head(&mut chunks, options).ok()?;
                (Head::Tensor(head), chunks.cursor().at(), chunks.cursor().line() - 1)
            }
        };
        if matches!(&head, Head::Tensor(head) if head.order() == 0) {
            return None;
        }
        let (path, start) = (path.to_path_buf(), start as u64);
        let length = size.checked_sub(start)?;
        let file = Arc::new(plain.into_file());
        let written = written(&file);
        Some(Cut { path, file, written, head: Arc::new(head), start, lines, length })
    }

    /// What the file says about itself before its entries; those of FROSTT do not tell their kind there.
    pub fn header(&self) -> Header {
        let mut header = match &*self.head {
            Head::Matrix(head) => head.header(),
            Head::Tensor(head) => head.header(&Values::F64(vec![]), 0),
        };
        take_fill(&mut header);
        header
    }

    /// The name of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many modes the tensor has, and their dimensions where the file says them.
    pub fn said_dims(&self) -> (usize, Option<Vec<u64>>) {
        match &*self.head {
            Head::Matrix(head) => (2, Some(head.dims())),
            Head::Tensor(head) => (head.order(), head.said_dims().map(<[u64]>::to_vec)),
        }
    }

    /// How many bytes of entries the file has.
    pub fn bytes(&self) -> u64 {
        self.length
    }

    /// About how many bytes a list of all entries takes.
    pub(crate) fn list_bytes(&self) -> u64 {
        let (stored, numbers) = match &*self.head {
            Head::Matrix(head) => {
                let header = head.header();
                let several = if header.symmetry == Symmetry::General { 1 } else { 2 };
                let parts = if header.field == Field::Complex { 2 } else { 1 };
                (Some(several * header.stored as u64), 2 + parts)
            }
            Head::Tensor(head) => (head.announced(), head.order() as u64 + 1),
        };
        // Lines are mostly not much shorter than their numbers.
        stored.map_or(2 * self.length, |stored| stored.saturating_mul(8 * numbers))
    }

    /// The dimensions of the whole, once all parts were found.
    pub fn dims(&self, all: &Found) -> Vec<u64> {
        match &*self.head {
            Head::Matrix(head) => head.dims(),
            Head::Tensor(head) => head.dims(&all.largest),
        }
    }

    /// Whether parts are read only where it is known what is before them: values of an array, whose coordinates are
    /// not in the file.
    pub fn needs_before(&self) -> bool {
        matches!(&*self.head, Head::Matrix(head) if head.header().layout == Layout::Array)
    }

    /// Counts lines and entries of a part of an array.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn count(&self, part: usize, parts: usize) -> Result<Found, FileError> {
        let (mut source, _) = self.stretch(part, parts)?;
        let mut chunks = self.chunks(&mut source, None)?;
        let counted = match &*self.head {
            Head::Matrix(head) => head.count(&mut chunks),
            Head::Tensor(_) => Ok(0),
        };
        let entries = counted.map_err(|flaw| chunks.locate(flaw, &self.path))?;
        Ok(Found { lines: chunks.lines() - self.lines, entries, ..Found::default() })
    }

    /// Reads a part, by its number of so many. With what is before it, an error has the line of the file, and the
    /// number of entries is checked.
    ///
    /// # Errors
    /// When the file cannot be read, or its content is not what its format demands.
    pub fn read(
        &self,
        part: usize,
        parts: usize,
        before: Option<&Found>,
    ) -> Result<Part, FileError> {
        let (mut source, is_last) = self.stretch(part, parts)?;
        let expected = self.expected(&source);
        let scope = Scope::Part { before: before.cloned(), is_last, expected };
        let mut chunks = self.chunks(&mut source, before)?;
        let read = match &*self.head {
            Head::Matrix(head) => head.entries(&mut chunks, &scope),
            Head::Tensor(head) => head.entries(&mut chunks, &scope),
        };
        let coordinates = read.map_err(|flaw| chunks.locate(flaw, &self.path))?;
        let lines = chunks.lines() - self.lines - before.map_or(0, |before| before.lines);
        let found = self.found(&coordinates, lines);
        Ok(Part { coordinates, found })
    }

    /// Whether the whole file is what its header says, by what all parts found, and was not written to meanwhile. Where
    /// it is not what it says, one of the parts fails when it is read again and told what is before it, with the marks
    /// of all.
    pub fn is_sound(&self, all: &Found) -> bool {
        if written(&self.file) != self.written {
            return false;
        }
        match &*self.head {
            Head::Matrix(head) => {
                let Header { stored, field, .. } = head.header();
                let both = NEGATIVE | ABOVE;
                let is_typed = field != Field::Integer || all.marks & both != both;
                all.entries == stored as u64 && is_typed
            }
            Head::Tensor(head) => head.announced().is_none_or(|count| count == all.entries),
        }
    }

    /// What is wrong with a file that is not sound: its parts are read again, each told what is before it.
    pub fn flaw(&self, parts: usize, all: &Found) -> FileError {
        let mut before = Found { marks: all.marks, ..Found::default() };
        for part in 0..parts {
            match self.read(part, parts, Some(&before)) {
                Ok(part) => before.join(&part.found),
                Err(error) => return error,
            }
        }
        changed(&self.path)
    }

    /// Whether entries have to be compared across parts: a symmetric matrix is stored on both sides of its
    /// diagonal.
    pub fn is_two_sided(&self, all: &Found) -> bool {
        all.marks & (LOWER | UPPER) == LOWER | UPPER
    }

    /// The entries of a part as those of the whole: with its dimensions and its type of values.
    ///
    /// # Errors
    /// When they do not fit in memory.
    pub fn finished(&self, part: Part, all: &Found) -> Result<Coordinates, FileError> {
        let (_, crds, vals) = part.coordinates.into_parts();
        let vals = self.typed(vals, all)?;
        let list = Coordinates::new(self.dims(all), crds, vals).map_err(Flaw::of_list);
        let list = list.map_err(|flaw| flaw.of_file(&self.path))?;
        Ok(list.with_fill(self.header().fill.unwrap_or(Scalar::I64(0))))
    }

    /// Values of a part in the type that all parts have together.
    pub(crate) fn typed(&self, vals: Values, all: &Found) -> Result<Values, FileError> {
        let Some(wanted) = self.wanted(all.marks) else { return Ok(vals) };
        marks::cast(vals, wanted).map_err(|flaw| flaw.of_file(&self.path))
    }

    /// The type that values of one type have in the whole.
    pub(crate) fn datatype(&self, own: DataType, all: &Found) -> DataType {
        self.wanted(all.marks).map_or(own, Wanted::datatype)
    }

    /// The type of the values of the whole, where parts may have others.
    fn wanted(&self, marks: u64) -> Option<Wanted> {
        match &*self.head {
            Head::Matrix(head) if head.header().field == Field::Integer => {
                Some(marks::of_integers(marks))
            }
            Head::Matrix(_) => None,
            Head::Tensor(_) => Some(marks::of_numbers(marks)),
        }
    }

    /// About how many entries a part has, and some more; 0 where that is not known.
    fn expected(&self, part: &Stretch) -> usize {
        let stored = match &*self.head {
            Head::Matrix(head) => head.header().stored as u64,
            Head::Tensor(head) => head.announced().unwrap_or(0),
        };
        let expected = u128::from(stored) * u128::from(part.left) / u128::from(self.length.max(1));
        (expected + expected / 50) as usize
    }

    /// The bytes of a part, and whether the file ends with them.
    fn stretch(&self, part: usize, parts: usize) -> Result<(Stretch, bool), FileError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => changed(&self.path),
            _ => not_readable(&error).of_file(&self.path),
        };
        let read_at = |at: u64, bytes: &mut [u8]| read_exact_at(&self.file, bytes, self.start + at);
        let (start, end) = lines_of_part(self.length, part, parts, read_at).map_err(failed)?;
        // Behind the last line are empty parts.
        let is_last = end == self.length && (start < end || part == 0);
        let (file, at) = (Arc::clone(&self.file), self.start + start);
        Ok((Stretch { file, at, left: end - start }, is_last))
    }

    fn chunks<'s>(
        &self,
        source: &'s mut Stretch,
        before: Option<&Found>,
    ) -> Result<Chunks<'s>, FileError> {
        let lines = self.lines + before.map_or(0, |before| before.lines);
        let chunks = Chunks::new(source, 0, b"").map_err(|flaw| flaw.of_file(&self.path))?;
        Ok(chunks.behind(lines))
    }

    /// What is told of a part.
    fn found(&self, list: &Coordinates, lines: u64) -> Found {
        let (mut entries, mut marks) = (list.vals().len() as u64, 0);
        match &*self.head {
            Head::Matrix(head) if head.header().symmetry != Symmetry::General => {
                let [rows, columns] = list.crds() else { unreachable!("a matrix has two modes") };
                let mut pairs = rows.iter().zip(columns);
                // Behind each entry beside the diagonal is its mirror.
                entries = 0;
                while let Some((row, column)) = pairs.next() {
                    entries += 1;
                    if row != column {
                        marks |= if row > column { LOWER } else { UPPER };
                        pairs.next();
                    }
                }
            }
            _ => {}
        }
        let is_typed = match &*self.head {
            Head::Matrix(head) => head.header().field != Field::Integer,
            Head::Tensor(_) => false,
        };
        let largest = match &*self.head {
            Head::Matrix(_) => vec![],
            Head::Tensor(_) => frostt::largest(list.crds()),
        };
        if !is_typed {
            marks |= marks::of_values(list.vals());
        }
        Found { lines, entries, marks, largest }
    }
}

/// When a file was last written to.
fn written(file: &File) -> Option<SystemTime> {
    file.metadata().and_then(|about| about.modified()).ok()
}

/// What is told of a file that was not the same when it was read again.
pub fn changed(path: &Path) -> FileError {
    let message = "the file changed while it was read";
    FileError::whole(FileErrorCode::NotReadable, path, message, "read it when nobody writes it")
}
