//! Tensors in slices, each of a group of ranks that are at one position along an axis of their grid.
//!
//! ```text
//! B(j,k), in slices of k along y, x=2,y=2      ranks 0 and 2: the left half, of each some rows
//!                                              ranks 1 and 3: the right half
//! ```
//!
//! A slice is a tensor of its own, and is cut over its group as tensors are over all ranks.

use super::fetch;
use super::grid::Grid;
use super::tasks::piece;
use super::tensor::{Distributed, Held, Owners, own};
use super::wire::{self, Reader, put, take_entries};
use std::borrow::Cow;
use std::ops::Range;
use tamis_core::format::{LevelMap, Storage};
use tamis_core::level::{BITMAP, COMPRESSED, DENSE, SINGLETON};
use tamis_dist::Communicator;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, Mode};
use tamis_runtime::{Coordinates, Tensor, Values};

/// Groups of ranks, and what each has of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Slices {
    grid: Grid,
    axis: usize,
    /// The mode that is cut, and where the slice of each group begins; none where each group has all.
    cut: Option<(usize, Vec<u64>)>,
}

/// What a rank has of the slice of its group, before that is cut.
pub(super) enum Slice<'t> {
    /// Its part of it.
    Part(&'t Distributed),
    /// All.
    Whole(Tensor),
    /// Some entries.
    Entries(Coordinates, &'t Storage),
}

impl Slices {
    pub(super) fn along(grid: &Grid, axis: usize, cut: Option<(usize, Vec<u64>)>) -> Slices {
        Slices { grid: grid.clone(), axis, cut }
    }

    /// The number of a rank's group.
    pub(super) fn group(&self, rank: usize) -> u64 {
        self.grid.place(rank, self.axis) as u64
    }

    /// The grid of a group.
    pub(super) fn inner(&self) -> Grid {
        self.grid.without(self.axis)
    }

    /// The mode that is cut, and the slice of a rank's group.
    pub(super) fn interval(&self, rank: usize) -> Option<(usize, Range<u64>)> {
        let place = self.grid.place(rank, self.axis);
        self.cut.as_ref().map(|(mode, starts)| (*mode, own(starts, place)))
    }

    /// How many ranks all groups have.
    pub(super) fn ranks(&self) -> usize {
        self.grid.ranks().unwrap_or(0)
    }
}

impl Slice<'_> {
    /// This rank's part of the slice.
    pub(super) fn part(
        &self,
        group: &dyn Communicator,
    ) -> Result<Cow<'_, Distributed>, Diagnostic> {
        Ok(match self {
            Slice::Part(part) => Cow::Borrowed(part),
            Slice::Whole(tensor) => Cow::Owned(Distributed::split(group, tensor)?),
            Slice::Entries(list, storage) => {
                Cow::Owned(fetch::redistributed(group, list, storage)?)
            }
        })
    }
}

