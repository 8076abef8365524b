//! Estimated sizes of operands: entries, dimensions, and the positions of levels that follow from these.

use crate::cin::Role;
use crate::format::{LevelMap, LevelSpec};
use crate::legalise::weights::SLOTS;
use crate::legalise::{Context, Statistics};
use crate::level::{HASHED, LevelKind};
use crate::notation::{Access, Expr};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Id, IndexVar, TensorId};

/// The estimate for an unknown dimension.
pub(super) const DIMENSION: f64 = 1000.0;
/// The estimated number of entries below a position of a compressed level.
pub(super) const FAN_OUT: f64 = 16.0;
/// A copy has a dense first level if it has at most this many rows per entry.
const EMPTY_ROWS: u64 = 8;

impl Context<'_> {
    /// The estimated number of entries of an operand, if known; for a temporary, the expected number, or else the
    /// largest number of any input.
    pub(super) fn known_entries(&self, access: &Access) -> Option<u64> {
        match self.program.tensors[access.tensor].role {
            Role::Input(_) => self.input_entries(access),
            _ => {
                let expected = self.expected.get(&access.tensor).copied();
                expected.or_else(|| self.request.statistics.entries.values().max().copied())
            }
        }
    }

    /// Records the expected number of entries of a temporary, computed for all coordinates of variables.
    pub(super) fn expect(
        &mut self,
        tensor: TensorId,
        (value, compute): (&Expr, DataType),
        vars: &[IndexVar],
    ) {
        let cells = self.cells(vars);
        if let Some((density, cells)) = self.density(value, compute).zip(cells) {
            self.expected.insert(tensor, (density * cells).ceil() as u64);
        }
    }

    /// The share of a value's elements with an entry, if known: as if the entries of its operands were at random
    /// coordinates.
    pub(super) fn density(&self, value: &Expr, compute: DataType) -> Option<f64> {
        let sparse = |e: &Expr| e.accesses().into_iter().any(|a| !self.is_full(a));
        let decides = |side: &Expr| {
            let own = side.accesses();
            let absent = |a: &Access| !self.is_full(a) && own.contains(&a);
            let facts = self.facts(compute);
            matches!(facts.unless_empty(facts.expr_without(value, &absent)), Expr::Literal(_))
        };
        if !sparse(value) || !decides(value) {
            return Some(1.0);
        }
        let density = |e: &Expr| self.density(e, compute);
        Some(match value {
            Expr::Access(a) => {
                (self.known_entries(a)? as f64 / self.cells(&a.indices)?.max(1.0)).min(1.0)
            }
            Expr::Reduce { vars, body, .. } => any(density(body)?, self.cells(vars)?),
            Expr::Binary(_, a, b) => match (decides(a) && sparse(a), decides(b) && sparse(b)) {
                (true, true) => density(a)? * density(b)?,
                (true, false) => density(a)?,
                (false, true) => density(b)?,
                (false, false) => self.density_of_any(value, compute)?,
            },
            _ => self.density_of_any(value, compute)?,
        })
    }

    /// The share of elements at which any sparse operand of an operator has an entry.
    fn density_of_any(&self, value: &Expr, compute: DataType) -> Option<f64> {
        let mut children = value.children();
        children.retain(|e| e.accesses().into_iter().any(|a| !self.is_full(a)));
        let density = |found: f64, e| Some(either(found, self.density(e, compute)?));
        children.into_iter().try_fold(0.0, density)
    }

    /// The number of elements over variables, if known.
    fn cells(&self, vars: &[IndexVar]) -> Option<f64> {
        vars.iter().map(|v| self.known_dimension(*v).map(|d| d as f64)).product()
    }

    /// The estimated number of entries of an input, if known.
    pub(super) fn input_entries(&self, access: &Access) -> Option<u64> {
        let Role::Input(id) = self.program.tensors[access.tensor].role else { return None };
        let stored = self.request.statistics.entries.get(&id).copied()?;
        let levels = self.program.storage(access.tensor).format.levels();
        let is_map = levels.last().is_some_and(|level| level.kind == HASHED);
        Some(if is_map { stored.div_ceil(SLOTS as u64) } else { stored })
    }

    /// Whether an operand is known to have about as many entries as a variable has coordinates; a temporary by the
    /// estimate of [`known_entries`](Self::known_entries).
    pub(super) fn fills_rows(&self, access: &Access, var: IndexVar) -> bool {
        self.known_entries(access)
            .zip(self.known_dimension(var))
            .is_some_and(|(entries, size)| size <= EMPTY_ROWS.saturating_mul(entries))
    }

    /// The dimension of a variable, perhaps under another name, if known.
    pub(super) fn known_dimension(&self, var: IndexVar) -> Option<u64> {
        let Statistics { dims, shapes, .. } = &self.request.statistics;
        let var = self.program.derived.alias(var);
        let of_mode = || {
            let (tensor, mode) = self.program.derived.mode(var)?;
            shapes.get(&tensor)?.get(mode.index()).copied()
        };
        dims.get(&var).copied().or_else(of_mode)
    }

    /// The dimension of a variable, or an estimate.
    pub(super) fn dimension_of(&self, var: IndexVar) -> f64 {
        self.known_dimension(var).map_or(DIMENSION, |d| d as f64)
    }

    /// The trip count of nested loops that visit every coordinate.
    pub(super) fn trips_over(&self, vars: &[IndexVar]) -> f64 {
        vars.iter().map(|v| self.dimension_of(*v)).product()
    }

    /// The size of a full operand in bytes; 0 if its dimensions are unknown.
    pub(super) fn bytes(&self, access: &Access) -> f64 {
        let size = self.program.storage(access.tensor).datatype.size() as f64;
        let dims = access.indices.iter().map(|v| self.known_dimension(*v));
        dims.map(|d| d.unwrap_or(0) as f64).product::<f64>() * size
    }

    /// The average number of coordinates of a variable that an operand lists below a position, if its entries are
    /// known: as if entries were at random coordinates, and at least one.
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

    /// The levels of an operand with known entries, with the estimated number of positions of each: as if entries were
    /// at random coordinates.
    pub(super) fn positions(&self, access: &Access) -> Option<Vec<(LevelSpec, IndexVar, f64)>> {
        let levels = self.program.levels(access);
        let kinds: Vec<(LevelKind, IndexVar)> = levels.iter().map(|(l, v)| (l.kind, *v)).collect();
        let positions = self.positions_of(access, &kinds)?;
        Some(levels.into_iter().zip(positions).map(|((level, v), n)| (level, v, n)).collect())
    }

    /// The estimated number of positions of levels with these kinds and variables that store the entries of an
    /// operand, if these are known.
    pub(super) fn positions_of(
        &self,
        access: &Access,
        levels: &[(LevelKind, IndexVar)],
    ) -> Option<Vec<f64>> {
        let expected = || self.expected.get(&access.tensor).copied();
        let values = self.input_entries(access).or_else(expected)? as f64;
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

    /// The number of coordinates of a variable, if known.
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

/// The share of elements with an entry in one of two tensors, from the share in each.
fn either(a: f64, b: f64) -> f64 {
    a + b - a * b
}

/// The share of rows with an entry, from the share of elements and the number of elements per row. Avoids rounding
/// small shares to 0: a dimension of 2^60 has few entries.
fn any(density: f64, elements: f64) -> f64 {
    if elements == 0.0 { 0.0 } else { -(elements * (-density).ln_1p()).exp_m1() }
}

#[cfg(test)]
mod tests {
    use super::any;

    #[test]
    fn few_entries_of_huge_dimensions_are_not_lost() {
        let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 1e-9;
        assert!(near(any(1e-18, 1e3), 1e-15));
        assert!(near(any(0.5, 2.0), 0.75));
        assert_eq!([any(1.0, 7.0), any(0.0, 7.0), any(1.0, 0.0)], [1.0, 0.0, 0.0]);
    }
}
