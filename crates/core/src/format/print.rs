//! Formats to text: a name if there is one, otherwise the arrow form; parsing the text gives the same format.

use super::{Format, FormatSpec, LevelMap, Storage};
use std::fmt::{self, Display};
use tamis_ir::datatype::{DataType, IndexWidth};
use tamis_ir::ids::{Id, Mode};

/// `csr`, or `(i, j) -> (j: dense, i: compressed)`.
impl Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().unwrap_or_else(|| self.arrow()))
    }
}

impl Format {
    /// The arrow form, which tells the order, whether or not the format has a name.
    ///
    /// ```
    /// let spec = tamis_core::format::parse("dense", Some(2)).unwrap();
    /// assert_eq!(spec.format.arrow(), "(i, j) -> (i: dense, j: dense)");
    /// ```
    pub fn arrow(&self) -> String {
        let modes: Vec<String> = (0..self.order()).map(|m| mode_name(Mode::new(m))).collect();
        let levels: Vec<String> =
            self.levels().iter().map(|l| format!("{}: {}", l.map, l.kind)).collect();
        format!("({}) -> ({})", modes.join(", "), levels.join(", "))
    }
}

/// `i`, `i/4`, `i%4`, `j-i`, `#i`.
impl Display for LevelMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.map(mode_name) {
            LevelMap::Mode(i) => f.write_str(&i),
            LevelMap::Div(i, size) => write!(f, "{i}/{size}"),
            LevelMap::Mod(i, size) => write!(f, "{i}%{size}"),
            LevelMap::Diff { plus, minus } => write!(f, "{plus}-{minus}"),
            LevelMap::Slot(i) => write!(f, "#{i}"),
        }
    }
}

/// The format, and in braces the types and widths that the user wrote.
impl Display for FormatSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = vec![];
        parts.extend(self.datatype.map(|t| t.to_string()));
        parts.extend(self.fill.map(|fill| format!("fill: {fill}")));
        parts.extend(self.pos.map(|width| format!("pos: {}", width.datatype())));
        parts.extend(self.crd.map(|width| format!("crd: {}", width.datatype())));
        write!(f, "{}", self.format)?;
        match parts.is_empty() {
            true => Ok(()),
            false => write!(f, "{{{}}}", parts.join(", ")),
        }
    }
}

/// The format, and in braces the properties other than `f64`, fill 0 and 32-bit widths.
impl Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_spec().fmt(f)
    }
}

impl Storage {
    /// The format with those types and widths that differ from the defaults.
    pub fn to_spec(&self) -> FormatSpec {
        let usual = Storage::of(self.format.clone(), self.datatype);
        FormatSpec {
            format: self.format.clone(),
            datatype: (self.datatype != DataType::F64).then_some(self.datatype),
            fill: (self.fill != usual.fill).then_some(self.fill),
            pos: (self.pos != IndexWidth::I32).then_some(self.pos),
            crd: (self.crd != IndexWidth::I32).then_some(self.crd),
        }
    }
}

/// `i`, `j`, `k`, `l`, `m`, `n`, then `i6`, `i7` and so on.
pub(super) fn mode_name(mode: Mode) -> String {
    let letter = ["i", "j", "k", "l", "m", "n"].get(mode.index());
    letter.map_or_else(|| format!("i{}", mode.index()), |&name| name.to_owned())
}
