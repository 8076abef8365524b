//! Tensors on the device, as operands and results of kernels.
//!
//! ```text
//! let a = to_device(&matrix)?;      copied once
//! let host = a.from_device()?;      copied back
//! drop(a);                          gone from the device
//! ```

use crate::driver;
use crate::memory::Memory;
use crate::stream::Stream;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use tamis_core::format::Storage;
use tamis_core::level::Part;
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::Diagnostic;
use tamis_runtime::{Buffer, LevelData, Tensor, longest_row, memory};

/// An array on the device. Cloning shares the memory.
#[derive(Clone)]
pub(crate) struct Elements {
    pub(crate) memory: Arc<Memory>,
    /// How many elements of the type there are.
    pub(crate) len: usize,
    pub(crate) datatype: DataType,
    /// The last element, if the host knows it: of positions, how many there are.
    pub(crate) last: Option<i64>,
}

/// The arrays of a level, in the order of [`Part::ALL`].
pub(crate) type Parts = [Option<Elements>; Part::ALL.len()];

/// A tensor in the memory of the device. Cloning shares the arrays; they go with the last clone.
#[derive(Clone)]
pub struct DeviceTensor {
    dims: Vec<u64>,
    storage: Storage,
    levels: Vec<Parts>,
    vals: Elements,
    longest: Arc<OnceLock<u64>>,
    tables: Arc<Tables>,
}

/// The index of a part in [`Parts`].
pub(crate) fn place(part: Part) -> usize {
    Part::ALL.iter().position(|p| *p == part).expect("all parts are listed")
}

/// Copies a tensor to the device.
///
/// # Errors
///
/// Without a device, or memory there: the diagnostic says how much.
pub fn to_device(tensor: &Tensor) -> Result<DeviceTensor, Diagnostic> {
    let device = driver::device()?;
    let _entered = device.enter()?;
    let stream = device.stream()?;
    DeviceTensor::copied(tensor, &stream)
}

impl DeviceTensor {
    /// A copy of a tensor, by a stream of a device that was entered.
    pub fn copied(tensor: &Tensor, stream: &Stream) -> Result<DeviceTensor, Diagnostic> {
        // What was allocated is waited for even where the rest does not fit: copies may be under way.
        let copied = DeviceTensor::copying(tensor, stream);
        stream.wait()?;
        let copied = copied?;
        copied.elements().for_each(|elements| elements.memory.is_written());
        Ok(copied)
    }

    fn copying(tensor: &Tensor, stream: &Stream) -> Result<DeviceTensor, Diagnostic> {
        let copy = |buffer: &Buffer| -> Result<Elements, Diagnostic> {
            let memory = stream.allocate(buffer.bytes())?;
            // SAFETY: the buffer holds these bytes, and the stream is waited for.
            unsafe { stream.copy_in(&memory, buffer.address(), buffer.bytes()) }?;
            let (len, datatype) = (buffer.len(), buffer.datatype());
            let is_index = matches!(datatype, DataType::I32 | DataType::I64);
            let last = (len > 0 && is_index).then(|| buffer.index(len - 1));
            Ok(Elements { memory: Arc::new(memory), len, datatype, last })
        };
        let mut levels = vec![];
        for level in tensor.levels() {
            let mut parts = Parts::default();
            for part in Part::ALL {
                parts[place(part)] = level.part(part).map(copy).transpose()?;
            }
            levels.push(parts);
        }
        let vals = copy(tensor.vals())?;
        Ok(DeviceTensor::of(tensor.dims().to_vec(), tensor.storage().clone(), levels, vals))
    }

    /// A tensor of arrays that are valid.
    pub(crate) fn of(
        dims: Vec<u64>,
        storage: Storage,
        levels: Vec<Parts>,
        vals: Elements,
    ) -> DeviceTensor {
        let (longest, tables) = (Arc::default(), Arc::default());
        DeviceTensor { dims, storage, levels, vals, longest, tables }
    }

    /// The entries of this tensor with other values.
    pub(crate) fn with_values(&self, vals: Elements) -> DeviceTensor {
        DeviceTensor::of(self.dims.clone(), self.storage.clone(), self.levels.clone(), vals)
    }

    /// The dimension of each mode.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// How it is stored.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// How many values are stored.
    pub fn stored(&self) -> usize {
        self.vals.len
    }

    /// The bytes of its arrays.
    pub fn bytes(&self) -> usize {
        self.elements().map(|e| e.len * e.datatype.size()).sum()
    }

    /// How many entries the longest row has. The first time that this is asked, the arrays are copied to
    /// the host.
    ///
    /// # Errors
    ///
    /// As for [`from_device`](DeviceTensor::from_device).
    pub fn longest_row(&self) -> Result<u64, Diagnostic> {
        match self.longest.get() {
            Some(longest) => Ok(*longest),
            None => {
                let longest = longest_row(&self.from_device()?);
                Ok(*self.longest.get_or_init(|| longest))
            }
        }
    }

    /// A copy on the host.
    ///
    /// # Errors
    ///
    /// Without memory on the host, or where a kernel that computes the tensor failed.
    #[allow(clippy::wrong_self_convention, reason = "it is the device that it comes from")]
    pub fn from_device(&self) -> Result<Tensor, Diagnostic> {
        let device = driver::device()?;
        let _entered = device.enter()?;
        self.fetched(&device.stream()?)
    }

