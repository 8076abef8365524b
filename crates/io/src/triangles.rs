//! Files with symmetry: which entries are written, and entries that are stored on both sides of the diagonal: each
//! stands for both already, so such a file says everything twice.
//!
//! ```text
//! symmetric    2 1 5    1 2 5     the same twice: taken once
//! symmetric    2 1 5    1 2 7     which one holds, nobody knows: refused
//! ```

use crate::counted::Counted;
use crate::error::{FileErrorCode, Flaw, Parsed, Place};
use crate::header::{Field, Layout, Symmetry, WriteOptions};
use crate::triplets::{Entry, Triplets};
use tamis_runtime::Coordinates;

/// Leaves out entries whose mirror is stored too, and refuses those that differ from it.
pub(crate) fn check<V: Entry>(entries: &mut Triplets<V>) -> Parsed<()> {
    let pairs = || entries.rows.iter().zip(&entries.columns);
    if !pairs().any(|(row, column)| row > column) || !pairs().any(|(row, column)| row < column) {
        return Ok(());
    }
    let mut order: Counted<usize> = Counted::with_room(entries.len())?;
    let mut beside = (0..entries.len()).filter(|&n| entries.rows[n] != entries.columns[n]);
    beside.try_for_each(|n| order.push(n))?;
    let place = |n: usize| {
        let (row, column) = (entries.rows[n], entries.columns[n]);
        (row.max(column), row.min(column))
    };
    order.sort_unstable_by_key(|&n| (place(n), entries.rows[n] < entries.columns[n], n));
    let mut kept: Counted<bool> = Counted::with_room(entries.len())?;
    (0..entries.len()).try_for_each(|_| kept.push(true))?;
    for group in order.chunk_by(|&a, &b| place(a) == place(b)) {
        let (below, above) =
            group.split_at(group.partition_point(|&n| entries.rows[n] > entries.columns[n]));
        if below.is_empty() || above.is_empty() {
            continue;
        }
        // An entry without a partner differs from what its mirror is stored as.
        let pairs = (0..below.len().max(above.len()))
            .map(|k| (below[k.min(below.len() - 1)], above[k.min(above.len() - 1)]));
        let mut differing = pairs.filter(|&(a, b)| !agree(entries, a, b));
        let more = (below.len() != above.len()).then(|| (below[0], above[0]));
        if let Some((a, b)) = differing.next().or(more) {
            return Err(conflict(entries, a, b));
        }
        above.iter().for_each(|&n| kept[n] = false);
    }
    retain(&mut entries.rows, &kept);
    retain(&mut entries.columns, &kept);
    retain(&mut entries.values, &kept);
    Ok(())
}

/// Whether two entries across the diagonal mean the same.
fn agree<V: Entry>(entries: &Triplets<V>, a: usize, b: usize) -> bool {
    let same = |x: V, y: V| x == y || (is_nan(x) && is_nan(y));
    let mirrored = entries.values[a].mirrored(entries.symmetry);
    mirrored.is_some_and(|mirrored| same(mirrored, entries.values[b]))
}

/// Whether a value differs from itself.
#[expect(clippy::eq_op, reason = "only what is not a number does")]
fn is_nan<V: Entry>(value: V) -> bool {
    value != value
}

fn retain<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    all.retain(|_| kept.next().is_some_and(|&kept| kept));
}

#[cold]
fn conflict<V: Entry>(entries: &Triplets<V>, a: usize, b: usize) -> Box<Flaw> {
    let (first, second) = (a.min(b), a.max(b));
    let shown = |n: usize| {
        let line = entries.lines.of(n).map_or(String::new(), |line| format!(" in line {line}"));
        let value = entries.values[n];
        format!("({}, {}){line} is {value:?}", entries.rows[n] + 1, entries.columns[n] + 1)
    };
    let symmetry = entries.symmetry;
    let (first_shown, second_shown) = (shown(first), shown(second));
    let message = format!(
        "a {symmetry} matrix is stored on both sides of its diagonal, and not the same: \
         {first_shown}, {second_shown}"
    );
    let help = "store one triangle, or declare the matrix general";
    let at = entries.lines.of(second).map_or(Place::File, |line| Place::Line(line, None));
    Flaw::at(at, FileErrorCode::Range, message, help)
}

/// How many entries of a list a file holds: of a symmetric matrix, those of one triangle.
pub fn entries_written(coordinates: &Coordinates, options: &WriteOptions) -> usize {
    let kept = Kept::of(options);
    (0..coordinates.vals().len()).filter(|&n| kept.has(coordinates, n)).count()
}

/// What is written of a matrix.
pub(crate) struct Kept {
    pub symmetry: Symmetry,
    pub values: bool,
}

impl Kept {
    /// What options say.
    pub fn of(options: &WriteOptions) -> Kept {
        match options.layout {
            Layout::Array => Kept { symmetry: Symmetry::General, values: true },
            Layout::Coordinate => {
                Kept { symmetry: options.symmetry, values: options.field != Some(Field::Pattern) }
            }
        }
    }

    /// Whether an entry is written: of a symmetric matrix, one triangle is.
    pub fn has(&self, coordinates: &Coordinates, entry: usize) -> bool {
        let [rows, columns] = coordinates.crds() else { return true };
        match self.symmetry {
            Symmetry::General => true,
            Symmetry::Symmetric | Symmetry::Hermitian => rows[entry] >= columns[entry],
            Symmetry::SkewSymmetric => rows[entry] > columns[entry],
        }
    }
}
