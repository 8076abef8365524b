//! Formats: where a tensor lives, as a map from modes to levels and a level format per level.
//!
//! `(i, j) -> (i: dense, j: compressed)` is CSR. [`parse`] reads names (`csr`), the arrow form
//! and taco's letters (`ds:1,0`); what prints is a name or the arrow form.

use crate::datatype::{DataType, IndexWidth, Scalar};
use crate::ids::{Id, Level, Mode};
use crate::level::LevelKind;

/// The levels of a tensor of some order, outermost first. Each mode is stored by one level.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    levels: Vec<LevelSpec>,
}

/// One level: which coordinates it stores, and how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LevelSpec {
    /// The mode whose coordinates the level stores.
    pub mode: Mode,
    /// The level format.
    pub kind: LevelKind,
}

/// A format with its element types: everything a kernel is specialised for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Storage {
    /// The levels.
    pub format: Format,
    /// The type of the values.
    pub datatype: DataType,
    /// The value of everything not stored, of the data type's register type.
    pub fill: Scalar,
    /// The width of positions.
    pub pos: IndexWidth,
    /// The width of coordinates.
    pub crd: IndexWidth,
}

/// What a user wrote of a format; the braces' parts are optional.
#[derive(Clone, PartialEq, Debug)]
pub struct FormatSpec {
    /// The levels.
    pub format: Format,
    /// The type of the values.
    pub datatype: Option<DataType>,
    /// The fill value, as an `f64` or `i64` constant.
    pub fill: Option<Scalar>,
    /// The width of positions.
    pub pos: Option<IndexWidth>,
    /// The width of coordinates.
    pub crd: Option<IndexWidth>,
}

impl Format {
    /// A format of these levels; `None` unless the modes are a permutation.
    pub fn new(levels: Vec<LevelSpec>) -> Option<Format> {
        let mut modes: Vec<usize> = levels.iter().map(|l| l.mode.index()).collect();
        modes.sort_unstable();
        let permutation = modes.iter().enumerate().all(|(k, &m)| k == m);
        permutation.then_some(Format { levels })
    }

    /// A format whose levels store the modes in order.
    pub fn in_order(kinds: impl IntoIterator<Item = LevelKind>) -> Format {
        let spec = |(k, kind)| LevelSpec { mode: Mode::new(k), kind };
        Format { levels: kinds.into_iter().enumerate().map(spec).collect() }
    }

    /// The number of modes.
    pub fn order(&self) -> usize {
        self.levels.len()
    }

    /// The levels, outermost first.
    pub fn levels(&self) -> &[LevelSpec] {
        &self.levels
    }

    /// The level that stores a mode.
    pub fn level_of(&self, mode: Mode) -> Level {
        let at = self.levels.iter().position(|l| l.mode == mode);
        Level::new(at.expect("a format stores each of its modes"))
    }

    /// Whether every coordinate has a place, so that the values are a dense array.
    pub fn is_full(&self) -> bool {
        self.levels.iter().all(|l| l.kind.properties().full)
    }
}

impl Storage {
    /// A format with 64-bit values of fill 0 and 32-bit positions and coordinates.
    pub fn of(format: Format, datatype: DataType) -> Storage {
        let fill = Scalar::I64(0).convert(datatype.register());
        Storage { format, datatype, fill, pos: IndexWidth::I32, crd: IndexWidth::I32 }
    }
}
