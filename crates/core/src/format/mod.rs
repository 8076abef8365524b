//! Formats: where a tensor lives, as a map from modes to levels and a level format per level.
//!
//! `(i, j) -> (i: dense, j: compressed)` is CSR. [`parse()`] reads names (`csr`), the arrow form
//! and taco's letters (`ds:1,0`); what prints is a name or the arrow form.

mod named;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use named::{NAMED, NamedFormat};
pub use parse::parse;

use crate::datatype::{DataType, IndexWidth, Register, Scalar};
use crate::diagnostic::{Code, Diagnostic};
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

impl FormatSpec {
    /// A format about whose element types nothing was written.
    pub fn of(format: Format) -> FormatSpec {
        FormatSpec { format, datatype: None, fill: None, pos: None, crd: None }
    }

    /// The storage, with what was not written taken from here: the data type, fill 0 and 32-bit
    /// positions and coordinates. The fill value has to be a value of the data type.
    pub fn resolve(&self, datatype: DataType) -> Result<Storage, Diagnostic> {
        let usual = Storage::of(self.format.clone(), self.datatype.unwrap_or(datatype));
        let fill = match self.fill {
            Some(fill) => fill_value(fill, usual.datatype)?,
            None => usual.fill,
        };
        let (pos, crd) = (self.pos.unwrap_or(usual.pos), self.crd.unwrap_or(usual.crd));
        Ok(Storage { fill, pos, crd, ..usual })
    }
}

/// A constant in the register type of a data type, if an array of that type can hold it.
fn fill_value(fill: Scalar, datatype: DataType) -> Result<Scalar, Diagnostic> {
    let value = fill.convert(datatype.register());
    let held = match datatype {
        DataType::Bool => matches!(value, Scalar::I64(0 | 1)),
        DataType::I32 => i32::try_from(value.as_i64()).is_ok(),
        DataType::F32 => value.as_f64().is_finite() || !fill.as_f64().is_finite(),
        DataType::I64 | DataType::F64 => true,
    };
    // The second condition: 2^63 as a float saturates to an integer that converts back to it.
    let exact = datatype.is_float()
        || fill.register() == Register::I64
        || (value.as_f64() == fill.as_f64() && value != Scalar::I64(i64::MAX));
    if held && exact {
        return Ok(value);
    }
    let message = format!("the fill value {fill} is not a value of {datatype}");
    let help = "choose a value that fits, or a wider data type: {f64}";
    Err(Diagnostic::new(Code::TypeMismatch, message).help(help))
}
