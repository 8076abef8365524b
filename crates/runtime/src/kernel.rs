//! Calling a compiled function: slots for its parameters, and its results as tensors.

use crate::memory::{self, Buffer};
use crate::tensor::{LevelData, Tensor, too_large, views};
use tamis_core::cin;
use tamis_core::datatype::DataType;
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::format::{Format, Storage};
use tamis_core::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_core::ir::{self, Param, Status};
use tamis_core::level::Part;
use tamis_core::lower::{Binding, Lowered};

/// A function of the imperative form, ready to call, on whichever backend.
pub trait Executable: Send + Sync {
    /// Calls the function.
    ///
    /// # Safety
    /// `slots` follows the calling convention of [`tamis_core::ir::Param`] for the function.
    unsafe fn call(&self, slots: &mut [u64]) -> Status;
}

/// Runs one kernel.
///
/// `values` holds the tensors that were given or computed before, by id.
pub fn call(
    target: &cin::Tensor,
    lowered: &Lowered,
    executable: &dyn Executable,
    values: &[Option<Tensor>],
    dims: &IdVec<IndexVar, u64>,
) -> Result<Tensor, Diagnostic> {
    let shape: Vec<u64> = target.modes.iter().map(|&v| dims[v]).collect();
    let storage = &target.storage;
    let function = &lowered.function;
    let mut slots: Vec<u64> = Vec::with_capacity(2 * function.params.len() + 8);
    let mut held = Held { slots: vec![] };
    for (param, binding) in function.params.iter().zip(&lowered.bindings) {
        if let (Param::Scalar(_), Binding::Dimension(var)) = (param, binding) {
            slots.push(dims[*var]);
            continue;
        }
        let Param::Array(array) = param else { continue };
        let place = slots.len();
        match function.arrays[*array].role {
            ir::Role::Input => {
                let buffer = bound(binding, values);
                let len = buffer.len() * parts(buffer.datatype());
                slots.extend([buffer.address() as u64, len as u64]);
            }
            ir::Role::Output => {
                let headers = storage.format.headers(&shape, &|_| 0);
                let size = headers.iter().try_fold(1u64, |n, level| n.checked_mul(level.size));
                let size = size.filter(|&n| n <= i64::MAX as u64 / 16);
                let size = size.ok_or_else(|| too_large(&shape))? as usize;
                let address = memory::allocate(storage.datatype, size)?;
                slots.extend([address as u64, (size * parts(storage.datatype)) as u64]);
                held.slots.push(place);
            }
            ir::Role::Result | ir::Role::Local => {
                slots.extend([0, 0]);
                held.slots.push(place);
            }
        }
    }
    for _ in function.locals() {
        held.slots.push(slots.len());
        slots.extend([0, 0]);
    }
    // SAFETY: the slots follow the function's parameters one by one: inputs are arrays of tensors
    // that are valid and have the storage the function was compiled for, outputs have the size of
    // the result, the rest starts empty.
    let status = unsafe { executable.call(&mut slots) };
    let tensor = match status {
        Status::Ok => Ok(taken(lowered, &mut slots, storage, shape)),
        status => Err(failed(status, &target.name, storage)),
    };
    held.free(&slots);
    tensor
}

/// How many numbers of the imperative form an element is.
fn parts(datatype: DataType) -> usize {
    if datatype.is_complex() { 2 } else { 1 }
}

/// Arrays that the kernel allocated and nobody has taken over.
struct Held {
    slots: Vec<usize>,
}

impl Held {
    fn free(self, slots: &[u64]) {
        for place in self.slots {
            if slots[place] != 0 {
                // SAFETY: the slot holds memory of the malloc family that is owned here; what was
                // taken over left a null.
                drop(unsafe { Buffer::from_malloc(slots[place] as *mut u8, 0, DataType::Bool) });
            }
        }
    }
}

