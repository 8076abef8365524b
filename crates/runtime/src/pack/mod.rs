//! Packing: a list of coordinates and values becomes a tensor of any format.
//!
//! Entries are sorted by their coordinates in level order (stable, so that duplicates combine in
//! the order of the list), then all levels are built at once. A list that is in order already is
//! not sorted. Coordinates travel as one number, the key, and their value with it:
//!
//! ```text
//! csc        i: 2 0 2   j: 1 1 0   values: 5 6 7
//! records    (j i, value)    (0 2, 7) (1 0, 6) (1 2, 5)
//! ```
//!
//! The arrays are the same, bit for bit, for any number of threads.

mod build;
mod entries;
mod listed;
#[cfg(test)]
mod tests;
mod values;

use crate::coordinates::{Coordinates, Values};
use crate::extent::check_dims;
use crate::memory::{Buffer, Truth};
use crate::radix::{Key, Record, Workers, bits_below, is_sorted, sorted, sorted_order};
use crate::tensor::{LevelData, Tensor};
use crate::threads;
use build::build;
use entries::{Listed, Packed};
pub use listed::is_list;
use tamis_core::format::{Format, Storage};
use tamis_core::level::DENSE;
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::half::{Bf16, F16};
use tamis_ir::ids::Id;
use values::{Numbers, Stored};

/// What to do with entries of the same coordinate, unless the format is a list that keeps several:
/// those of `coo(nonunique)` stay as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplicates {
    /// Add them up, in the order of the list; of truth values one true is enough.
    Sum,
    /// Refuse them.
    Refuse,
}

/// Every element of the tensor that a list has the entries of, in row-major order. Where the list has no entry, the
/// element is the fill value, 0 unless another is given. Entries of the same coordinate are added up.
///
/// # Errors
/// When there is no memory for all elements.
pub fn elements(list: &Coordinates, fill: Option<Scalar>) -> Result<Values, Diagnostic> {
    let datatype = list.vals().datatype();
    let mut storage = Storage::of(Format::in_order(list.dims().iter().map(|_| DENSE)), datatype);
    if let Some(fill) = fill {
        storage.fill = fill.stored(datatype);
    }
    Ok(Values::copied(pack(list, &storage, Duplicates::Sum)?.vals()))
}

/// A tensor of this storage with these entries. Explicit zeros are kept.
///
/// The format is a list of coordinates, or its levels are dense and compressed; for all others
/// there are conversions by generated kernels.
///
/// Values become the storage's data type: sums of integers below 64 bits are exact and checked to fit,
/// anything but zero is true. Refused are coordinates outside their dimension, positions or
/// coordinates that do not fit their index width, fractions as integers, finite numbers that would become infinite,
/// and, if asked, duplicates.
pub fn pack(
    list: &Coordinates,
    storage: &Storage,
    duplicates: Duplicates,
) -> Result<Tensor, Diagnostic> {
    check_shape(list, storage)?;
    debug_assert!(storage.format.is_basic() || is_list(&storage.format));
    let levels = storage.format.levels();
    let modes: Vec<usize> = levels.iter().map(|l| l.map.modes()[0].index()).collect();
    let bounds: Vec<u64> = modes.iter().map(|&m| bound(&list.crds()[m])).collect();
    for (level, &bound) in storage.format.levels().iter().zip(&bounds) {
        let stored = !level.kind.properties().full;
        if stored && storage.crd == IndexWidth::I32 && bound > 1 << 31 {
            return Err(too_wide("coordinate", bound - 1));
        }
    }
    let job = Job {
        columns: modes.iter().map(|&m| list.crds()[m].as_slice()).collect(),
        dims: modes.iter().map(|&m| list.dims()[m]).collect(),
        bounds,
        numbers: Numbers::of(list.vals(), storage.datatype)?,
        len: list.vals().len(),
        storage,
        duplicates,
    };
    if is_list(&storage.format) {
        let (levels, vals) = job.list_of()?;
        // SAFETY: coordinates were checked to lie in their dimensions, and are sorted and without
        // repetition where the format promises that.
        return Ok(unsafe {
            Tensor::from_parts_unchecked(list.dims().to_vec(), storage.clone(), levels, vals)
        });
    }
    let (levels, vals) = match storage.datatype {
        DataType::Bool => job.run::<Truth>(),
        DataType::I8 => job.run::<i8>(),
        DataType::I16 => job.run::<i16>(),
        DataType::I32 => job.run::<i32>(),
        DataType::I64 => job.run::<i64>(),
        DataType::U8 => job.run::<u8>(),
        DataType::U16 => job.run::<u16>(),
        DataType::U32 => job.run::<u32>(),
        DataType::U64 => job.run::<u64>(),
        DataType::F16 => job.run::<F16>(),
        DataType::Bf16 => job.run::<Bf16>(),
        DataType::F32 => job.run::<f32>(),
        DataType::F64 => job.run::<f64>(),
        DataType::C64 => job.run::<[f32; 2]>(),
        DataType::C128 => job.run::<[f64; 2]>(),
    }?;
    // SAFETY: coordinates were checked to lie in their dimensions and are sorted; levels are built
    // from them without repetition, and there is one value per position of the last level.
    Ok(unsafe { Tensor::from_parts_unchecked(list.dims().to_vec(), storage.clone(), levels, vals) })
}

