//! Tensors: dimensions, a format, and the arrays that the format asks for.
//!
//! A tensor that exists is valid: [`Tensor::try_from_parts`] checks every promise of the format in
//! one pass, so kernels run without checks. Structure never changes afterwards.

use crate::memory::Buffer;
use std::cmp::Ordering;
use tamis_core::format::{Format, FormatSpec, Storage};
use tamis_core::level::{Crd, Header, LevelView, Numbers, Part, RANGE};
use tamis_ir::algebra::{BinaryOp, eval};
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, Mode};

mod build;
mod entries;
mod parts;
#[cfg(test)]
mod tests;
mod validate;

pub use entries::Entries;

/// A tensor in memory. Cloning shares the arrays.
///
/// Two are equal that have the same dimensions, are stored the same way, and have the same arrays.
///
/// ```
/// use tamis_runtime::Tensor;
/// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
/// let a = Tensor::from_triplets([2, 3], [([0, 2], 2.0), ([0, 0], 1.0), ([1, 1], 3.0)])?;
/// assert_eq!((a.shape(), a.ndim(), a.nnz()), (&[2, 3][..], 2, 3));
/// assert_eq!(a.get(&[0, 2])?.as_f64(), 2.0);
/// assert_eq!(a, Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?);
/// for (coordinate, value) in a.entries::<f64>()? {
///     println!("{coordinate:?}: {value}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    dims: Vec<u64>,
    storage: Storage,
    levels: Vec<LevelData>,
    pub(crate) vals: Buffer,
}

/// The arrays of one level; which ones there are is up to the level format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelData {
    /// Where segments begin and end.
    pub pos: Option<Buffer>,
    /// Coordinates. Of a chain that alternates them, the first level has them all.
    pub crd: Option<Buffer>,
    /// The number of positions per parent, as the only element.
    pub width: Option<Buffer>,
    /// Per position whether it has a coordinate.
    pub mask: Option<Buffer>,
}

impl LevelData {
    /// One of the arrays.
    pub fn part(&self, part: Part) -> Option<&Buffer> {
        match part {
            Part::Pos => self.pos.as_ref(),
            Part::Crd => self.crd.as_ref(),
            Part::Width => self.width.as_ref(),
            Part::Mask => self.mask.as_ref(),
        }
    }

    /// The index of one of the arrays.
    pub fn part_mut(&mut self, part: Part) -> &mut Option<Buffer> {
        match part {
            Part::Pos => &mut self.pos,
            Part::Crd => &mut self.crd,
            Part::Width => &mut self.width,
            Part::Mask => &mut self.mask,
        }
    }

    /// The same arrays for another tensor; see [`Buffer::kept`].
    pub(crate) fn kept(&self) -> Result<LevelData, Diagnostic> {
        let mut level = LevelData::default();
        for part in Part::ALL {
            *level.part_mut(part) = self.part(part).map(Buffer::kept).transpose()?;
        }
        Ok(level)
    }
}

impl Numbers for Buffer {
    fn len(&self) -> usize {
        Buffer::len(self)
    }
    fn at(&self, place: usize) -> i64 {
        self.index(place)
    }
}

impl Tensor {
    /// A tensor of these arrays, borrowed without copying, if they keep the format's promises:
    /// positions start at 0 and ascend, coordinates lie in their dimension and strictly ascend
    /// within a segment, there is one value per position of the last level.
    pub fn try_from_parts(
        dims: Vec<u64>,
        storage: Storage,
        levels: Vec<LevelData>,
        vals: Buffer,
    ) -> Result<Tensor, Diagnostic> {
        let tensor = Tensor { dims, storage, levels, vals };
        let parts =
            |level| Part::ALL.into_iter().filter_map(move |part| LevelData::part(level, part));
        let index = || tensor.levels.iter().flat_map(parts).find_map(Buffer::refused_index);
        // What arrays without a sign hold is told as their owner knows it.
        tensor.validate().map_err(|refused| index().unwrap_or(refused))?;
        Ok(tensor)
    }

    /// A tensor of arrays that are known to be valid.
    ///
    /// # Safety
    /// [`Tensor::try_from_parts`] would accept them.
    pub unsafe fn from_parts_unchecked(
        dims: Vec<u64>,
        storage: Storage,
        levels: Vec<LevelData>,
        vals: Buffer,
    ) -> Tensor {
        Tensor { dims, storage, levels, vals }
    }

    /// The dimension of each mode.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The dimension of each mode, as arrays call it.
    pub fn shape(&self) -> &[u64] {
        &self.dims
    }

    /// How many modes there are.
    pub fn ndim(&self) -> usize {
        self.dims.len()
    }

    /// Format, element types and fill value.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The same arrays, with everything that is not stored read as another value. Zeros that blocks and diagonals
    /// store beside the entries stay zeros: pack the entries in a format with the fill value to have these read so, too.
    ///
    /// # Errors
    /// When an array of this type cannot hold the value.
    pub fn with_fill(mut self, fill: Scalar) -> Result<Tensor, Diagnostic> {
        let spec = FormatSpec { fill: Some(fill), ..FormatSpec::of(self.storage.format.clone()) };
        self.storage.fill = spec.resolve(self.storage.datatype)?.fill;
        Ok(self)
    }

