//! Getting elements from the ranks that have them: requests go to owners, replies come back.

use super::coords::Coords;
use super::tensor::{
    Distributed, Held, Owners, balanced, counted, even, of_rows, own, packed, picked, row_len,
};
use super::wire::{self, Reader, put, put_coords};
use std::ops::Range;
use tamis_core::format::Storage;
use tamis_core::plan::distribution::{cut_mode, is_rows, may_split};
use tamis_dist::Communicator;
use tamis_ir::diagnostic::Diagnostic;
use tamis_runtime::{Coordinates, Tensor, Values};

/// What a rank gets of a tensor.
pub(super) enum Fetched {
    /// A tensor with at least the needed elements.
    Tensor(Tensor),
    /// The needed entries.
    Entries(Coordinates),
}

impl Fetched {
    pub(super) fn into_tensor(self, storage: &Storage) -> Result<Tensor, Diagnostic> {
        match self {
            Fetched::Tensor(tensor) => Ok(tensor),
            Fetched::Entries(list) => packed(&list, storage),
        }
    }
}

/// The elements of a tensor whose coordinates are needed, as a tensor of its dimensions.
pub(super) fn fetch(
    comm: &dyn Communicator,
    tensor: &Distributed,
    need: &[Coords],
) -> Result<Tensor, Diagnostic> {
    fetched(comm, tensor, need)?.into_tensor(&tensor.storage)
}

/// The same, before entries become a tensor.
pub(super) fn fetched(
    comm: &dyn Communicator,
    tensor: &Distributed,
    need: &[Coords],
) -> Result<Fetched, Diagnostic> {
    let Owners::Intervals { mode, starts } = &tensor.owners else {
        let Held::Whole(whole) = &tensor.part else { unreachable!("everyone has all") };
        return Ok(Fetched::Tensor(whole.clone()));
    };
    match &tensor.part {
        Held::Rows(rows) => rows_from(comm, tensor, rows, (*mode, starts), need),
        Held::Entries(list) => entries_from(comm, tensor, list, (*mode, starts), need),
        Held::Whole(_) => unreachable!("a rank has an interval"),
    }
}

/// What of the needed coordinates of a mode each rank has.
fn asked(comm: &dyn Communicator, need: &Coords, starts: &[u64]) -> Vec<Option<Coords>> {
    (0..comm.ranks()).map(|rank| need.within(own(starts, rank))).collect()
}

fn rows_from(
    comm: &dyn Communicator,
    tensor: &Distributed,
    rows: &Values,
    (mode, starts): (usize, &[u64]),
    need: &[Coords],
) -> Result<Fetched, Diagnostic> {
    let asked = asked(comm, &need[mode], starts);
    let request = |(rank, coords): (usize, &Option<Coords>)| {
        let mut bytes = vec![];
        if let (Some(coords), true) = (coords, rank != comm.rank()) {
            put_coords(&mut bytes, coords);
        }
        bytes
    };
    let requests = comm.exchange(asked.iter().enumerate().map(request).collect())?;
    let mine = own(starts, comm.rank());
    let len = row_len(&tensor.dims, &tensor.storage) * tensor.storage.datatype.size();
    let held = |wanted: Range<u64>| {
        let from = (wanted.start - mine.start) as usize * len;
        &rows.as_bytes()[from..from + (wanted.end - wanted.start) as usize * len]
    };
    let reply = |request: Vec<u8>| {
        if request.is_empty() {
            return vec![];
        }
        let wanted = wire::coords(&mut Reader(&request)).intervals(mine.clone());
        wanted.into_iter().map(held).collect::<Vec<&[u8]>>().concat()
    };
    let replies = comm.exchange(requests.into_iter().map(reply).collect())?;
    let mut pieces: Vec<(u64, &[u8])> = vec![];
    for (rank, coords) in asked.iter().enumerate() {
        let Some(coords) = coords else { continue };
        let mut rest = &replies[rank][..];
        for interval in coords.intervals(own(starts, rank)) {
            let first = interval.start;
            if rank == comm.rank() {
                pieces.push((first, held(interval)));
                continue;
            }
            let (piece, more) = rest.split_at((interval.end - first) as usize * len);
            pieces.push((first, piece));
            rest = more;
        }
    }
    Ok(Fetched::Tensor(of_rows(&tensor.dims, &tensor.storage, pieces.into_iter())?))
}

