//! Tensors of which each rank holds a part.

use super::coords::Coords;
use super::fetch::Fetcher;
use super::placement::Cut;
use super::sliced::Slices;
use crate::operand::Operand;
use crate::pack;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tamis_core::format::Storage;
use tamis_core::plan::distribution::{cut_mode, is_rows, may_split};
use tamis_dist::{Communicator, phase, same};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_runtime::{Buffer, Coordinates, Duplicates, LevelData, Tensor, Values};

/// A tensor of which each rank holds a part: the elements whose coordinate of one mode lies in an interval, the
/// rank's own. Tensors whose order of entries matters, and scalars, are whole on every rank.
///
/// ```text
/// A: csr, 4 ranks        rank 0: rows 0..250, rank 1: rows 250..512, ..    about as many entries each
/// ```
#[derive(Clone, Debug)]
pub struct Distributed {
    pub(super) dims: Vec<u64>,
    pub(super) storage: Storage,
    /// How many values all ranks store.
    pub(super) stored: usize,
    pub(super) owners: Owners,
    pub(super) part: Held,
    /// The rank that this one is, where parts are of ranks.
    rank: usize,
    /// What was made of the part for kernels that ran before.
    pub(super) made: Arc<Made>,
}

/// What kernels read of a part: found once, however often they run.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// A tensor of the whole's dimensions, with the elements of the part.
    tensor: OnceLock<Tensor>,
    /// The coordinates that the part stores in each mode.
    images: Mutex<BTreeMap<usize, Arc<Coords>>>,
}

/// Which rank has an element.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Owners {
    /// Each has all.
    Everyone,
    /// The one whose interval has its coordinate of a mode.
    Intervals {
        /// The mode.
        mode: usize,
        /// Where the interval of each rank begins, and the dimension.
        starts: Vec<u64>,
    },
    /// Ranks of the group that has its slice.
    Slices(Slices),
}

/// What this rank has of a tensor.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// All of it.
    Whole(Tensor),
    /// The rows of a dense tensor in the rank's interval of the outermost mode.
    Rows(Values),
    /// The entries in the rank's interval.
    Entries(Coordinates),
    /// A part of the slice of the rank's group.
    Slice(Box<Distributed>),
}

impl Operand for Distributed {
    fn dims(&self) -> &[u64] {
        &self.dims
    }
    fn storage(&self) -> &Storage {
        &self.storage
    }
    fn stored(&self) -> usize {
        self.stored
    }
    fn longest_row(&self) -> Option<u64> {
        None
    }
}

/// Intervals of a dimension with about as much weight each, for so many ranks, cut at multiples of `block`.
pub(super) fn balanced(weights: &[u64], dimension: u64, block: u64, ranks: usize) -> Vec<u64> {
    let total = weights.iter().map(|&w| u128::from(w)).sum::<u128>();
    let width = dimension.div_ceil(weights.len().max(1) as u64).max(1);
    let (mut starts, mut before, mut at) = (vec![0], 0u128, 0);
    for rank in 1..ranks {
        let wanted = total * rank as u128 / ranks as u128;
        while at < weights.len() && before + u128::from(weights[at]) / 2 < wanted {
            before += u128::from(weights[at]);
            at += 1;
        }
        let start = (at as u64 * width).min(dimension) / block * block;
        starts.push(start.max(starts[rank - 1]));
    }
    starts.push(dimension);
    starts
}

/// Intervals of the same size.
pub(super) fn even(dimension: u64, block: u64, ranks: usize) -> Vec<u64> {
    let blocks = u128::from(dimension.div_ceil(block));
    let start = |rank: usize| (blocks * rank as u128 / ranks as u128) as u64 * block;
    (0..=ranks).map(|rank| start(rank).min(dimension)).collect()
}

/// So many intervals of a dimension have their entries counted.
const COUNTED: u64 = 1 << 16;

