//! Kernels one after another: what ranks would send for each, and what each would have of the result.

use super::Share;
use super::ledger::{Fetches, Ledger, length};
use super::listed::Listed;
use crate::dist::coords::Coords;
use crate::dist::tensor::{Distributed, Held, Owners, own, row_len};
use crate::dist::work::{Cut, Given, Work};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tamis_core::plan::Join;
use tamis_core::plan::distribution::{Distribution, Need, Part, Starts, cut_mode, is_rows};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, TensorId};
use tamis_runtime::Tensor;
use tamis_runtime::kernel::Executable;
use tamis_runtime::parallel::shares::Shares;

/// What is known so far.
pub(super) struct Cast {
    pub(super) ledger: Ledger,
    /// The entries of tensors of which ranks have parts.
    listed: BTreeMap<TensorId, Arc<Listed>>,
    pub(super) kernels: Vec<Share>,
}

impl Cast {
    pub(super) fn new(ranks: usize) -> Cast {
        Cast { ledger: Ledger::new(ranks), listed: BTreeMap::new(), kernels: vec![] }
    }

    /// One kernel: its result, of which each rank has what it would have.
    pub(super) fn kernel(
        &mut self,
        work: Work<'_>,
        executable: &dyn Executable,
        values: &Given<'_>,
    ) -> Result<Distributed, Diagnostic> {
        let mut local = vec![None; values.len()];
        for id in work.operands() {
            if let Some(value) = values[id.index()].as_deref() {
                local[id.index()] = Some(Cow::Owned(value.own(0)?));
            }
        }
        let call = work.call(executable, &local);
        let start = Instant::now();
        let result = call.run()?;
        let seconds = start.elapsed().as_secs_f64();
        let name = work.program().name(work.kernel()).to_owned();
        let shares = Shares::of(call);
        let done = match work.distribution() {
            _ if work.ranks == 1 => None,
            Distribution::Parts { part, mode } => match work.cut(values, part) {
                Some(cut) => Some(self.parts(work, values, (&cut, part, *mode), &result)?),
                None => None,
            },
            Distribution::Combined { part, .. } => match (work.cut(values, part), shares) {
                (Some(cut), Some(shares)) => self.combined(work, values, (cut, shares), &result)?,
                _ => None,
            },
            Distribution::Everywhere(_) => None,
        };
        let (owners, done) = match done {
            Some((owners, done)) => (owners, Some(done)),
            None => {
                self.everywhere(work, values)?;
                (Owners::Everyone, None)
            }
        };
        self.kernels.push(Share { name, work: done, seconds });
        let layout = (result.dims().to_vec(), result.storage().clone());
        let stored = result.vals().len();
        Ok(Distributed::new(layout, stored, (owners, 0), Held::Whole(result)))
    }

    /// What is sent where each rank computes everything.
    fn everywhere(&mut self, work: Work<'_>, values: &Given<'_>) -> Result<(), Diagnostic> {
        let fetches = Fetches::remembered(work.ranks);
        for id in work.operands() {
            if let Some(value) = values[id.index()].as_deref() {
                self.fetch_all(&fetches, (id, &work.program().tensors[id].name), value)?;
            }
        }
        self.ledger.add(fetches);
        Ok(())
    }

    /// All of a tensor on each rank.
    pub(super) fn fetch_all(
        &mut self,
        fetches: &Fetches,
        (id, name): (TensorId, &str),
        value: &Distributed,
    ) -> Result<(), Diagnostic> {
        let Owners::Intervals { starts, .. } = &value.owners else { return Ok(()) };
        let listed = self.listed(id, value)?;
        let all = vec![Coords::All; value.dims.len()];
        fetches.add_all(name, starts, &listed, &all);
        fetches.next_kind();
        Ok(())
    }