fn entries_from(
    comm: &dyn Communicator,
    tensor: &Distributed,
    list: &Coordinates,
    (mode, starts): (usize, &[u64]),
    need: &[Coords],
) -> Result<Fetched, Diagnostic> {
    let asked = asked(comm, &need[mode], starts);
    let with = |coords: &Coords| {
        let mut need = need.to_vec();
        need[mode] = coords.clone();
        need
    };
    let request = |(rank, coords): (usize, &Option<Coords>)| {
        let mut bytes = vec![];
        if let (Some(coords), true) = (coords, rank != comm.rank()) {
            with(coords).iter().for_each(|coords| put_coords(&mut bytes, coords));
        }
        bytes
    };
    let requests = comm.exchange(asked.iter().enumerate().map(request).collect())?;
    let reply = |request: Vec<u8>| {
        if request.is_empty() {
            return vec![];
        }
        let mut from = Reader(&request);
        let need: Vec<Coords> = need.iter().map(|_| wire::coords(&mut from)).collect();
        wire::entries(list, &places(list, &need))
    };
    let replies = comm.exchange(requests.into_iter().map(reply).collect())?;
    let mut crds = vec![vec![]; tensor.dims.len()];
    let mut vals = Values::empty(tensor.storage.datatype);
    for (rank, bytes) in replies.iter().enumerate() {
        if rank != comm.rank() && !bytes.is_empty() {
            wire::take_entries(bytes, &mut crds, &mut vals);
        } else if let (true, Some(coords)) = (rank == comm.rank(), &asked[rank]) {
            let own = picked(list, &places(list, &with(coords)))?;
            crds.iter_mut().zip(own.crds()).for_each(|(all, own)| all.extend(own));
            vals.extend_bytes(own.vals().as_bytes());
        }
    }
    Ok(Fetched::Entries(wire::list(&tensor.dims, crds, vals)?))
}

/// The entries of a list whose coordinates are needed.
fn places(list: &Coordinates, need: &[Coords]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..list.vals().len()).collect();
    for (coords, crds) in need.iter().zip(list.crds()) {
        if *coords != Coords::All {
            places.retain(|&n| coords.has(crds[n]));
        }
    }
    places
}

/// Entries that lie anyhow, as a tensor each of whose parts is on its rank.
pub(super) fn redistributed(
    comm: &dyn Communicator,
    list: &Coordinates,
    storage: &Storage,
) -> Result<Distributed, Diagnostic> {
    let dims = list.dims().to_vec();
    if !may_split(&storage.format) {
        return whole(comm, list, storage);
    }
    let (mode, block) = cut_mode(&storage.format);
    let starts = match is_rows(&storage.format) {
        true => even(dims[mode], block, comm.ranks()),
        false => {
            let mut counts = vec![];
            counted(&list.crds()[mode], dims[mode]).into_iter().for_each(|n| put(&mut counts, n));
            let all = comm.all_gather(&counts)?;
            let mut all: Vec<Reader<'_>> = all.iter().map(|bytes| Reader(bytes)).collect();
            let count = counted(&[], dims[mode]).len();
            let sums = (0..count).map(|_| all.iter_mut().map(Reader::number).sum());
            balanced(&sums.collect::<Vec<u64>>(), dims[mode], block, comm.ranks())
        }
    };
    let of_rank = |rank| {
        let interval = own(&starts, rank);
        let crds = &list.crds()[mode];
        let places: Vec<usize> = (0..crds.len()).filter(|&n| interval.contains(&crds[n])).collect();
        wire::entries(list, &places)
    };
    let own_list = received(comm, list, (0..comm.ranks()).map(of_rank).collect())?;
    let part = match is_rows(&storage.format) {
        true => {
            let whole = packed(&own_list, storage)?;
            Held::Rows(super::tensor::rows_of(&whole, own(&starts, comm.rank())))
        }
        false => Held::Entries(super::tensor::converted(&own_list, storage)?),
    };
    let mut held = vec![];
    put(&mut held, own_list.vals().len() as u64);
    let stored = match is_rows(&storage.format) {
        true => tamis_runtime::extent::elements(&dims)?,
        false => comm.all_gather(&held)?.iter().map(|b| Reader(b).number() as usize).sum(),
    };
    let owners = Owners::Intervals { mode, starts };
    Ok(Distributed::new((dims, storage.clone()), stored, owners, part))
}

/// Every rank's entries, on every rank.
fn whole(
    comm: &dyn Communicator,
    list: &Coordinates,
    storage: &Storage,
) -> Result<Distributed, Diagnostic> {
    let all: Vec<usize> = (0..list.vals().len()).collect();
    let bytes = wire::entries(list, &all);
    let all = received(comm, list, vec![bytes; comm.ranks()])?;
    Ok(Distributed::everyone(packed(&all, storage)?))
}

/// The entries that come of all ranks, in their order.
fn received(
    comm: &dyn Communicator,
    list: &Coordinates,
    parts: Vec<Vec<u8>>,
) -> Result<Coordinates, Diagnostic> {
    let mut crds = vec![vec![]; list.dims().len()];
    let mut vals = Values::empty(list.vals().datatype());
    for bytes in comm.exchange(parts)? {
        wire::take_entries(&bytes, &mut crds, &mut vals);
    }
    wire::list(list.dims(), crds, vals)
}
