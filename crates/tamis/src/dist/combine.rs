//! Sums over the loop that is cut: parts as one process has them, on the ranks that have their entries, combined in
//! the order of one process.
//!
//! ```text
//! y(j) = A(i,j) * x(i)      4 parts, 2 ranks        rank 0: parts 0, 1      rank 1: parts 2, 3
//!                           y = ((part 0 + part 1) + part 2) + part 3, each rank a piece of it
//! ```

use super::run::{Cut, Given, Step};
use super::tensor::{Distributed, Held, Owners, even, of_rows, own, row_len};
use super::wire::{Reader, put};
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
        let counted = |id: &TensorId| values[id.index()].as_deref().is_some_and(is_counted);
        if !cut.partition.leads.iter().all(counted) {
            return Ok(None);
        }
        let Some(begins) = self.begins(executable, values, &cut)? else { return Ok(None) };
        let dimension = self.dims[cut.var];
        // A rank has the parts that begin in its interval.
        let first =
            |start: u64| begins.iter().position(|(at, _)| *at >= start).unwrap_or(begins.len());
        let firsts: Vec<usize> = cut.starts.iter().map(|&start| first(start)).collect();
        let ranks = self.comm.ranks();
        let mine = firsts[self.comm.rank()]..match self.comm.rank() + 1 == ranks {
            true => begins.len(),
            false => firsts[self.comm.rank() + 1],
        };
        let start = |k: usize| begins.get(k).map_or(dimension, |(at, _)| *at);
        cut.starts = firsts[..ranks].iter().map(|&k| start(k)).chain([dimension]).collect();
        let local = self.operands_of_part(values, &cut)?;
        let call =
            self.kind.call(self.kernel().result, self.lowered, executable, &local, self.dims);
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
        let call =
            self.kind.call(self.kernel().result, self.lowered, executable, &local, self.dims);
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
        let (mut begins, mut last) = (vec![(0, i64::MIN)], None);
        for _ in 1..parts {
            // All numbers are read, whichever rank knows.
            let told: Vec<u64> = all.iter_mut().map(Reader::number).collect();
            let Some(at) = told.into_iter().find(|&at| at > 0) else { continue };
            let iteration = shares.iteration(at as i64 - 1);
            if last == Some(iteration) {
                continue;
            }
            let (dimension, size) = (self.dims[cut.var], |var| self.dims[var]);
            let first = cut.scale.first(iteration as u64, dimension, &size);
            let is_begin = self.begin_of(cut.scale, cut.var, first) == Some(first);
            if !is_begin || cut.scale.iteration(first, dimension, &size) != iteration as u64 {
                return Ok(None);
            }
            begins.push((first, iteration));
            last = Some(iteration);
        }
        Ok(Some(begins))
    }

    /// The operand that leads to most work, and how that lies on the ranks.
    fn lead(
        self,
        shares: Shares<'_>,
        values: &Given<'_>,
        cut: &Cut<'_>,
    ) -> Result<Option<Lead>, Diagnostic> {
        let leads = &cut.partition.leads;
        let mut leads: Vec<Option<TensorId>> = leads.iter().map(|&id| Some(id)).collect();
        if leads.is_empty() {
            leads.push(None);
        }
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
        let target = &self.program().tensors[self.kernel().result];
        let storage = target.storage.clone();
        let dims: Vec<u64> = target.modes.iter().map(|&var| self.dims[var]).collect();
        let (ranks, rank) = (self.comm.ranks(), self.comm.rank());
        let (mode, _) = cut_mode(&storage.format);
        let starts = match dims.is_empty() {
            true => vec![0; ranks + 1],
            false => even(dims[mode], 1, ranks),
        };
        let len = row_len(&dims, &storage);
        let elements = |rank: usize| match dims.is_empty() {
            true => 0..1,
            false => {
                let rows = own(&starts, rank);
                rows.start as usize * len..rows.end as usize * len
            }
        };
        let piece = |to: usize| {
            let elements = elements(to);
            let bytes = parts.iter().map(|p| p.vals().bytes_of(elements.start, elements.end));
            bytes.collect::<Vec<&[u8]>>().concat()
        };
        let received = self.comm.exchange((0..ranks).map(piece).collect())?;
        let size = elements(rank).len() * storage.datatype.size();
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
        let (owners, part) = (Owners::Intervals { mode, starts }, Held::Rows(sum));
        Ok(Distributed::new((dims, storage), stored, owners, part))
    }
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

/// Whether entries are counted by the arrays of a tensor as if they were there alone.
fn is_counted(tensor: &Distributed) -> bool {
    tensor.storage.format.is_basic() || tamis_runtime::is_list(&tensor.storage.format)
}
