//! Sums over the loop that is cut: parts as one process has them, on the ranks that have their entries, combined in
//! the order of one process.
//!
//! ```text
//! y(j) = A(i,j) * x(i)      4 parts, 2 ranks        rank 0: parts 0, 1      rank 1: parts 2, 3
//!                           y = ((part 0 + part 1) + part 2) + part 3, each rank a piece of it
//! ```

use super::run::Step;
use super::tensor::{Distributed, Held, Owners, even, of_rows, own, row_len};
use super::wire::{Reader, put};
use super::work::{Cut, Given, Work};
use std::ops::Range;
use tamis_core::format::Storage;
use tamis_core::plan::distribution::cut_mode;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, TensorId};
use tamis_runtime::kernel::Executable;
use tamis_runtime::parallel::shares::{Shares, combine};
use tamis_runtime::{Tensor, Values};

impl Step<'_> {
    /// Runs the parts of this rank and combines those of all; none where the kernel is not of this kind, or
    /// too small to be cut.
    pub(super) fn combined(
        self,
        executable: &dyn Executable,
        values: &Given<'_>,
        (mut cut, op): (Cut<'_>, ReduceOp),
    ) -> Result<Option<Distributed>, Diagnostic> {
        if !cut.has_counted_leads(values) {
            return Ok(None);
        }
        let Some(begins) = self.begins(executable, values, &cut)? else { return Ok(None) };
        let mine = shared_out(&begins, &mut cut.starts, self.work.dims[cut.var]);
        let mine = mine[self.comm.rank()].clone();
        let local = self.operands_of_part(values, &cut)?;
        let call = self.work.call(executable, &local);
        let part = |k: usize| {
            let begin = if k == 0 { i64::MIN } else { begins[k].1 };
            let end = begins.get(k + 1).map_or(i64::MAX, |(_, at)| *at);
            call.run_part(begin, end)
        };
        let parts = mine.map(part).collect::<Result<Vec<Tensor>, _>>()?;
        self.sum_of(&parts, op).map(Some)
    }

    /// Where the parts of one process begin: coordinates and iterations; none if there is only one part.
    fn begins(
        self,
        executable: &dyn Executable,
        values: &Given<'_>,
        cut: &Cut<'_>,
    ) -> Result<Option<Vec<(u64, i64)>>, Diagnostic> {
        let local = self.operands_of_part(values, cut)?;
        let call = self.work.call(executable, &local);
        let Some(shares) = Shares::of(call) else { return Ok(None) };
        let stored = |id: TensorId| values[id.index()].as_deref().map(|t| t.stored as u64);
        if shares.is_small(&stored) {
            return Ok(None);
        }
        let Some(lead) = self.lead(shares, values, cut)? else { return Ok(None) };
        let parts = shares.parts(lead.total);
        if parts <= 1 {
            return Ok(None);
        }
        let mut found = vec![];
        for part in 1..parts {
            let at = lead.coordinate(shares, shares.before(lead.total, part, parts));
            put(&mut found, at.map_or(0, |at| at as u64 + 1));
        }
        let all = self.comm.all_gather(&found)?;
        let mut all: Vec<Reader<'_>> = all.iter().map(|bytes| Reader(bytes)).collect();
        let told = (1..parts).map(|_| {
            // All numbers are read, whichever rank knows.
            let told: Vec<u64> = all.iter_mut().map(Reader::number).collect();
            told.into_iter().find(|&at| at > 0)
        });
        Ok(begins(self.work, shares, cut, told.flatten().map(|at| at - 1)))
    }

    /// The operand that leads to most work, and how that lies on the ranks.
    fn lead(
        self,
        shares: Shares<'_>,
        values: &Given<'_>,
        cut: &Cut<'_>,
    ) -> Result<Option<Lead>, Diagnostic> {
        let leads: Vec<Option<TensorId>> = cut.leads().collect();
        let held: Option<Vec<bool>> =
            leads.iter().map(|lead| cut.holds_all(*lead, values)).collect();
        let Some(held) = held else { return Ok(None) };
        let mut bytes = vec![];
        leads.iter().for_each(|&lead| put(&mut bytes, shares.work(lead) as u64));
        let all = self.comm.all_gather(&bytes)?;
        let mut all: Vec<Reader<'_>> = all.iter().map(|bytes| Reader(bytes)).collect();
        let rank = self.comm.rank();
        let lead = |(operand, is_whole): (Option<TensorId>, bool)| {
            let works: Vec<u128> = all.iter_mut().map(|from| u128::from(from.number())).collect();
            let total = if is_whole { works[0] } else { works.iter().sum() };
            let before = if is_whole { 0 } else { works[..rank].iter().sum() };
            Lead { operand, total, before, own: works[rank] }
        };
        let leads: Vec<Lead> = leads.into_iter().zip(held).map(lead).collect();
        Ok(leads.into_iter().max_by_key(|lead| lead.total))
    }

    /// The parts of all ranks in their order as one: scalars on every rank, of others each has its rows.
    fn sum_of(self, parts: &[Tensor], op: ReduceOp) -> Result<Distributed, Diagnostic> {
        let target = &self.work.program().tensors[self.work.kernel().result];
        let storage = target.storage.clone();
        let dims: Vec<u64> = target.modes.iter().map(|&var| self.work.dims[var]).collect();
        let (ranks, rank) = (self.comm.ranks(), self.comm.rank());
        let (mode, _) = cut_mode(&storage.format);
        let (starts, elements) = pieces(&dims, &storage, ranks);
        let piece = |to: usize| {
            let elements = &elements[to];
            let bytes = parts.iter().map(|p| p.vals().bytes_of(elements.start, elements.end));
            bytes.collect::<Vec<&[u8]>>().concat()
        };
        let received = self.comm.exchange((0..ranks).map(piece).collect())?;
        let size = elements[rank].len() * storage.datatype.size();
        let mut sum: Option<Values> = None;
        for bytes in received.iter().filter(|_| size > 0).flat_map(|all| all.chunks_exact(size)) {
            let mut part = Values::empty(storage.datatype);
            part.extend_bytes(bytes);
            match &mut sum {
                None => sum = Some(part),
                Some(sum) => combine(sum, &part, op),
            }
        }
        let sum = sum.unwrap_or_else(|| Values::empty(storage.datatype));
        if dims.is_empty() {
            let rows = [(0, sum.as_bytes())];
            return Ok(Distributed::everyone(of_rows(&dims, &storage, rows.into_iter())?));
        }
        let stored = tamis_runtime::extent::elements(&dims)?;
        let owners = (Owners::Intervals { mode, starts }, rank);
        Ok(Distributed::new((dims, storage), stored, owners, Held::Rows(sum)))
    }
}

