//! Whether the producer of a temporary certainly adds a term to it.
//!
//! ```text
//! y(i) = A(i,j) * sum(k, sqrt(m(j) * D(j,k)))      m: sparse, D: dense
//!
//! t += sqrt(m(j) * D(j,k))     loop over all k, split or not: t is used
//!                              loop over the k at entries of m only: t is used if there was such a k
//! ```
//!
//! A sum over a dimension of size 0 counts as 0, as in matrix products, not as an empty reduction.

use super::{Absent, Body, Merge, Node, Planner};
use crate::cin::Relation;
use crate::format::LevelMap;
use tamis_ir::ids::{IndexVar, TensorId};

impl Planner<'_> {
    /// Whether the reader of a temporary has to be skipped if nothing was added; a temporary that is not full tells by
    /// its entries.
    pub(super) fn asks(self, tensor: TensorId, producer: &Node) -> bool {
        let mut loops = vec![];
        let visits_all =
            every_loop(producer, &mut loops) && loops.iter().all(|var| self.is_whole(*var, &loops));
        let is_full = self.program.storage(tensor).format.is_full();
        is_full && self.kernel.partial.contains(&tensor) && !visits_all
    }

    /// Whether these loops reach every coordinate of the variables that a variable was derived from.
    fn is_whole(self, var: IndexVar, loops: &[IndexVar]) -> bool {
        let derived = &self.program.derived;
        let counts_entries = derived.map(var).is_some_and(LevelMap::spreads)
            || matches!(derived.relation(var), Some(Relation::Position { .. }));
        let reached = |of: IndexVar| derived.follows(of, loops) && self.is_whole(of, loops);
        !counts_entries && derived.origins(var).into_iter().all(reached)
    }
}

/// Whether all loops visit every coordinate and nothing depends on entries; collects their variables.
fn every_loop(node: &Node, loops: &mut Vec<IndexVar>) -> bool {
    match node {
        Node::Loop(nest) => {
            loops.push(nest.var);
            match &nest.body {
                Body::Cases(cases) if nest.merge == Merge::Universe && nest.drivers.is_empty() => {
                    cases.iter().all(|case| every_loop(&case.node, loops))
                }
                _ => false,
            }
        }
        Node::Locate(locate) => {
            locate.absent == Absent::Never && every_loop(&locate.present, loops)
        }
        Node::Where(inner) => !inner.asks && every_loop(&inner.consumer, loops),
        Node::IfAny(..) => false,
        Node::Sequence(parts) => parts.iter().any(|part| every_loop(part, loops)),
        Node::Assign { .. } => true,
    }
}
