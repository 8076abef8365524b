//! Where a loop is cut, so that parts have about the same work.
//!
//! ```text
//! csr   pos 0 2 2 9 12        stored elements before each row; 2 parts: cut before row 3
//! coo   crd 0 0 2 2 2 3       entries; 2 parts: cut before row 2
//! ```

use crate::kernel::Call;
use crate::tensor::{Tensor, views};
use tamis_core::format::LevelSpec;
use tamis_core::ids::{Id, IndexVar, TensorId};
use tamis_core::level::{DENSE, Header, LevelView};
use tamis_core::lower::{Chunks, Cut, Join};

/// More parts than this are not made: there are enough for any number of threads to be busy.
const MOST_PARTS: u64 = 256;

/// Where parts begin, but for the first: coordinates or positions, ascending.
pub(super) fn cuts(call: &Call<'_>, chunks: &Chunks) -> Vec<i64> {
    let leads = chunks.leads.iter().map(|&id| Lead::of(call, id, chunks.cut));
    let lead = leads.max_by_key(|lead| lead.work).unwrap_or_else(|| Lead::even(call, chunks.var));
    let work = u64::try_from(lead.work).unwrap_or(u64::MAX);
    let worthwhile = match chunks.join {
        Join::Shared { .. } | Join::Concatenate => work / call.grain.max(1),
        // Each part has a result of its own, which has to be written and read again.
        Join::Combine(_) => {
            let size = call.full_size().unwrap_or(usize::MAX) as u64;
            (work / call.grain.max(1)).min(work / size.max(1))
        }
        Join::Pack { .. } => work / call.grain.max(1).saturating_mul(PACKED),
    };
    let parts = worthwhile.min(MOST_PARTS);
    let mut cuts: Vec<i64> = (1..parts)
        .filter_map(|k| lead.cut(lead.work * u128::from(k) / u128::from(parts), chunks.cut))
        .collect();
    cuts.dedup();
    cuts
}

/// Listing and packing entries costs so many times what computing them costs.
const PACKED: u64 = 4;

/// A tensor that is cut, and its levels.
struct Lead<'t> {
    levels: &'t [LevelSpec],
    views: Vec<LevelView<'t>>,
    /// Coordinates of the first level where there are no arrays yet.
    header: Header,
    /// Stored elements.
    work: u128,
}

impl<'t> Lead<'t> {
    /// The coordinates of a variable, each as much work as the others.
    fn even(call: &Call<'t>, var: IndexVar) -> Lead<'t> {
        let size = call.dims[var];
        let header = Header { properties: DENSE.properties(), least: 0, size };
        let work = call.shape().iter().fold(1u128, |n, &d| n.saturating_mul(u128::from(d)));
        Lead { levels: &[], views: vec![], header, work: work.max(u128::from(size)) }
    }

    fn of(call: &Call<'t>, id: TensorId, cut: Cut) -> Lead<'t> {
        let tensor: Option<&'t Tensor> = call.values[id.index()].as_ref();
        let Some(tensor) = tensor else {
            let shape = call.shape();
            let header = call.target.storage.format.headers(&shape, &|_| 1)[0];
            let work = shape.iter().fold(1u128, |n, &d| n.saturating_mul(u128::from(d)));
            return Lead { levels: &[], views: vec![], header, work };
        };
        let format = &tensor.storage().format;
        let views = views(format, tensor.dims(), tensor.levels());
        let header = views[0].header;
        let mut lead = Lead { levels: format.levels(), views, header, work: 0 };
        lead.work = lead.before(lead.positions());
        let p = lead.levels[0].kind.properties();
        let listed = lead.views[0].crd.is_some();
        if cut == Cut::Coordinates && listed && !(p.ordered && p.compact) {
            // Positions tell nothing about coordinates.
            lead.levels = &[];
        }
        lead
    }

    /// How many positions the first level has.
    fn positions(&self) -> u64 {
        match self.levels.first() {
            Some(level) => level.kind.positions(&self.views[0], 1),
            None => self.header.size,
        }
    }

    /// How much work there is at the first positions of the first level.
    fn before(&self, positions: u64) -> u128 {
        if self.levels.is_empty() {
            let all = u128::from(self.header.size.max(1));
            return self.work / all * u128::from(positions);
        }
        let below = self.levels.iter().zip(&self.views).skip(1);
        u128::from(below.fold(positions, |n, (level, view)| level.kind.positions(view, n)))
    }

    /// The first coordinate, or position, before which there is so much work, if it is not behind
    /// all.
    fn cut(&self, work: u128, cut: Cut) -> Option<i64> {
        let (mut lo, mut hi) = (0, self.positions());
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            match self.before(middle) < work {
                true => lo = middle + 1,
                false => hi = middle,
            }
        }
        let is_listed = !self.levels.is_empty() && self.views[0].crd.is_some();
        match cut {
            Cut::Positions => i64::try_from(lo).ok(),
            Cut::Coordinates if !is_listed => Some(lo as i64 + self.header.least),
            Cut::Coordinates if lo < self.positions() => Some(self.views[0].coordinate(lo)),
            Cut::Coordinates => None,
        }
    }
}
