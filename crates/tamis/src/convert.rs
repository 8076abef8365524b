//! Packing of, and conversion between, all formats, by generated kernels.

use crate::scattered::{self, is_scattered};
use crate::{Backend, Options, cache};
use std::collections::BTreeMap;
use tamis_core::format::{self, Format, FormatSpec, Storage};
use tamis_core::level::{COMPRESSED, Part};
use tamis_ir::datatype::IndexWidth;
use tamis_ir::diagnostic::Diagnostic;
use tamis_runtime::{Coordinates, Duplicates, Element, Tensor, budget, is_list};

/// A tensor of this storage with these entries. Explicit zeros are kept.
///
/// Where the list says a fill value ([`Coordinates::fill`]) and the storage has another, elements without an entry
/// get their positions, as by [`ToFormat::to_format`].
///
/// Values become the storage's data type: integers are summed in 64 bits and checked to fit,
/// anything but zero is true. Refused are coordinates outside their dimension, positions or
/// coordinates that do not fit their index width, fractions as integers, finite numbers that would become infinite,
/// and, if asked, duplicates.
pub fn pack(
    list: &Coordinates,
    storage: &Storage,
    duplicates: Duplicates,
) -> Result<Tensor, Diagnostic> {
    let Some(fill) = list.fill() else { return pack_entries(list, storage, duplicates) };
    let spec = FormatSpec { fill: Some(fill), ..FormatSpec::of(storage.format.clone()) };
    let own = Storage { fill: spec.resolve(storage.datatype)?.fill, ..storage.clone() };
    pack_entries(list, &own, duplicates)?.to_format(storage)
}

/// A tensor of entries in any order, in any format, written as in `"bcsr(4,4)"`. Positions and coordinates have 64 bits
/// where the dimensions or the number of entries need them, and the format does not say otherwise.
///
/// # Errors
/// When there is no such format for so many modes, an entry lies outside of the dimensions, there are duplicates that are
/// to be refused, a value does not fit the format's type, or the tensor does not fit in memory.
///
/// ```
/// use tamis::{Code, Duplicates, from_entries};
/// # fn main() -> Result<(), tamis::Diagnostic> {
/// let edges = [([0, 2], 1.0), ([1 << 60, 5], 2.0), ([0, 2], 3.0)];
/// let a = from_entries([1 << 61, 6], edges, "dcsr", Duplicates::Sum)?;
/// assert_eq!((a.nnz(), a.get(&[0, 2])?.as_f64()), (2, 4.0));
/// let refused = from_entries([1 << 61, 6], edges, "dcsr", Duplicates::Refuse);
/// assert_eq!(refused.unwrap_err().code, Code::DuplicateEntry);
/// # Ok(())
/// # }
/// ```
pub fn from_entries<T: Element, const N: usize>(
    dims: [u64; N],
    entries: impl IntoIterator<Item = ([u64; N], T)>,
    format: &str,
    duplicates: Duplicates,
) -> Result<Tensor, Diagnostic> {
    let list = Coordinates::of_entries(dims, entries)?;
    let spec = with_widths(format::parse(format, Some(N))?, &dims, list.vals().len());
    pack(&list, &spec.resolve(T::DATATYPE)?, duplicates)
}

/// A tensor of these entries, of a storage that has the fill value of the list.
fn pack_entries(
    list: &Coordinates,
    storage: &Storage,
    duplicates: Duplicates,
) -> Result<Tensor, Diagnostic> {
    let format = &storage.format;
    if format.order() != list.dims().len() || format.is_basic() || is_list(format) {
        return tamis_runtime::pack(list, storage, duplicates);
    }
    let plain = Format::in_order(vec![COMPRESSED; format.order()]);
    let plain = Storage { format: plain, ..storage.clone() };
    let plain = tamis_runtime::pack(list, &plain, duplicates)?;
    if is_scattered(format) {
        return scattered::pack(plain.to_coordinates()?, storage);
    }
    plain.generated(storage)
}

/// Up to so many rows, a position for each is no matter.
const FEW_ROWS: u64 = 1 << 20;

/// The format of a tensor of which nothing is said, as a file is read: vectors are dense, rows of
/// matrices have a position each, unless there are by far more of them than entries.
pub fn usual_format(dims: &[u64], entries: u64) -> &'static str {
    let few = dims.first().is_none_or(|&d| d <= FEW_ROWS.max(entries.saturating_mul(16)));
    match (dims.len(), few) {
        (0 | 1, true) => "dense",
        (0 | 1, false) => "sparse",
        (2, true) => "csr",
        (2, false) => "dcsr",
        _ => "csf",
    }
}

