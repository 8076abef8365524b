//! Results that share the levels of an operand: how many levels, and which coordinates of positions are needed.
//!
//! ```text
//! fuse(i, j, f); pos(f, p, A(i,j))       C(i,j) = A(i,j) * x(j)       C has the entries of A
//!
//! for p in 0..A2_pos[A1_size]
//!   j = A2_crd[p]                        i is not needed, so it is not searched
//!   C_vals[p] = A_vals[p] * x_vals[j]
//! ```

use super::{Loop, Planner};
use crate::cin::Relation;
use crate::notation::{self, Access};
use std::ops::Range;
use tamis_ir::ids::{IndexVar, TensorId};

/// The leading levels that a result shares with an operand. Levels below have a position for every coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedStructure {
    /// The operand.
    pub operand: TensorId,
    /// The number of shared levels; the last of them stores coordinates.
    pub levels: usize,
}

impl Planner<'_> {
    /// Whether a level of an operand is the last one that the result shares.
    pub(crate) fn is_shared_level(self, access: &Access, level: usize) -> bool {
        self.kernel.like == Some(access.tensor) && level + 1 == self.shared_levels()
    }

    /// Whether the result shares a level of an operand.
    pub(crate) fn is_like(self, access: &Access, level: usize) -> bool {
        self.kernel.like == Some(access.tensor) && level < self.shared_levels()
    }

    /// The operand whose levels the result shares, and their number.
    pub(crate) fn like(self) -> Option<SharedStructure> {
        let levels = self.shared_levels();
        self.kernel.like.map(|operand| SharedStructure { operand, levels })
    }

    /// The number of levels that the result shares.
    fn shared_levels(self) -> usize {
        self.program.listed_levels(self.kernel.result)
    }

    /// Whether a variable counts positions of the operand whose levels the result shares.
    pub(crate) fn counts_shared(self, position: IndexVar) -> bool {
        let relation = self.program.derived.relation(position);
        matches!(relation, Some(Relation::Position { access, .. }) if self.kernel.like == Some(access.tensor))
    }

    /// Whether a loop over positions leaves elements unwritten. It writes all elements of a shared level, and of a
    /// workspace with an element for each position.
    pub(crate) fn leaves_gaps(self, nest: &Loop) -> bool {
        let Some(counted) = self.program.derived.position(nest.var) else { return false };
        if self.counts_shared(counted) {
            return false;
        }
        let Some(tensor) = nest.written() else { return false };
        let modes = &self.program.tensors[tensor].modes;
        !modes.iter().any(|&mode| self.program.derived.is_same(mode, counted))
    }

    /// The first level in a range that is needed at a position of the last one: its coordinate is used, or its
    /// position is that of the result.
    pub(crate) fn needed_levels(self, access: &Access, levels: Range<usize>) -> usize {
        let shared = levels.start..levels.end.min(self.shared_levels());
        if self.kernel.like != Some(access.tensor) || shared.is_empty() {
            return levels.start;
        }
        let vars = self.program.level_vars(access.tensor, &access.indices);
        shared.clone().find(|&k| self.is_asked_for(vars[k], access)).unwrap_or(shared.end - 1)
    }

    /// Whether a coordinate is used other than to descend the shared levels.
    fn is_asked_for(self, var: IndexVar, like: &Access) -> bool {
        let shared = self.shared_levels();
        let mut asked = self.kernel.body.reads().into_iter().any(|other| {
            let vars = self.program.level_vars(other.tensor, &other.indices);
            let from = if other == like { shared } else { 0 };
            other.indices[..].contains(&var) && from == 0 || vars[from..].contains(&var)
        });
        self.kernel.body.for_each_assign(&mut |lhs, _, rhs| {
            let vars = self.program.level_vars(lhs.tensor, &lhs.indices);
            let from = if lhs.tensor == self.kernel.result { shared } else { 0 };
            asked |= vars[from..].contains(&var) || asks_for(rhs, var);
        });
        asked
    }
}

/// Whether a value depends on a coordinate itself.
fn asks_for(value: &notation::Expr, var: IndexVar) -> bool {
    let own = match value {
        notation::Expr::Index(index) => *index == var,
        notation::Expr::Choose { within, .. } => within.iter().any(|within| within.var == var),
        _ => false,
    };
    own || value.children().into_iter().any(|child| asks_for(child, var))
}
