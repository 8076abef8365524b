//! Tensors: dimensions, a format, and the arrays that the format asks for.
//!
//! A tensor that exists is valid: [`Tensor::try_from_parts`] checks every promise of the format in
//! one pass, so kernels run without checks. Structure never changes afterwards.

use crate::memory::{Buffer, Element};
use std::cmp::Ordering;
use tamis_core::format::{Format, LevelMap, LevelSpec, Storage};
use tamis_core::level::{COMPRESSED, Crd, DENSE, Header, LevelView, Numbers, Part, RANGE};
use tamis_ir::algebra::{BinaryOp, eval};
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, Mode};

mod entries;
#[cfg(test)]
mod tests;
mod validate;

/// A tensor in memory. Cloning shares the arrays.
#[derive(Clone, Debug)]
pub struct Tensor {
    dims: Vec<u64>,
    storage: Storage,
    levels: Vec<LevelData>,
    vals: Buffer,
}

/// The arrays of one level; which ones there are is up to the level format.
#[derive(Clone, Debug, Default)]
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
        tensor.validate()?;
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

    /// A tensor of order 0.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        let storage = Storage::of(Format::in_order([]), T::DATATYPE);
        Tensor { dims: vec![], storage, levels: vec![], vals: Buffer::from_vec(vec![value]) }
    }

    /// A dense tensor, last mode contiguous.
    pub fn dense<T: Element>(dims: &[u64], vals: Vec<T>) -> Result<Tensor, Diagnostic> {
        let format = Format::in_order(dims.iter().map(|_| DENSE));
        let levels = dims.iter().map(|_| LevelData::default()).collect();
        let storage = Storage::of(format, T::DATATYPE);
        Tensor::try_from_parts(dims.to_vec(), storage, levels, Buffer::from_vec(vals))
    }

    /// A matrix by compressed rows: `pos` has a position per row and one more.
    pub fn csr<I: Element, T: Element>(
        dims: [u64; 2],
        pos: Vec<I>,
        crd: Vec<I>,
        vals: Vec<T>,
    ) -> Result<Tensor, Diagnostic> {
        Tensor::compressed([0, 1], dims, pos, crd, vals)
    }

    /// A matrix by compressed columns: `pos` has a position per column and one more.
    pub fn csc<I: Element, T: Element>(
        dims: [u64; 2],
        pos: Vec<I>,
        crd: Vec<I>,
        vals: Vec<T>,
    ) -> Result<Tensor, Diagnostic> {
        Tensor::compressed([1, 0], dims, pos, crd, vals)
    }

    fn compressed<I: Element, T: Element>(
        modes: [usize; 2],
        dims: [u64; 2],
        pos: Vec<I>,
        crd: Vec<I>,
        vals: Vec<T>,
    ) -> Result<Tensor, Diagnostic> {
        let spec = |(m, kind)| LevelSpec::of(Mode::new(m), kind);
        let levels = modes.into_iter().zip([DENSE, COMPRESSED]).map(spec).collect();
        let format = Format::new(levels, 2).expect("two distinct modes");
        let mut storage = Storage::of(format, T::DATATYPE);
        let width = match I::DATATYPE {
            DataType::I64 => IndexWidth::I64,
            _ => IndexWidth::I32,
        };
        (storage.pos, storage.crd) = (width, width);
        let (pos, crd) = (Some(Buffer::from_vec(pos)), Some(Buffer::from_vec(crd)));
        let levels = vec![LevelData::default(), LevelData { pos, crd, ..LevelData::default() }];
        Tensor::try_from_parts(dims.to_vec(), storage, levels, Buffer::from_vec(vals))
    }

    /// The dimension of each mode.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// Format, element types and fill value.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The same entries, with everything that is not stored read as another value.
    #[must_use]
    pub fn with_fill(mut self, fill: Scalar) -> Tensor {
        self.storage.fill = fill.computed(self.storage.datatype);
        self
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
        self.entries(&mut |_, _| entries += 1);
        entries
    }

    /// Whether every position of the last level is an entry.
    pub fn has_only_entries(&self) -> bool {
        self.storage.format.levels().iter().all(|l| {
            l.kind.properties().compact && matches!(l.map, LevelMap::Mode(_)) && l.kind != RANGE
        })
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let arrays = self.levels.iter().flat_map(|l| Part::ALL.map(|part| l.part(part)));
        arrays.flatten().map(Buffer::bytes).sum::<usize>() + self.vals.bytes()
    }

    /// The value at a coordinate: the stored one, the sum of several, or the fill value, which
    /// everything outside the dimensions has too.
    pub fn get(&self, coordinate: &[u64]) -> Scalar {
        if self.storage.format.is_basic() {
            return self.position(coordinate).map_or(self.storage.fill, |p| self.vals.get(p));
        }
        let mut found: Option<Scalar> = None;
        self.entries(&mut |place, p| {
            if place == coordinate {
                let value = self.vals.get(p as usize);
                found = Some(found.map_or(value, |sum| eval::binary(BinaryOp::Add, sum, value)));
            }
        });
        found.unwrap_or(self.storage.fill)
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
