//! Which coordinates a level stores: those of a mode, or a function of modes.
//!
//! ```text
//! bcsr(4,4)   (i, j) -> (i/4: dense, j/4: compressed, i%4: dense, j%4: dense)
//! dia         (i, j) -> (j-i: compressed, i: range)
//! ell         (i, j) -> (#i: dense, i: dense, j: singleton(padded))
//! ```
//!
//! Users write `A(i,j)` whatever the map: coordinates of levels and coordinates of modes determine each other, except
//! that a slot, which numbers the entries of a coordinate, determines nothing.

use super::LevelSpec;
use tamis_ir::ids::{Id, Mode};

/// The coordinate of one level as a function of the coordinates of modes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LevelMap<M = Mode> {
    /// `i`
    Mode(M),
    /// `i/b`: the block.
    Div(M, u64),
    /// `i%b`: the offset in the block.
    Mod(M, u64),
    /// `j-i`: the diagonal.
    Diff {
        /// `j`
        plus: M,
        /// `i`
        minus: M,
    },
    /// `#i`: the number of an entry among those of a coordinate.
    Slot(M),
}

impl<M: Copy> LevelMap<M> {
    /// Whether one entry may store elements for many coordinates: one long row gives slots to all rows, one entry a
    /// whole diagonal.
    pub fn spreads(self) -> bool {
        matches!(self, LevelMap::Slot(_) | LevelMap::Diff { .. })
    }

    /// The same function of other modes, or of variables that stand for modes.
    pub fn map<N>(self, mut f: impl FnMut(M) -> N) -> LevelMap<N> {
        match self {
            LevelMap::Mode(m) => LevelMap::Mode(f(m)),
            LevelMap::Div(m, b) => LevelMap::Div(f(m), b),
            LevelMap::Mod(m, b) => LevelMap::Mod(f(m), b),
            LevelMap::Diff { plus, minus } => LevelMap::Diff { plus: f(plus), minus: f(minus) },
            LevelMap::Slot(m) => LevelMap::Slot(f(m)),
        }
    }

    /// The modes that the coordinate depends on.
    pub fn modes(self) -> Vec<M> {
        match self {
            LevelMap::Mode(m) | LevelMap::Div(m, _) | LevelMap::Mod(m, _) => vec![m],
            LevelMap::Diff { plus, minus } => vec![plus, minus],
            LevelMap::Slot(_) => vec![],
        }
    }
}

/// The formula of a mode's coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// The coordinate of a level.
    Level(usize),
    /// `block * size + place`
    Block {
        /// The level of the block.
        block: usize,
        /// The level of the offset.
        place: usize,
        /// The size of the block.
        size: u64,
    },
    /// `diagonal + minus`
    Plus {
        /// The level of the diagonal.
        diagonal: usize,
        /// The mode that the diagonal subtracts.
        minus: Mode,
    },
    /// `plus - diagonal`
    Minus {
        /// The level of the diagonal.
        diagonal: usize,
        /// The mode that the diagonal subtracts from.
        plus: Mode,
    },
}

/// The formula of each mode's coordinate, in an order in which they can be computed; the error is a mode that levels
/// do not determine, or store more than once.
pub(super) fn recoveries(
    levels: &[LevelSpec],
    order: usize,
) -> Result<Vec<(Mode, Recovery)>, Mode> {
    let mut known: Vec<(Mode, Recovery)> = vec![];
    let mut used = vec![false; levels.len()];
    loop {
        let next = (0..levels.len()).find_map(|k| {
            (!used[k]).then(|| step(levels, k, &used, &known).map(|found| (k, found)))?
        });
        let Some((k, (mode, recovery))) = next else { break };
        used[k] = true;
        if let Recovery::Block { block, place, .. } = recovery {
            (used[block], used[place]) = (true, true);
        }
        if known.iter().any(|(m, _)| *m == mode) {
            let follows = levels[k].kind.properties().full
                && levels[k].kind.properties().branchless
                && matches!(recovery, Recovery::Level(_));
            if !follows {
                return Err(mode);
            }
            continue;
        }
        known.push((mode, recovery));
    }
    let spare = (0..levels.len())
        .find(|&k| !used[k] && !matches!(levels[k].map, LevelMap::Slot(_)))
        .and_then(|k| levels[k].map.modes().first().copied());
    let missing = (0..order).map(Mode::new).find(|m| known.iter().all(|(k, _)| k != m));
    match spare.or(missing) {
        Some(mode) => Err(mode),
        None => Ok(known),
    }
}

/// The mode that a level determines together with earlier levels, if it does.
fn step(
    levels: &[LevelSpec],
    k: usize,
    used: &[bool],
    known: &[(Mode, Recovery)],
) -> Option<(Mode, Recovery)> {
    let is_known = |mode: Mode| known.iter().any(|(m, _)| *m == mode);
    match levels[k].map {
        LevelMap::Mode(mode) => {
            // A level whose coordinate follows from other levels determines nothing more.
            let follows =
                levels[k].kind.properties().full && levels[k].kind.properties().branchless;
            (!follows || is_known(mode)).then_some((mode, Recovery::Level(k)))
        }
        LevelMap::Div(mode, size) => {
            let other = |l: &LevelSpec| l.map == LevelMap::Mod(mode, size);
            let place = (0..levels.len()).find(|&p| !used[p] && other(&levels[p]))?;
            Some((mode, Recovery::Block { block: k, place, size }))
        }
        LevelMap::Mod(..) | LevelMap::Slot(_) => None,
        LevelMap::Diff { plus, minus } => match (is_known(plus), is_known(minus)) {
            (false, true) => Some((plus, Recovery::Plus { diagonal: k, minus })),
            (true, false) => Some((minus, Recovery::Minus { diagonal: k, plus })),
            (true, true) | (false, false) => None,
        },
    }
}