    /// What is sent where each rank has its part of the result: who has what of that, and how much work each has.
    fn parts(
        &mut self,
        work: Work<'_>,
        values: &Given<'_>,
        (cut, part, mode): (&Cut<'_>, &Part, usize),
        result: &Tensor,
    ) -> Result<(Owners, Vec<u64>), Diagnostic> {
        let done = self.operands(work, values, cut)?;
        if let (Starts::OfPositions(_), Join::Overlap { .. }) = (part.starts, cut.partition.join) {
            self.ledger.gather("positions of each rank", false, |rank| length(done[rank]));
        }
        let (dims, storage) = (result.dims(), result.storage());
        let held: Vec<u64> = match is_rows(&storage.format) && cut_mode(&storage.format).0 == mode {
            true => {
                let len = row_len(dims, storage) as u64;
                cut.starts.windows(2).map(|rows| (rows[1] - rows[0]) * len).collect()
            }
            false => {
                let list = Listed::of(result, mode)?;
                (0..work.ranks).map(|rank| list.count(own(&cut.starts, rank)) as u64).collect()
            }
        };
        let name = work.program().name(work.kernel());
        self.ledger.gather(&format!("{name}: how much is stored"), false, |at| length(held[at]));
        Ok((Owners::Intervals { mode, starts: cut.starts.clone() }, done))
    }

    /// What is sent of operands before parts begin, and how much work each rank has then.
    pub(super) fn operands(
        &mut self,
        work: Work<'_>,
        values: &Given<'_>,
        cut: &Cut<'_>,
    ) -> Result<Vec<u64>, Diagnostic> {
        let program = work.program();
        let mut listed: BTreeMap<TensorId, Arc<Listed>> = BTreeMap::new();
        for id in work.operands() {
            if let Some(value) = values[id.index()].as_deref() {
                listed.insert(id, self.listed(id, value)?);
            }
        }
        let fetches = RefCell::new(Fetches::remembered(work.ranks));
        for rank in 0..work.ranks {
            let interval = own(&cut.starts, rank);
            let fetch = |id: TensorId, value: &Distributed, needed: &[Coords]| {
                if let Owners::Intervals { starts, .. } = &value.owners {
                    let fetches = fetches.borrow();
                    fetches.add(&program.tensors[id].name, (rank, starts), &listed[&id], needed);
                    fetches.next_kind();
                }
            };
            fetches.borrow().first_kind();
            let image = |(read, mode): (usize, usize), needed: &[Coords]| {
                let id = cut.reads[read].access.tensor;
                let value = values[id.index()].as_deref().expect("operands are computed first");
                let list = &listed[&id];
                if let Owners::Everyone = value.owners {
                    return value.image(mode);
                }
                if cut.is_at_hand(&cut.reads[read], value) {
                    return Ok(Arc::new(list.image(mode, interval.clone())));
                }
                fetch(id, value, needed);
                Ok(Arc::new(list.image_of(mode, needed)))
            };
            let needs = work.needs(values, cut, interval.clone(), &image)?;
            for id in work.operands() {
                let Some(value) = values[id.index()].as_deref() else { continue };
                if let Some(needed) = cut.needed_of(id, value, &needs) {
                    fetch(id, value, &needed);
                }
            }
        }
        self.ledger.add(fetches.into_inner());
        Ok(balance(work, values, cut, &listed))
    }

    /// The entries of a tensor.
    pub(super) fn listed(
        &mut self,
        id: TensorId,
        value: &Distributed,
    ) -> Result<Arc<Listed>, Diagnostic> {
        if let Some(known) = self.listed.get(&id) {
            return Ok(Arc::clone(known));
        }
        let mode = match &value.owners {
            Owners::Intervals { mode, .. } => *mode,
            Owners::Everyone | Owners::Slices(_) => return Ok(Arc::default()),
        };
        let found = Arc::new(Listed::of(&value.own(0)?, mode)?);
        self.listed.insert(id, Arc::clone(&found));
        Ok(found)
    }
}

/// How much work each rank has: elements of the sparse operand with most that lies as the loop is cut, else coordinates.
fn balance(
    work: Work<'_>,
    values: &Given<'_>,
    cut: &Cut<'_>,
    listed: &BTreeMap<TensorId, Arc<Listed>>,
) -> Vec<u64> {
    let sparse = cut.reads.iter().filter_map(|read| {
        let id = read.access.tensor;
        let value = values[id.index()].as_deref()?;
        let mode = value.interval(0).map(|(mode, _)| mode)?;
        let leads = !is_rows(&value.storage.format) && read.modes[mode] == Need::Part;
        leads.then_some((value.stored, id))
    });
    let lead = sparse.max_by_key(|(stored, _)| *stored);
    let of_rank = |rank: usize| {
        let interval = own(&cut.starts, rank);
        match lead {
            Some((_, id)) => listed[&id].count(interval) as u64,
            None => interval.end - interval.start,
        }
    };
    (0..work.ranks).map(of_rank).collect()
}
