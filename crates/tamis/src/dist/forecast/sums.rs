//! What is sent for sums over the loop that is cut, whose parts are combined ([`combine`](crate::dist::combine)).

use super::cast::Cast;
use super::ledger::{Fetches, length};
use crate::dist::combine::{begins, pieces, shared_out};
use crate::dist::tensor::{Owners, own};
use crate::dist::work::{Cut, Given, Work};
use std::ops::Range;
use tamis_core::level::Part as Array;
use tamis_core::plan::distribution::cut_mode;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, TensorId};
use tamis_runtime::Tensor;
use tamis_runtime::parallel::shares::Shares;

/// An operand that leads to work.
struct Lead {
    id: Option<TensorId>,
    total: u128,
    /// How much of it each rank knows of: all, or that of its part.
    own: Vec<u64>,
    /// The first coordinate that each rank stores, and how many entries its last one has, where coordinates are listed
    /// and each rank has a part.
    ends: Option<Vec<(Option<u64>, u64)>>,
    is_whole: bool,
}

impl Lead {
    /// How many bytes a rank tells of where a part begins before which there is so much work, at this coordinate.
    fn told(&self, rank: usize, work: u128, at: Option<u64>) -> u64 {
        let before: u128 = match self.is_whole {
            true => 0,
            false => self.own[..rank].iter().map(|&own| u128::from(own)).sum(),
        };
        let own = u128::from(self.own[rank]);
        let (first, last) = self.ends.as_ref().map_or((None, 0), |ends| ends[rank]);
        match work.checked_sub(before) {
            // The next after the last that a rank stores is of another.
            Some(rest) if rest > 0 && rest > own - u128::from(last) => 1,
            Some(rest) if rest > 0 => at.map_or(1, |at| length(at + 1)),
            _ => first.map_or(1, |first| length(first + 1)),
        }
    }
}

impl Cast {
    /// What is sent, who has what of the result, and how much work each rank has; none where every rank computes all.
    pub(super) fn combined(
        &mut self,
        work: Work<'_>,
        values: &Given<'_>,
        (mut cut, shares): (Cut<'_>, Shares<'_>),
        result: &Tensor,
    ) -> Result<Option<(Owners, Vec<u64>)>, Diagnostic> {
        if !cut.has_counted_leads(values) {
            return Ok(None);
        }
        self.operands(work, values, &cut)?;
        let stored = |id: TensorId| values[id.index()].as_deref().map(|t| t.stored as u64);
        if shares.is_small(&stored) {
            return Ok(None);
        }
        let Some(leads) = self.leads(values, &cut, shares)? else { return Ok(None) };
        self.ledger.gather("how much work there is", false, |rank| {
            leads.iter().map(|lead| length(lead.own[rank])).sum()
        });
        let Some(lead) = leads.iter().max_by_key(|lead| lead.total) else { return Ok(None) };
        let parts = shares.parts(lead.total);
        if parts <= 1 {
            return Ok(None);
        }
        let found = |part: u64| {
            let work = shares.before(lead.total, part, parts);
            (work, shares.coordinate(lead.id, work).map(|at| at as u64))
        };
        let found: Vec<(u128, Option<u64>)> = (1..parts).map(found).collect();
        self.ledger.gather("where parts begin", false, |rank| {
            found.iter().map(|&(work, at)| lead.told(rank, work, at)).sum()
        });
        let known = found.iter().filter_map(|(_, at)| *at);
        let Some(begins) = begins(work, shares, &cut, known) else { return Ok(None) };
        let mine = shared_out(&begins, &mut cut.starts, work.dims[cut.var]);
        let done = self.operands(work, values, &cut)?;
        let (dims, storage) = (result.dims(), result.storage());
        let (starts, elements) = pieces(dims, storage, work.ranks);
        let size = storage.datatype.size();
        let name = work.program().name(work.kernel());
        let mut fetches = Fetches::plain(work.ranks, &format!("{name}: parts"));
        for (from, parts) in mine.iter().enumerate().filter(|(_, parts)| !parts.is_empty()) {
            for (to, elements) in elements.iter().enumerate() {
                fetches.message(from, to, (parts.len() * elements.len() * size) as u64);
            }
        }
        self.ledger.add(fetches);
        let owners = match dims.is_empty() {
            true => Owners::Everyone,
            false => Owners::Intervals { mode: cut_mode(&storage.format).0, starts },
        };
        Ok(Some((owners, done)))
    }

    /// The operands that lead to work; none where ranks do not know together how much.
    fn leads(
        &mut self,
        values: &Given<'_>,
        cut: &Cut<'_>,
        shares: Shares<'_>,
    ) -> Result<Option<Vec<Lead>>, Diagnostic> {
        let mut leads = vec![];
        for id in cut.leads() {
            let Some(is_whole) = cut.holds_all(id, values) else { return Ok(None) };
            let total = shares.work(id);
            let mut lead = Lead { id, total, own: vec![], ends: None, is_whole };
            let value = id.and_then(|id| Some((id, values[id.index()].as_deref()?)));
            let Some((id, value)) = value.filter(|_| !is_whole) else {
                lead.own = vec![total as u64; self.ledger.ranks];
                leads.push(lead);
                continue;
            };
            let list = self.listed(id, value)?;
            let intervals = (0..self.ledger.ranks).map(|rank| own(&cut.starts, rank));
            lead.own = intervals.clone().map(|rows| list.count(rows) as u64).collect();
            let outermost = value.storage.format.levels().first();
            if let Some(level) = outermost.filter(|level| level.has(Array::Crd)) {
                // Coordinates that are listed more than once have one entry each time.
                let is_unique = level.kind.properties().unique;
                let ends = |rows: Range<u64>| {
                    let last = list.last(rows.clone());
                    let count = last.map_or(0, |last| list.count(last..last + 1) as u64);
                    (list.first(rows), if is_unique { count } else { count.min(1) })
                };
                lead.ends = Some(intervals.map(ends).collect());
            }
            leads.push(lead);
        }
        Ok(Some(leads))
    }
}