fn check_shape(list: &Coordinates, storage: &Storage) -> Result<(), Diagnostic> {
    check_dims(list.dims())?;
    let order = storage.format.order();
    if list.dims().len() != order {
        let message =
            format!("a tensor of order {} got a format of order {order}", list.dims().len());
        return Err(Diagnostic::new(Code::FormatOrder, message).help("choose another format"));
    }
    let fill = list.fill().map(|fill| fill.computed(storage.datatype));
    if let Some(fill) = fill.filter(|fill| !fill.same_value(storage.fill)) {
        let message =
            format!("the list has {fill} where it has no entry, the storage {}", storage.fill);
        let help = "pack it with its own fill value, then convert the tensor";
        return Err(Diagnostic::new(Code::InvalidTensor, message).help(help));
    }
    Ok(())
}

/// A number above all coordinates of a mode.
fn bound(crds: &[u64]) -> u64 {
    let parts: Vec<&[u64]> = crds.chunks(1 << 16).collect();
    let largest = threads::map(parts.len(), &|k| parts[k].iter().copied().max());
    largest.into_iter().flatten().max().map_or(0, |c| c + 1)
}

/// The diagnostic for an entry whose coordinate occurs twice; columns are those of the levels.
fn duplicate_at(columns: &[&[u64]], storage: &Storage, n: usize) -> Diagnostic {
    let mut place = vec![String::new(); storage.format.order()];
    for (level, column) in storage.format.levels().iter().zip(columns) {
        place[level.map.modes()[0].index()] = column[n].to_string();
    }
    let message = format!("the coordinate ({}) occurs twice", place.join(", "));
    Diagnostic::new(Code::DuplicateEntry, message).help("remove one, or let them be summed")
}

fn too_wide(what: &str, number: u64) -> Diagnostic {
    Diagnostic::new(Code::PositionOverflow, format!("the {what} {number} does not fit 32 bits"))
        .help("ask for 64-bit positions and coordinates: {pos: i64, crd: i64}")
}

/// A list that was checked, by levels.
struct Job<'l> {
    columns: Vec<&'l [u64]>,
    dims: Vec<u64>,
    /// Above all coordinates of each level.
    bounds: Vec<u64>,
    numbers: Numbers<'l>,
    len: usize,
    storage: &'l Storage,
    duplicates: Duplicates,
}

/// The arrays of the levels, and the values.
type Arrays = (Vec<LevelData>, Buffer);

impl Job<'_> {
    fn run<T: Stored>(&self) -> Result<Arrays, Diagnostic> {
        let bits = self.bounds.iter().map(|&b| bits_below(b)).sum();
        match bits {
            _ if is_sorted(&self.columns, self.len) => self.listed::<T>(None),
            // A record has room for 64 bits, each part of a complex value takes them.
            _ if self.storage.datatype.is_complex() => self.ordered::<T>(),
            0..u64::BITS => self.packed::<u64, T>(bits),
            u64::BITS..u128::BITS => self.packed::<u128, T>(bits),
            _ => self.ordered::<T>(),
        }
    }

    fn ordered<T: Stored>(&self) -> Result<Arrays, Diagnostic> {
        let order = sorted_order(&self.columns, &self.bounds, self.len)?;
        self.listed::<T>(Some(&order))
    }

    fn listed<T: Stored>(&self, order: Option<&[u64]>) -> Result<Arrays, Diagnostic> {
        let (numbers, len) = (self.numbers, self.len);
        let entries = Listed { columns: &self.columns, order, numbers, len };
        build::<_, T>(&entries, self.storage, &self.dims, self.duplicates)
    }

    fn packed<K: Key, T: Stored>(&self, bits: u32) -> Result<Arrays, Diagnostic> {
        let widths: Vec<u32> = self.bounds.iter().map(|&b| bits_below(b)).collect();
        let mut records = sorted(Workers::Pool, self.len, bits, |n| {
            let columns = self.columns.iter().zip(&widths);
            let key = columns.fold(K::ZERO, |key, (column, &bits)| key.then(column[n], bits));
            Record { key, load: self.numbers.bits(n) as u64 }
        })?;
        let mut below = bits;
        let field = |&width: &u32| {
            below -= width;
            (below, width)
        };
        let fields = widths.iter().map(field).collect();
        // SAFETY: sorting wrote every element.
        let entries = Packed { records: unsafe { records.as_mut_slice() }, fields };
        build::<_, T>(&entries, self.storage, &self.dims, self.duplicates)
    }
}
