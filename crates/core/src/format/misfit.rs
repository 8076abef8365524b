//! Why a list of levels is no format.

use super::map::{LevelMap, recoveries};
use super::{LevelSpec, chain_head};
use crate::level::RANGE;
use tamis_ir::ids::{Id, Mode};

/// The reason why levels are no format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// No level stores the mode, or only a part of it.
    Missing(Mode),
    /// A level stores the blocks of a mode, or the offsets in them, and no level stores the other half.
    Half {
        /// The level that stores one half.
        level: usize,
        /// The mode.
        mode: Mode,
        /// The size of the blocks.
        size: u64,
        /// Whether the blocks are missing, not the offsets.
        blocks: bool,
    },
    /// A level stores a mode that other levels already determine.
    Twice(usize, Mode),
    /// A level names a mode that the tensor does not have.
    NoSuchMode(usize),
    /// Blocks of size 0.
    EmptyBlock(usize),
    /// A range without a diagonal above it.
    RangeWithoutDiagonal(usize),
    /// An offset whose coordinate does not follow from levels above.
    OffsetWithoutDiagonal(usize),
    /// A singleton without a level above.
    SingletonFirst(usize),
    /// Slots that are not dense, or without a padded singleton below.
    Slots(usize),
    /// Padded diagonals: -1 is a diagonal, and would also mark positions without a coordinate.
    PaddedDiagonal(usize),
    /// Interleaved coordinates without a chain of singletons below.
    InterleavedAlone(usize),
    /// A level below a level with one position for each coordinate, in another order.
    BelowUnordered(usize),
}

impl Misfit {
    /// The reason, and how to fix it.
    pub fn message(self, mode_name: impl Fn(Mode) -> String) -> (String, String) {
        let (reason, help) = match self {
            Misfit::Missing(m) => {
                let name = mode_name(m);
                (
                    format!("no level stores the mode {name}"),
                    format!("add a level, such as {name}: compressed"),
                )
            }
            Misfit::Half { mode, size, blocks, .. } => {
                let (what, sign) = if blocks { ("block", '/') } else { ("offset in a block", '%') };
                let name = mode_name(mode);
                (
                    format!("no level stores the {what} {name}{sign}{size}"),
                    format!("add a level, such as {name}{sign}{size}: dense"),
                )
            }
            Misfit::Twice(_, m) => (
                format!("the mode {} is stored by two levels", mode_name(m)),
                "each mode is stored by one level, or by its block i/4 and its offset i%4, or by \
                 a diagonal j-i beside the other mode"
                    .to_owned(),
            ),
            Misfit::NoSuchMode(_) => {
                ("a level stores a mode that the tensor does not have".into(), "name it".into())
            }
            Misfit::EmptyBlock(_) => {
                ("blocks have at least one coordinate".into(), "write i/4 and i%4".into())
            }
            Misfit::RangeWithoutDiagonal(_) => (
                "a range level comes below the diagonal that bounds it".into(),
                "write (i, j) -> (j-i: compressed, i: range), or dense instead of range".into(),
            ),
            Misfit::OffsetWithoutDiagonal(_) => (
                "an offset level stores a mode that follows from the levels above".into(),
                "write (i, j) -> (j-i: compressed, i: range, j: offset)".into(),
            ),
            Misfit::SingletonFirst(_) => (
                "a singleton level has a coordinate for each position above, and is first".into(),
                "begin with compressed(nonunique)".into(),
            ),
            Misfit::Slots(_) => (
                "slots are a dense level with a padded singleton below".into(),
                "write (i, j) -> (#i: dense, i: dense, j: singleton(padded))".into(),
            ),
            Misfit::PaddedDiagonal(_) => (
                "-1 marks a position without a coordinate, but is a diagonal".into(),
                "store a mode in the singleton, or list it: compressed(nonunique)".into(),
            ),
            Misfit::InterleavedAlone(_) => (
                "coordinates alternate only with those of singleton levels below".into(),
                "write (i, j) -> (i: compressed(nonunique, aos), j: singleton)".into(),
            ),
            Misfit::BelowUnordered(_) => (
                "positions of the level above are in another order than its coordinates".into(),
                "make the level above the last one".into(),
            ),
        };
        (reason, help)
    }

