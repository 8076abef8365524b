//! Replaces operands by copies whose levels are in the order of the loops.
//!
//! ```text
//! C(i,j) = B(i,j) * X(n,i) * X(n,j)      X_transposed(i,n) = X(n,i)
//!                                        C(i,j) = B(i,j) * X_transposed(i,n) * X_transposed(j,n)
//! ```

use super::Order;
use crate::format::Format;
use crate::legalise::copies::in_order::{copy_format, copy_order, replace, with_distinct_indices};
use crate::legalise::copies::transpose::is_dense;
use crate::legalise::{Legaliser, Task};
use crate::notation::{Access, Expr, Slicing};
use std::collections::BTreeMap;
use tamis_ir::ids::{IndexVar, Mode, TensorId};

impl Legaliser<'_> {
    /// Replaces operands by copies whose levels are in loop order.
    pub(in crate::legalise) fn convert(&mut self, value: Expr, order: &Order, task: &Task) -> Expr {
        let mut copies: Vec<Copied> = vec![];
        order.converted.iter().fold(value, |value, access| {
            let vars = copy_order(self, access, &order.vars);
            let is_dense = is_dense(&self.program.storage(access.tensor).format);
            let how = if is_dense { "transposed" } else { "sorted" };
            let name = format!("{}_{how}", self.program.tensors[access.tensor].name);
            let source = with_distinct_indices(self, access);
            let repeats = source.indices != access.indices;
            // A copy of a diagonal starts from a copy of the whole tensor.
            let vars = if repeats { source.indices.clone() } else { vars };
            let format = copy_format(self, &source, &vars);
            let mode = |v: &IndexVar| source.indices.iter().position(|own| own == v);
            let [modes, diagonal] =
                [&vars, &source.indices].map(|of| of.iter().map(mode).collect());
            let (of, slices) = (access.tensor, source.slices.clone());
            let made = Copied { of, slices, modes, diagonal, format, copy: of };
            let known = copies.iter().find(|other| !repeats && made.is_like(other));
            let mut copy = match known {
                Some(known) => Expr::Access(Access::of(known.copy, vars)),
                None => {
                    let (format, operand) = (Some(made.format.clone()), Expr::Access(source));
                    self.temporary(&name, format, vars, operand, task.compute)
                }
            };
            if let Expr::Access(copy) = &mut copy {
                copies.push(Copied { copy: copy.tensor, ..made });
                if repeats {
                    copy.indices = access.indices.clone();
                }
            }
            self.declare_uses(&copy);
            if repeats {
                copy = diagonal_of(self, access, copy, (order, task));
            }
            replace(value, access, &copy)
        })
    }
}

/// A copy of the diagonal, read from a copy of the whole tensor, for these loops.
fn diagonal_of(
    l: &mut Legaliser<'_>,
    of: &Access,
    copy: Expr,
    (order, task): (&Order, &Task),
) -> Expr {
    let Expr::Access(access) = &copy else { return copy };
    let vars = copy_order(l, access, &order.vars);
    let format = copy_format(l, access, &vars);
    let name = format!("{}_diagonal", l.program.tensors[of.tensor].name);
    let diagonal = l.temporary(&name, Some(format), vars, copy, task.compute);
    l.declare_uses(&diagonal);
    diagonal
}

/// A copy of a tensor in some order of levels; other uses of the tensor share it.
struct Copied {
    of: TensorId,
    /// The slices of the tensor that are copied.
    slices: BTreeMap<Mode, Slicing>,
    /// For each level of the copy, the mode of the tensor.
    modes: Vec<Option<usize>>,
    /// For each mode of the tensor, the first mode with the same coordinate.
    diagonal: Vec<Option<usize>>,
    format: Format,
    copy: TensorId,
}

impl Copied {
    /// Whether two copies are equal.
    fn is_like(&self, other: &Copied) -> bool {
        let has_all_modes = self.modes.iter().all(Option::is_some);
        let is_of_same =
            (self.of, &self.slices, &self.diagonal) == (other.of, &other.slices, &other.diagonal);
        has_all_modes && is_of_same && (&self.modes, &self.format) == (&other.modes, &other.format)
    }
}