    /// The tensor with its modes in another order, of which mode `k` is `modes[k]` of this one, by the same
    /// arrays; nothing where no format has them.
    pub fn permuted(&self, modes: &[Mode]) -> Option<Tensor> {
        let mut all = modes.to_vec();
        all.sort();
        if !all.into_iter().eq((0..self.dims.len()).map(Mode::new)) {
            return None;
        }
        let format = self.storage.format.permuted(modes).ok()?;
        let dims = modes.iter().map(|m| self.dims[m.index()]).collect();
        Some(Tensor { dims, storage: Storage { format, ..self.storage.clone() }, ..self.clone() })
    }

    /// The arrays of each level.
    pub fn levels(&self) -> &[LevelData] {
        &self.levels
    }

    /// The stored values.
    pub fn vals(&self) -> &Buffer {
        &self.vals
    }

    /// The number of stored entries, explicit zeros included.
    pub fn nnz(&self) -> usize {
        if self.has_only_entries() {
            return self.vals.len();
        }
        let mut entries = 0;
        self.for_each_entry(&mut |_, _| entries += 1);
        entries
    }

    /// Whether every position of the last level is an entry.
    pub fn has_only_entries(&self) -> bool {
        self.storage
            .format
            .levels()
            .iter()
            .all(|l| l.kind.properties().compact && l.stores_mode() && l.kind != RANGE)
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let arrays = self.levels.iter().flat_map(|l| Part::ALL.map(|part| l.part(part)));
        arrays.flatten().map(Buffer::bytes).sum::<usize>() + self.vals.bytes()
    }

    /// The value at a coordinate: the stored one, the sum of several, or the fill value; of truth values
    /// [`Scalar::Bool`].
    ///
    /// # Errors
    /// When there is not one coordinate for each mode, or one lies outside its dimension.
    pub fn get(&self, coordinate: &[u64]) -> Result<Scalar, Diagnostic> {
        let value = self.value_at(coordinate)?;
        Ok(match self.storage.datatype {
            DataType::Bool => Scalar::Bool(!value.is_zero()),
            _ => value,
        })
    }

    /// The value at a coordinate in its register type.
    fn value_at(&self, coordinate: &[u64]) -> Result<Scalar, Diagnostic> {
        self.check_coordinate(coordinate)?;
        if self.storage.format.is_basic() {
            return Ok(self.position(coordinate).map_or(self.storage.fill, |p| self.vals.get(p)));
        }
        let mut found: Option<Scalar> = None;
        self.for_each_entry(&mut |place, p| {
            if place == coordinate {
                let value = self.vals.get(p as usize);
                found = Some(found.map_or(value, |sum| eval::binary(BinaryOp::Add, sum, value)));
            }
        });
        Ok(found.unwrap_or(self.storage.fill))
    }

    /// Checks that there is one coordinate for each mode, in its dimension.
    ///
    /// # Errors
    /// When that is not so.
    pub fn check_coordinate(&self, coordinate: &[u64]) -> Result<(), Diagnostic> {
        let order = self.dims.len();
        if coordinate.len() != order {
            let message = format!("{coordinate:?} are {} coordinates of {order}", coordinate.len());
            return Err(Diagnostic::new(Code::OrderMismatch, message)
                .help("give one coordinate for each mode"));
        }
        match coordinate.iter().zip(&self.dims).position(|(c, d)| c >= d) {
            None => Ok(()),
            Some(m) => {
                let (c, d) = (coordinate[m], self.dims[m]);
                let message =
                    format!("coordinate {c} is outside the dimension {d} of mode {}", m + 1);
                Err(Diagnostic::new(Code::DimensionMismatch, message)
                    .help("coordinates count from 0"))
            }
        }
    }

    /// The position of the value at a coordinate of a plain tensor, if it is stored.
    fn position(&self, coordinate: &[u64]) -> Option<usize> {
        let mut p = 0usize;
        for (level, data) in self.storage.format.levels().iter().zip(&self.levels) {
            let mode = level.map.modes().first()?.index();
            let &c = coordinate.get(mode).filter(|&&c| c < self.dims[mode])?;
            let (Some(pos), Some(crd)) = (&data.pos, &data.crd) else {
                p = p * self.dims[mode] as usize + c as usize;
                continue;
            };
            let (mut lo, mut hi) = (pos.index(p) as usize, pos.index(p + 1) as usize);
            while lo < hi {
                let middle = lo + (hi - lo) / 2;
                match (crd.index(middle) as u64).cmp(&c) {
                    Ordering::Less => lo = middle + 1,
                    Ordering::Equal => (lo, hi) = (middle, middle),
                    Ordering::Greater => hi = middle,
                }
            }
            let end = pos.index(p + 1) as usize;
            p = Some(lo).filter(|&q| q < end && crd.index(q) as u64 == c)?;
        }
        Some(p)
    }
}

/// The levels of a tensor as the core sees them.
pub(crate) fn views<'t>(
    format: &Format,
    dims: &[u64],
    levels: &'t [LevelData],
) -> Vec<LevelView<'t>> {
    let slots = |k: usize| levels[k].width.as_ref().map_or(0, |w| w.index(0).max(0) as u64);
    let array = |buffer: &'t Option<Buffer>| buffer.as_ref().map(|b| b as &dyn Numbers);
    let view = |(k, header): (usize, Header)| {
        let data = &levels[k];
        let crd = match format.interleaved(k) {
            Some((head, place)) => array(&levels[head].crd).map(|array| place.of(array)),
            None => array(&data.crd).map(|array| Crd { array, stride: 1, offset: 0 }),
        };
        let (pos, width, mask) = (array(&data.pos), array(&data.width), array(&data.mask));
        LevelView { header, pos, crd, width, mask }
    };
    format.headers(dims, &slots).into_iter().enumerate().map(view).collect()
}
