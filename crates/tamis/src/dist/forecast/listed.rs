//! The entries of a whole tensor, by the mode that is cut: what each rank has of them, and what it would send.

use crate::dist::coords::Coords;
use crate::dist::tensor::row_len;
use crate::dist::wire;
use std::ops::Range;
use tamis_core::plan::distribution::{cut_mode, is_rows};
use tamis_ir::diagnostic::Diagnostic;
use tamis_runtime::{Coordinates, Tensor};

/// The entries of a tensor.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) mode: usize,
    /// The entries in the order of the tensor; none of a dense one, whose rows are as long as each other.
    list: Option<Coordinates>,
    /// Their coordinates of the mode, ascending, and for each where it is in the list.
    sorted: Vec<u64>,
    places: Vec<usize>,
    /// Bytes of a row of a dense tensor.
    row: u64,
}

impl Listed {
    /// Those of a tensor that is cut by a mode.
    pub(super) fn of(tensor: &Tensor, mode: usize) -> Result<Listed, Diagnostic> {
        let (dims, storage) = (tensor.dims(), tensor.storage());
        if is_rows(&storage.format) && cut_mode(&storage.format).0 == mode {
            let row = (row_len(dims, storage) * storage.datatype.size()) as u64;
            return Ok(Listed { mode, row, ..Listed::default() });
        }
        let list = tensor.to_coordinates()?;
        let crds = &list.crds()[mode];
        let mut places: Vec<usize> = (0..crds.len()).collect();
        if !crds.is_sorted() {
            places.sort_by_key(|&n| crds[n]);
        }
        let sorted = places.iter().map(|&n| crds[n]).collect();
        Ok(Listed { mode, list: Some(list), sorted, places, row: 0 })
    }

    fn range(&self, interval: &Range<u64>) -> Range<usize> {
        let at = |wanted: u64| self.sorted.partition_point(|&c| c < wanted);
        at(interval.start)..at(interval.end).max(at(interval.start))
    }

    /// How many entries lie in an interval.
    pub(super) fn count(&self, interval: Range<u64>) -> usize {
        self.range(&interval).len()
    }

    /// The first coordinate of an interval that has an entry.
    pub(super) fn first(&self, interval: Range<u64>) -> Option<u64> {
        let range = self.range(&interval);
        (!range.is_empty()).then(|| self.sorted[range.start])
    }

    /// The last one.
    pub(super) fn last(&self, interval: Range<u64>) -> Option<u64> {
        let range = self.range(&interval);
        (!range.is_empty()).then(|| self.sorted[range.end - 1])
    }

    /// The entries with needed coordinates, in order.
    fn needed(&self, list: &Coordinates, need: &[&Coords]) -> Vec<usize> {
        let mut found = match need[self.mode] {
            Coords::All => self.places.clone(),
            Coords::Some(interval, others) => {
                let each = others.iter().map(|&at| self.range(&(at..at + 1)));
                let ranges = std::iter::once(self.range(interval)).chain(each);
                ranges.flat_map(|range| self.places[range].iter().copied()).collect()
            }
        };
        found.sort_unstable();
        for (m, coords) in need.iter().enumerate() {
            if m != self.mode && **coords != Coords::All {
                found.retain(|&n| coords.has(list.crds()[m][n]));
            }
        }
        found
    }

    /// The coordinates that the entries in an interval have in a mode.
    pub(super) fn image(&self, mode: usize, interval: Range<u64>) -> Coords {
        let Some(list) = &self.list else { return Coords::All };
        let places = &self.places[self.range(&interval)];
        Coords::of(places.iter().map(|&n| list.crds()[mode][n]).collect())
    }

    /// Those that the entries with needed coordinates have in it.
    pub(super) fn image_of(&self, mode: usize, need: &[Coords]) -> Coords {
        let Some(list) = &self.list else { return Coords::All };
        let need: Vec<&Coords> = need.iter().collect();
        Coords::of(self.needed(list, &need).iter().map(|&n| list.crds()[mode][n]).collect())
    }

    /// The bytes by which a rank asks another for what is needed, and those of the answer, given what of the mode
    /// the other has.
    pub(super) fn asked(&self, need: &[Coords], theirs: &Coords) -> (u64, u64) {
        let need: Vec<&Coords> = need
            .iter()
            .enumerate()
            .map(|(m, all)| if m == self.mode { theirs } else { all })
            .collect();
        let mut bytes = vec![];
        need.iter().for_each(|coords| wire::put_coords(&mut bytes, coords));
        let answer = match (&self.list, theirs) {
            (Some(list), _) => wire::entries(list, &self.needed(list, &need)).len() as u64,
            (None, Coords::Some(interval, others)) => {
                self.row * (interval.end - interval.start + others.len() as u64)
            }
            (None, Coords::All) => 0,
        };
        (bytes.len() as u64, answer)
    }
}
