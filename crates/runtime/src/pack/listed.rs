//! Lists of coordinates, as files hold them: in the order of the list where the format allows, and
//! with entries of the same coordinate where it allows those.

use super::{Job, duplicate_at};
use crate::budget;
use crate::memory::{Buffer, Truth};
use crate::pack::Duplicates;
use crate::pack::values::Stored;
use crate::radix::{is_sorted, sorted_order};
use crate::tensor::LevelData;
use tamis_core::format::Format;
use tamis_ir::datatype::{DataType, IndexWidth};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::half::{Bf16, F16};

/// Whether a format is one list of the coordinates of all modes, as they are.
pub fn is_list(format: &Format) -> bool {
    let levels = format.levels();
    let last = levels.len();
    let plain = levels.iter().all(|level| level.stores_mode());
    plain && last > 1 && format.chain_goes_on(0) && format.chain_head(last - 1) == 0
}

/// An array of indices that fit.
fn indices(width: IndexWidth, list: impl Iterator<Item = u64>) -> Buffer {
    match width {
        IndexWidth::I32 => Buffer::from_vec(list.map(|x| x as i32).collect()),
        IndexWidth::I64 => Buffer::from_vec(list.map(|x| x as i64).collect()),
    }
}

impl Job<'_> {
    /// The arrays of a list.
    pub(super) fn list<T: Stored>(&self) -> Result<(Vec<LevelData>, Buffer), Diagnostic> {
        let levels = self.storage.format.levels();
        let properties = |k: usize| levels[k].kind.properties();
        let unique = properties(levels.len() - 1).unique;
        let ordered = (0..levels.len()).any(|k| properties(k).ordered);
        // A list in any order is sorted only to find duplicate coordinates.
        let order = match (ordered || unique) && !is_sorted(&self.columns, self.len) {
            true => sorted_order(&self.columns, &self.bounds, self.len)?,
            false => (0..self.len as u64).collect(),
        };
        let entry = 24 + self.storage.datatype.size() + 8 * self.columns.len();
        budget::check("a list", self.len as f64 * entry as f64, budget::SMALLER_TENSOR)?;
        let mut kept: Vec<usize> = Vec::with_capacity(order.len());
        let mut vals: Vec<T> = Vec::with_capacity(order.len());
        let mut n = 0;
        while n < order.len() {
            let first = order[n] as usize;
            let mut sum = T::read(self.numbers.bits(first));
            n += 1;
            while unique && n < order.len() && self.same(first, order[n] as usize) {
                if self.duplicates == Duplicates::Refuse {
                    return Err(duplicate_at(&self.columns, self.storage, first));
                }
                sum = T::add(sum, T::read(self.numbers.bits(order[n] as usize)));
                n += 1;
            }
            kept.push(first);
            vals.push(T::store(sum)?);
        }
        Ok((self.list_levels(&kept), Buffer::from_vec(vals)))
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.columns.iter().all(|column| column[a] == column[b])
    }

    fn list_levels(&self, kept: &[usize]) -> Vec<LevelData> {
        let interleaved = self.storage.format.interleaved(0).is_some();
        let mut levels = vec![LevelData::default(); self.columns.len()];
        for (k, (level, column)) in levels.iter_mut().zip(&self.columns).enumerate() {
            level.crd = match (interleaved, k) {
                (true, 0) => {
                    let all = |&n: &usize| self.columns.iter().map(move |column| column[n]);
                    Some(indices(self.storage.crd, kept.iter().flat_map(all)))
                }
                (true, _) => None,
                (false, _) => Some(indices(self.storage.crd, kept.iter().map(|&n| column[n]))),
            };
        }
        let ends = [0, kept.len() as u64];
        levels[0].pos = Some(indices(self.storage.pos, ends.into_iter()));
        levels
    }

    /// The type that values are stored in.
    pub(super) fn list_of(&self) -> Result<(Vec<LevelData>, Buffer), Diagnostic> {
        match self.storage.datatype {
            DataType::Bool => self.list::<Truth>(),
            DataType::I8 => self.list::<i8>(),
            DataType::I16 => self.list::<i16>(),
            DataType::I32 => self.list::<i32>(),
            DataType::I64 => self.list::<i64>(),
            DataType::U8 => self.list::<u8>(),
            DataType::U16 => self.list::<u16>(),
            DataType::U32 => self.list::<u32>(),
            DataType::U64 => self.list::<u64>(),
            DataType::F16 => self.list::<F16>(),
            DataType::Bf16 => self.list::<Bf16>(),
            DataType::F32 => self.list::<f32>(),
            DataType::F64 => self.list::<f64>(),
            DataType::C64 => self.list::<[f32; 2]>(),
            DataType::C128 => self.list::<[f64; 2]>(),
        }
    }
}
