//! How a loop finds the coordinates that several operands have, where some have far fewer than others.
//!
//! ```text
//! C(i,j) = A(i,j) * B(i,j)      2 entries in a row of A, 300 in one of B      mergeby(j, gallop)
//! ```

use crate::cin::{Merge, Tag};
use crate::format::{LevelMap, LevelSpec};
use crate::legalise::{Legaliser, Task};
use crate::level::LevelKind;
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
        let levels = self.program.levels(access);
        let kinds: Vec<(LevelKind, IndexVar)> = levels.iter().map(|(l, v)| (l.kind, *v)).collect();
        let positions = self.positions_of(access, &kinds)?;
        Some(levels.into_iter().zip(positions).map(|((level, v), n)| (level, v, n)).collect())
    }

    /// About how many positions levels of these kinds and variables have that store the entries of an operand, if
    /// these are known.
    pub(in crate::legalise) fn positions_of(
        &self,
        access: &Access,
        levels: &[(LevelKind, IndexVar)],
    ) -> Option<Vec<f64>> {
        let values = self.input_entries(access)? as f64;
        let is_slot = |v: IndexVar| self.program.derived.slots(v).is_some();
        let mut sizes = vec![];
        for &(kind, var) in levels {
            let p = kind.properties();
            let is_one = is_slot(var) || p.full && p.branchless;
            sizes.push(if is_one { 1.0 } else { self.size(var)? });
        }
        let full = |k: &usize| levels[*k].0.properties().full;
        if let Some(slots) = levels.iter().position(|&(_, v)| is_slot(v)) {
            let rows: f64 = (0..levels.len()).filter(full).map(|k| sizes[k]).product();
            sizes[slots] = (values / rows).max(1.0);
        }
        let mut positions: Vec<f64> = vec![];
        for (k, (kind, _)) in levels.iter().enumerate() {
            let above = positions.last().copied().unwrap_or(1.0);
            let cells: f64 = above * sizes[k];
            let below: f64 = (k + 1..levels.len()).filter(full).map(|l| sizes[l]).product();
            let entries = values / below;
            let p = kind.properties();
            let in_list = k > 0 && !levels[k - 1].0.properties().unique;
            positions.push(match () {
                () if p.full => cells,
                () if p.branchless && !in_list => above,
                () if !p.unique && !p.ordered => entries,
                () if cells == 0.0 => 0.0,
                () => cells * -(-entries / cells).exp_m1(),
            });
        }
        Some(positions)
    }

    /// How many coordinates a variable has, if that is known.
    fn size(&self, var: IndexVar) -> Option<f64> {
        let of = |v: IndexVar| {
            let known = self.request.dims.get(&self.program.derived.alias(v));
            known.map(|&d| d as f64)
        };
        Some(match self.program.derived.map(var) {
            None | Some(LevelMap::Mode(_)) => of(var)?,
            Some(LevelMap::Div(v, size)) => (of(v)? / size as f64).ceil().max(1.0),
            Some(LevelMap::Mod(_, size)) => size as f64,
            Some(LevelMap::Diff { plus, minus }) => of(plus)? + of(minus)?,
            Some(LevelMap::Slot(_)) => return None,
        })
    }
}
