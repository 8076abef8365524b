//! Indices of tensors: variables, and slices of them.
//!
//! ```
//! use tamis_core::notation::build;
//!
//! let program = build(|b| {
//!     let [i, j] = b.vars(["i", "j"]);
//!     let [y, a] = b.tensors(["y", "A"]);
//!     b.assign(y[i], a.at([i.slice(2..8), j.slice_by(.., -1)]) * a.at([i.set([1, 3]), j.into()]));
//! })?;
//! assert_eq!(program.to_string(), "y(i) = A(i[2:8],j[::-1]) * A(i[{1,3}],j)");
//! # Ok::<(), tamis_ir::diagnostic::Diagnostic>(())
//! ```

use super::{Tensor, Term, Var};
use crate::notation::slice::{Slice, Slicing};
use crate::notation::{Access, Expr, TensorDecl};
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use tamis_ir::ids::{Id, IndexVar, Mode};

/// An index variable where it indexes a mode, or a slice of one.
#[derive(Clone)]
pub struct ModeIndex<'b> {
    var: Var<'b>,
    slice: Option<Slice>,
}

impl<'b> From<Var<'b>> for ModeIndex<'b> {
    fn from(var: Var<'b>) -> ModeIndex<'b> {
        ModeIndex { var, slice: None }
    }
}

impl<'b> Var<'b> {
    /// The variable counts these coordinates of a mode.
    pub fn slice(self, range: impl RangeBounds<u64>) -> ModeIndex<'b> {
        self.slice_by(range, 1)
    }

    /// The variable counts every `step`-th of these coordinates, from the last if it is negative.
    pub fn slice_by(self, range: impl RangeBounds<u64>, step: i64) -> ModeIndex<'b> {
        let lo = match range.start_bound() {
            Bound::Included(&lo) => Some(lo),
            Bound::Excluded(&lo) => Some(lo.saturating_add(1)),
            Bound::Unbounded => None,
        };
        let hi = match range.end_bound() {
            Bound::Included(&hi) => Some(hi.saturating_add(1)),
            Bound::Excluded(&hi) => Some(hi),
            Bound::Unbounded => None,
        };
        let slice = match (step >= 0, lo, hi) {
            (true, start, end) => Slice::Range { start, end, step },
            (false, lo, hi) => {
                let end = lo.and_then(|lo| lo.checked_sub(1));
                Slice::Range { start: hi.map(|hi| hi.saturating_sub(1)), end, step }
            }
        };
        ModeIndex { var: self, slice: Some(slice) }
    }

    /// The variable counts these coordinates of a mode, which ascend.
    pub fn set(self, members: impl IntoIterator<Item = u64>) -> ModeIndex<'b> {
        let slice = Some(Slice::Set(members.into_iter().collect()));
        ModeIndex { var: self, slice }
    }
}

impl<'b> Tensor<'b> {
    /// The element at these indices: what `a[[i, j]]` is short for, and the way to slices.
    pub fn at<const N: usize, I: Into<ModeIndex<'b>>>(&self, indices: [I; N]) -> Term<'b> {
        let indices: [ModeIndex<'b>; N] = indices.map(Into::into);
        let vars: Vec<IndexVar> = indices.iter().map(|index| index.var.id).collect();
        let slices = indices
            .into_iter()
            .enumerate()
            .filter_map(|(k, index)| Some((Mode::new(k), Slicing::Taken(index.slice?))));
        let slices: BTreeMap<Mode, Slicing> = slices.collect();
        let mut state = self.builder.state.borrow_mut();
        let program = &mut state.program;
        let known = program.tensor(&self.name);
        // Two orders of one tensor are refused when the text is read.
        let decl = TensorDecl { name: self.name.clone(), order: vars.len(), span: 0..0 };
        let tensor = known.unwrap_or_else(|| program.tensors.push(decl));
        drop(state);
        let access = Access { tensor, indices: vars, slices, span: 0..0 };
        self.builder.term(Expr::Access(access), &[])
    }
}
