//! Joins tensors of one format along an axis by copying segments of their arrays.
//!
//! ```text
//! rows       pos 0 2 3, crd 0 4 1  and  pos 0 1, crd 2      pos 0 2 3 4, crd 0 4 1 2
//! columns    pos 0 2, crd 0 4 (5)  and  pos 0 1, crd 2      pos 0 3, crd 0 4 7
//! ```

use crate::across::gathered;
use crate::axes::is_plain;
use crate::failure::detached;
use crate::reshape::Index;
use crate::select::mode;
use crate::tensor::{Tensor, valid};
use pyo3::prelude::*;
use std::ops::Range;
use tamis::level::DENSE;
use tamis::{Buffer, Diagnostic, IndexWidth, LevelData};

/// Tensors one behind the other along an axis; nothing for those of unlike formats or types, and where levels
/// above that of the axis list their coordinates.
#[pyfunction]
pub fn joined(
    py: Python<'_>,
    tensors: Vec<Bound<'_, Tensor>>,
    axis: usize,
) -> PyResult<Option<Tensor>> {
    let Some(plan) = Plan::of(&tensors, axis) else { return Ok(None) };
    let parts = tensors.iter().map(|x| x.get().checked(py)).collect::<PyResult<Vec<_>>>()?;
    let is_own = tensors.iter().all(|x| !x.get().is_foreign());
    detached(py, move || {
        let storage = parts[0].storage().clone();
        let (levels, vals) = match storage.crd {
            IndexWidth::I32 => plan.arrays::<i32>(&parts)?,
            IndexWidth::I64 => plan.arrays::<i64>(&parts)?,
        };
        match is_own && !cfg!(debug_assertions) {
            // SAFETY: segments of valid tensors, whose coordinates ascend and lie in the axis that is as long as
            // all; builds with assertions look.
            true => {
                Ok(unsafe { tamis::Tensor::from_parts_unchecked(plan.dims, storage, levels, vals) })
            }
            false => valid(plan.dims, storage, levels, vals),
        }
    })
    .map(|made| Some(Tensor::new(made)))
}

/// How tensors are joined.
struct Plan {
    /// The sizes of the result.
    dims: Vec<u64>,
    /// The level of the axis.
    level: usize,
    /// Where the coordinates of each part begin, and the size of all.
    begins: Vec<u64>,
    /// Positions of the level above that of the axis, as many in each part.
    parents: usize,
}

/// Positions of a part.
type Piece = (usize, Range<usize>);

