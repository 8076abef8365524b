//! Tensors: dimensions, a format, and the arrays that the format asks for.
//!
//! A tensor that exists is valid: [`Tensor::try_from_parts`] checks every promise of the format in
//! one pass, so kernels run without checks. Structure never changes afterwards.

use crate::coordinates::{Coordinates, Values};
use crate::extent::{check_dims, too_large};
use crate::memory::{Buffer, Element, Truth};
use std::cmp::Ordering;
use tamis_core::algebra::{BinaryOp, eval};
use tamis_core::datatype::{DataType, IndexWidth, Scalar};
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::format::{Format, LevelMap, LevelSpec, Storage, Walk};
use tamis_core::ids::{Id, Mode};
use tamis_core::level::{COMPRESSED, Crd, DENSE, Header, LevelView, Numbers, Part, RANGE};

#[cfg(test)]
mod tests;

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

    /// The place of one of the arrays.
    pub fn part_mut(&mut self, part: Part) -> &mut Option<Buffer> {
        match part {
            Part::Pos => &mut self.pos,
            Part::Crd => &mut self.crd,
            Part::Width => &mut self.width,
            Part::Mask => &mut self.mask,
        }
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
    fn has_only_entries(&self) -> bool {
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

    /// The stored entries in storage order; a coordinate with several is there as often.
    pub fn to_coordinates(&self) -> Coordinates {
        let mut crds: Vec<Vec<u64>> = vec![vec![]; self.dims.len()];
        let mut positions = vec![];
        self.entries(&mut |place, p| {
            for (list, &c) in crds.iter_mut().zip(place) {
                list.push(c);
            }
            positions.push(p as usize);
        });
        let all = self.has_only_entries();
        let vals =
            if all { Values::copied(&self.vals) } else { Values::gathered(&self.vals, &positions) };
        Coordinates { dims: self.dims.clone(), crds, vals }
    }

    /// Calls `f` with the coordinates and the position of each stored entry, in storage order.
    pub(crate) fn entries(&self, f: &mut dyn FnMut(&[u64], u64)) {
        let views = views(&self.storage.format, &self.dims, &self.levels);
        Walk::new(&self.storage.format, &self.dims, views).entries(f);
    }

    fn validate(&self) -> Result<(), Diagnostic> {
        let format = &self.storage.format;
        if self.dims.len() != format.order() || self.levels.len() != format.levels().len() {
            return Err(invalid(format!(
                "the format {format} of order {} got {} dimensions and {} levels",
                format.order(),
                self.dims.len(),
                self.levels.len()
            )));
        }
        check_dims(&self.dims)?;
        self.validate_arrays()?;
        match format.is_basic() {
            true => self.validate_values(self.validate_plain()?)?,
            false => self.validate_walking()?,
        }
        if let Some(bools) = self.vals.as_slice::<Truth>()
            && let Some(at) = bools.iter().position(|b| b.byte() > 1)
        {
            let byte = bools[at].byte();
            return Err(invalid(format!("value {at} is the byte {byte}, not a bool")));
        }
        Ok(())
    }

    /// Checks that each level has its format's arrays, of the storage's types.
    fn validate_arrays(&self) -> Result<(), Diagnostic> {
        let format = &self.storage.format;
        for (k, (level, data)) in format.levels().iter().zip(&self.levels).enumerate() {
            let shared = format.interleaved(k).is_some_and(|(head, _)| head < k);
            for part in Part::ALL {
                let wanted = level.has(part) && !(part == Part::Crd && shared);
                let array = data.part(part);
                if array.is_some() != wanted {
                    return Err(invalid(format!(
                        "level {} is {}, which {} a {} array",
                        k + 1,
                        level.kind,
                        if wanted { "needs" } else { "has not" },
                        part.name()
                    )));
                }
                let datatype = match part {
                    Part::Pos => self.storage.pos.datatype(),
                    Part::Crd => self.storage.crd.datatype(),
                    Part::Width => DataType::I64,
                    Part::Mask => DataType::Bool,
                };
                if let Some(array) = array.filter(|array| array.datatype() != datatype) {
                    return Err(invalid(format!(
                        "{} of level {} is {}, the format says {datatype}",
                        part.name(),
                        k + 1,
                        array.datatype(),
                    )));
                }
            }
        }
        if self.vals.datatype() != self.storage.datatype {
            return Err(invalid(format!(
                "values are {}, the format says {}",
                self.vals.datatype(),
                self.storage.datatype
            )));
        }
        Ok(())
    }

    fn validate_values(&self, positions: u64) -> Result<(), Diagnostic> {
        let values = self.vals.len();
        if values as u64 == positions {
            return Ok(());
        }
        let message =
            format!("there are {values} values for {positions} positions of the last level");
        Err(invalid(message))
    }

    /// Checks levels of any format, and that there is a value for each position of the last.
    fn validate_walking(&self) -> Result<(), Diagnostic> {
        let slots = self.storage.format.levels().iter().zip(&self.levels);
        for (k, (level, data)) in slots.enumerate() {
            let width = matches!(level.map, LevelMap::Slot(_)).then_some(&data.width);
            if let Some(Some(width)) = width
                && (width.len() != 1 || width.index(0) < 0)
            {
                return Err(invalid(format!("the width of level {} is not one number", k + 1)));
            }
        }
        let views = views(&self.storage.format, &self.dims, &self.levels);
        let walk = Walk::new(&self.storage.format, &self.dims, views);
        let broken = |(k, reason)| invalid(format!("level {}: {reason}", k + 1));
        let positions = walk.check_arrays().map_err(broken)?;
        if positions > i64::MAX as u64 {
            return Err(too_large(&self.dims));
        }
        // Before the walk, since dense levels may have any number of positions.
        self.validate_values(positions)?;
        walk.check_coordinates().map_err(broken)
    }

    /// Checks levels that are dense or compressed and returns the number of positions of the last.
    fn validate_plain(&self) -> Result<u64, Diagnostic> {
        let mut positions: u64 = 1;
        for (k, (level, data)) in self.storage.format.levels().iter().zip(&self.levels).enumerate()
        {
            let mode = level.map.modes()[0].index();
            positions = self.validate_level(k, data, positions, self.dims[mode])?;
        }
        Ok(positions)
    }

    /// Checks one level under so many parents and returns its number of positions.
    fn validate_level(
        &self,
        k: usize,
        data: &LevelData,
        parents: u64,
        dimension: u64,
    ) -> Result<u64, Diagnostic> {
        let (Some(pos), Some(crd)) = (&data.pos, &data.crd) else {
            let size = parents.checked_mul(dimension).filter(|&n| n <= i64::MAX as u64);
            return size.ok_or_else(|| too_large(&self.dims));
        };
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

fn invalid(message: String) -> Diagnostic {
    Diagnostic::new(Code::InvalidTensor, message)
        .help("check how the arrays were made; pack builds valid ones from coordinates")
}
