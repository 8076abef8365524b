//! The levels of a result: how each gets its coordinates.

use super::Assembler;
use crate::format::{Format, LevelMap};
use crate::level::{Append, Count, InsertEdges, LevelKind};

/// The levels of the format of a result.
#[derive(Clone, Copy)]
pub(crate) struct ResultLevels<'p>(pub(crate) &'p Format);

impl ResultLevels<'_> {
    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.0.levels().len()
    }

    /// The level format of a level.
    pub(crate) fn kind(self, k: usize) -> LevelKind {
        self.0.levels()[k].kind
    }

    /// How a level gets its coordinates.
    pub(crate) fn assembler(self, k: usize) -> Assembler {
        Assembler::of(self.0, k)
    }

    /// The head of the chain of a level.
    pub(crate) fn head(self, k: usize) -> usize {
        self.0.chain_head(k)
    }

    /// Whether a level is a slot, which numbers the entries of a coordinate.
    pub(crate) fn is_slot(self, k: usize) -> bool {
        matches!(self.0.levels()[k].map, LevelMap::Slot(_))
    }

    /// Whether a level is written in order.
    pub(crate) fn is_appended(self, k: usize) -> bool {
        matches!(self.assembler(k), Assembler::Append(_))
    }

    /// The next appended level below level `k` that is not of its chain.
    pub(crate) fn appended_level_below(self, k: usize) -> Option<usize> {
        (k + 1..self.len()).find(|&child| self.is_appended(child) && self.head(child) > k)
    }

    /// The level functions that append to a level.
    pub(crate) fn append_of(self, k: usize) -> &'static dyn Append {
        match self.assembler(k) {
            Assembler::Append(append) => append,
            Assembler::Place | Assembler::Insert(_) => {
                unreachable!("only appended levels are written in order")
            }
        }
    }

    /// The level functions that count the entries of a level.
    pub(crate) fn count_of(self, k: usize) -> &'static dyn Count {
        match self.assembler(k) {
            Assembler::Append(append) => append.count(),
            Assembler::Place | Assembler::Insert(_) => None,
        }
        .expect("the plan asked whether the level counts")
    }

    /// The level functions that give each parent of a level its own positions.
    pub(crate) fn edges_of(self, k: usize) -> &'static dyn InsertEdges {
        match self.assembler(k) {
            Assembler::Insert(insert) => insert.edges(),
            Assembler::Place | Assembler::Append(_) => None,
        }
        .expect("the level's parents have positions of their own")
    }

    /// The levels whose entries a first phase counts. Every coordinate has a position in the levels above the first of
    /// them.
    pub(crate) fn counted(self) -> Option<Vec<usize>> {
        let all = 0..self.len();
        let heads = all.clone().filter(|&k| self.is_appended(k) && self.head(k) == k);
        let heads: Vec<usize> = heads.collect();
        let first = *heads.first()?;
        let last = all.clone().rfind(|&k| self.is_appended(k))?;
        let counts = |k: usize| match self.assembler(k) {
            Assembler::Append(append) => append.count().is_some(),
            Assembler::Place | Assembler::Insert(_) => false,
        };
        let above = (0..first).all(|k| matches!(self.assembler(k), Assembler::Place));
        let dense = all.clone().all(|k| self.is_appended(k) || self.kind(k).properties().full);
        let close = (first..=last).all(|k| self.is_appended(k));
        (above && dense && close && heads.iter().all(|&k| counts(k))).then_some(heads)
    }
}
