//! Getting elements from the ranks that have them: requests go to owners, replies come back.

use super::coords::Coords;
use super::placement::Cut;
use super::tensor::{Distributed, Held, Owners, counted, of_rows, own, packed, row_len};
use super::wire::{self, Reader, put, put_coords};
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tamis_core::format::Storage;
use tamis_core::plan::distribution::{is_rows, may_split};
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

/// The requests of a kernel's runs, by group, rank and how many were before in the run, of each the last: the next run
/// mostly needs the same elements, of tensors with other values, and then sends no requests.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<HashMap<(usize, usize, usize), Arc<Request>>>);

/// What a rank asked of others, and what they asked of it in the same step.
#[derive(Debug)]
struct Request {
    /// A number that the ranks that made it together have in common, and no others.
    round: u64,
    owners: Owners,
    /// What this rank needs, per mode.
    need: Vec<Coords>,
    /// What of that each rank has.
    asked: Vec<Option<Coords>>,
    /// What each other rank needs of this one, per mode.
    wanted: Vec<Option<Vec<Coords>>>,
}

/// What ranks know of a request.
enum Known {
    /// That it was made before.
    Request(Arc<Request>),
    /// That it is new, and a number for it that is not 0.
    Round(u64),
}

/// Elements of tensors for the kernels of one run.
pub(super) struct Fetcher<'c> {
    comm: &'c dyn Communicator,
    requests: Option<&'c Requests>,
    /// The number of the group that these ranks are.
    group: usize,
    /// How many requests this run has made.
    made: Cell<usize>,
}