    /// Waits until the tensor is computed.
    ///
    /// # Errors
    ///
    /// Where a kernel that computes it failed.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        let device = driver::device()?;
        let _entered = device.enter()?;
        let stream = device.stream()?;
        self.elements().try_for_each(|elements| elements.memory.read_by(&stream))?;
        stream.wait()?;
        self.elements().for_each(|elements| elements.memory.is_written());
        Ok(())
    }

    /// A copy on the host, by a stream of a device that was entered.
    pub fn fetched(&self, stream: &Stream) -> Result<Tensor, Diagnostic> {
        let (levels, vals) = self.room()?;
        let filled = self.filled(&levels, &vals, stream);
        stream.wait()?;
        filled?;
        self.elements().for_each(|elements| elements.memory.is_written());
        let (dims, storage) = (self.dims.clone(), self.storage.clone());
        #[cfg(debug_assertions)]
        Tensor::try_from_parts(dims.clone(), storage.clone(), levels.clone(), vals.clone())
            .unwrap_or_else(|why| panic!("generated code assembles valid tensors: {why}"));
        // SAFETY: what is on the device is valid: a copy, or what generated code assembled.
        Ok(unsafe { Tensor::from_parts_unchecked(dims, storage, levels, vals) })
    }

    /// Memory of the host for all arrays.
    fn room(&self) -> Result<(Vec<LevelData>, Buffer), Diagnostic> {
        let fresh = |elements: &Elements| -> Result<Buffer, Diagnostic> {
            let Elements { len, datatype, .. } = *elements;
            let address = memory::allocate(datatype, len)?;
            // SAFETY: the memory is fresh, of so many elements, and freed by nobody else.
            Ok(unsafe { Buffer::from_malloc(address, len, datatype) })
        };
        let mut levels = vec![];
        for parts in &self.levels {
            let mut level = LevelData::default();
            for part in Part::ALL {
                *level.part_mut(part) = parts[place(part)].as_ref().map(fresh).transpose()?;
            }
            levels.push(level);
        }
        Ok((levels, fresh(&self.vals)?))
    }

    /// Asks for copies of all arrays.
    fn filled(
        &self,
        levels: &[LevelData],
        vals: &Buffer,
        stream: &Stream,
    ) -> Result<(), Diagnostic> {
        let of_level = |level: &'_ LevelData| Part::ALL.map(|part| level.part(part).cloned());
        let buffers = levels.iter().flat_map(of_level).flatten().chain([vals.clone()]);
        for (elements, buffer) in self.elements().zip(buffers) {
            elements.memory.read_by(stream)?;
            let (to, bytes) = (buffer.address().cast_mut(), buffer.bytes());
            // SAFETY: the buffer has these bytes, nobody reads them before the stream was waited for, and the
            // caller keeps them until then.
            unsafe { stream.copy_out(to, &elements.memory, bytes) }?;
        }
        Ok(())
    }

    /// All arrays.
    fn elements(&self) -> impl Iterator<Item = &Elements> {
        self.levels.iter().flatten().flatten().chain([&self.vals])
    }

    /// Whether the first levels are the same arrays as those of another tensor, one copy for both.
    pub fn shares_levels(&self, other: &DeviceTensor, levels: usize) -> bool {
        let same = |pair: (&Option<Elements>, &Option<Elements>)| match pair {
            (Some(a), Some(b)) => Arc::ptr_eq(&a.memory, &b.memory),
            (a, b) => a.is_none() && b.is_none(),
        };
        let [own, others] = [self, other].map(|tensor| tensor.levels.get(..levels));
        let pairs = own.zip(others);
        pairs.is_some_and(|(own, others)| {
            own.iter().zip(others).all(|(a, b)| a.iter().zip(b).all(same))
        })
    }

    pub(crate) fn levels(&self) -> &[Parts] {
        &self.levels
    }

    pub(crate) fn part(&self, level: usize, part: Part) -> Option<&Elements> {
        self.levels[level][place(part)].as_ref()
    }

    pub(crate) fn vals(&self) -> &Elements {
        &self.vals
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// How many tables are kept with the tensor: where its tiles begin.
    pub fn tables_kept(&self) -> usize {
        self.tables.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// What decides a table beside the arrays of the tensor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The compiled function, by a number of its own.
    pub(crate) function: u64,
    /// Which of its kernels.
    pub(crate) launch: usize,
    /// What it is given beside arrays.
    pub(crate) scalars: Vec<u64>,
}

/// A table, and whether the function that reads it is still there.
type Table = (Weak<()>, Vec<Elements>);

/// What kernels found out from the arrays of a tensor alone, kept with it.
#[derive(Default)]
pub(crate) struct Tables(Mutex<BTreeMap<Key, Table>>);

impl Tables {
    pub(crate) fn find(&self, key: &Key) -> Option<Vec<Elements>> {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.get(key).map(|(_, arrays)| arrays.clone())
    }

    /// Keeps a table for a function, and those of functions that are gone no longer.
    pub(crate) fn keep(&self, key: Key, function: &Arc<()>, arrays: Vec<Elements>) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|_, (function, _)| function.strong_count() > 0);
        tables.insert(key, (Arc::downgrade(function), arrays));
    }
}