/// The result's arrays out of the slots.
fn taken(lowered: &Lowered, slots: &mut [u64], storage: &Storage, dims: Vec<u64>) -> Tensor {
    let mut levels = vec![LevelData::default(); storage.format.levels().len()];
    let mut vals = None;
    let mut place = 0;
    for (param, binding) in lowered.function.params.iter().zip(&lowered.bindings) {
        let Param::Array(array) = param else {
            place += 1;
            continue;
        };
        let decl = &lowered.function.arrays[*array];
        if decl.role != ir::Role::Input {
            let (address, len) = (slots[place], slots[place + 1] as usize);
            slots[place] = 0;
            // SAFETY: the kernel left memory of the malloc family with `len` elements here, and
            // the null keeps anyone else from freeing it.
            let buffer = |len, elem| unsafe { Buffer::from_malloc(address as *mut u8, len, elem) };
            match binding {
                Binding::Level { level, part, .. } => {
                    *levels[level.index()].part_mut(*part) = Some(buffer(len, decl.elem));
                }
                _ => vals = Some(buffer(len / parts(storage.datatype), storage.datatype)),
            }
        }
        place += 2;
    }
    let vals = vals.expect("every result has values");
    let positions = truncate(&mut levels, &storage.format, &dims);
    // SAFETY: generated code assembles valid tensors.
    unsafe {
        Tensor::from_parts_unchecked(dims, storage.clone(), levels, vals.truncated(positions))
    }
}

/// Cuts the arrays of levels down to what is in use; the number of values that there are.
fn truncate(levels: &mut [LevelData], format: &Format, dims: &[u64]) -> usize {
    let mut parents = 1;
    for (k, spec) in format.levels().iter().enumerate() {
        let view = views(format, dims, levels)[k];
        let stride = view.crd.map_or(1, |crd| crd.stride as usize);
        let length = |part| spec.kind.length(&view, part, parents) as usize;
        let lengths = Part::ALL.map(|part| match part {
            Part::Width => 1,
            Part::Crd if levels[k].crd.is_some() => stride * length(part),
            part if levels[k].part(part).is_some() => length(part),
            _ => 0,
        });
        parents = spec.kind.positions(&view, parents);
        for (part, length) in Part::ALL.into_iter().zip(lengths) {
            let array = levels[k].part_mut(part);
            *array = array.take().map(|array| array.truncated(length));
        }
    }
    parents as usize
}

/// The array that an input parameter stands for.
fn bound<'v>(binding: &Binding, values: &'v [Option<Tensor>]) -> &'v Buffer {
    let tensor = |id: TensorId| values[id.index()].as_ref().expect("operands are computed first");
    match binding {
        Binding::Level { tensor: id, level, part } => {
            let array = tensor(*id).levels()[level.index()].part(*part);
            array.expect("a valid tensor has its format's arrays")
        }
        Binding::Vals { tensor: id } => tensor(*id).vals(),
        Binding::Dimension(_) => unreachable!("dimensions are scalars"),
    }
}

fn failed(status: Status, name: &str, storage: &Storage) -> Diagnostic {
    match status {
        Status::IntegerOverflow => Diagnostic::new(
            Code::IntegerOverflow,
            format!("a value of {name} does not fit {}", storage.datatype),
        )
        .help("ask for a wider element type, such as {i64} or {f64}"),
        Status::PositionOverflow => Diagnostic::new(
            Code::PositionOverflow,
            format!("{name} has more than 2^31 - 1 entries"),
        )
        .help("ask for 64-bit positions: {pos: i64}"),
        Status::CannotHold => Diagnostic::new(
            Code::FormatProperty,
            format!(
                "{} cannot hold {name}: a singleton level has one entry for each position above",
                storage.format
            ),
        )
        .help("choose a format for any number of entries, such as csr or coo"),
        Status::OutOfMemory | Status::Ok => {
            Diagnostic::new(Code::OutOfMemory, format!("{name} does not fit in memory"))
                .help("compute a smaller part, or choose a sparser format")
        }
    }
}