/// Conversion of tensors.
pub trait ToFormat {
    /// The same tensor in another format, written as in `"bcsr(4,4)"`, or in another storage, by a generated
    /// kernel. Values are converted to its data type, and elements that are not stored here get their positions
    /// there if its fill value is another.
    ///
    /// # Errors
    /// When there is no such format for the tensor's modes, a value does not fit its data type, or the tensor does
    /// not fit in memory.
    ///
    /// ```
    /// use tamis::{Tensor, ToFormat};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let a = Tensor::csr([2, 2], vec![0, 1, 2], vec![1, 0], vec![2.0, 3.0])?;
    /// let narrow = a.to_format("csc{f32}")?;
    /// assert_eq!(narrow.values::<f32>()?, [3.0, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    fn to_format(&self, storage: impl AsStorage) -> Result<Tensor, Diagnostic>;
}

/// What tells how a tensor is to be stored: a storage, or the text of a format.
pub trait AsStorage {
    /// The storage of this tensor: of what the text of a format does not say, that of the tensor.
    ///
    /// # Errors
    /// When there is no such format for the tensor's modes.
    fn storage_of(&self, tensor: &Tensor) -> Result<Storage, Diagnostic>;
}

impl AsStorage for &Storage {
    fn storage_of(&self, _: &Tensor) -> Result<Storage, Diagnostic> {
        Ok((*self).clone())
    }
}

impl AsStorage for &str {
    fn storage_of(&self, tensor: &Tensor) -> Result<Storage, Diagnostic> {
        let own = tensor.storage();
        let spec = format::parse(self, Some(tensor.dims().len()))?;
        let spec = with_widths(spec, tensor.dims(), tensor.vals().len());
        FormatSpec { fill: spec.fill.or(Some(own.fill)), ..spec }.resolve(own.datatype)
    }
}

/// A format with the widths that a tensor of so many values needs, where it does not say them.
fn with_widths(spec: FormatSpec, dims: &[u64], values: usize) -> FormatSpec {
    let sizes = dims.iter().copied().chain([values as u64]);
    let width = Some(IndexWidth::for_max(sizes.max().unwrap_or(0)));
    FormatSpec { pos: spec.pos.or(width), crd: spec.crd.or(width), ..spec }
}

impl ToFormat for Tensor {
    fn to_format(&self, storage: impl AsStorage) -> Result<Tensor, Diagnostic> {
        let storage = storage.storage_of(self)?;
        if *self.storage() == storage {
            return Ok(self.clone());
        }
        self.generated(&storage)
    }
}

/// The bytes that positions take before the first level that lists coordinates, or all values where none does: they are
/// known before any entry is read.
fn least_bytes(dims: &[u64], storage: &Storage) -> f64 {
    let headers = storage.format.headers(dims, &|_| 0);
    let mut positions = 1.0;
    for (level, header) in storage.format.levels().iter().zip(headers) {
        let properties = level.kind.properties();
        match (level.has(Part::Pos), properties.full) {
            (true, _) => return positions * storage.pos.datatype().size() as f64,
            (false, false) => return 0.0,
            (false, true) if properties.branchless => {}
            (false, true) => positions *= header.size as f64,
        }
    }
    positions * storage.datatype.size() as f64
}

/// Conversion by a generated kernel.
trait Generated {
    fn generated(&self, storage: &Storage) -> Result<Tensor, Diagnostic>;
}

impl Generated for Tensor {
    fn generated(&self, storage: &Storage) -> Result<Tensor, Diagnostic> {
        budget::check("an array", least_bytes(self.dims(), storage), budget::SMALLER_RESULT)?;
        let indices: Vec<String> = (0..self.dims().len()).map(|m| format!("i{m}")).collect();
        let indices = match indices.is_empty() {
            true => String::new(),
            false => format!("({})", indices.join(",")),
        };
        let spec = FormatSpec {
            format: storage.format.clone(),
            datatype: Some(storage.datatype),
            fill: Some(storage.fill),
            pos: Some(storage.pos),
            crd: Some(storage.crd),
        };
        let options = Options {
            results: BTreeMap::from([("tensor".to_owned(), spec)]),
            backend: Backend::Auto.at_first(),
            ..Options::default()
        };
        let operands = [("A", self)];
        let kernel = cache::kernel(&format!("tensor{indices} = A{indices}"), &operands, &options)?;
        let mut results = kernel.run(&operands)?;
        Ok(results.pop().map_or_else(|| self.clone(), |(_, tensor)| tensor))
    }
}
