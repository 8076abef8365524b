//! Results of parts as lists of entries, which are packed together: for any format.

use super::{Joined, Part};
use crate::coordinates::{Coordinates, Values};
use crate::kernel::{Call, Frame};
use crate::pack::Duplicates;
use crate::tensor::Tensor;
use std::sync::Mutex;
use tamis_core::algebra::ReduceOp;
use tamis_core::datatype::Scalar;
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
        initial: Scalar,
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
        let has_blocks = storage.format.levels().iter().any(|l| l.kind.properties().full);
        let (list, duplicates) = match op {
            Some(_) => (list, Duplicates::Sum),
            None if has_blocks => (written(&list, initial), Duplicates::Refuse),
            None => (list, Duplicates::Refuse),
        };
        (call.pack)(&list, storage, duplicates)
    }
}

/// Each coordinate once. Blocks are stored as a whole, so parts may have places for elements that
/// other parts give a value: that which is not the initial one.
fn written(list: &Coordinates, initial: Scalar) -> Coordinates {
    let place = |n: usize| list.crds.iter().map(move |crd| crd[n]);
    let mut order: Vec<usize> = (0..list.vals.len()).collect();
    order.sort_by(|&a, &b| place(a).cmp(place(b)));
    let is_initial = |n: usize| match list.vals.get(n) {
        x if x.is_complex() => x == initial.computed(list.vals.datatype()),
        x => x == initial.convert(x.register()),
    };
    let same = |a: &usize, b: &usize| place(*a).eq(place(*b));
    let kept: Vec<usize> = order
        .chunk_by(same)
        .map(|run| run.iter().copied().find(|&n| !is_initial(n)).unwrap_or(run[0]))
        .collect();
    Coordinates {
        dims: list.dims.clone(),
        crds: list.crds.iter().map(|crd| kept.iter().map(|&n| crd[n]).collect()).collect(),
        vals: list.vals.picked(&kept),
    }
}
