//! Formats: how a tensor is stored, as a map from modes to levels and a level format for each level.
//!
//! `(i, j) -> (i: dense, j: compressed)` is CSR, `(i, j) -> (j-i: compressed, i: range)` is DIA:
//! levels store modes or functions of modes, see [`LevelMap`]. [`parse()`] reads names (`csr`), the arrow form
//! and taco's letters (`ds:1,0`). Formats print as a name or in the arrow form.

mod braces;
mod map;
mod misfit;
mod named;
pub mod open;
mod parse;
mod print;
#[cfg(test)]
mod tests;
mod walk;

pub use map::{LevelMap, Recovery};
pub use misfit::Misfit;
pub use named::{FormatArgument, NAMED, NamedFormat};
pub use parse::parse;
pub(crate) use parse::parse_of_workspace;
pub use walk::Walk;

use crate::level::{COMPRESSED, Crd, DENSE, InsertEdges, LevelKind, Part, Property, Scratch};
use std::sync::Arc;
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, Mode};

/// The levels of a tensor of some order, outermost first. Together they store each mode once. Clones share the levels,
/// since every tensor holds its format.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    levels: Arc<[LevelSpec]>,
    order: usize,
}

/// One level: which coordinates it stores, and how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LevelSpec {
    /// The coordinate that the level stores.
    pub map: LevelMap,
    /// The level format.
    pub kind: LevelKind,
}

impl LevelSpec {
    /// A level whose coordinates are those of a mode.
    pub fn of(mode: Mode, kind: LevelKind) -> LevelSpec {
        LevelSpec { map: LevelMap::Mode(mode), kind }
    }

    /// Whether the level's coordinates are those of a mode, not blocks, diagonals or slots.
    pub fn stores_mode(&self) -> bool {
        matches!(self.map, LevelMap::Mode(_))
    }

    /// Whether the level has the array of this part; slot levels always have a width.
    pub fn has(&self, part: Part) -> bool {
        let slots = part == Part::Width && matches!(self.map, LevelMap::Slot(_));
        slots || self.kind.parts().contains(&part)
    }

    /// Whether the entries decide how many positions a parent has, for all parents together or for each one.
    pub fn has_width(&self) -> bool {
        self.has(Part::Width) || self.insert_edges().is_some()
    }

    /// The level functions of a level where each parent has a width of its own.
    pub fn insert_edges(&self) -> Option<&'static dyn InsertEdges> {
        self.kind.format().insert()?.edges()
    }
}

/// The largest order of a tensor.
pub const MAX_ORDER: usize = 64;

/// A format with its element types: all properties of a tensor that a kernel is specialised for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Storage {
    /// The levels.
    pub format: Format,
    /// The type of the values.
    pub datatype: DataType,
    /// The fill value, of the data type's register type.
    pub fill: Scalar,
    /// The width of positions.
    pub pos: IndexWidth,
    /// The width of coordinates.
    pub crd: IndexWidth,
}

/// A format as a user wrote it; the parts in braces are optional.
#[derive(Clone, PartialEq, Debug)]
pub struct FormatSpec {
    /// The levels.
    pub format: Format,
    /// The type of the values.
    pub datatype: Option<DataType>,
    /// The fill value, as an `f64`, `i64`, `u64` or `c128` constant.
    pub fill: Option<Scalar>,
    /// The width of positions.
    pub pos: Option<IndexWidth>,
    /// The width of coordinates.
    pub crd: Option<IndexWidth>,
}