    /// The level that the message is about.
    pub fn level(self) -> Option<usize> {
        match self {
            Misfit::Missing(_) => None,
            Misfit::Half { level: k, .. }
            | Misfit::Twice(k, _)
            | Misfit::NoSuchMode(k)
            | Misfit::EmptyBlock(k)
            | Misfit::RangeWithoutDiagonal(k)
            | Misfit::OffsetWithoutDiagonal(k)
            | Misfit::SingletonFirst(k)
            | Misfit::Slots(k)
            | Misfit::PaddedDiagonal(k)
            | Misfit::InterleavedAlone(k)
            | Misfit::BelowUnordered(k) => Some(k),
        }
    }
}

/// Checks that levels are a format for tensors of an order.
pub(super) fn check(levels: &[LevelSpec], order: usize) -> Result<(), Misfit> {
    for (k, level) in levels.iter().enumerate() {
        level_check(levels, k, level, order)?;
        // Positions of levels below are in the order of this level's positions.
        let p = level.kind.properties();
        let is_computed = p.full && !p.branchless && level.kind.parts().is_empty();
        if is_computed && !p.ordered && k + 1 < levels.len() {
            return Err(Misfit::BelowUnordered(k + 1));
        }
    }
    let Err(mode) = recoveries(levels, order) else { return Ok(()) };
    if let Some(half) = (0..levels.len()).find_map(|k| half(levels, k)) {
        return Err(half);
    }
    let uses = |l: &LevelSpec| l.map.modes().contains(&mode);
    let stores = levels.iter().filter(|l| uses(l)).count();
    let last = levels.iter().rposition(uses);
    // A mode without its second half is missing; a mode with more than two halves is stored twice.
    match last {
        Some(last) if stores > 1 => Err(Misfit::Twice(last, mode)),
        _ => Err(Misfit::Missing(mode)),
    }
}

/// The error if a level stores one half of a mode and no level stores the other.
fn half(levels: &[LevelSpec], k: usize) -> Option<Misfit> {
    let (other, mode, size, blocks) = match levels[k].map {
        LevelMap::Div(mode, size) => (LevelMap::Mod(mode, size), mode, size, false),
        LevelMap::Mod(mode, size) => (LevelMap::Div(mode, size), mode, size, true),
        _ => return None,
    };
    let missing = levels.iter().all(|l| l.map != other);
    missing.then_some(Misfit::Half { level: k, mode, size, blocks })
}

fn level_check(
    levels: &[LevelSpec],
    k: usize,
    level: &LevelSpec,
    order: usize,
) -> Result<(), Misfit> {
    let p = level.kind.properties();
    if level.map.modes().iter().any(|m| m.index() >= order) {
        return Err(Misfit::NoSuchMode(k));
    }
    if matches!(level.map, LevelMap::Div(_, 0) | LevelMap::Mod(_, 0)) {
        return Err(Misfit::EmptyBlock(k));
    }
    let diagonal_above = |m: Mode| {
        let holds = |l: &LevelSpec| matches!(l.map, LevelMap::Diff { plus, minus } if plus == m || minus == m);
        levels[..k].iter().any(holds)
    };
    let follows = p.full && p.branchless;
    if let LevelMap::Mode(m) = level.map {
        if level.kind == RANGE && !diagonal_above(m) {
            return Err(Misfit::RangeWithoutDiagonal(k));
        }
        if follows && !diagonal_above(m) {
            return Err(Misfit::OffsetWithoutDiagonal(k));
        }
    } else if level.kind == RANGE || follows {
        return Err(match follows {
            true => Misfit::OffsetWithoutDiagonal(k),
            false => Misfit::RangeWithoutDiagonal(k),
        });
    }
    if p.branchless && !p.full && k == 0 {
        return Err(Misfit::SingletonFirst(k));
    }
    let diagonal = matches!(level.map, LevelMap::Diff { .. });
    if diagonal && p.branchless && !p.full && chain_head(levels, k) == k {
        return Err(Misfit::PaddedDiagonal(k));
    }
    let padded_below = levels[k + 1..]
        .iter()
        .any(|l| l.kind.properties().branchless && !l.kind.properties().compact);
    if matches!(level.map, LevelMap::Slot(_)) && !(p.full && !p.branchless && padded_below) {
        return Err(Misfit::Slots(k));
    }
    let below = levels.get(k + 1).map(|l| l.kind.properties());
    let singleton_below = below.is_some_and(|b| b.branchless && !b.full);
    if p.interleaved && !singleton_below {
        return Err(Misfit::InterleavedAlone(k));
    }
    Ok(())
}
