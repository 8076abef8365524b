//! Whether the producer of a temporary adds to it at all, for sure.
//!
//! ```text
//! y(i) = A(i,j) * sum(k, sqrt(m(j) * D(j,k)))      m: sparse, D: dense
//!
//! t += sqrt(m(j) * D(j,k))     for each k, split or not: t is used
//!                              k at entries of m only: t is used if there was one
//! ```
//!
//! A dimension of size 0 gives zeros to multiply with, as in products of matrices.

use super::{Absent, Body, Merge, Node, Planner};
use crate::cin::Relation;
use crate::format::LevelMap;
use tamis_ir::ids::{IndexVar, TensorId};

impl Planner<'_> {
    /// Whether what reads a temporary is left out if nothing was added to the temporary. Entries tell where it lists any.
    pub(super) fn asks(self, tensor: TensorId, producer: &Node) -> bool {
        let mut loops = vec![];
        let visits_all =
            every_loop(producer, &mut loops) && loops.iter().all(|var| self.is_whole(*var, &loops));
        let is_full = self.program.storage(tensor).format.is_full();
        is_full && self.kernel.partial.contains(&tensor) && !visits_all
    }

    /// Whether these loops reach every coordinate of what a variable was made of.
    fn is_whole(self, var: IndexVar, loops: &[IndexVar]) -> bool {
        let derived = &self.program.derived;
        let counts_entries = derived.map(var).is_some_and(LevelMap::spreads)
            || matches!(derived.relation(var), Some(Relation::Position { .. }));
        let reached = |of: IndexVar| derived.follows(of, loops) && self.is_whole(of, loops);
        !counts_entries && derived.origins(var).into_iter().all(reached)
    }
}

/// Whether all loops visit every coordinate and nothing depends on entries; their variables.
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
