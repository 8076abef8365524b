//! Sorted entries, as packing reads them: coordinates by level, and values.

use super::values::Numbers;
use crate::radix::{Key, Record};

/// Entries in the order of their coordinates, outermost level first.
pub(super) trait Entries: Sync {
    /// How many there are.
    fn len(&self) -> usize;
    /// The coordinate of an entry in a level.
    fn coordinate(&self, level: usize, n: usize) -> u64;
    /// The first level in which an entry differs from the one before it, of which there is one;
    /// the number of levels where both have the same coordinates.
    fn differs(&self, n: usize) -> usize;
    /// The value of an entry, as bits of the type in which it is summed.
    fn bits(&self, n: usize) -> u128;
}

/// Records whose keys hold all coordinates.
pub(super) struct Packed<'r, K> {
    pub records: &'r [Record<K>],
    /// The bits below and of each level's coordinate.
    pub fields: Vec<(u32, u32)>,
}

impl<K: Key> Entries for Packed<'_, K> {
    fn len(&self) -> usize {
        self.records.len()
    }

    fn coordinate(&self, level: usize, n: usize) -> u64 {
        let (below, bits) = self.fields[level];
        self.records[n].key.low(below) & ((1 << bits) - 1)
    }

    fn differs(&self, n: usize) -> usize {
        let bits = self.records[n - 1].key.differing(self.records[n].key);
        self.fields.iter().position(|&(below, _)| bits > below).unwrap_or(self.fields.len())
    }

    fn bits(&self, n: usize) -> u128 {
        self.records[n].load.into()
    }
}

/// The list as it is, read in some order.
pub(super) struct Listed<'l> {
    /// The coordinates of each level.
    pub columns: &'l [&'l [u64]],
    /// Where the entries are, if the list itself is not sorted.
    pub order: Option<&'l [u64]>,
    pub numbers: Numbers<'l>,
    pub len: usize,
}

impl Listed<'_> {
    fn at(&self, n: usize) -> usize {
        self.order.map_or(n, |order| order[n] as usize)
    }
}

impl Entries for Listed<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn coordinate(&self, level: usize, n: usize) -> u64 {
        self.columns[level][self.at(n)]
    }

    fn differs(&self, n: usize) -> usize {
        let (a, b) = (self.at(n - 1), self.at(n));
        let differs = |column: &&[u64]| column[a] != column[b];
        self.columns.iter().position(differs).unwrap_or(self.columns.len())
    }

    fn bits(&self, n: usize) -> u128 {
        self.numbers.bits(self.at(n))
    }
}