impl<'c> Fetcher<'c> {
    pub(super) fn new(comm: &'c dyn Communicator, requests: Option<&'c Requests>) -> Fetcher<'c> {
        Fetcher { comm, requests, group: 0, made: Cell::new(0) }
    }

    /// For a group of ranks.
    pub(super) fn of_group(self, group: usize) -> Fetcher<'c> {
        Fetcher { group, ..self }
    }

    /// The elements of a tensor whose coordinates are needed, as a tensor of its dimensions.
    pub(super) fn tensor(
        &self,
        tensor: &Distributed,
        need: &[Coords],
    ) -> Result<Tensor, Diagnostic> {
        self.elements(tensor, need)?.into_tensor(&tensor.storage)
    }

    /// The same, before entries become a tensor.
    pub(super) fn elements(
        &self,
        tensor: &Distributed,
        need: &[Coords],
    ) -> Result<Fetched, Diagnostic> {
        match (&tensor.part, &tensor.owners) {
            (Held::Whole(whole), _) => Ok(Fetched::Tensor(whole.clone())),
            (Held::Rows(rows), Owners::Intervals { mode, starts }) => {
                let request = self.request(tensor, (*mode, starts), need)?;
                self.rows(tensor, rows, (*mode, starts), &request).map(Fetched::Tensor)
            }
            (Held::Entries(list), Owners::Intervals { mode, starts }) => {
                let request = self.request(tensor, (*mode, starts), need)?;
                self.entries(tensor, list, *mode, &request).map(Fetched::Entries)
            }
            _ => unreachable!("a rank has all, or what lies in its interval"),
        }
    }

    /// Tells owners what is needed of them, unless they know from a run before.
    fn request(
        &self,
        tensor: &Distributed,
        (mode, starts): (usize, &[u64]),
        need: &[Coords],
    ) -> Result<Arc<Request>, Diagnostic> {
        let (comm, number) = (self.comm, self.made.get());
        self.made.set(number + 1);
        let round = match self.requests {
            Some(requests) => match self.known_to_all(requests, number, tensor, need)? {
                Known::Request(request) => return Ok(request),
                Known::Round(round) => round,
            },
            None => 0,
        };
        let asked: Vec<Option<Coords>> =
            (0..comm.ranks()).map(|rank| need[mode].within(own(starts, rank))).collect();
        let written = |(rank, coords): (usize, &Option<Coords>)| {
            let mut bytes = vec![];
            if let (Some(coords), true) = (coords, rank != comm.rank()) {
                each_mode(need, mode, coords).for_each(|coords| put_coords(&mut bytes, coords));
            }
            bytes
        };
        let received = comm.exchange(asked.iter().enumerate().map(written).collect())?;
        let read = |bytes: &Vec<u8>| {
            let mut from = Reader(bytes);
            (!bytes.is_empty()).then(|| need.iter().map(|_| wire::coords(&mut from)).collect())
        };
        let wanted = received.iter().map(read).collect();
        let (owners, need) = (tensor.owners.clone(), need.to_vec());
        let request = Arc::new(Request { round, owners, need, asked, wanted });
        if let Some(requests) = self.requests {
            requests.known().insert((self.group, comm.rank(), number), Arc::clone(&request));
        }
        Ok(request)
    }

    /// The request of this number in a run before, if all ranks made it together and each needs the same now;
    /// otherwise the round of the request that they are going to make.
    fn known_to_all(
        &self,
        requests: &Requests,
        number: usize,
        tensor: &Distributed,
        need: &[Coords],
    ) -> Result<Known, Diagnostic> {
        let known = requests.known().get(&(self.group, self.comm.rank(), number)).cloned();
        let known = known.filter(|known| known.owners == tensor.owners && known.need == need);
        let own = known.as_ref().map_or(0, |known| known.round);
        let told = self.comm.all_gather(&[own, random()].map(u64::to_le_bytes).concat())?;
        let mut rounds = told.iter().map(|bytes| first_number(bytes));
        let drawn = told.iter().map(|bytes| first_number(&bytes[size_of::<u64>()..]));
        Ok(match known {
            Some(known) if rounds.all(|round| round == own) => Known::Request(known),
            _ => Known::Round(drawn.fold(1, |round: u64, n| round.rotate_left(7) ^ n).max(1)),
        })
    }

    fn rows(
        &self,
        tensor: &Distributed,
        rows: &Values,
        (mode, starts): (usize, &[u64]),
        request: &Request,
    ) -> Result<Tensor, Diagnostic> {
        let mine = own(starts, self.comm.rank());
        let len = row_len(&tensor.dims, &tensor.storage) * tensor.storage.datatype.size();
        let held = |wanted: Range<u64>| {
            let from = (wanted.start - mine.start) as usize * len;
            &rows.as_bytes()[from..from + (wanted.end - wanted.start) as usize * len]
        };
        let reply = |wanted: &Option<Vec<Coords>>| {
            let intervals = wanted.iter().flat_map(|need| need[mode].intervals(mine.clone()));
            intervals.map(held).collect::<Vec<&[u8]>>().concat()
        };
        let replies = self.comm.exchange(request.wanted.iter().map(reply).collect())?;
        let mut pieces: Vec<(u64, &[u8])> = vec![];
        for (rank, coords) in request.asked.iter().enumerate() {
            let mut rest = &replies[rank][..];
            let intervals = coords.iter().flat_map(|coords| coords.intervals(own(starts, rank)));
            for interval in intervals {
                let first = interval.start;
                if rank == self.comm.rank() {
                    pieces.push((first, held(interval)));
                    continue;
                }
                let (piece, more) = rest.split_at((interval.end - first) as usize * len);
                pieces.push((first, piece));
                rest = more;
            }
        }
        of_rows(&tensor.dims, &tensor.storage, pieces.into_iter())
    }

    fn entries(
        &self,
        tensor: &Distributed,
        list: &Coordinates,
        mode: usize,
        request: &Request,
    ) -> Result<Coordinates, Diagnostic> {
        let reply = |wanted: &Option<Vec<Coords>>| match wanted {
            Some(need) => wire::entries(list, &needed(list, need.iter())),
            None => vec![],
        };
        let replies = self.comm.exchange(request.wanted.iter().map(reply).collect())?;
        let mut crds = vec![vec![]; tensor.dims.len()];
        let mut vals = Values::empty(tensor.storage.datatype);
        for (rank, bytes) in replies.iter().enumerate() {
            if rank != self.comm.rank() && !bytes.is_empty() {
                wire::take_entries(bytes, &mut crds, &mut vals);
            } else if let (true, Some(coords)) = (rank == self.comm.rank(), &request.asked[rank]) {
                let own = needed(list, each_mode(&request.need, mode, coords));
                let own = list.picked(&own)?;
                crds.iter_mut().zip(own.crds()).for_each(|(all, own)| all.extend(own));
                vals.extend_bytes(own.vals().as_bytes());
            }
        }
        wire::list(&tensor.dims, crds, vals)
    }
}

