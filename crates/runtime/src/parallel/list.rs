//! Results of parts as lists of entries, which are packed together: for any format.

use super::{Joined, Part};
use crate::coordinates::{Coordinates, Values};
use crate::kernel::{Call, Frame};
use crate::pack::Duplicates;
use crate::tensor::Tensor;
use std::sync::Mutex;
use tamis_core::algebra::ReduceOp;
use tamis_core::diagnostic::Diagnostic;

/// Parts that are tensors.
#[derive(Default)]
pub(super) struct Parts(Mutex<Vec<Tensor>>);

impl Joined for Parts {
    type Rest = ();

    fn next(&self, call: &Call<'_>, _: Part, frame: &mut Frame) -> Result<(), Diagnostic> {
        let part = call.taken(frame);
        if let Ok(mut parts) = self.0.lock() {
            parts.push(part);
        }
        Ok(())
    }

    fn rest(&self, (): (), _: &mut Frame) {}
}

impl Parts {
    /// One tensor of the entries of all.
    pub(super) fn packed(
        self,
        call: &Call<'_>,
        op: Option<ReduceOp>,
    ) -> Result<Tensor, Diagnostic> {
        let storage = &call.target.storage;
        let dims = call.shape();
        let mut crds = vec![vec![]; dims.len()];
        let mut vals = Values::none(storage.datatype);
        for part in self.0.into_inner().unwrap_or_default() {
            let list = part.to_coordinates();
            for (all, more) in crds.iter_mut().zip(list.crds) {
                all.extend(more);
            }
            vals.extend(list.vals);
        }
        let list = Coordinates { dims, crds, vals };
        let duplicates = if op.is_some() { Duplicates::Sum } else { Duplicates::Refuse };
        (call.pack)(&list, storage, duplicates)
    }
}