impl Format {
    /// A format with these levels for tensors of an order; the error says which level or mode is wrong and why. Levels
    /// of a chain are nonunique but for the last, whatever their text says: the next level has one coordinate for each
    /// position. A branchless level outside of a chain is unique, unless there are slots above.
    pub fn new(mut levels: Vec<LevelSpec>, order: usize) -> Result<Format, Misfit> {
        misfit::check(&levels, order)?;
        for k in 0..levels.len() {
            // Slots of a row may have the same coordinate.
            let slots = levels[..k].iter().any(|l| matches!(l.map, LevelMap::Slot(_)));
            let is_alone = levels[k].kind.properties().branchless && chain_head(&levels, k) == k;
            if is_alone && !slots {
                levels[k].kind = levels[k].kind.unique();
            }
        }
        let format = Format { levels: levels.into(), order };
        let repeated = |(k, level): (usize, &LevelSpec)| match level.kind.with(Property::Nonunique)
        {
            Some(kind) if format.chain_goes_on(k) => LevelSpec { kind, ..*level },
            _ => *level,
        };
        Ok(Format { levels: format.levels.iter().enumerate().map(repeated).collect(), order })
    }

    /// A format whose levels store the modes in order.
    pub fn in_order(kinds: impl IntoIterator<Item = LevelKind>) -> Format {
        let spec = |(k, kind)| LevelSpec::of(Mode::new(k), kind);
        let levels: Arc<[LevelSpec]> = kinds.into_iter().enumerate().map(spec).collect();
        Format { order: levels.len(), levels }
    }

    /// The format that reads the same arrays as the tensor with permuted modes: mode `k` is `modes[k]` of this format.
    /// Gives csc for csr.
    pub fn permuted(&self, modes: &[Mode]) -> Result<Format, Misfit> {
        let place = |m: Mode| modes.iter().position(|&of| of == m).map_or(m, Mode::new);
        let level = |l: &LevelSpec| LevelSpec { map: l.map.map(place), ..*l };
        Format::new(self.levels.iter().map(level).collect(), self.order)
    }

    /// The number of modes.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The levels, outermost first.
    pub fn levels(&self) -> &[LevelSpec] {
        &self.levels
    }

    /// Whether every coordinate has a position, so that the values are a dense array.
    pub fn is_full(&self) -> bool {
        let full = |l: &LevelSpec| l.kind.properties().full && !matches!(l.map, LevelMap::Slot(_));
        self.levels.iter().all(full)
    }

    /// Whether each level's coordinates are those of a mode: no blocks, diagonals or slots.
    pub fn stores_modes(&self) -> bool {
        self.levels.iter().all(LevelSpec::stores_mode)
    }

    /// Whether positions are allocated as coordinates are inserted: in hashed workspaces.
    pub fn grows(&self) -> bool {
        self.levels.iter().any(|l| l.kind.format().scratch().is_some_and(Scratch::grows))
    }

    /// Whether one entry may store elements for many coordinates, so that a tensor may take far more memory than its
    /// entries.
    pub fn spreads(&self) -> bool {
        self.levels.iter().any(|l| l.map.spreads())
    }

    /// Whether every coordinate has a position before an entry is written.
    pub fn is_placed(&self) -> bool {
        self.levels.iter().all(|l| l.kind.locates() && !l.has_width())
    }

    /// Whether each level stores a mode, ordered, unique and without padding, and no level belongs to a chain: then
    /// any loops may merge and search the levels.
    pub fn is_plain(&self) -> bool {
        self.levels.iter().all(|l| {
            let p = l.kind.properties();
            l.stores_mode() && p.ordered && p.unique && p.compact && !p.branchless && !p.interleaved
        })
    }

    /// Whether each level stores a mode, ordered and unique, and locates its coordinates if it has padding, as bitmaps
    /// do; no level belongs to a chain.
    pub fn is_ascending(&self) -> bool {
        self.levels.iter().all(|l| {
            let p = l.kind.properties();
            let is_found = p.compact || l.kind.locates();
            l.stores_mode() && p.ordered && p.unique && is_found && !p.branchless && !p.interleaved
        })
    }

    /// Whether all levels are dense or compressed and store modes: their arrays are built and searched without
    /// generated code.
    pub fn is_basic(&self) -> bool {
        self.levels.iter().all(|l| l.stores_mode() && (l.kind == DENSE || l.kind == COMPRESSED))
    }

    /// Whether there may be duplicate coordinates, whose values are summed.
    pub fn has_duplicates(&self) -> bool {
        self.repeats(self.levels.len())
    }