impl Distributed {
    /// A tensor that every rank has; each keeps its part. Nothing is sent.
    ///
    /// # Errors
    /// When the list of its entries does not fit in memory.
    pub fn split(comm: &dyn Communicator, tensor: &Tensor) -> Result<Distributed, Diagnostic> {
        let (dims, storage) = (tensor.dims().to_vec(), tensor.storage().clone());
        let stored = tensor.vals().len();
        if !may_split(&storage.format) || comm.ranks() == 1 {
            return Ok(Distributed::everyone(tensor.clone()));
        }
        let list = match is_rows(&storage.format) {
            true => None,
            false => Some(tensor.to_coordinates()?),
        };
        let counts = |mode: usize| {
            Ok(list.as_ref().map_or(vec![], |list| counted(&list.crds()[mode], dims[mode])))
        };
        let (mode, starts) = Cut::Nonzeros
            .starts((&dims, &storage), comm.ranks(), counts)?
            .expect("tensors that may be split are cut");
        let interval = own(&starts, comm.rank());
        let part = match &list {
            None => Held::Rows(rows_of(tensor, interval)),
            Some(list) => Held::Entries(within(list, mode, interval)?),
        };
        let owners = (Owners::Intervals { mode, starts }, comm.rank());
        Ok(Distributed::new((dims, storage), stored, owners, part))
    }

    /// A tensor of entries of which each rank has some, in any distribution; duplicates are added up in the order
    /// of ranks and lists.
    ///
    /// # Errors
    /// When what a rank is to hold does not fit in its memory, or ranks give other dimensions.
    pub fn from_entries(
        comm: &dyn Communicator,
        list: &Coordinates,
        storage: &Storage,
    ) -> Result<Distributed, Diagnostic> {
        phase(comm, || {
            let layout = format!("{storage} {:?} {:?}", list.dims(), list.vals().datatype());
            same(comm, "the dimensions and the storage of a tensor", layout.as_bytes())?;
            super::fetch::redistributed(comm, list, storage)
        })
    }

    /// The tensor with all elements, on every rank.
    ///
    /// # Errors
    /// When it does not fit in the memory of a rank.
    pub fn gather(&self, comm: &dyn Communicator) -> Result<Tensor, Diagnostic> {
        let all = vec![Coords::All; self.dims.len()];
        phase(comm, || {
            self.check_on(comm)?;
            match &self.part {
                Held::Slice(_) => super::fetch::whole(comm, &self.entries(comm)?, &self.storage),
                _ => Fetcher::new(comm, None).tensor(self, &all),
            }
        })
    }

    /// The dimension of each mode.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// How the whole tensor would be stored.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// How many values all ranks store.
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// A mode by whose coordinates the tensor is cut, and the interval of a rank; none if every rank has all. Of slices
    /// it is that of the rank's group, which is cut further over the ranks of the group.
    pub fn interval(&self, rank: usize) -> Option<(usize, Range<u64>)> {
        match &self.owners {
            Owners::Everyone => None,
            Owners::Intervals { mode, starts } => Some((*mode, own(starts, rank))),
            Owners::Slices(slices) => slices.interval(rank),
        }
    }

    /// The tensor, where this rank has all of it.
    pub fn whole(&self) -> Option<&Tensor> {
        match &self.part {
            Held::Whole(tensor) => Some(tensor),
            Held::Rows(_) | Held::Entries(_) | Held::Slice(_) => None,
        }
    }

    /// How many values this rank stores.
    pub fn held(&self) -> usize {
        match &self.part {
            Held::Whole(tensor) => tensor.vals().len(),
            Held::Rows(values) => values.len(),
            Held::Entries(list) => list.vals().len(),
            Held::Slice(part) => part.held(),
        }
    }

    /// The entries of this rank's part. Of a tensor that every rank has, the first rank gives all and the others none, so
    /// that those of all ranks are the whole.
    ///
    /// # Errors
    /// When they do not fit in memory, or the part was made on another communicator.
    pub fn entries(&self, comm: &dyn Communicator) -> Result<Coordinates, Diagnostic> {
        self.check_on(comm)?;
        self.entries_on(comm.rank())
    }

