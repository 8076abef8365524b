//! Entries of a matrix file, gathered while reading: symmetric entries appear in full.

use crate::cursor::Cursor;
use crate::error::{FileErrorCode, Flaw, Parsed};
use crate::header::Symmetry;
use tamis_runtime::{Coordinates, Values};

/// A kind of value in a matrix file.
pub(crate) trait Entry: Copy {
    /// The value at the cursor.
    fn read(cursor: &mut Cursor) -> Parsed<Self>;
    /// The value at the transposed place, if the type has it.
    fn mirrored(self, symmetry: Symmetry) -> Option<Self>;
    /// Whether the value may stand on the diagonal, where it mirrors itself.
    fn is_own_mirror(self, symmetry: Symmetry) -> bool;
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

    fn mirrored(self, _: Symmetry) -> Option<One> {
        Some(One)
    }

    fn is_own_mirror(self, _: Symmetry) -> bool {
        true
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

    fn mirrored(self, symmetry: Symmetry) -> Option<f64> {
        Some(if symmetry == Symmetry::SkewSymmetric { -self } else { self })
    }

    fn is_own_mirror(self, symmetry: Symmetry) -> bool {
        symmetry != Symmetry::SkewSymmetric || self == 0.0
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

    fn mirrored(self, symmetry: Symmetry) -> Option<i64> {
        if symmetry == Symmetry::SkewSymmetric { self.checked_neg() } else { Some(self) }
    }

    fn is_own_mirror(self, symmetry: Symmetry) -> bool {
        symmetry != Symmetry::SkewSymmetric || self == 0
    }

    fn collect(values: Vec<i64>) -> Values {
        Values::I64(values)
    }
}

impl Entry for u64 {
    const FIELDS: usize = 1;

    #[inline(always)]
    fn read(cursor: &mut Cursor) -> Parsed<u64> {
        cursor.unsigned()
    }

    fn mirrored(self, symmetry: Symmetry) -> Option<u64> {
        if symmetry == Symmetry::SkewSymmetric { self.checked_neg() } else { Some(self) }
    }

    fn is_own_mirror(self, symmetry: Symmetry) -> bool {
        symmetry != Symmetry::SkewSymmetric || self == 0
    }

    fn collect(values: Vec<u64>) -> Values {
        Values::U64(values)
    }
}

/// Integers as read with sign, or without where that fails and this does not: some lie above
/// 2^63 - 1, and none below 0.
pub(crate) fn with_or_without_sign<T>(
    signed: Parsed<T>,
    unsigned: impl FnOnce() -> Parsed<T>,
) -> Parsed<T> {
    match signed {
        Err(flaw) if flaw.code == FileErrorCode::Range => unsigned().map_err(|_| flaw),
        read => read,
    }
}

impl Entry for [f64; 2] {
    const FIELDS: usize = 2;

    #[inline(always)]
    fn read(cursor: &mut Cursor) -> Parsed<[f64; 2]> {
        Ok([cursor.float()?, cursor.float()?])
    }

    fn mirrored(self, symmetry: Symmetry) -> Option<[f64; 2]> {
        let [re, im] = self;
        Some(match symmetry {
            Symmetry::General | Symmetry::Symmetric => self,
            Symmetry::SkewSymmetric => [-re, -im],
            Symmetry::Hermitian => [re, -im],
        })
    }

    fn is_own_mirror(self, symmetry: Symmetry) -> bool {
        match symmetry {
            Symmetry::General | Symmetry::Symmetric => true,
            Symmetry::SkewSymmetric => self == [0.0, 0.0],
            Symmetry::Hermitian => self[1] == 0.0,
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

    /// Adds an entry, which stands at this byte of the file, and the one across the diagonal.
    #[inline(always)]
    pub fn push(&mut self, row: u64, column: u64, value: V, at: usize) -> Parsed<()> {
        self.push_one(row, column, value);
        match self.symmetry {
            Symmetry::General => Ok(()),
            _ => self.push_mirrored(row, column, value, at),
        }
    }

    fn push_mirrored(&mut self, row: u64, column: u64, value: V, at: usize) -> Parsed<()> {
        if row == column {
            return match value.is_own_mirror(self.symmetry) {
                true => Ok(()),
                false => Err(self.not_its_mirror(row, at)),
            };
        }
        let Some(mirrored) = value.mirrored(self.symmetry) else {
            let (row, column) = (row + 1, column + 1);
            let message =
                format!("the negative of the entry ({row}, {column}) does not fit its type");
            return Err(Flaw::new(FileErrorCode::Range, at, message, "declare the values real"));
        };
        self.push_one(column, row, mirrored);
        Ok(())
    }

    #[cold]
    fn not_its_mirror(&self, row: u64, at: usize) -> Box<Flaw> {
        let (place, symmetry) = (row + 1, self.symmetry);
        let demand = if symmetry == Symmetry::Hermitian { "real" } else { "zero" };
        let message = format!(
            "the diagonal of a {symmetry} matrix is {demand}, the entry ({place}, {place}) is not"
        );
        let help = "correct the entry, or the symmetry in the header";
        Flaw::new(FileErrorCode::Range, at, message, help)
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