    /// Whether the coordinates of the first `count` levels together may have several positions.
    pub fn repeats(&self, count: usize) -> bool {
        let levels = &self.levels[..count];
        let slots = levels.iter().any(|l| matches!(l.map, LevelMap::Slot(_)));
        let chain = |k: usize| {
            let below = levels.get(k + 1);
            below.is_some_and(|l| l.kind.properties().branchless && !l.kind.properties().full)
        };
        let repeats = |(k, l): (usize, &LevelSpec)| !l.kind.properties().unique && !chain(k);
        slots || levels.iter().enumerate().any(repeats)
    }

    /// Whether a walk over the levels may reach a coordinate several times.
    pub fn is_revisiting(&self) -> bool {
        (0..self.levels().len()).any(|k| self.revisits(k))
    }

    /// Whether a walk over a level may reach a coordinate several times: slots, unordered duplicates, and duplicates
    /// that are not in a chain with the level below.
    pub fn revisits(&self, level: usize) -> bool {
        let levels = self.levels();
        let chained = level + 1 == levels.len() || self.chain_goes_on(level);
        let p = levels[level].kind.properties();
        let slots = matches!(levels[level].map, LevelMap::Slot(_));
        slots || !(p.unique || p.ordered && chained)
    }

    /// The first level of the chain that contains a level; levels of a chain have one position per entry, as in `coo`.
    /// A level outside of chains is its own head.
    pub fn chain_head(&self, level: usize) -> usize {
        chain_head(&self.levels, level)
    }

    /// Whether the next level belongs to the same chain.
    pub fn chain_goes_on(&self, level: usize) -> bool {
        level + 1 < self.levels.len() && self.chain_head(level + 1) <= level
    }

    /// The first level that cannot be written, if there is one: it is appended in order, below a level whose positions
    /// are in the order of a hash map.
    pub fn unwritable_level(&self) -> Option<usize> {
        let first = self.first_scattered()?;
        (first + 1..self.levels.len()).find(|&k| self.is_appended(k))
    }

    /// The first level with unordered positions: those of a hash map.
    pub fn first_scattered(&self) -> Option<usize> {
        (0..self.levels.len()).find(|&k| {
            let kind = self.levels[k].kind;
            kind.insert().is_some() && !kind.properties().ordered && !self.is_appended(k)
        })
    }

    /// Whether a level can only be appended to.
    fn is_appended(&self, level: usize) -> bool {
        let kind = self.levels[level].kind;
        kind.append().is_some() && (kind.insert().is_none() || self.chain_head(level) < level)
    }

    /// Where a level's coordinates are if its chain interleaves them: the level that has the array, and the stride and
    /// offset in it.
    pub fn interleaved(&self, level: usize) -> Option<(usize, Crd<()>)> {
        let head = self.chain_head(level);
        self.levels[head].kind.properties().interleaved.then(|| {
            let chain = (head..self.levels.len()).take_while(|&k| self.chain_head(k) == head);
            let (stride, offset) = (chain.count() as i64, (level - head) as i64);
            (head, Crd { array: (), stride, offset })
        })
    }

    /// The formula of each mode's coordinate, in an order in which they can be computed.
    pub fn recoveries(&self) -> Vec<(Mode, Recovery)> {
        map::recoveries(&self.levels, self.order).unwrap_or_default()
    }
}

/// [`Format::chain_head`] of levels.
fn chain_head(levels: &[LevelSpec], level: usize) -> usize {
    let mut head = 0;
    for k in 1..=level {
        let (above, here) = (levels[k - 1].kind, levels[k].kind.properties());
        let lists = !above.properties().unique || head < k - 1;
        let follows = here.branchless && !here.full && here.compact && lists;
        if !follows || above.append().is_none() {
            head = k;
        }
    }
    head
}

impl Storage {
    /// A format with 64-bit values of fill 0 and 32-bit positions and coordinates.
    pub fn of(format: Format, datatype: DataType) -> Storage {
        let fill = Scalar::I64(0).computed(datatype);
        Storage { format, datatype, fill, pos: IndexWidth::I32, crd: IndexWidth::I32 }
    }