/// Where parts of one process begin, as coordinates and iterations, given coordinates of which each has a part begin
/// at its iteration; none where that begins elsewhere.
pub(super) fn begins(
    work: Work<'_>,
    shares: Shares<'_>,
    cut: &Cut<'_>,
    coordinates: impl Iterator<Item = u64>,
) -> Option<Vec<(u64, i64)>> {
    let (mut begins, mut last) = (vec![(0, i64::MIN)], None);
    let (dimension, size) = (work.dims[cut.var], |var| work.dims[var]);
    for at in coordinates {
        let iteration = shares.iteration(at as i64);
        if last == Some(iteration) {
            continue;
        }
        let first = cut.scale.first(iteration as u64, dimension, &size);
        let is_begin = work.begin_of(cut.scale, cut.var, first) == Some(first);
        if !is_begin || cut.scale.iteration(first, dimension, &size) != iteration as u64 {
            return None;
        }
        begins.push((first, iteration));
        last = Some(iteration);
    }
    Some(begins)
}

/// Gives each part to the rank in whose interval it begins. `starts` becomes where the first part of each rank begins.
pub(super) fn shared_out(
    begins: &[(u64, i64)],
    starts: &mut Vec<u64>,
    dimension: u64,
) -> Vec<Range<usize>> {
    let first = |start: u64| begins.iter().position(|(at, _)| *at >= start).unwrap_or(begins.len());
    let mut firsts: Vec<usize> = starts.iter().map(|&start| first(start)).collect();
    firsts.pop();
    let start = |&k: &usize| begins.get(k).map_or(dimension, |(at, _)| *at);
    *starts = firsts.iter().map(start).chain([dimension]).collect();
    let ends = firsts[1..].iter().copied().chain([begins.len()]);
    firsts.iter().copied().zip(ends).map(|(from, to)| from..to).collect()
}

/// The elements of a sum of which each rank has a piece.
pub(super) fn pieces(
    dims: &[u64],
    storage: &Storage,
    ranks: usize,
) -> (Vec<u64>, Vec<Range<usize>>) {
    if dims.is_empty() {
        return (vec![0; ranks + 1], vec![0..1; ranks]);
    }
    let (mode, _) = cut_mode(&storage.format);
    let (starts, len) = (even(dims[mode], 1, ranks), row_len(dims, storage));
    let elements = |rank: usize| {
        let rows = own(&starts, rank);
        rows.start as usize * len..rows.end as usize * len
    };
    let pieces = (0..ranks).map(elements).collect();
    (starts, pieces)
}

/// How much work an operand leads to.
struct Lead {
    operand: Option<TensorId>,
    /// On all ranks.
    total: u128,
    /// On those before this one; none where each rank knows all.
    before: u128,
    /// As far as this rank knows.
    own: u128,
}

impl Lead {
    /// The first coordinate before which there is so much work, if this rank knows.
    fn coordinate(&self, shares: Shares<'_>, work: u128) -> Option<i64> {
        match work.checked_sub(self.before) {
            Some(own) if own > 0 => {
                (own <= self.own).then(|| shares.coordinate(self.operand, own)).flatten()
            }
            // The first that this rank has may be the next after another's last.
            _ => (self.own > 0).then(|| shares.coordinate(self.operand, 0)).flatten(),
        }
    }
}
