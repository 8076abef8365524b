//! What is known of the sizes of operands: entries, dimensions, and the positions of levels that follow from these.

use crate::cin::Role;
use crate::format::{LevelMap, LevelSpec};
use crate::legalise::{Context, Statistics};
use crate::level::LevelKind;
use crate::notation::Access;
use tamis_ir::ids::{Id, IndexVar};

/// A dimension that nobody knows.
pub(super) const DIMENSION: f64 = 1000.0;
/// Entries below one position of a compressed level.
pub(super) const FAN_OUT: f64 = 16.0;
/// A copy has an array over rows if there are no more rows than so many times its entries.
const EMPTY_ROWS: u64 = 8;

impl Context<'_> {
    /// About how many entries an operand has, if that is known; what is computed from operands, about as
    /// many as that with most.
    pub(super) fn known_entries(&self, access: &Access) -> Option<u64> {
        match self.program.tensors[access.tensor].role {
            Role::Input(_) => self.input_entries(access),
            _ => self.request.statistics.entries.values().max().copied(),
        }
    }

    /// How many entries an operand of the program has, if that is known.
    pub(super) fn input_entries(&self, access: &Access) -> Option<u64> {
        match self.program.tensors[access.tensor].role {
            Role::Input(id) => self.request.statistics.entries.get(&id).copied(),
            _ => None,
        }
    }

    /// Whether an operand is known to have about as many entries as a variable has coordinates; of what
    /// is computed from operands, whether one of them has.
    pub(super) fn fills_rows(&self, access: &Access, var: IndexVar) -> bool {
        self.known_entries(access)
            .zip(self.known_dimension(var))
            .is_some_and(|(entries, size)| size <= EMPTY_ROWS.saturating_mul(entries))
    }

    /// The dimension of a variable, or of what it is another name of, if that is known.
    pub(super) fn known_dimension(&self, var: IndexVar) -> Option<u64> {
        let Statistics { dims, shapes, .. } = &self.request.statistics;
        let var = self.program.derived.alias(var);
        let of_mode = || {
            let (tensor, mode) = self.program.derived.mode(var)?;
            shapes.get(&tensor)?.get(mode.index()).copied()
        };
        dims.get(&var).copied().or_else(of_mode)
    }

    /// The dimension of a variable, as far as it is known.
    pub(super) fn dimension_of(&self, var: IndexVar) -> f64 {
        self.known_dimension(var).map_or(DIMENSION, |d| d as f64)
    }

    /// The trip count of loops around each other that visit every coordinate.
    pub(super) fn trips_over(&self, vars: &[IndexVar]) -> f64 {
        vars.iter().map(|v| self.dimension_of(*v)).product()
    }

    /// How much memory a full operand takes; nothing if its dimensions are not known.
    pub(super) fn bytes(&self, access: &Access) -> f64 {
        let size = self.program.storage(access.tensor).datatype.size() as f64;
        let dims = access.indices.iter().map(|v| self.known_dimension(*v));
        dims.map(|d| d.unwrap_or(0) as f64).product::<f64>() * size
    }

    /// How many coordinates of a variable an operand lists below a position, on average, if its
    /// entries are known: as many as randomly placed entries would have, and at least one.
    pub(super) fn fan_out(&self, access: &Access, var: IndexVar) -> Option<f64> {
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
    pub(super) fn positions(&self, access: &Access) -> Option<Vec<(LevelSpec, IndexVar, f64)>> {
        let levels = self.program.levels(access);
        let kinds: Vec<(LevelKind, IndexVar)> = levels.iter().map(|(l, v)| (l.kind, *v)).collect();
        let positions = self.positions_of(access, &kinds)?;
        Some(levels.into_iter().zip(positions).map(|((level, v), n)| (level, v, n)).collect())
    }

    /// About how many positions levels of these kinds and variables have that store the entries of an operand, if
    /// these are known.
    pub(super) fn positions_of(
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
        let of = |v: IndexVar| self.known_dimension(v).map(|d| d as f64);
        Some(match self.program.derived.map(var) {
            None | Some(LevelMap::Mode(_)) => of(var)?,
            Some(LevelMap::Div(v, size)) => (of(v)? / size as f64).ceil().max(1.0),
            Some(LevelMap::Mod(_, size)) => size as f64,
            Some(LevelMap::Diff { plus, minus }) => of(plus)? + of(minus)?,
            Some(LevelMap::Slot(_)) => return None,
        })
    }
}
