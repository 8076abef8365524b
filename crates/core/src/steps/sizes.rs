//! Numbers of coordinates, positions and children, from dimensions and from what tensors store.
//!
//! ```text
//! A: 1000 x 1000 csr, 5000 entries      level 1: 1000 positions; level 2: 5000, so 5 children each
//! T: csf of 3 modes, 5000 entries       level 2: as many as 5000 random entries have distinct prefixes
//! ```

use crate::cin::terms::Sizes;
use crate::cin::{Program, Relation};
use crate::format::LevelMap;
use crate::level::Part;
use crate::notation::Access;
use std::collections::BTreeMap;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Id, IndexVar, TensorId};

/// The sizes of a call, and those of what its kernels computed so far.
pub(super) struct Known<'s> {
    pub(super) program: &'s Program,
    pub(super) sizes: &'s Sizes<'s>,
    /// Estimated number of values of computed tensors and workspaces.
    pub(super) computed: BTreeMap<TensorId, f64>,
}

impl Known<'_> {
    /// The trip count of a loop over all coordinates of a variable.
    pub(super) fn coordinates(&self, var: IndexVar) -> f64 {
        let derived = &self.program.derived;
        match derived.relation(var) {
            Some(&Relation::Part { parts, .. }) => return parts as f64,
            Some(&Relation::Place { of, part }) => {
                return (self.coordinates(of) / self.coordinates(part)).max(1.0);
            }
            Some(&Relation::Same { of, .. }) => return self.coordinates(of),
            Some(&Relation::Fused { outer, inner }) => {
                return self.coordinates(outer) * self.coordinates(inner);
            }
            Some(Relation::Position { access, level, of, within, .. }) => {
                let above = level + 1 - of.len();
                let all = self.positions(access.tensor, level + 1)
                    / self.positions(access.tensor, above).max(1.0);
                let share = |tile: &IndexVar| {
                    self.coordinates(*tile)
                        / of.first().map_or(1.0, |v| self.coordinates(*v)).max(1.0)
                };
                return all * within.as_ref().map_or(1.0, share);
            }
            None => {}
        }
        if let Some((tensor, level)) = derived.slots(var) {
            let level = level.index();
            return self.positions(tensor, level + 1) / self.positions(tensor, level).max(1.0);
        }
        match derived.map(var) {
            Some(map) => self.size(map, &|var| self.coordinates(var)),
            None => (self.sizes.dimension)(derived.alias(var)) as f64,
        }
    }

    /// The number of positions of the first levels of a tensor.
    pub(super) fn positions(&self, tensor: TensorId, levels: usize) -> f64 {
        let format = &self.program.storage(tensor).format;
        let modes = &self.program.tensors[tensor].modes;
        let specs = format.levels();
        let full = |k: usize| specs[k].kind.properties().full;
        let is_slot = |k: usize| matches!(specs[k].map, LevelMap::Slot(_));
        let size = |k: usize| {
            let map = specs[k].map.map(|mode| modes[mode.index()]);
            self.size(map, &|var| self.coordinates(var))
        };
        let above: f64 = (0..levels).filter(|k| !is_slot(*k)).map(size).product();
        if (0..levels).all(|k| full(k) && !is_slot(k)) {
            return above;
        }
        let listed = (0..specs.len()).rfind(|&k| !full(k) || is_slot(k)).unwrap_or(0);
        let below: f64 = (listed + 1..specs.len()).map(size).product();
        let entries = self.entries(tensor).unwrap_or(above) / below.max(1.0);
        if levels > listed {
            let within: f64 = (listed + 1..levels).map(size).product();
            return entries * within;
        }
        match specs[levels - 1].kind.properties().unique {
            true => distinct(entries, above),
            false => entries,
        }
    }

    /// The bytes of a tensor's arrays.
    pub(super) fn bytes(&self, tensor: TensorId) -> f64 {
        let storage = self.program.storage(tensor);
        let levels = storage.format.levels();
        let (pos, crd) = (storage.pos.datatype().size(), storage.crd.datatype().size());
        let of_level = |k: usize| {
            let (above, own) = (self.positions(tensor, k), self.positions(tensor, k + 1));
            let of_part = |part| match part {
                Part::Pos => (above + 1.0) * pos as f64,
                Part::Crd => own * crd as f64,
                Part::Width => DataType::I64.size() as f64,
                Part::Mask => own * DataType::Bool.size() as f64,
            };
            Part::ALL.into_iter().filter(|&part| levels[k].has(part)).map(of_part).sum::<f64>()
        };
        let values = self.positions(tensor, levels.len()) * storage.datatype.size() as f64;
        (0..levels.len()).map(of_level).sum::<f64>() + values
    }

    /// The number of children that a position of an operand has at a level.
    pub(super) fn children(&self, access: &Access, level: usize) -> f64 {
        let above = if level == 0 { 1.0 } else { self.positions(access.tensor, level) };
        let all = self.positions(access.tensor, level + 1) / above.max(1.0);
        if access.slices.is_empty() {
            return all;
        }
        let format = &self.program.storage(access.tensor).format;
        let modes = &self.program.tensors[access.tensor].modes;
        let map = format.levels()[level].map;
        let whole = self.size(map.map(|mode| modes[mode.index()]), &|var| self.coordinates(var));
        let used = map.map(|mode| access.indices[mode.index()]);
        all * (self.size(used, &|var| self.coordinates(var)) / whole.max(1.0)).min(1.0)
    }

    /// The number of values of a tensor, if known.
    pub(super) fn entries(&self, tensor: TensorId) -> Option<f64> {
        if self.program.storage(tensor).format.is_full() {
            return Some(self.elements(tensor));
        }
        let stored = (self.sizes.stored)(tensor).map(|stored| stored as f64);
        stored.or_else(|| self.computed.get(&tensor).copied())
    }

    /// The number of elements of a tensor, of which it may store only a few.
    pub(super) fn elements(&self, tensor: TensorId) -> f64 {
        let modes = self.program.tensors[tensor].modes.iter();
        modes.map(|&var| self.coordinates(var)).product()
    }

    fn size(&self, map: LevelMap<IndexVar>, of: &dyn Fn(IndexVar) -> f64) -> f64 {
        match map {
            LevelMap::Mode(var) => of(var),
            LevelMap::Div(var, size) => (of(var) / size as f64).ceil(),
            LevelMap::Mod(var, size) => of(var).min(size as f64),
            LevelMap::Diff { plus, minus } => (of(plus) + of(minus) - 1.0).max(0.0),
            LevelMap::Slot(_) => 1.0,
        }
    }
}

/// The expected number of distinct ones among `drawn` random picks of `all`.
pub(super) fn distinct(drawn: f64, all: f64) -> f64 {
    if all <= 0.0 { 0.0 } else { -all * (-drawn / all).exp_m1() }
}
