//! How a loop finds the coordinates that several operands have, where some have far fewer than others.
//!
//! ```text
//! C(i,j) = A(i,j) * B(i,j)      2 entries in a row of A, 300 in one of B      mergeby(j, gallop)
//! ```

use crate::cin::{Merge, Role, Tag};
use crate::format::LevelSpec;
use crate::legalise::{Legaliser, Task};
use crate::notation::Access;
use std::collections::BTreeMap;
use tamis_ir::ids::IndexVar;

/// From how many times as many coordinates on a search is faster than a look at each.
pub(in crate::legalise) const SKEWED: f64 = 64.0;

impl Legaliser<'_> {
    /// The loops that search, among those over these variables.
    pub(in crate::legalise) fn galloping_loops(
        &self,
        task: &Task,
        vars: &[IndexVar],
    ) -> BTreeMap<IndexVar, Tag> {
        let operands = crate::plan::access::distinct(&task.value);
        let needed = |a: &&Access| self.access_methods().decides(a, task);
        let needed: Vec<&Access> = operands.iter().filter(needed).collect();
        let gallops = |var: &IndexVar| {
            let counts = || needed.iter().filter_map(|a| self.fan_out(a, *var));
            let few = counts().fold(f64::INFINITY, f64::min);
            counts().any(|many| many >= SKEWED * few)
        };
        let tag = Tag { merge: Some(Merge::Gallop), ..Tag::default() };
        vars.iter().filter(|v| gallops(v)).map(|&v| (v, tag)).collect()
    }

    /// How many coordinates of a variable an operand lists below a position, on average, if its
    /// entries are known: as many as randomly placed entries would have, and at least one.
    pub(in crate::legalise) fn fan_out(&self, access: &Access, var: IndexVar) -> Option<f64> {
        let mut above = 1.0;
        for (level, of, positions) in self.positions(access)? {
            if of == var {
                return (!level.kind.locates()).then(|| (positions / above).max(1.0));
            }
            above = positions;
        }
        None
    }

    /// The levels of an operand whose entries are known, with about how many positions they have: as
    /// many as randomly placed entries would have.
    pub(in crate::legalise) fn positions(
        &self,
        access: &Access,
    ) -> Option<Vec<(LevelSpec, IndexVar, f64)>> {
        let Role::Input(id) = self.program.tensors[access.tensor].role else { return None };
        let entries = *self.request.entries.get(&id)? as f64;
        let mut positions = 1.0;
        let mut levels = vec![];
        for (level, var) in self.program.levels(access) {
            let cells = positions * *self.request.dims.get(&var)? as f64;
            positions = match level.kind.properties().full {
                true => cells,
                false => cells * -(-entries / cells).exp_m1(),
            };
            levels.push((level, var, positions));
        }
        Some(levels)
    }
}
