//! Loops over coordinates at which no operand has an entry, with work only if a reduction is empty.
//!
//! ```text
//! R(i,j) = max(k, A(i,j,k))       R's fill value is 0, and an empty maximum is -inf
//!
//! for j: walk A(i,j,k) level 2
//! for j if there is no k: every coordinate
//! ```

use super::known::Known;
use super::read::ReadPlanner;
use super::{Body, Case, Loop, Merge, Node, Window};
use crate::cin::Stmt;
use crate::iteration::lattice::Lattice;
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

/// The work at every coordinate if one of these variables has no coordinates.
pub(super) struct IfEmpty {
    pub(super) body: Stmt,
    vars: Vec<IndexVar>,
}

impl IfEmpty {
    /// The loop, which runs after another one over the same coordinates.
    pub(super) fn around(self, node: Node, nest: &Loop) -> Loop {
        Loop {
            window: Window::IfEmpty(self.vars),
            drivers: vec![],
            merge: Merge::Universe,
            body: Body::Cases(vec![Case { present: 0, node }]),
            ..nest.clone()
        }
    }
}

impl ReadPlanner<'_> {
    /// The loop of a `forall`, and behind it a loop with the work for empty reductions, if there is some.
    pub(super) fn forall(self, own: IndexVar, body: &Stmt, known: &Known) -> Node {
        let (nest, if_empty) = self.nest(own, body, known);
        let node = |nest| Node::Loop(Box::new(nest));
        match if_empty {
            None => node(nest),
            Some(rest) if nest.drivers.is_empty() => node(rest),
            Some(rest) => Node::Sequence(vec![node(nest), node(rest)]),
        }
    }

    /// Removes the point without drivers from a lattice if its statement has an effect only where a reduction is
    /// empty.
    pub(super) fn if_empty(
        self,
        (own, var): (IndexVar, IndexVar),
        known: &Known,
        lattice: &mut Lattice,
        drivers: &[Access],
    ) -> Option<IfEmpty> {
        let point = lattice.points.last().filter(|point| point.present == 0)?;
        let vars = self.reduced_over((own, var), known, &point.body, drivers)?;
        let body = lattice.points.pop()?.body;
        Some(IfEmpty { body, vars })
    }

    /// Whether a statement in a loop has an effect only where a reduction is empty.
    pub(super) fn is_if_empty(
        self,
        loop_vars: (IndexVar, IndexVar),
        known: &Known,
        s: &Stmt,
        drivers: &[Access],
    ) -> bool {
        self.reduced_over(loop_vars, known, s, drivers).is_some()
    }

    /// The variables of which one has to have no coordinates for an effect: the drivers then have no entries either.
    /// Excludes an outermost loop that is cut, whose parts are intervals of all its coordinates.
    fn reduced_over(
        self,
        (own, var): (IndexVar, IndexVar),
        known: &Known,
        s: &Stmt,
        drivers: &[Access],
    ) -> Option<Vec<IndexVar>> {
        let (program, kernel) = (self.planner.program, self.planner.kernel);
        let is_outermost = known.bound.is_empty() && kernel.cut.chunked;
        let is_plain = own == var
            && !program.derived.is_scheduled(own)
            && !kernel.tags.contains_key(&own)
            && !kernel.scatter;
        let vars =
            self.planner.facts.fills_unless_empty(s).filter(|_| is_plain && !is_outermost)?;
        let has_all = |a: &Access| vars.iter().all(|v| a.indices.contains(v));
        drivers.iter().all(has_all).then_some(vars)
    }
}
