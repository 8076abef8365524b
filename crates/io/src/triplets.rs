//! Entries of a matrix file, gathered while reading: symmetric entries appear in full.

use crate::cursor::Cursor;
use crate::error::{FileErrorCode, Flaw, Parsed};
use crate::header::Symmetry;
use tamis_runtime::{Coordinates, Values};

/// A kind of value in a matrix file.
pub(crate) trait Entry: Copy {
    /// The value at the cursor.
    fn read(cursor: &mut Cursor) -> Parsed<Self>;
    /// The value at the transposed place.
    fn mirrored(self, symmetry: Symmetry) -> Self;
    /// All values together.
    fn collect(values: Vec<Self>) -> Values;
    /// How many fields a value has.
    const FIELDS: usize;
}

/// The absent value of a pattern, which stands for one.
#[derive(Clone, Copy)]
pub(crate) struct One;

impl Entry for One {
    const FIELDS: usize = 0;

    #[inline(always)]
    fn read(_: &mut Cursor) -> Parsed<One> {
        Ok(One)
    }

    fn mirrored(self, _: Symmetry) -> One {
        One
    }

    fn collect(values: Vec<One>) -> Values {
        Values::F64(vec![1.0; values.len()])
    }
}

impl Entry for f64 {
    const FIELDS: usize = 1;

    #[inline(always)]
    fn read(cursor: &mut Cursor) -> Parsed<f64> {
        cursor.float()
    }

    fn mirrored(self, symmetry: Symmetry) -> f64 {
        if symmetry == Symmetry::SkewSymmetric { -self } else { self }
    }

    fn collect(values: Vec<f64>) -> Values {
        Values::F64(values)
    }
}

impl Entry for i64 {
    const FIELDS: usize = 1;

    #[inline(always)]
    fn read(cursor: &mut Cursor) -> Parsed<i64> {
        cursor.integer()
    }

    fn mirrored(self, symmetry: Symmetry) -> i64 {
        if symmetry == Symmetry::SkewSymmetric { self.wrapping_neg() } else { self }
    }

    fn collect(values: Vec<i64>) -> Values {
        Values::I64(values)
    }
}

impl Entry for [f64; 2] {
    const FIELDS: usize = 2;

    #[inline(always)]
    fn read(cursor: &mut Cursor) -> Parsed<[f64; 2]> {
        Ok([cursor.float()?, cursor.float()?])
    }

    fn mirrored(self, symmetry: Symmetry) -> [f64; 2] {
        let [re, im] = self;
        match symmetry {
            Symmetry::General | Symmetry::Symmetric => self,
            Symmetry::SkewSymmetric => [-re, -im],
            Symmetry::Hermitian => [re, -im],
        }
    }

    fn collect(values: Vec<[f64; 2]>) -> Values {
        Values::C128(values)
    }
}

/// The entries read so far.
pub(crate) struct Triplets<V> {
    symmetry: Symmetry,
    rows: Vec<u64>,
    columns: Vec<u64>,
    values: Vec<V>,
}

impl<V: Entry> Triplets<V> {
    /// Room for `stored` entries of the file, a number that the file's size has confirmed.
    pub fn with_room(stored: usize, symmetry: Symmetry, at: usize) -> Parsed<Triplets<V>> {
        let copies = if symmetry == Symmetry::General { 1 } else { 2 };
        let room = stored.saturating_mul(copies);
        Ok(Triplets {
            symmetry,
            rows: reserved(room, at)?,
            columns: reserved(room, at)?,
            values: reserved(room, at)?,
        })
    }

    /// Adds an entry, and the one across the diagonal.
    #[inline(always)]
    pub fn push(&mut self, row: u64, column: u64, value: V) {
        self.push_one(row, column, value);
        if self.symmetry != Symmetry::General && row != column {
            self.push_one(column, row, value.mirrored(self.symmetry));
        }
    }

    #[inline(always)]
    fn push_one(&mut self, row: u64, column: u64, value: V) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }

    /// The matrix of these entries.
    pub fn finish(self, rows: u64, columns: u64) -> Coordinates {
        Coordinates {
            dims: vec![rows, columns],
            crds: vec![self.rows, self.columns],
            vals: V::collect(self.values),
        }
    }
}

/// An empty vector with room for `length` elements, or the flaw that memory is too small.
pub(crate) fn reserved<T>(length: usize, at: usize) -> Parsed<Vec<T>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(length).map_err(|_| too_large(length as u128, at))?;
    Ok(vector)
}

/// The flaw that so many entries do not fit into memory.
pub(crate) fn too_large(entries: u128, at: usize) -> Box<Flaw> {
    let message = format!("{entries} entries do not fit into memory");
    Flaw::new(FileErrorCode::TooLarge, at, message, "read a smaller file, or use more memory")
}
