//! Tensors: dimensions, a format, and the arrays that the format asks for.
//!
//! A tensor that exists is valid: [`Tensor::try_from_parts`] checks every promise of the format in
//! one pass, so kernels run without checks. Structure never changes afterwards.

use crate::coordinates::{Coordinates, Values};
use crate::memory::{Buffer, Element};
use std::cmp::Ordering;
use tamis_core::datatype::{DataType, IndexWidth, Scalar};
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::format::{Format, LevelSpec, Storage};
use tamis_core::ids::{Id, Mode};
use tamis_core::level::{COMPRESSED, DENSE, Part};

/// A tensor in memory. Cloning shares the arrays.
#[derive(Clone, Debug)]
pub struct Tensor {
    dims: Vec<u64>,
    storage: Storage,
    levels: Vec<LevelData>,
    vals: Buffer,
}

/// The arrays of one level.
#[derive(Clone, Debug, Default)]
pub struct LevelData {
    /// Where segments begin and end.
    pub pos: Option<Buffer>,
    /// Coordinates.
    pub crd: Option<Buffer>,
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
        let spec = |(m, kind)| LevelSpec { mode: Mode::new(m), kind };
        let levels = modes.into_iter().zip([DENSE, COMPRESSED]).map(spec).collect();
        let format = Format::new(levels).expect("two distinct modes");
        let mut storage = Storage::of(format, T::DATATYPE);
        let width = match I::DATATYPE {
            DataType::I64 => IndexWidth::I64,
            _ => IndexWidth::I32,
        };
        (storage.pos, storage.crd) = (width, width);
        let (pos, crd) = (Some(Buffer::from_vec(pos)), Some(Buffer::from_vec(crd)));
        let levels = vec![LevelData::default(), LevelData { pos, crd }];
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
        self.vals.len()
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let arrays = self.levels.iter().flat_map(|l| [&l.pos, &l.crd]).flatten();
        arrays.map(Buffer::bytes).sum::<usize>() + self.vals.bytes()
    }

    /// The value at a coordinate: the stored one, or the fill value, which everything outside the
    /// dimensions has too.
    pub fn get(&self, coordinate: &[u64]) -> Scalar {
        self.position(coordinate).map_or(self.storage.fill, |p| self.vals.get(p))
    }

    /// The position of the value at a coordinate, if it is stored.
    fn position(&self, coordinate: &[u64]) -> Option<usize> {
        let mut p = 0usize;
        for (level, data) in self.storage.format.levels().iter().zip(&self.levels) {
            let mode = level.mode.index();
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

    /// The stored entries in storage order.
    pub fn to_coordinates(&self) -> Coordinates {
        let mut order: Vec<Vec<u64>> = vec![vec![]; self.dims.len()];
        let mut place = vec![0; self.dims.len()];
        self.descend(0, 0, &mut place, &mut |place, _| {
            for (list, &c) in order.iter_mut().zip(place) {
                list.push(c);
            }
        });
        let mut crds = vec![vec![]; self.dims.len()];
        for (level, list) in self.storage.format.levels().iter().zip(order) {
            crds[level.mode.index()] = list;
        }
        Coordinates { dims: self.dims.clone(), crds, vals: Values::copied(&self.vals) }
    }

    /// Calls `f` with the level coordinates and the position of each stored entry, in order.
    fn descend(&self, k: usize, p: usize, place: &mut [u64], f: &mut impl FnMut(&[u64], usize)) {
        let Some(level) = self.storage.format.levels().get(k) else {
            f(place, p);
            return;
        };
        match (&self.levels[k].pos, &self.levels[k].crd) {
            (Some(pos), Some(crd)) => {
                for q in pos.index(p) as usize..pos.index(p + 1) as usize {
                    place[k] = crd.index(q) as u64;
                    self.descend(k + 1, q, place, f);
                }
            }
            _ => {
                let size = self.dims[level.mode.index()];
                for c in 0..size {
                    place[k] = c;
                    self.descend(k + 1, p * size as usize + c as usize, place, f);
                }
            }
        }
    }

    fn validate(&self) -> Result<(), Diagnostic> {
        let order = self.storage.format.order();
        if self.dims.len() != order || self.levels.len() != order {
            return Err(invalid(format!(
                "a format of order {order} got {} dimensions and {} levels",
                self.dims.len(),
                self.levels.len()
            )));
        }
        check_dims(&self.dims)?;
        let mut positions: u64 = 1;
        for k in 0..order {
            positions = self.validate_level(k, positions)?;
        }
        if self.vals.datatype() != self.storage.datatype {
            return Err(invalid(format!(
                "values are {}, the format says {}",
                self.vals.datatype(),
                self.storage.datatype
            )));
        }
        if self.vals.len() as u64 != positions {
            return Err(invalid(format!(
                "there are {} values for {positions} positions of the last level",
                self.vals.len()
            )));
        }
        if let Some(bools) = self.vals.as_slice::<u8>()
            && let Some(at) = bools.iter().position(|&b| b > 1)
        {
            return Err(invalid(format!("value {at} is the byte {}, not a bool", bools[at])));
        }
        Ok(())
    }

    /// Checks one level under so many parents and returns its number of positions.
    fn validate_level(&self, k: usize, parents: u64) -> Result<u64, Diagnostic> {
        let level = self.storage.format.levels()[k];
        let dimension = self.dims[level.mode.index()];
        let data = &self.levels[k];
        for part in [Part::Pos, Part::Crd] {
            let has = match part {
                Part::Pos => data.pos.is_some(),
                Part::Crd => data.crd.is_some(),
            };
            if has != level.kind.parts().contains(&part) {
                let kind = level.kind.name();
                return Err(invalid(format!(
                    "level {} is {kind}, which {} a {part:?} array",
                    k + 1,
                    if has { "has not" } else { "needs" }
                )));
            }
        }
        let (Some(pos), Some(crd)) = (&data.pos, &data.crd) else {
            let size = parents.checked_mul(dimension).filter(|&n| n <= i64::MAX as u64);
            return size.ok_or_else(|| too_large(&self.dims));
        };
        for (name, array, width) in [("pos", pos, self.storage.pos), ("crd", crd, self.storage.crd)]
        {
            if array.datatype() != width.datatype() {
                return Err(invalid(format!(
                    "{name} of level {} is {}, the format says {}",
                    k + 1,
                    array.datatype(),
                    width.datatype()
                )));
            }
        }
        match (self.storage.pos, self.storage.crd) {
            (IndexWidth::I32, IndexWidth::I32) => {
                check::<i32, i32>(k, pos, crd, parents, dimension)
            }
            (IndexWidth::I32, IndexWidth::I64) => {
                check::<i32, i64>(k, pos, crd, parents, dimension)
            }
            (IndexWidth::I64, IndexWidth::I32) => {
                check::<i64, i32>(k, pos, crd, parents, dimension)
            }
            (IndexWidth::I64, IndexWidth::I64) => {
                check::<i64, i64>(k, pos, crd, parents, dimension)
            }
        }
    }
}

/// Checks a compressed level and returns its number of positions.
fn check<P, C>(
    k: usize,
    pos: &Buffer,
    crd: &Buffer,
    parents: u64,
    dimension: u64,
) -> Result<u64, Diagnostic>
where
    P: Element + Into<i64>,
    C: Element + Into<i64>,
{
    let level = k + 1;
    let pos = pos.as_slice::<P>().unwrap_or_default();
    let crd = crd.as_slice::<C>().unwrap_or_default();
    if pos.len() as u64 != parents.saturating_add(1) {
        return Err(invalid(format!(
            "pos of level {level} has {} entries for {parents} parents; it needs one more than \
             parents",
            pos.len()
        )));
    }
    let (first, last) = (pos[0].into(), pos[pos.len() - 1].into());
    if first != 0 || last != crd.len() as i64 {
        return Err(invalid(format!(
            "pos of level {level} goes from {first} to {last}; it must go from 0 to the {} \
             coordinates",
            crd.len()
        )));
    }
    for (p, ends) in pos.windows(2).enumerate() {
        let (begin, end): (i64, i64) = (ends[0].into(), ends[1].into());
        if begin > end || begin < 0 || end > last {
            return Err(invalid(format!(
                "pos of level {level} does not ascend: {begin} then {end} at parent {p}"
            )));
        }
        let mut previous = -1;
        for (q, &c) in crd[begin as usize..end as usize].iter().enumerate() {
            let c: i64 = c.into();
            if c < 0 || c as u64 >= dimension {
                return Err(invalid(format!(
                    "coordinate {c} at position {} of level {level} is outside the dimension \
                     {dimension}",
                    begin as usize + q
                )));
            }
            if c <= previous {
                return Err(invalid(format!(
                    "coordinates of level {level} do not ascend: {previous} then {c} at position {}",
                    begin as usize + q
                )));
            }
            previous = c;
        }
    }
    Ok(crd.len() as u64)
}

/// Refuses dimensions that no index can reach.
pub fn check_dims(dims: &[u64]) -> Result<(), Diagnostic> {
    if dims.iter().any(|&d| d > i64::MAX as u64) { Err(too_large(dims)) } else { Ok(()) }
}

/// The diagnostic for a size beyond 2^63 - 1.
pub fn too_large(dims: &[u64]) -> Diagnostic {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    let message = format!("the sizes {} multiply beyond 2^63 - 1", dims.join(" x "));
    Diagnostic::new(Code::DimensionTooLarge, message)
        .help("use a sparse format, whose memory does not depend on the product of dimensions")
}

fn invalid(message: String) -> Diagnostic {
    Diagnostic::new(Code::InvalidTensor, message)
        .help("check how the arrays were made; pack builds valid ones from coordinates")
}
