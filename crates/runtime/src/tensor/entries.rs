//! The stored entries of a tensor: as a list, one by one, or only the first.

use super::{LevelData, Tensor, views};
use crate::budget;
use crate::coordinates::{Coordinates, Values};
use crate::memory::{Buffer, Element};
use crate::pack::is_list;
use std::iter::Enumerate;
use std::vec::IntoIter;
use tamis_core::format::{Format, Walk};
use tamis_core::level::LevelView;
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::Id;

/// The way out where a list of entries is too large.
const SMALLER_LIST: &str = "work on a smaller part, or on the arrays of the tensor";

impl Tensor {
    /// The stored entries in storage order; a coordinate with several is there as often. The list has the
    /// fill value of the tensor.
    ///
    /// # Errors
    /// When the list, of 8 bytes per coordinate, does not fit in memory.
    pub fn to_coordinates(&self) -> Result<Coordinates, Diagnostic> {
        let entry = 8 * self.dims.len() + self.vals.datatype().size();
        let positions = if self.has_only_entries() { 0 } else { size_of::<usize>() };
        let bytes = self.nnz() as f64 * (entry + positions) as f64;
        budget::check("the list of a tensor's entries", bytes, SMALLER_LIST)?;
        let list = |crds, vals| {
            Coordinates::trusted(self.dims.clone(), crds, vals).with_fill(self.storage.fill)
        };
        // Coordinates of dense levels may be many without an entry below: `(i: dense, j: dense)` of 2^34 x 0.
        if self.vals.is_empty() {
            return Ok(list(vec![vec![]; self.dims.len()], Values::copied(&self.vals)));
        }
        let format = &self.storage.format;
        if self.is_plain() {
            let crds = by_levels(format, &views(format, &self.dims, &self.levels), &self.levels);
            let vals = Values::copied(&self.vals);
            return Ok(list(crds, vals));
        }
        let mut crds: Vec<Vec<u64>> = vec![vec![]; self.dims.len()];
        let mut positions = vec![];
        self.for_each_entry(&mut |place, p| {
            for (list, &c) in crds.iter_mut().zip(place) {
                list.push(c);
            }
            positions.push(p as usize);
        });
        let all = self.has_only_entries();
        let vals =
            if all { Values::copied(&self.vals) } else { Values::gathered(&self.vals, &positions) };
        Ok(list(crds, vals))
    }

    /// The stored entries with their coordinates, in storage order; a coordinate with several is there as
    /// often. For many entries [`Tensor::to_coordinates`] takes less time.
    ///
    /// # Errors
    /// When the values are of another type than `T`, or the list of their coordinates does not fit in
    /// memory.
    ///
    /// ```
    /// use tamis_runtime::Tensor;
    /// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
    /// let a = Tensor::eye(2, 1.0)?;
    /// let all: Vec<(Vec<u64>, f64)> = a.entries()?.collect();
    /// assert_eq!(all, [(vec![0, 0], 1.0), (vec![1, 1], 1.0)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn entries<T: Element>(&self) -> Result<Entries<T>, Diagnostic> {
        let (_, crds, vals) = self.to_coordinates()?.into_parts();
        let vals = vals.into_vec().map_err(|vals| self.other_type::<T>(vals.datatype()))?;
        Ok(Entries { crds, vals: vals.into_iter().enumerate() })
    }

    /// The first stored entries in storage order, at most `count`.
    pub fn first_entries(&self, count: usize) -> Vec<(Vec<u64>, Scalar)> {
        let mut first = vec![];
        if self.is_plain() {
            let views = views(&self.storage.format, &self.dims, &self.levels);
            let shown = self.vals.len().min(count);
            first.extend((0..shown).map(|p| (self.coordinate(&views, p as u64), self.vals.get(p))));
            return first;
        }
        self.for_each_entry(&mut |place, p| {
            if first.len() < count {
                first.push((place.to_vec(), self.vals.get(p as usize)));
            }
        });
        first
    }

    /// The sum of the stored values, in storage order, if they are of type `f64`.
    pub fn sum_of_floats(&self) -> Option<f64> {
        let vals = self.vals.as_slice::<f64>()?;
        if self.has_only_entries() {
            return Some(vals.iter().sum());
        }
        let mut sum = 0.0;
        self.for_each_entry(&mut |_, p| sum += vals[p as usize]);
        Some(sum)
    }

    /// Whether levels are dense or compressed, or a list, so that every position is an entry.
    fn is_plain(&self) -> bool {
        self.storage.format.is_basic() || is_list(&self.storage.format)
    }

    /// The coordinate of the entry at a position of a plain tensor.
    fn coordinate(&self, views: &[LevelView<'_>], mut position: u64) -> Vec<u64> {
        let mut coordinate = vec![0; self.dims.len()];
        let levels = self.storage.format.levels().iter().zip(views).zip(&self.levels);
        for ((level, view), data) in levels.rev() {
            let mode = level.map.modes()[0].index();
            if level.kind.properties().full {
                coordinate[mode] = position % view.header.size;
                position /= view.header.size;
                continue;
            }
            coordinate[mode] = view.coordinate(position) as u64;
            if let Some(pos) = &data.pos {
                position = parent(pos, position);
            }
        }
        coordinate
    }

    /// Calls `f` with the coordinates and the position of each stored entry, in storage order.
    pub(crate) fn for_each_entry(&self, f: &mut dyn FnMut(&[u64], u64)) {
        if self.vals.is_empty() {
            return;
        }
        let views = views(&self.storage.format, &self.dims, &self.levels);
        Walk::new(&self.storage.format, &self.dims, views).entries(f);
    }
}