    /// These entries, without a communicator to tell the number of this rank.
    pub(super) fn entries_on(&self, rank: usize) -> Result<Coordinates, Diagnostic> {
        match (&self.part, &self.owners) {
            (Held::Entries(list), _) => Ok(list.clone()),
            (Held::Whole(tensor), _) if rank == 0 => tensor.to_coordinates(),
            (Held::Slice(part), Owners::Slices(slices)) => {
                self.entries_of_slice((slices, part), rank)
            }
            (Held::Rows(rows), Owners::Intervals { mode, starts }) if !rows.is_empty() => {
                let interval = own(starts, rank);
                let mut dims = self.dims.clone();
                dims[*mode] = interval.end - interval.start;
                let pieces = [(0, rows.as_bytes())].into_iter();
                let list = of_rows(&dims, &self.storage, pieces)?.to_coordinates()?;
                let (_, mut crds, vals) = list.into_parts();
                crds[*mode].iter_mut().for_each(|at| *at += interval.start);
                Coordinates::new(self.dims.clone(), crds, vals)
            }
            _ => self.no_entries(),
        }
    }

    /// A list of none.
    pub(super) fn no_entries(&self) -> Result<Coordinates, Diagnostic> {
        let none = Values::empty(self.storage.datatype);
        Coordinates::new(self.dims.clone(), vec![vec![]; self.dims.len()], none)
    }

    /// A tensor of these parts.
    pub(super) fn new(
        (dims, storage): (Vec<u64>, Storage),
        stored: usize,
        (owners, rank): (Owners, usize),
        part: Held,
    ) -> Distributed {
        Distributed { dims, storage, stored, owners, part, rank, made: Arc::default() }
    }

    /// Requires that a part was made on a communicator with as many ranks, by the same one of them.
    pub(super) fn check_on(&self, comm: &dyn Communicator) -> Result<(), Diagnostic> {
        let (ranks, rank) = match &self.owners {
            Owners::Everyone => return Ok(()),
            Owners::Intervals { starts, .. } => (starts.len() - 1, self.rank),
            Owners::Slices(slices) => (slices.ranks(), self.rank),
        };
        if (ranks, rank) == (comm.ranks(), comm.rank()) {
            return Ok(());
        }
        let here = format!("rank {} of {}", comm.rank(), comm.ranks());
        let message = format!("{here} has the part of rank {rank} of {ranks} of a tensor");
        let help = "use parts on the communicator that they were made on, or gather the tensor there and split it here";
        Err(Diagnostic::new(Code::RanksDiffer, message).help(help))
    }

    /// The elements of this rank as a tensor of the whole's dimensions.
    pub(super) fn own(&self, rank: usize) -> Result<Tensor, Diagnostic> {
        if let Some(tensor) = self.made.tensor.get() {
            return Ok(tensor.clone());
        }
        let tensor = match (&self.part, &self.owners) {
            (Held::Whole(tensor), _) => return Ok(tensor.clone()),
            (Held::Entries(list), _) => packed(list, &self.storage)?,
            (Held::Rows(rows), Owners::Intervals { starts, .. }) => {
                let rows = [(starts[rank], rows.as_bytes())];
                of_rows(&self.dims, &self.storage, rows.into_iter())?
            }
            (Held::Rows(_) | Held::Slice(_), _) => {
                unreachable!("kernels run on what is in intervals")
            }
        };
        Ok(self.made.tensor.get_or_init(|| tensor).clone())
    }

