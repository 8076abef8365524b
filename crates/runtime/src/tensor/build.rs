//! Tensors of vectors: the usual formats by their arrays, and lists of entries.

use super::{LevelData, Tensor};
use crate::budget;
use crate::coordinates::Coordinates;
use crate::index::Index;
use crate::memory::{Buffer, Element, Truth};
use crate::pack::{Duplicates, pack};
use std::sync::OnceLock;
use tamis_core::format::{self, Format, LevelSpec, Storage};
use tamis_core::level::{COMPRESSED, DENSE, Part};
use tamis_ir::datatype::{DataType, IndexWidth};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, Mode};

impl Default for Tensor {
    /// The number 0. It takes no memory: what is taken out of a variable leaves it there.
    fn default() -> Tensor {
        static STORAGE: OnceLock<Storage> = OnceLock::new();
        let storage = STORAGE.get_or_init(|| Storage::of(Format::in_order([]), DataType::F64));
        let (storage, vals) = (storage.clone(), Buffer::constant(&[0.0]));
        Tensor { dims: vec![], storage, levels: vec![], vals }
    }
}

impl Tensor {
    /// A tensor of order 0.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        let storage = Storage::of(Format::in_order([]), T::DATATYPE);
        let vals = Buffer::from_vec(vec![value]);
        // A byte that is neither 0 nor 1 is true.
        let vals = match vals.as_slice::<Truth>() {
            Some(truths) => Buffer::from_vec(vec![Truth::from(truths[0].byte() != 0)]),
            None => vals,
        };
        Tensor { dims: vec![], storage, levels: vec![], vals }
    }

    /// A dense tensor, last mode contiguous.
    ///
    /// # Errors
    /// When there are not as many values as the dimensions say.
    pub fn dense<T: Element>(dims: &[u64], vals: Vec<T>) -> Result<Tensor, Diagnostic> {
        Tensor::full(dims, Buffer::from_vec(vals))
    }

    /// A dense tensor of zeros.
    ///
    /// # Errors
    /// When it does not fit in memory.
    pub fn zeros<T: Element>(dims: &[u64]) -> Result<Tensor, Diagnostic> {
        // Dimensions that are too large are refused as such where one of them is 0.
        let product =
            || dims.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?));
        let len = if dims.contains(&0) { Some(0) } else { product() };
        let too_large = || {
            let bytes = dims.iter().fold(size_of::<T>() as f64, |n, &d| n * d as f64);
            budget::refusal("an array", Some(bytes), budget::SMALLER_TENSOR)
        };
        Tensor::full(dims, Buffer::zeroed(T::DATATYPE, len.ok_or_else(too_large)?)?)
    }

    pub(crate) fn full(dims: &[u64], vals: Buffer) -> Result<Tensor, Diagnostic> {
        let format = Format::in_order(dims.iter().map(|_| DENSE));
        let levels = dims.iter().map(|_| LevelData::default()).collect();
        let storage = Storage::of(format, vals.datatype());
        Tensor::try_from_parts(dims.to_vec(), storage, levels, vals)
    }

    /// A matrix by compressed rows: `pos` has a position per row and one more.
    ///
    /// # Errors
    /// When the arrays break the format's promises: see [`Tensor::try_from_parts`].
    pub fn csr<P: Index, C: Index, T: Element>(
        dims: [u64; 2],
        pos: Vec<P>,
        crd: Vec<C>,
        vals: Vec<T>,
    ) -> Result<Tensor, Diagnostic> {
        let arrays = [Buffer::from_indices(pos), Buffer::from_indices(crd), Buffer::from_vec(vals)];
        Tensor::compressed([0, 1], dims, arrays)
    }

    /// A matrix by compressed columns: `pos` has a position per column and one more.
    ///
    /// # Errors
    /// As for [`Tensor::csr`].
    pub fn csc<P: Index, C: Index, T: Element>(
        dims: [u64; 2],
        pos: Vec<P>,
        crd: Vec<C>,
        vals: Vec<T>,
    ) -> Result<Tensor, Diagnostic> {
        let arrays = [Buffer::from_indices(pos), Buffer::from_indices(crd), Buffer::from_vec(vals)];
        Tensor::compressed([1, 0], dims, arrays)
    }

    /// A matrix with a dense level of one mode above a compressed one of the other.
    pub(crate) fn compressed(
        modes: [usize; 2],
        dims: [u64; 2],
        [pos, crd, vals]: [Buffer; 3],
    ) -> Result<Tensor, Diagnostic> {
        let spec = |(m, kind)| LevelSpec::of(Mode::new(m), kind);
        let levels = modes.into_iter().zip([DENSE, COMPRESSED]).map(spec).collect();
        let format = Format::new(levels, 2).expect("two distinct modes");
        Tensor::listed(dims.to_vec(), format, vec![vec![], vec![pos, crd]], vals)
    }

    /// A tensor as a list of entries in the order of their coordinates, those of each mode in a vector;
    /// entries in any order become a tensor by [`Tensor::from_triplets`].
    ///
    /// # Errors
    /// When the vectors are not of one length, or the entries are not in order, are repeated or lie
    /// outside of the dimensions.
    pub fn coo<I: Index, T: Element, const N: usize>(
        dims: [u64; N],
        crds: [Vec<I>; N],
        vals: Vec<T>,
    ) -> Result<Tensor, Diagnostic> {
        let format = format::parse("coo", Some(N))?.format;
        let pos = match I::WIDTH {
            IndexWidth::I32 => Buffer::from_vec(vec![0, vals.len().min(i32::MAX as usize) as i32]),
            IndexWidth::I64 => Buffer::from_vec(vec![0, vals.len() as i64]),
        };
        let mut levels: Vec<Vec<Buffer>> =
            crds.into_iter().map(|crd| vec![Buffer::from_indices(crd)]).collect();
        levels.iter_mut().take(1).for_each(|level| level.insert(0, pos.clone()));
        Tensor::listed(dims.to_vec(), format, levels, Buffer::from_vec(vals))
    }

    /// A tensor by compressed fibers: of each mode, where the children of each position begin, and one
    /// more, and their coordinates.
    ///
    /// # Errors
    /// As for [`Tensor::csr`].
    pub fn csf<P: Index, C: Index, T: Element, const N: usize>(
        dims: [u64; N],
        levels: [(Vec<P>, Vec<C>); N],
        vals: Vec<T>,
    ) -> Result<Tensor, Diagnostic> {
        let format = Format::in_order([COMPRESSED; N]);
        let levels = levels
            .into_iter()
            .map(|(pos, crd)| vec![Buffer::from_indices(pos), Buffer::from_indices(crd)])
            .collect();
        Tensor::listed(dims.to_vec(), format, levels, Buffer::from_vec(vals))
    }

    /// A tensor of entries in any order; values at the same coordinate are added. A matrix is stored by
    /// compressed rows, another tensor by compressed fibers; `tamis::from_entries` stores them in any format.
    ///
    /// # Errors
    /// When an entry lies outside of the dimensions, or the tensor does not fit in memory: compressed rows have a
    /// position each.
    pub fn from_triplets<T: Element, const N: usize>(
        dims: [u64; N],
        entries: impl IntoIterator<Item = ([u64; N], T)>,
    ) -> Result<Tensor, Diagnostic> {
        let format = match N {
            2 => Format::in_order([DENSE, COMPRESSED]),
            _ => Format::in_order([COMPRESSED; N]),
        };
        let list = Coordinates::of_entries(dims, entries)?;
        let mut storage = Storage::of(format, T::DATATYPE);
        let largest = dims.into_iter().max().unwrap_or(0).max(list.vals().len() as u64);
        (storage.pos, storage.crd) = (IndexWidth::for_max(largest), IndexWidth::for_max(largest));
        pack(&list, &storage, Duplicates::Sum).map_err(|refused| match refused.code {
            Code::OutOfMemory | Code::DimensionTooLarge | Code::TooLarge if N == 2 => refused.help(
                "rows have a position each: tamis::from_entries(dims, entries, \"dcsr\", ..) stores only those with entries",
            ),
            _ => refused,
        })
    }

    /// A square matrix by compressed rows with a value on the diagonal.
    ///
    /// # Errors
    /// When it does not fit in memory.
    pub fn eye<T: Element>(n: u64, value: T) -> Result<Tensor, Diagnostic> {
        // Coordinates and values are listed before they are packed.
        let bytes = n as f64 * (4 * 8 + 2 * T::DATATYPE.size()) as f64;
        budget::check("a diagonal", bytes, budget::SMALLER_RESULT)?;
        Tensor::from_triplets([n, n], (0..n).map(|k| ([k, k], value)))
    }

    /// A tensor of the arrays of each level, positions before coordinates, whose types tell the storage's.
    fn listed(
        dims: Vec<u64>,
        format: Format,
        arrays: Vec<Vec<Buffer>>,
        vals: Buffer,
    ) -> Result<Tensor, Diagnostic> {
        let mut storage = Storage::of(format, vals.datatype());
        let mut levels = vec![];
        for (level, arrays) in storage.format.levels().iter().zip(arrays) {
            let mut data = LevelData::default();
            let parts = [Part::Pos, Part::Crd].into_iter().filter(|part| level.has(*part));
            for (part, array) in parts.zip(arrays) {
                let width = match array.datatype() {
                    DataType::I64 => IndexWidth::I64,
                    _ => IndexWidth::I32,
                };
                match part {
                    Part::Pos => storage.pos = width,
                    _ => storage.crd = width,
                }
                *data.part_mut(part) = Some(array);
            }
            levels.push(data);
        }
        Tensor::try_from_parts(dims, storage, levels, vals)
    }
}
