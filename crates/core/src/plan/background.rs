//! The step that runs once for all coordinates of a loop that no driver has.
//!
//! ```text
//! R(i) = max(j, A(i,j))        for j: walk A(i,j) level 2
//!                                s max= A(i,j)
//!                              at coordinates left out, once
//!                                s max= 0
//! ```

use super::known::Known;
use super::read::ReadPlanner;
use super::{Planner, Times};
use crate::cin::Stmt;
use crate::cin::simplify::written;
use crate::iteration::lattice::Lattice;
use std::collections::BTreeSet;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::ids::IndexVar;

impl ReadPlanner<'_> {
    /// Removes the point without drivers from a lattice if one iteration can stand for all coordinates that no driver
    /// has; returns its statement, and how often that iteration counts.
    pub(super) fn background(
        self,
        (own, known): (IndexVar, &Known),
        lattice: &mut Lattice,
        result_level: Option<usize>,
    ) -> Option<(Stmt, Times)> {
        let rest = &lattice.points.last()?.body;
        if !self.is_once(own, known, rest) || result_level.is_some() {
            return None;
        }
        let rest = lattice.points.pop_if(|point| point.present == 0)?.body;
        let times = if adds(&rest) { Times::Each } else { Times::Once };
        Some((rest, times))
    }

    /// Whether one iteration of a statement in a loop can stand for all of them.
    pub(super) fn is_once(self, own: IndexVar, known: &Known, s: &Stmt) -> bool {
        is_once(self.planner, own, &known.bound, s)
    }
}

/// Whether one iteration of a statement in a loop can stand for all of them, where variables in `known` have values
/// outside of the loop.
pub(super) fn is_once(
    planner: Planner<'_>,
    own: IndexVar,
    known: &BTreeSet<IndexVar>,
    s: &Stmt,
) -> bool {
    let Planner { program, kernel, facts } = planner;
    let is_plain =
        !program.derived.is_scheduled(own) && !kernel.tags.contains_key(&own) && !kernel.scatter;
    is_plain && facts.is_once(own, known, s)
}

/// Whether a statement adds values up.
pub(super) fn adds(s: &Stmt) -> bool {
    let mut found = false;
    let target = written(s);
    s.for_each_assign(&mut |lhs, op, _| found |= lhs.tensor == target && op == Some(ReduceOp::Add));
    found
}