    /// The coordinates that the entries of this rank have in a mode.
    pub(super) fn image(&self, mode: usize) -> Result<Arc<Coords>, Diagnostic> {
        let mut images = self.made.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = images.get(&mode) {
            return Ok(Arc::clone(known));
        }
        let listed = match &self.part {
            Held::Entries(list) => Coords::of(list.crds()[mode].clone()),
            Held::Whole(tensor) => {
                let (_, mut crds, _) = tensor.to_coordinates()?.into_parts();
                Coords::of(crds.swap_remove(mode))
            }
            Held::Rows(_) | Held::Slice(_) => Coords::All,
        };
        let found = Arc::new(listed);
        images.insert(mode, Arc::clone(&found));
        Ok(found)
    }

    /// About how many bytes are sent for a coordinate of a mode.
    pub(super) fn bytes_at(&self, mode: usize) -> usize {
        let entry = self.storage.datatype.size();
        let entry = if is_rows(&self.storage.format) { entry } else { entry + self.dims.len() };
        (self.stored * entry).div_ceil((self.dims[mode] as usize).max(1))
    }

    /// What is the same on every rank.
    pub(super) fn everyone(tensor: Tensor) -> Distributed {
        let layout = (tensor.dims().to_vec(), tensor.storage().clone());
        let stored = tensor.vals().len();
        Distributed::new(layout, stored, (Owners::Everyone, 0), Held::Whole(tensor))
    }
}

/// The interval of a rank.
pub(super) fn own(starts: &[u64], rank: usize) -> Range<u64> {
    starts[rank]..starts[rank + 1]
}

/// How many entries lie in intervals of the same size.
pub(super) fn counted(crds: &[u64], dimension: u64) -> Vec<u64> {
    let width = dimension.div_ceil(COUNTED).max(1);
    let mut counts = vec![0; dimension.div_ceil(width) as usize];
    crds.iter().for_each(|&at| counts[(at / width) as usize] += 1);
    counts
}

/// Elements of a dense tensor per coordinate of its outermost mode.
pub(super) fn row_len(dims: &[u64], storage: &Storage) -> usize {
    let (mode, _) = cut_mode(&storage.format);
    let others = dims.iter().enumerate().filter(|(m, _)| *m != mode);
    others.map(|(_, &d)| d as usize).product()
}

/// Rows of a dense tensor.
pub(super) fn rows_of(tensor: &Tensor, rows: Range<u64>) -> Values {
    let len = row_len(tensor.dims(), tensor.storage());
    let mut values = Values::empty(tensor.storage().datatype);
    values.extend_bytes(tensor.vals().bytes_of(rows.start as usize * len, rows.end as usize * len));
    values
}

/// A dense tensor of rows, each with its number; other rows have the fill value.
pub(super) fn of_rows<'r>(
    dims: &[u64],
    storage: &Storage,
    rows: impl Iterator<Item = (u64, &'r [u8])>,
) -> Result<Tensor, Diagnostic> {
    let len = row_len(dims, storage);
    let size = tamis_runtime::extent::elements(dims)?;
    let pieces = rows.map(|(row, bytes)| (row as usize * len, bytes));
    let vals = Buffer::of_pieces((size, storage.datatype), storage.fill, pieces)?;
    let levels = dims.iter().map(|_| LevelData::default()).collect();
    Tensor::try_from_parts(dims.to_vec(), storage.clone(), levels, vals)
}

/// The entries whose coordinate of a mode lies in an interval.
pub(super) fn within(
    list: &Coordinates,
    mode: usize,
    interval: Range<u64>,
) -> Result<Coordinates, Diagnostic> {
    let crds = &list.crds()[mode];
    let places: Vec<usize> = (0..crds.len()).filter(|&n| interval.contains(&crds[n])).collect();
    list.picked(&places)
}

/// A tensor of entries.
pub(super) fn packed(list: &Coordinates, storage: &Storage) -> Result<Tensor, Diagnostic> {
    pack(list, storage, Duplicates::Sum)
}

/// Entries as a tensor of this storage has them: in its order and type, each coordinate once.
pub(super) fn converted(list: &Coordinates, storage: &Storage) -> Result<Coordinates, Diagnostic> {
    packed(list, storage)?.to_coordinates()
}
