//! The range of coordinates that a level may have, given the coordinates above it.
//!
//! Levels that store functions of modes (blocks, diagonals, slots) have index variables of their own, and loops may
//! run over these. Coordinates of modes are then computed, and checked to lie inside the tensor.
//!
//! The same rules compute numbers, for tensors in memory, and code, for loops.

use super::LevelMap;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ir::Expr;
use tamis_ir::ir::build::{add, binary, div, int, mul, sub};

/// Numbers, or code that computes them.
pub trait Arithmetic: Clone {
    /// A constant.
    fn constant(x: i64) -> Self;
    /// `self + other`
    fn plus(self, other: Self) -> Self;
    /// `self - other`
    fn minus(self, other: Self) -> Self;
    /// `self * factor`
    fn times(self, factor: u64) -> Self;
    /// `self * other`
    fn by(self, other: Self) -> Self;
    /// `self / divisor` for numbers from 0 on, rounded down.
    fn over(self, divisor: u64) -> Self;
    /// `self / divisor` for a divisor from 1 on, rounded down.
    fn divided(self, divisor: Self) -> Self;
    /// The minimum.
    fn least(self, other: Self) -> Self;
    /// The maximum.
    fn greatest(self, other: Self) -> Self;
}

impl Arithmetic for u64 {
    fn constant(x: i64) -> u64 {
        x as u64
    }
    fn plus(self, other: u64) -> u64 {
        self.saturating_add(other)
    }
    fn minus(self, other: u64) -> u64 {
        self.saturating_sub(other)
    }
    fn times(self, factor: u64) -> u64 {
        self.saturating_mul(factor)
    }
    fn by(self, other: u64) -> u64 {
        self.saturating_mul(other)
    }
    fn over(self, divisor: u64) -> u64 {
        self / divisor
    }
    fn divided(self, divisor: u64) -> u64 {
        self / divisor.max(1)
    }
    fn least(self, other: u64) -> u64 {
        self.min(other)
    }
    fn greatest(self, other: u64) -> u64 {
        self.max(other)
    }
}

impl Arithmetic for i64 {
    fn constant(x: i64) -> i64 {
        x
    }
    fn plus(self, other: i64) -> i64 {
        self.saturating_add(other)
    }
    fn minus(self, other: i64) -> i64 {
        self.saturating_sub(other)
    }
    fn times(self, factor: u64) -> i64 {
        self.saturating_mul(i64::try_from(factor).unwrap_or(i64::MAX))
    }
    fn by(self, other: i64) -> i64 {
        self.saturating_mul(other)
    }
    fn over(self, divisor: u64) -> i64 {
        self / i64::try_from(divisor).unwrap_or(i64::MAX)
    }
    fn divided(self, divisor: i64) -> i64 {
        self / divisor.max(1)
    }
    fn least(self, other: i64) -> i64 {
        self.min(other)
    }
    fn greatest(self, other: i64) -> i64 {
        self.max(other)
    }
}

impl Arithmetic for Expr {
    fn constant(x: i64) -> Expr {
        int(x)
    }
    fn plus(self, other: Expr) -> Expr {
        add(self, other)
    }
    fn minus(self, other: Expr) -> Expr {
        sub(self, other)
    }
    fn times(self, factor: u64) -> Expr {
        mul(self, int(factor as i64))
    }
    fn by(self, other: Expr) -> Expr {
        mul(self, other)
    }
    fn over(self, divisor: u64) -> Expr {
        div(self, int(divisor as i64))
    }
    fn divided(self, divisor: Expr) -> Expr {
        binary(BinaryOp::Div, self, divisor)
    }
    fn least(self, other: Expr) -> Expr {
        binary(BinaryOp::Min, self, other)
    }
    fn greatest(self, other: Expr) -> Expr {
        binary(BinaryOp::Max, self, other)
    }
}

/// The values known when a level is entered, by modes or by the index variables of modes.
pub trait Known<M, A> {
    /// The dimension of a mode.
    fn dimension(&mut self, mode: M) -> A;
    /// The coordinate of a mode.
    fn mode(&mut self, mode: M) -> Option<A>;
    /// The coordinate of a function of modes.
    fn level(&mut self, map: LevelMap<M>) -> Option<A>;
    /// The known diagonals of a mode.
    fn diagonals(&mut self, mode: M) -> Vec<LevelMap<M>>;
    /// The number of slots of the level.
    fn slots(&mut self) -> A;
}

/// The range of coordinates that a level may have: the first, and the end, exclusive.
pub fn open<M: Copy + PartialEq, A: Arithmetic>(
    map: LevelMap<M>,
    known: &mut dyn Known<M, A>,
) -> (A, A) {
    let zero = || A::constant(0);
    match map {
        LevelMap::Mode(m) => {
            let mut range = (zero(), known.dimension(m));
            if let Some(x) = known.mode(m) {
                return (x.clone(), x.plus(A::constant(1)));
            }
            for diagonal in known.diagonals(m) {
                let (LevelMap::Diff { plus, minus }, Some(d)) = (diagonal, known.level(diagonal))
                else {
                    continue;
                };
                let (lo, hi) = if m == minus {
                    (zero().minus(d.clone()), known.dimension(plus).minus(d))
                } else {
                    (d.clone(), known.dimension(minus).plus(d))
                };
                range = (range.0.greatest(lo), range.1.least(hi));
            }
            range
        }
        LevelMap::Div(m, size) => {
            let dimension = known.dimension(m);
            let rest = match known.level(LevelMap::Mod(m, size)) {
                Some(place) => dimension.minus(place),
                None => dimension,
            };
            (zero(), rest.plus(A::constant(size as i64 - 1)).over(size))
        }
        LevelMap::Mod(m, size) => {
            let whole = A::constant(size as i64);
            match known.level(LevelMap::Div(m, size)) {
                Some(block) => (zero(), known.dimension(m).minus(block.times(size)).least(whole)),
                None => (zero(), whole),
            }
        }
        LevelMap::Diff { plus, minus } => {
            let (one, dims) = (A::constant(1), (known.dimension(plus), known.dimension(minus)));
            match (known.mode(plus), known.mode(minus)) {
                (Some(j), Some(i)) => (j.clone().minus(i.clone()), j.minus(i).plus(one)),
                (None, Some(i)) => (zero().minus(i.clone()), dims.0.minus(i)),
                (Some(j), None) => (j.clone().plus(one.clone()).minus(dims.1), j.plus(one)),
                (None, None) => (one.minus(dims.1), dims.0),
            }
        }
        LevelMap::Slot(_) => (zero(), known.slots()),
    }
}

/// The number of coordinates that a level may have below any parent, and the lowest of them.
pub fn extent<M: Copy + PartialEq, A: Arithmetic>(
    map: LevelMap<M>,
    dimension: &mut dyn FnMut(M) -> A,
    slots: &mut dyn FnMut() -> A,
) -> (A, A) {
    let zero = A::constant(0);
    match map {
        LevelMap::Mode(m) => (zero, dimension(m)),
        LevelMap::Div(m, size) => {
            (zero, dimension(m).plus(A::constant(size as i64 - 1)).over(size))
        }
        LevelMap::Mod(_, size) => (zero, A::constant(size as i64)),
        LevelMap::Diff { plus, minus } => {
            let (plus, minus) = (dimension(plus), dimension(minus));
            let least = A::constant(1).minus(minus.clone());
            (least, plus.plus(minus).minus(A::constant(1)).greatest(zero))
        }
        LevelMap::Slot(_) => (zero, slots()),
    }
}
