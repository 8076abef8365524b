//! Compressed rows to coordinates.

use super::wrong;
use crate::counted::Counted;
use crate::error::Parsed;

/// The row of each entry, from where rows start; `names` are those of the array and of the indices.
pub(super) fn expanded(
    pointers: &[u64],
    names: [&str; 2],
    rows: impl Iterator<Item = u64>,
    indices: usize,
) -> Parsed<Vec<u64>> {
    let mut expanded = Counted::with_room(indices.min(1 << 16))?;
    let [name, other] = names;
    if pointers.first().is_some_and(|&first| first != 0) {
        return Err(wrong(format!("{name} does not start with 0")));
    }
    for (row, bounds) in rows.zip(pointers.windows(2)) {
        if bounds[0] > bounds[1] {
            return Err(wrong(format!("{name} descends at row {row}")));
        }
        if bounds[1] > indices as u64 {
            return Err(wrong(format!("{name} goes to {}, {other} has {indices}", bounds[1])));
        }
        for _ in bounds[0]..bounds[1] {
            expanded.push(row)?;
        }
    }
    Ok(expanded.into_vec())
}

/// Requires that an array is as long as another says.
pub(super) fn check_length(name: &str, length: usize, wanted: u64) -> Parsed<()> {
    match length as u64 == wanted {
        true => Ok(()),
        false => Err(wrong(format!("{name} has {length} elements instead of {wanted}"))),
    }
}