impl Plan {
    fn of(tensors: &[Bound<'_, Tensor>], axis: usize) -> Option<Plan> {
        let known: Vec<&tamis::Tensor> = tensors.iter().map(|x| x.get().known()).collect();
        let (first, rest) = known.split_first()?;
        let storage = first.storage();
        let levels = storage.format.levels();
        let is_alike = |x: &&tamis::Tensor| {
            let own = x.storage();
            own.format == storage.format
                && (own.datatype, own.crd) == (storage.datatype, storage.crd)
        };
        let has_one_width = known.iter().all(|x| x.storage().pos == x.storage().crd);
        if !rest.iter().all(is_alike)
            || !has_one_width
            || !is_plain(levels)
            || storage.format.is_full()
        {
            return None;
        }
        let level = levels.iter().position(|spec| mode(spec) == axis)?;
        // Of what has no elements nothing is stored, whatever the other dimensions are.
        let has_none = known.iter().any(|x| x.dims().contains(&0));
        if has_none || levels[..level].iter().any(|spec| spec.kind != DENSE) {
            return None;
        }
        let (mut begins, mut end) = (vec![0], 0u64);
        for part in &known {
            end = end.checked_add(part.dims()[axis])?;
            begins.push(end);
        }
        let mut dims = first.dims().to_vec();
        dims[axis] = end;
        let stored: usize = known.iter().map(|part| part.bytes()).sum();
        let largest = dims.iter().copied().max()?.max(stored as u64);
        let is_narrow = IndexWidth::for_max(largest) == IndexWidth::I32;
        if end >= 1 << 62 || storage.crd == IndexWidth::I32 && !is_narrow {
            return None;
        }
        let parents =
            levels[..level].iter().map(|spec| first.dims()[mode(spec)] as usize).product();
        Some(Plan { dims, level, begins, parents })
    }

    fn arrays<I: Index>(
        &self,
        parts: &[tamis::Tensor],
    ) -> Result<(Vec<LevelData>, Buffer), Diagnostic> {
        let stored: usize = parts.iter().map(|part| part.vals().len()).sum();
        if self.level + 1 == parts[0].levels().len() && u32::try_from(stored).is_ok() {
            return self.lines::<I>(parts);
        }
        let each = |parent| (0..parts.len()).map(move |part| (part, parent..parent + 1));
        let mut pieces: Vec<Piece> = (0..self.parents).flat_map(each).collect();
        let mut made = vec![LevelData::default(); self.level];
        let specs = parts[0].storage().format.levels();
        for (k, spec) in specs.iter().enumerate().skip(self.level) {
            if spec.kind == DENSE {
                for (part, range) in &mut pieces {
                    let size = parts[*part].dims()[mode(spec)] as usize;
                    *range = range.start * size..range.end * size;
                }
                made.push(LevelData::default());
                continue;
            }
            let is_axis = k == self.level;
            let mut ends = Vec::with_capacity(pieces.len() + 1);
            ends.push(I::narrowed(0));
            let mut end = 0;
            for (n, (part, range)) in pieces.iter_mut().enumerate() {
                let pos = positions::<I>(&parts[*part], k);
                let own = &pos[range.start..=range.end];
                let begin = own[0].number();
                // Parts share the parents of the level of the axis, and have their own of others.
                match is_axis {
                    true if (n + 1) % parts.len() != 0 => {}
                    true => ends.push(I::narrowed((end + own[1].number() - begin) as u64)),
                    false => {
                        let ends_of = |p: &I| I::narrowed((end + p.number() - begin) as u64);
                        ends.extend(own[1..].iter().map(ends_of));
                    }
                }
                *range = begin..own[own.len() - 1].number();
                end += range.len();
            }
            let crd = self.coordinates::<I>(parts, k, &pieces)?;
            let pos = Some(Buffer::from_vec(ends));
            made.push(LevelData { pos, crd: Some(crd), ..LevelData::default() });
        }
        let vals = pieces.into_iter().map(|(part, range)| (parts[part].vals(), range));
        Ok((made, Buffer::concatenated(parts[0].vals().datatype(), vals)?))
    }

    /// The arrays where the axis is that of the last level: of each line the entries of all parts, which no list
    /// names before.
    fn lines<I: Index>(
        &self,
        parts: &[tamis::Tensor],
    ) -> Result<(Vec<LevelData>, Buffer), Diagnostic> {
        let pos: Vec<&[I]> = parts.iter().map(|part| positions(part, self.level)).collect();
        let mut ends = vec![I::narrowed(0); self.parents + 1];
        for pos in &pos {
            let begin = pos[0].number();
            for (end, p) in ends.iter_mut().zip(*pos) {
                *end = I::narrowed((end.number() + p.number() - begin) as u64);
            }
        }
        let crd = |part: &tamis::Tensor| part.levels()[self.level].crd.clone();
        let crds = parts.iter().map(crd).collect::<Option<Vec<_>>>().unwrap_or_default();
        let own: Vec<&[I]> = crds.iter().map(|crd| crd.as_slice().unwrap_or_default()).collect();
        let stored = own.iter().map(|crd| crd.len()).sum();
        let (mut made, mut places) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
        for line in 0..self.parents {
            // Where the values of a part begin among those of all.
            let mut first = 0;
            for ((pos, crd), begin) in pos.iter().zip(&own).zip(&self.begins) {
                let (from, to) = (pos[line].number(), pos[line + 1].number());
                for (n, c) in crd[from..to].iter().enumerate() {
                    made.push(I::narrowed(c.number() as u64 + begin));
                    places.push((first + from + n) as u32);
                }
                first += crd.len();
            }
        }
        let vals = parts.iter().map(|part| (part.vals(), 0..part.vals().len()));
        let vals = Buffer::concatenated(parts[0].vals().datatype(), vals)?;
        let vals = gathered(&vals, &places);
        let mut levels = vec![LevelData::default(); self.level];
        let pos = Buffer::from_vec(ends);
        let crd = Some(Buffer::from_vec(made));
        levels.push(LevelData { pos: Some(pos), crd, ..LevelData::default() });
        Ok((levels, vals))
    }

    /// The coordinates of a level at some positions.
    fn coordinates<I: Index>(
        &self,
        parts: &[tamis::Tensor],
        level: usize,
        pieces: &[Piece],
    ) -> Result<Buffer, Diagnostic> {
        let coordinates = |part: usize| parts[part].levels()[level].crd.as_ref();
        if level != self.level {
            let pieces = pieces
                .iter()
                .filter_map(|(part, range)| Some((coordinates(*part)?, range.clone())));
            return Buffer::concatenated(I::DATATYPE, pieces);
        }
        let mut made = Vec::with_capacity(pieces.iter().map(|(_, range)| range.len()).sum());
        for (part, range) in pieces {
            let own = coordinates(*part).and_then(Buffer::as_slice::<I>).unwrap_or_default();
            let begin = self.begins[*part] as usize;
            made.extend(
                own[range.clone()].iter().map(|c| I::narrowed((c.number() + begin) as u64)),
            );
        }
        Ok(Buffer::from_vec(made))
    }
}

fn positions<I: Index>(part: &tamis::Tensor, level: usize) -> &[I] {
    part.levels()[level].pos.as_ref().and_then(Buffer::as_slice).unwrap_or_default()
}