/// Stored entries with their coordinates.
#[derive(Clone, Debug)]
pub struct Entries<T> {
    /// Those of each mode.
    crds: Vec<Vec<u64>>,
    vals: Enumerate<IntoIter<T>>,
}

impl<T> Iterator for Entries<T> {
    type Item = (Vec<u64>, T);

    fn next(&mut self) -> Option<(Vec<u64>, T)> {
        let (n, value) = self.vals.next()?;
        Some((self.crds.iter().map(|list| list[n]).collect(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.vals.size_hint()
    }
}

impl<T> ExactSizeIterator for Entries<T> {}

/// The position above whose segment holds a position.
fn parent(pos: &Buffer, position: u64) -> u64 {
    let (mut lo, mut hi) = (0, pos.len() - 1);
    while hi - lo > 1 {
        let middle = lo + (hi - lo) / 2;
        match pos.index(middle) as u64 <= position {
            true => lo = middle,
            false => hi = middle,
        }
    }
    lo as u64
}

/// The coordinates of all entries by modes, where levels are dense or compressed, or a list.
fn by_levels(format: &Format, views: &[LevelView<'_>], levels: &[LevelData]) -> Vec<Vec<u64>> {
    let mut crds: Vec<Vec<u64>> = vec![vec![]; format.order()];
    let mut positions = 1;
    for (k, (level, view)) in format.levels().iter().zip(views).enumerate() {
        let p = level.kind.properties();
        let pos = levels[k].pos.as_ref().map(widened);
        // Where the children of each position end.
        let ends: Vec<u64> = match &pos {
            Some(pos) => pos[1..].to_vec(),
            None if p.full => (1..=positions).map(|p| p * view.header.size).collect(),
            None => (1..=positions).collect(),
        };
        positions = ends.last().copied().unwrap_or(0);
        if p.full || !p.branchless {
            for above in &format.levels()[..k] {
                let list = &mut crds[above.map.modes()[0].index()];
                let mut longer = Vec::with_capacity(positions as usize);
                for (&c, &end) in list.iter().zip(&ends) {
                    longer.resize(end as usize, c);
                }
                *list = longer;
            }
        }
        crds[level.map.modes()[0].index()] = match (&levels[k].crd, p.full) {
            (_, true) => (0..ends.len()).flat_map(|_| 0..view.header.size).collect(),
            (Some(crd), _) if format.interleaved(k).is_none() => widened(crd),
            _ => (0..positions).map(|p| view.coordinate(p) as u64).collect(),
        };
    }
    crds
}

/// An array of numbers from 0.
fn widened(numbers: &Buffer) -> Vec<u64> {
    match numbers.as_slice::<i32>() {
        Some(narrow) => narrow.iter().map(|&x| x as u64).collect(),
        None => (0..numbers.len()).map(|k| numbers.index(k) as u64).collect(),
    }
}