impl Distributed {
    /// What this rank has of a slice: ranks send entries to those of other groups that are where they are along the
    /// other axes.
    pub(super) fn slice(
        &self,
        comm: &dyn Communicator,
        slices: &Slices,
    ) -> Result<Slice<'_>, Diagnostic> {
        if let (Held::Slice(part), Owners::Slices(own)) = (&self.part, &self.owners)
            && own == slices
        {
            return Ok(Slice::Part(part));
        }
        let interval = slices.interval(comm.rank());
        if let Held::Whole(tensor) = &self.part {
            return Ok(Slice::Whole(match interval {
                Some((mode, interval)) => piece(tensor, mode, interval)?,
                None => tensor.clone(),
            }));
        }
        let list = self.entries(comm)?;
        let within = |rank| slices.grid.within(rank, slices.axis);
        let bytes = |rank: usize| {
            if within(rank) != within(comm.rank()) {
                return vec![];
            }
            let all = 0..list.vals().len();
            let places: Vec<usize> = match slices.interval(rank) {
                Some((mode, slice)) => {
                    all.filter(|&n| slice.contains(&list.crds()[mode][n])).collect()
                }
                None => all.collect(),
            };
            wire::entries(&list, &places)
        };
        let received = comm.exchange((0..comm.ranks()).map(bytes).collect())?;
        let (mut dims, mut crds) = (self.dims.clone(), vec![vec![]; self.dims.len()]);
        let mut vals = Values::empty(self.storage.datatype);
        for bytes in received.iter().filter(|bytes| !bytes.is_empty()) {
            take_entries(bytes, &mut crds, &mut vals);
        }
        if let Some((mode, slice)) = interval {
            dims[mode] = slice.end - slice.start;
            crds[mode].iter_mut().for_each(|at| *at -= slice.start);
        }
        Ok(Slice::Entries(Coordinates::new(dims, crds, vals)?, &self.storage))
    }

    /// A tensor of which groups have slices, and this rank a part of its group's.
    pub(super) fn of_slices(
        comm: &dyn Communicator,
        slices: Slices,
        part: Distributed,
    ) -> Result<Distributed, Diagnostic> {
        let mut bytes = vec![];
        put(&mut bytes, part.stored as u64);
        let all = comm.all_gather(&bytes)?;
        if let (None, Held::Whole(_)) = (&slices.cut, &part.part) {
            return Ok(part);
        }
        let first_of_group = |rank: &usize| slices.grid.within(*rank, slices.axis) == 0;
        let stored = (0..comm.ranks()).filter(first_of_group);
        let stored = stored.map(|rank| Reader(&all[rank]).number() as usize);
        let (mut dims, storage) = (part.dims.clone(), part.storage.clone());
        let stored = match &slices.cut {
            Some((mode, starts)) => {
                dims[*mode] = starts.last().copied().unwrap_or(0);
                stored.sum()
            }
            None => part.stored,
        };
        let owners = (Owners::Slices(slices), comm.rank());
        Ok(Distributed::new((dims, storage), stored, owners, Held::Slice(Box::new(part))))
    }

    /// The tensor cut over all ranks along one axis.
    pub(super) fn lined(
        &self,
        comm: &dyn Communicator,
    ) -> Result<Cow<'_, Distributed>, Diagnostic> {
        Ok(match &self.part {
            Held::Slice(_) => {
                Cow::Owned(fetch::redistributed(comm, &self.entries(comm)?, &self.storage)?)
            }
            _ => Cow::Borrowed(self),
        })
    }

    /// The entries of a part of a slice, with their coordinates in the whole; those of one group where each has all.
    pub(super) fn entries_of_slice(
        &self,
        (slices, part): (&Slices, &Distributed),
        rank: usize,
    ) -> Result<Coordinates, Diagnostic> {
        let list = part.entries_on(slices.grid.within(rank, slices.axis))?;
        let (_, mut crds, vals) = list.into_parts();
        match slices.interval(rank) {
            Some((mode, slice)) => crds[mode].iter_mut().for_each(|at| *at += slice.start),
            None if slices.group(rank) == 0 => {}
            None => return self.no_entries(),
        }
        Coordinates::new(self.dims.clone(), crds, vals)
    }
}

/// What cuts of a mode are multiples of; none where a part of the mode is not stored as the whole is.
pub(super) fn block_of(storage: &Storage, mode: usize) -> Option<u64> {
    let mut block = 1;
    for level in storage.format.levels() {
        if ![DENSE, COMPRESSED, SINGLETON, BITMAP].contains(&level.kind) {
            return None;
        }
        match level.map {
            LevelMap::Mode(_) => {}
            LevelMap::Div(of, size) | LevelMap::Mod(of, size) => {
                block = if of == Mode::new(mode) { multiple(block, size) } else { block };
            }
            LevelMap::Diff { .. } | LevelMap::Slot(_) => return None,
        }
    }
    Some(block)
}

/// The least common multiple.
pub(super) fn multiple(one: u64, other: u64) -> u64 {
    let (mut a, mut b) = (one, other);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    one / a.max(1) * other
}