    /// Whether a kernel for this storage also runs on tensors of another. They may differ in the fill value if each
    /// level is dense, and in the width of arrays that no level has.
    pub fn takes(&self, other: &Storage) -> bool {
        let levels = self.format.levels();
        let is_dense = |l: &LevelSpec| l.kind == DENSE && l.stores_mode();
        let has = |part| levels.iter().any(|l| l.has(part));
        let is_alike = || {
            self.format == other.format
                && self.datatype == other.datatype
                && (self.fill == other.fill || levels.iter().all(is_dense))
                && (self.pos == other.pos || !has(Part::Pos))
                && (self.crd == other.crd || !has(Part::Crd))
        };
        self == other || is_alike()
    }
}

impl FormatSpec {
    /// A format without types, fill value and widths.
    pub fn of(format: Format) -> FormatSpec {
        FormatSpec { format, datatype: None, fill: None, pos: None, crd: None }
    }

    /// The storage. What the user left out is this data type, fill 0, and 32-bit positions and coordinates; the fill
    /// value has to be a value of the data type.
    pub fn resolve(&self, datatype: DataType) -> Result<Storage, Diagnostic> {
        let usual = Storage::of(self.format.clone(), self.datatype.unwrap_or(datatype));
        let fill = match self.fill {
            Some(fill) => fill_value(fill, usual.datatype)?,
            None => usual.fill,
        };
        let (pos, crd) = (self.pos.unwrap_or(usual.pos), self.crd.unwrap_or(usual.crd));
        Ok(Storage { fill, pos, crd, ..usual })
    }

    /// The storage of a tensor with elements of this type, as by [`resolve`](Self::resolve). If the user wrote no data
    /// type, integers become floats where the fill value has a fraction or is infinite. The error names the tensor.
    pub fn storage_of(&self, tensor: &str, datatype: DataType) -> Result<Storage, Diagnostic> {
        let named = |d: Diagnostic| Diagnostic { message: format!("{tensor}: {}", d.message), ..d };
        self.resolve(self.with_fill(datatype)).map_err(named)
    }

    /// The data type that holds both the elements and the fill value.
    pub fn with_fill(&self, datatype: DataType) -> DataType {
        match self.fill {
            Some(fill) if datatype.integers().is_some() => wide_enough(datatype, fill),
            _ => datatype,
        }
    }
}

/// The integer type, or the float or complex type that holds the value.
fn wide_enough(integers: DataType, value: Scalar) -> DataType {
    let is_fraction = |part: Scalar| part.integer().is_none();
    match value.parts() {
        [_, imaginary] if !imaginary.is_zero() => DataType::C128,
        [real, _] if is_fraction(real) && fill_value(value, integers).is_err() => DataType::F64,
        _ => integers,
    }
}

/// A constant in the register type of a data type, if an array of that type can hold it.
///
/// # Errors
/// If it cannot.
pub fn fill_value(fill: Scalar, datatype: DataType) -> Result<Scalar, Diagnostic> {
    let value = fill.stored(datatype);
    let is_real = datatype.is_complex() || fill.parts()[1].is_zero();
    let held = match (datatype.integers(), fill.integer()) {
        (Some(all), Some(x)) => all.contains(&x),
        // An integer out of range saturates, and might convert back to the same float.
        (Some(all), None) => fill.as_f64() < (all.end() + 1) as f64 && datatype.holds(value),
        (None, _) => value.as_f64().is_finite() || !fill.as_f64().is_finite(),
    };
    let exact = datatype.is_float() || value.as_f64() == fill.as_f64();
    if held && exact && is_real {
        return Ok(value);
    }
    let message = format!("the fill value {fill} is not a value of {datatype}");
    let help = "choose a value that fits, or a wider data type: {f64} or {c128}";
    Err(Diagnostic::new(Code::TypeMismatch, message).help(help))
}
