//! Values at the entries of a pattern, taken from a tensor in any format.
//!
//! ```text
//! pattern  (0,1) (0,3) (2,0)      values  (0,1):5 (1,1):7 (2,0):3      gives  5 fill 3
//! ```
//!
//! The way of those formats whose entries no kernel finds by their coordinates: slots, and lists that
//! repeat coordinates.

use crate::memory::{Buffer, Building, Element, for_element};
use crate::tensor::Tensor;
use std::cmp::Ordering;
use tamis_ir::algebra::{BinaryOp, eval};
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Diagnostic;

/// A tensor with the entries of a pattern. Each has the value of `values` at its coordinates, the
/// sum of several, or the fill value of the pattern. Both have the same dimensions and element type.
/// Where the pattern repeats a coordinate, the first has the value and the others are 0.
///
/// The error says how much memory was needed.
pub fn at_entries(values: &Tensor, pattern: &Tensor) -> Result<Tensor, Diagnostic> {
    let (from, to) = (Entries::of(values), Entries::of(pattern));
    let mut found: Vec<(usize, Scalar)> = vec![];
    let mut given = 0;
    for n in 0..to.order.len() {
        let again = n > 0 && to.compare(n, &to, n - 1) == Ordering::Equal;
        if again {
            let zero = Scalar::I64(0).computed(pattern.storage().datatype);
            found.push((to.position(n), zero));
            continue;
        }
        while given < from.order.len() && from.compare(given, &to, n) == Ordering::Less {
            given += 1;
        }
        let mut last = None;
        while given < from.order.len() && from.compare(given, &to, n) == Ordering::Equal {
            let value = values.vals().get(from.position(given));
            last = Some(last.map_or(value, |sum| eval::binary(BinaryOp::Add, sum, value)));
            given += 1;
        }
        found.extend(last.map(|value| (to.position(n), value)));
    }
    let vals = for_element!(pattern.storage().datatype, T => filled::<T>(pattern, &found)?);
    Ok(with_values(pattern, vals))
}

/// The entries of a pattern with as many values of the same type.
pub(crate) fn with_values(pattern: &Tensor, vals: Buffer) -> Tensor {
    debug_assert_eq!(vals.len(), pattern.vals().len());
    let (dims, levels) = (pattern.dims().to_vec(), pattern.levels().to_vec());
    // SAFETY: the levels are those of a valid tensor, and there is a value for each position.
    unsafe { Tensor::from_parts_unchecked(dims, pattern.storage().clone(), levels, vals) }
}

/// As many values as a tensor has, these and fill values.
fn filled<T: Element>(pattern: &Tensor, some: &[(usize, Scalar)]) -> Result<Buffer, Diagnostic> {
    let (len, fill) = (pattern.vals().len(), T::of(pattern.storage().fill));
    let mut all = Building::<T>::new(len)?;
    // SAFETY: the indices are below the length, and nobody else knows of the array.
    (0..len).for_each(|at| unsafe { all.write(at, fill) });
    // SAFETY: every element was written.
    let places = unsafe { all.as_mut_slice() };
    for &(at, value) in some {
        places[at] = T::of(value);
    }
    // SAFETY: every element was written.
    Ok(unsafe { all.finish() })
}

/// The entries of a tensor in the order of their coordinates.
struct Entries {
    modes: usize,
    /// Of each entry, one after another.
    crds: Vec<u64>,
    positions: Vec<u64>,
    order: Vec<usize>,
}

impl Entries {
    fn of(tensor: &Tensor) -> Entries {
        let (mut crds, mut positions) = (vec![], vec![]);
        tensor.for_each_entry(&mut |place, p| {
            crds.extend_from_slice(place);
            positions.push(p);
        });
        let order = (0..positions.len()).collect();
        let mut entries = Entries { modes: tensor.dims().len(), crds, positions, order };
        let mut order = std::mem::take(&mut entries.order);
        // Stable: of equal coordinates the first in storage stays the first.
        order.sort_by(|&a, &b| entries.place(a).cmp(entries.place(b)));
        Entries { order, ..entries }
    }

    fn place(&self, entry: usize) -> &[u64] {
        &self.crds[entry * self.modes..(entry + 1) * self.modes]
    }

    fn position(&self, n: usize) -> usize {
        self.positions[self.order[n]] as usize
    }

    fn compare(&self, n: usize, other: &Entries, m: usize) -> Ordering {
        self.place(self.order[n]).cmp(other.place(other.order[m]))
    }
}
