//! Code for the numbers of positions of a tensor's levels, and for the lengths of its arrays.

use super::merge::Merger;
use super::{Piece, pieces};
use crate::format::open::extent;
use crate::format::{LevelMap, Storage};
use crate::level::{Crd, LevelArrays, Part};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{IndexWidth, Register, Scalar};
use tamis_ir::ids::{Id, Level, Mode, TensorId};
use tamis_ir::ir::build::{add, assign, binary, int, mul, sub, when};
use tamis_ir::ir::{Expr, Status, Stmt, Type};

/// How many numbers of the imperative form make up a value.
pub(super) fn parts(storage: &Storage) -> i64 {
    if storage.datatype.is_complex() { 2 } else { 1 }
}

impl Merger<'_> {
    /// The levels of a tensor, for level functions.
    fn levels(&mut self, tensor: TensorId) -> Vec<LevelArrays> {
        let program = &self.compiled.program;
        let (storage, modes) = (&program.tensors[tensor].storage, &program.tensors[tensor].modes);
        let dims: Vec<Expr> = modes.iter().map(|&var| self.dimension(var)).collect();
        let mut levels: Vec<LevelArrays> = vec![];
        for (k, spec) in storage.format.levels().iter().enumerate() {
            let mut array = |k: usize, part: Part| {
                spec.has(part).then(|| self.array(tensor, Piece::Level(Level::new(k), part)))
            };
            let crd = match storage.format.interleaved(k) {
                Some((head, shared)) => array(head, Part::Crd).map(|array| shared.of(array)),
                None => array(k, Part::Crd).map(|array| Crd { array, stride: 1, offset: 0 }),
            };
            let mut level = LevelArrays {
                properties: spec.kind.properties(),
                least: int(0),
                size: int(0),
                pos: array(k, Part::Pos),
                crd,
                width: array(k, Part::Width),
                mask: array(k, Part::Mask),
                table: None,
            };
            let mut dimension = |m: Mode| dims[m.index()].clone();
            let mut slots = || level.width();
            let (least, size) = extent::<Mode, Expr>(spec.map, &mut dimension, &mut slots);
            (level.least, level.size) = (least, size);
            levels.push(level);
        }
        levels
    }

    /// The number of positions of each level of a tensor, computed on first use, when its arrays are complete.
    pub(super) fn positions(&mut self, tensor: TensorId) -> Vec<Expr> {
        if let Some(known) = self.positions.get(&tensor) {
            return known.clone();
        }
        let declared = &self.compiled.program.tensors[tensor];
        let name = declared.name.clone();
        let format = declared.storage.format.clone();
        let levels = self.levels(tensor);
        let (mut counts, mut parents) = (vec![], int(1));
        for (k, (spec, level)) in format.levels().iter().zip(&levels).enumerate() {
            let count = self.var(&format!("{name}{}_positions", k + 1), Type::INDEX);
            match spec.kind.size(level, parents.clone()) {
                Some(size) => self.body.push(assign(count, size)),
                None => {
                    let last = sub(parents.clone(), int(1));
                    let bounds = spec.kind.pos_bounds(level, last);
                    let end = bounds.map_or_else(|| int(0), |bounds| bounds.hi);
                    self.body.push(assign(count, int(0)));
                    let any = binary(BinaryOp::Gt, parents, int(0));
                    self.body.push(when(any, vec![assign(count, end)]));
                }
            }
            parents = Expr::Var(count);
            counts.push(parents.clone());
        }
        self.positions.insert(tensor, counts.clone());
        counts
    }

    /// The number of elements in use in an array.
    pub(super) fn length(&mut self, tensor: TensorId, piece: Piece) -> Expr {
        let counts = self.positions(tensor);
        let storage = &self.compiled.program.tensors[tensor].storage;
        let below = |k: usize| if k == 0 { int(1) } else { counts[k - 1].clone() };
        match piece {
            Piece::Vals => mul(below(counts.len()), int(parts(storage))),
            Piece::Level(level, part) => {
                let k = level.index();
                let kind = storage.format.levels()[k].kind;
                let length = kind.length_code(part, below(k), counts[k].clone());
                let shared = storage.format.interleaved(k).filter(|_| part == Part::Crd);
                mul(length, int(shared.map_or(1, |(_, crd)| crd.stride)))
            }
        }
    }

    /// Refuses a tensor to compute if its levels without coordinates are together larger than memory, or if its
    /// coordinates do not fit its arrays.
    pub(super) fn check_extents(&mut self, tensor: TensorId) {
        let declared = &self.compiled.program.tensors[tensor];
        let (storage, modes) = (declared.storage.clone(), declared.modes.clone());
        let dims: Vec<Expr> = modes.iter().map(|&var| self.dimension(var)).collect();
        let wide = |e: Expr| Expr::Convert(Register::F64, Box::new(e));
        let float = |x: f64| Expr::Const(Scalar::F64(x));
        let mut block: Option<Expr> = None;
        for spec in storage.format.levels() {
            let is_slot = matches!(spec.map, LevelMap::Slot(_));
            let mut dimension = |m: Mode| dims[m.index()].clone();
            let mut slots = || int(1);
            let (least, size) = extent::<Mode, Expr>(spec.map, &mut dimension, &mut slots);
            // A level with one coordinate for each position above adds no positions.
            if !spec.has(Part::Crd) && spec.kind.properties().branchless {
                continue;
            }
            if !spec.has(Part::Crd) {
                let size = wide(size);
                block = Some(match block {
                    Some(block) => binary(BinaryOp::Mul, block, size),
                    None => size,
                });
                continue;
            }
            self.refuse_larger(block.take(), float((1u64 << 58) as f64));
            if storage.crd == IndexWidth::I32 && !is_slot {
                let last = sub(add(least.clone(), size), int(1));
                let largest = binary(BinaryOp::Max, last, sub(int(0), least));
                let beyond = binary(BinaryOp::Gt, largest, int(i64::from(i32::MAX)));
                self.body.push(when(beyond, vec![Stmt::Fail(Status::Dimensions)]));
            }
        }
        self.refuse_larger(block, float((1u64 << 58) as f64));
    }

    fn refuse_larger(&mut self, size: Option<Expr>, most: Expr) {
        if let Some(size) = size {
            let beyond = binary(BinaryOp::Gt, size, most);
            self.body.push(when(beyond, vec![Stmt::Fail(Status::OutOfMemory)]));
        }
    }

    /// Returns the dimensions of a result and the lengths of its arrays to the caller.
    pub(super) fn say_sizes(&mut self, k: usize) {
        let tensor = self.results[k].id;
        let sizes = self.sizes_of(k);
        let program = &self.compiled.program;
        let modes = program.tensors[tensor].modes.clone();
        let mut all: Vec<Expr> = modes.iter().map(|&var| self.dimension(var)).collect();
        let storage = program.tensors[tensor].storage.clone();
        for piece in pieces(&storage) {
            all.push(self.length(tensor, piece));
        }
        for (place, size) in all.into_iter().enumerate() {
            self.body.push(Stmt::Store { array: sizes, index: int(place as i64), value: size });
        }
    }
}