impl Requests {
    fn known(&self) -> MutexGuard<'_, HashMap<(usize, usize, usize), Arc<Request>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Any number.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The number that bytes begin with.
fn first_number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |n, &byte| n << 8 | u64::from(byte))
}

/// What is needed of each mode, of one of them these coordinates.
fn each_mode<'c>(
    need: &'c [Coords],
    mode: usize,
    coords: &'c Coords,
) -> impl Iterator<Item = &'c Coords> {
    need.iter().enumerate().map(move |(m, all)| if m == mode { coords } else { all })
}

/// Which entries of a list have coordinates that are needed, given those of each mode.
fn needed<'c>(list: &Coordinates, need: impl Iterator<Item = &'c Coords>) -> Vec<usize> {
    let mut found: Vec<usize> = (0..list.vals().len()).collect();
    for (coords, crds) in need.zip(list.crds()) {
        if *coords != Coords::All {
            found.retain(|&n| coords.has(crds[n]));
        }
    }
    found
}

/// How many entries of all ranks lie in intervals of a mode of this dimension.
pub(super) fn counts_of(
    comm: &dyn Communicator,
    crds: &[u64],
    dimension: u64,
) -> Result<Vec<u64>, Diagnostic> {
    let mut counts = vec![];
    counted(crds, dimension).into_iter().for_each(|n| put(&mut counts, n));
    let all = comm.all_gather(&counts)?;
    let mut all: Vec<Reader<'_>> = all.iter().map(|bytes| Reader(bytes)).collect();
    let count = counted(&[], dimension).len();
    Ok((0..count).map(|_| all.iter_mut().map(Reader::number).sum()).collect())
}

/// Entries that lie anyhow, as a tensor each of whose parts is on its rank.
pub(super) fn redistributed(
    comm: &dyn Communicator,
    list: &Coordinates,
    storage: &Storage,
) -> Result<Distributed, Diagnostic> {
    let dims = list.dims().to_vec();
    if !may_split(&storage.format) || comm.ranks() == 1 {
        return Ok(Distributed::everyone(whole(comm, list, storage)?));
    }
    let counts = |mode: usize| counts_of(comm, &list.crds()[mode], dims[mode]);
    let (mode, starts) = Cut::Nonzeros
        .starts((&dims, storage), comm.ranks(), counts)?
        .expect("tensors that may be split are cut");
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
    let stored = match &part {
        Held::Entries(list) => {
            let mut held = vec![];
            put(&mut held, list.vals().len() as u64);
            comm.all_gather(&held)?.iter().map(|b| Reader(b).number() as usize).sum()
        }
        _ => tamis_runtime::extent::elements(&dims)?,
    };
    let owners = (Owners::Intervals { mode, starts }, comm.rank());
    Ok(Distributed::new((dims, storage.clone()), stored, owners, part))
}

/// Every rank's entries, on every rank.
pub(super) fn whole(
    comm: &dyn Communicator,
    list: &Coordinates,
    storage: &Storage,
) -> Result<Tensor, Diagnostic> {
    let all: Vec<usize> = (0..list.vals().len()).collect();
    let bytes = wire::entries(list, &all);
    let all = received(comm, list, vec![bytes; comm.ranks()])?;
    packed(&all, storage)
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
