//! Entries of a matrix file, gathered while reading; symmetric ones appear in full at the end.

use crate::counted::Counted;
use crate::cursor::Cursor;
use crate::error::{FileErrorCode, Flaw, MORE_MEMORY, Parsed};
use crate::header::Symmetry;
use crate::triangles;
use std::fmt::Debug;
use tamis_runtime::budget::Reservation;
use tamis_runtime::{Coordinates, Values};

/// A kind of value in a matrix file.
pub(crate) trait Entry: Copy + PartialEq + Debug {
    /// The value at the cursor.
    fn read(cursor: &mut Cursor) -> Parsed<Self>;
    /// The value at the transposed coordinates, if the type has it.
    fn mirrored(self, symmetry: Symmetry) -> Option<Self>;
    /// Whether the value may stand on the diagonal, where it mirrors itself.
    fn is_own_mirror(self, symmetry: Symmetry) -> bool;
    /// All values together.
    fn collect(values: Vec<Self>) -> Parsed<Values>;
    /// How many fields a value has.
    const FIELDS: usize;
}

/// The absent value of a pattern, which stands for one.
#[derive(Clone, Copy, PartialEq, Debug)]
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

    fn collect(values: Vec<One>) -> Parsed<Values> {
        let mut ones = Counted::with_room(values.len())?.into_vec();
        ones.resize(values.len(), 1.0);
        Ok(Values::F64(ones))
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

    fn collect(values: Vec<f64>) -> Parsed<Values> {
        Ok(Values::F64(values))
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

    fn collect(values: Vec<i64>) -> Parsed<Values> {
        Ok(Values::I64(values))
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

    fn collect(values: Vec<u64>) -> Parsed<Values> {
        Ok(Values::U64(values))
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

    fn collect(values: Vec<[f64; 2]>) -> Parsed<Values> {
        Ok(Values::C128(values))
    }
}

/// The entries read so far, as the file has them.
pub(crate) struct Triplets<V> {
    pub symmetry: Symmetry,
    /// Whether all entries of the file are there, so that both sides of the diagonal can be compared.
    is_whole: bool,
    pub rows: Vec<u64>,
    pub columns: Vec<u64>,
    pub values: Vec<V>,
    /// Where they are, if the symmetry asks.
    pub lines: Lines,
    reservation: Reservation,
}

/// The lines of entries: where they do not follow one another, an entry and its line.
#[derive(Default)]
pub(crate) struct Lines(Counted<(usize, u64)>);

impl Lines {
    /// Notes the line of the next entry.
    #[inline(always)]
    pub fn note(&mut self, entry: usize, line: u64) -> Parsed<()> {
        match self.0.last() {
            Some(&(first, at)) if line == at + (entry - first) as u64 => Ok(()),
            _ => self.0.push((entry, line)),
        }
    }

    /// The line of an entry.
    pub fn of(&self, entry: usize) -> Option<u64> {
        let run = self.0.partition_point(|&(first, _)| first <= entry).checked_sub(1)?;
        self.0.get(run).map(|&(first, line)| line + (entry - first) as u64)
    }
}

impl<V: Entry> Triplets<V> {
    /// None yet.
    pub fn new(symmetry: Symmetry) -> Triplets<V> {
        let (rows, columns, values, lines) = (vec![], vec![], vec![], Lines::default());
        let reservation = Reservation::default();
        Triplets { symmetry, is_whole: true, rows, columns, values, lines, reservation }
    }

    /// Those of a part of the file.
    pub fn of_part(self) -> Triplets<V> {
        Triplets { is_whole: false, ..self }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, more: usize) -> Parsed<()> {
        let needed = self.len().saturating_add(more);
        if needed <= self.rows.capacity() {
            return Ok(());
        }
        self.resize(needed.max(self.len() / 2 * 3))
    }

    fn resize(&mut self, room: usize) -> Parsed<()> {
        // A value that stands for one becomes a number.
        let entry = 16 + size_of::<V>().max(8);
        let (bytes, what) = (room.saturating_mul(entry), format!("a list of {room} entries"));
        self.reservation.resize(bytes, &what, "").map_err(Flaw::of_memory)?;
        let more = room.saturating_sub(self.len());
        let too_many = |_| Flaw::no_room(&what, more.saturating_mul(entry));
        let rows = self.rows.try_reserve_exact(more);
        let columns = rows.and_then(|()| self.columns.try_reserve_exact(more));
        columns.and_then(|()| self.values.try_reserve_exact(more)).map_err(too_many)
    }

    /// Adds an entry, which stands at this byte of the chunk and this line of the file.
    #[inline(always)]
    pub fn push(
        &mut self,
        row: u64,
        column: u64,
        value: V,
        (at, line): (usize, u64),
    ) -> Parsed<()> {
        if self.symmetry != Symmetry::General {
            self.check_mirrored(row, column, value, at)?;
            self.lines.note(self.rows.len(), line)?;
        }
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
        Ok(())
    }

    fn check_mirrored(&self, row: u64, column: u64, value: V, at: usize) -> Parsed<()> {
        if row == column {
            return match value.is_own_mirror(self.symmetry) {
                true => Ok(()),
                false => Err(self.not_its_mirror(row, at)),
            };
        }
        if value.mirrored(self.symmetry).is_none() {
            let (row, column) = (row + 1, column + 1);
            let message =
                format!("the negative of the entry ({row}, {column}) does not fit its type");
            return Err(Flaw::new(FileErrorCode::Range, at, message, "declare the values real"));
        }
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

    /// The matrix of these entries.
    pub fn finish(mut self, rows: u64, columns: u64) -> Parsed<Coordinates> {
        if self.symmetry != Symmetry::General {
            if self.is_whole {
                triangles::check(&mut self)?;
            }
            self.mirror()?;
        }
        drop(self.reservation);
        let crds = vec![self.rows, self.columns];
        Coordinates::new(vec![rows, columns], crds, V::collect(self.values)?).map_err(Flaw::of_list)
    }

    /// Puts the entry across the diagonal behind each entry beside it.
    fn mirror(&mut self) -> Parsed<()> {
        let len = self.len();
        let beside = self.rows.iter().zip(&self.columns).filter(|(row, column)| row != column);
        let all = len + beside.count();
        let Some(&last) = self.values.last() else { return Ok(()) };
        self.resize(all)?;
        self.rows.resize(all, 0);
        self.columns.resize(all, 0);
        self.values.resize(all, last);
        // From the end on, so that no entry is overwritten before it was moved.
        let mut to = all;
        for from in (0..len).rev() {
            let (row, column, value) = (self.rows[from], self.columns[from], self.values[from]);
            if row != column {
                to -= 1;
                let mirrored = value.mirrored(self.symmetry).unwrap_or(value);
                (self.rows[to], self.columns[to], self.values[to]) = (column, row, mirrored);
            }
            to -= 1;
            (self.rows[to], self.columns[to], self.values[to]) = (row, column, value);
        }
        Ok(())
    }
}

impl Triplets<i64> {
    /// The same integers without sign, if none is below 0.
    fn without_sign(self) -> Option<Triplets<u64>> {
        let Triplets { symmetry, is_whole, rows, columns, values, lines, reservation } = self;
        // Collected in the memory of those with sign.
        let values = values.into_iter().map(|x| u64::try_from(x).ok()).collect::<Option<_>>()?;
        Some(Triplets { symmetry, is_whole, rows, columns, values, lines, reservation })
    }
}

/// Reads integers with sign, or without from the first on that only those hold: some lie above
/// 2^63 - 1, and none below 0. What reads goes on where it failed; `pinned` keeps a flaw for later.
pub(crate) fn integers<S>(
    state: &mut S,
    mut triplets: Triplets<i64>,
    (rows, columns): (u64, u64),
    signed: impl FnOnce(&mut S, &mut Triplets<i64>) -> Parsed<()>,
    unsigned: impl FnOnce(&mut S, &mut Triplets<u64>) -> Parsed<()>,
    pinned: impl FnOnce(&S, Box<Flaw>) -> Box<Flaw>,
) -> Parsed<Coordinates> {
    let flaw = match signed(state, &mut triplets) {
        Ok(()) => return triplets.finish(rows, columns),
        Err(flaw) if flaw.code == FileErrorCode::Range => pinned(state, flaw),
        Err(flaw) => return Err(flaw),
    };
    let Some(mut triplets) = triplets.without_sign() else { return Err(flaw) };
    match unsigned(state, &mut triplets) {
        Ok(()) => triplets.finish(rows, columns),
        Err(_) => Err(flaw),
    }
}

/// The flaw that so many entries as a header claims do not fit in memory.
pub(crate) fn too_large(entries: u128, at: usize) -> Box<Flaw> {
    let message = format!("{entries} entries do not fit in memory");
    Flaw::new(FileErrorCode::TooLarge, at, message, MORE_MEMORY)
}
