//! The promises of formats, checked: what plainly keeps them at once, the rest with the reason.

use super::{LevelData, Tensor, views};
use crate::extent::{check_dims, too_large};
use crate::memory::{Buffer, Element, Truth};
use crate::quick;
use tamis_core::format::{LevelMap, Walk};
use tamis_core::level::Part;
use tamis_ir::datatype::{DataType, IndexWidth};
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};
use tamis_ir::ids::Id;

impl Tensor {
    /// Checks every promise of the format.
    pub(super) fn validate(&self) -> Result<(), Diagnostic> {
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
        match quick::positions(format, &self.dims, &self.levels) {
            Some(positions) => {
                debug_assert!(
                    self.vals.len() as u64 != positions || self.validate_levels().is_ok()
                );
                self.validate_values(positions)?;
            }
            None => self.validate_levels()?,
        }
        if let Some(bools) = self.vals.as_slice::<Truth>()
            // All bits at once, since most arrays are valid.
            && bools.iter().fold(0, |bits, b| bits | b.byte()) > 1
            && let Some(at) = bools.iter().position(|b| b.byte() > 1)
        {
            let byte = bools[at].byte();
            return Err(invalid(format!("value {at} is the byte {byte}, not a bool")));
        }
        Ok(())
    }

    /// Checks every promise of the levels, and that there are as many values as they say.
    fn validate_levels(&self) -> Result<(), Diagnostic> {
        match self.storage.format.is_basic() {
            true => self.validate_values(self.validate_plain()?),
            false => self.validate_walking(),
        }
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
    Diagnostic::new(Code::InvalidTensor, message).help_by(
        "check how the arrays were made; {} takes entries in any order",
        [Setting::Entries],
    )
}
