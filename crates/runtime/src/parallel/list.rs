//! Results of parts as lists of entries, which are packed together: for any format.

use super::{Joined, Part, combine};
use crate::budget;
use crate::coordinates::{Coordinates, Values};
use crate::kernel::{Call, Frame};
use crate::pack::Duplicates;
use crate::radix::sorted_order;
use crate::tensor::Tensor;
use std::sync::{Mutex, PoisonError};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Diagnostic;

/// The lists of parts, in order, those that are not written yet empty.
#[derive(Default)]
pub(super) struct Parts(Mutex<Vec<Option<Result<Coordinates, Diagnostic>>>>);

impl Joined for Parts {
    /// Which part, and its tensor, which often has more elements than entries.
    type Rest = (usize, Tensor);

    fn next(&self, call: &Call<'_>, _: Part, frame: &mut Frame) -> Result<Self::Rest, Diagnostic> {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.push(None);
        Ok((parts.len() - 1, call.taken(frame)?))
    }

    fn rest(&self, (at, part): Self::Rest, _: &mut Frame) {
        let list = part.to_coordinates();
        drop(part);
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(list);
    }
}

impl Parts {
    /// One tensor of the entries of all; `around` is the padding value of elements that an entry stores for
    /// others.
    pub(super) fn packed(
        self,
        call: &Call<'_>,
        op: Option<ReduceOp>,
        around: Option<Scalar>,
    ) -> Result<Tensor, Diagnostic> {
        let storage = &call.target.storage;
        let dims = call.shape();
        let mut crds = vec![vec![]; dims.len()];
        let mut vals = Values::none(storage.datatype);
        let parts = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let lists: Vec<Coordinates> = parts.into_iter().flatten().collect::<Result<_, _>>()?;
        let entry = 8 * dims.len() + storage.datatype.size();
        let bytes = lists.iter().map(|list| list.vals().len() * entry).sum::<usize>() as f64;
        budget::check("the list of a result's entries", bytes, budget::SMALLER_RESULT)?;
        for list in lists {
            let (_, more_crds, more_vals) = list.into_parts();
            for (all, more) in crds.iter_mut().zip(more_crds) {
                all.extend(more);
            }
            vals.extend(more_vals);
        }
        let list = Coordinates::trusted(dims, crds, vals);
        match (op, around) {
            (None, None) => (call.pack)(&list, storage, Duplicates::Refuse),
            (Some(ReduceOp::Add), None) => (call.pack)(&list, storage, Duplicates::Sum),
            _ => {
                let around = around.map(|around| around.computed(storage.datatype));
                (call.pack)(&combined(list, op, around)?, storage, Duplicates::Refuse)
            }
        }
    }
}

/// The list with entries of the same coordinate combined, in their order. Where nothing came, an
/// entry leaves the element to the others.
fn combined(
    list: Coordinates,
    op: Option<ReduceOp>,
    around: Option<Scalar>,
) -> Result<Coordinates, Diagnostic> {
    let bytes = list.vals().len() as f64 * (16 + 8 * list.dims().len()) as f64;
    budget::check("the list of a result's entries", bytes, budget::SMALLER_RESULT)?;
    let (dims, crds, mut vals) = list.into_parts();
    let columns: Vec<&[u64]> = crds.iter().map(Vec::as_slice).collect();
    let order = sorted_order(&columns, &dims, vals.len())?;
    let is_around = |x: Scalar| around == Some(x);
    let mut kept: Vec<usize> = vec![];
    for n in order {
        let n = n as usize;
        let same = kept.last().copied().filter(|&k| columns.iter().all(|c| c[k] == c[n]));
        let Some(first) = same else {
            kept.push(n);
            continue;
        };
        let (a, b) = (vals.get(first), vals.get(n));
        match op {
            _ if is_around(b) => {}
            Some(op) if !is_around(a) => vals.set(first, combine::combined(a, b, op)),
            _ => vals.set(first, b),
        }
    }
    let crds = crds.iter().map(|crds| kept.iter().map(|&n| crds[n]).collect()).collect();
    Ok(Coordinates::trusted(dims, crds, vals.at(&kept)))
}
