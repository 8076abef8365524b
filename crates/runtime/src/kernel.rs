//! Calling a compiled function: slots for its parameters, and its results as tensors.

use crate::budget;
use crate::coordinates::Coordinates;
use crate::extent::too_large;
use crate::interrupt::Interrupt;
use crate::memory::{self, Buffer};
use crate::pack::Duplicates;
use crate::parallel;
use crate::pattern::with_values;
use crate::tensor::{LevelData, Tensor, views};
use smallvec::SmallVec;
use std::borrow::Cow;
use tamis_core::cin;
use tamis_core::format::{Format, Storage};
use tamis_core::level::{Header, Part};
use tamis_core::lower::{Binding, Lowered, SharedStructure};
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_ir::ir::{self, Param, Status};

/// A function of the imperative form, ready to call, on whichever backend.
pub trait Executable: Send + Sync {
    /// Calls the function.
    ///
    /// # Safety
    /// `slots` follows the calling convention of [`tamis_ir::ir::Param`] for the function.
    unsafe fn call(&self, slots: &mut [u64]) -> Status;

    /// Whether several calls may run at the same time.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// Why the last call failed, where its status does not say.
    fn failure(&self) -> Option<Diagnostic> {
        None
    }

    /// The time of each step of its code generation, where known.
    fn generation(&self) -> &[(&'static str, std::time::Duration)] {
        &[]
    }
}

/// Packs a list of entries.
pub type Pack = fn(&Coordinates, &Storage, Duplicates) -> Result<Tensor, Diagnostic>;

/// A kernel, and the operands and dimensions of one call.
#[derive(Clone, Copy)]
pub struct Call<'c> {
    /// The tensor that the kernel computes.
    pub target: &'c cin::Tensor,
    /// Its id.
    pub id: TensorId,
    /// The function.
    pub lowered: &'c Lowered,
    /// What runs it.
    pub executable: &'c dyn Executable,
    /// The tensors that were given or computed before, by id; in the slot of the result, the pattern that the kernel follows.
    pub values: &'c [Option<Cow<'c, Tensor>>],
    /// The dimension of each index variable.
    pub dims: &'c IdVec<IndexVar, u64>,
    /// Packs entries in any format.
    pub pack: Pack,
    /// At most so many threads run parts.
    pub threads: usize,
    /// How many stored elements make a part worthwhile, where the kernel has parts.
    pub grain: u64,
    /// Whether the kernel computes values at the entries that its result has already, in `values`.
    pub follows: bool,
    /// Whether the kernel runs in parts even where their entries have to be sorted once more.
    pub packs: bool,
}

/// Slots of the calling convention; usual kernels have few enough for no allocation.
type Slots = SmallVec<[u64; 32]>;

/// The values of a function's parameters and local arrays, as they are passed. Dropping it frees the arrays that nobody has
/// taken out.
pub(crate) struct Frame {
    pub(crate) slots: Slots,
    /// The slots of owned arrays.
    owned: SmallVec<[usize; 8]>,
    /// The slots of the first and the last iteration of a part.
    interval: Option<(usize, usize)>,
    /// The first slot of the local arrays.
    locals: usize,
    /// Memory that a slot points to while a part is computed.
    pub(crate) lent: Option<Buffer>,
}

impl Drop for Frame {
    fn drop(&mut self) {
        self.owned.iter().for_each(|&place| free(&mut self.slots[place]));
    }
}

/// Frees an owned array.
fn free(slot: &mut u64) {
    if *slot != 0 {
        // SAFETY: the slot holds memory of the malloc family that is owned here; what was taken over left a
        // null.
        drop(unsafe { Buffer::from_malloc(*slot as *mut u8, 0, DataType::Bool) });
        *slot = 0;
    }
}

/// Local arrays between two frames.
pub(crate) struct Locals(Slots);

impl Drop for Locals {
    fn drop(&mut self) {
        self.0.chunks_mut(2).for_each(|slots| free(&mut slots[0]));
    }
}

impl Frame {
    /// Takes the local arrays out, for another part: the result of this one may have to wait until it is joined.
    pub(crate) fn take_locals(&mut self) -> Locals {
        let slots = &mut self.slots[self.locals..];
        let taken = Locals(Slots::from_slice(slots));
        slots.fill(0);
        taken
    }

    /// Gives a frame whose local arrays were taken out others of the same kernel.
    pub(crate) fn give_locals(&mut self, mut locals: Locals) {
        self.slots[self.locals..].swap_with_slice(&mut locals.0);
    }

    /// Slots of one more array.
    fn push(&mut self, address: u64, len: usize) {
        self.slots.push(address);
        self.slots.push(len as u64);
    }

    /// Sets the part to compute.
    pub(crate) fn set_interval(&mut self, begin: i64, end: i64) {
        if let Some((from, to)) = self.interval {
            (self.slots[from], self.slots[to]) = (begin as u64, end as u64);
        }
    }
}

impl Call<'_> {
    /// Runs the kernel. [`crate::extent::check_extents`] accepts the dimensions.
    pub fn run(&self) -> Result<Tensor, Diagnostic> {
        Interrupt::current().map_or(Ok(()), |interrupt| interrupt.check())?;
        match &self.lowered.partition {
            Ok(chunks) => parallel::run(self, chunks),
            Err(_) => self.whole(),
        }
    }

    /// Runs the iterations of the outermost loop from `begin` to before `end`, and returns the result of these alone. Elements
    /// that they do not write are unspecified. Runs all iterations where the kernel has no parts.
    pub fn run_part(&self, begin: i64, end: i64) -> Result<Tensor, Diagnostic> {
        Interrupt::current().map_or(Ok(()), |interrupt| interrupt.check())?;
        match &self.lowered.partition {
            Ok(partition) => parallel::run_part(self, partition, (begin, end)),
            Err(_) => self.whole(),
        }
    }

    /// Runs the kernel in parts that begin at these iterations, and joins them as those of [`run`](Call::run) are,
    /// on one thread.
    pub fn run_cut(&self, cuts: &[i64]) -> Result<Tensor, Diagnostic> {
        Interrupt::current().map_or(Ok(()), |interrupt| interrupt.check())?;
        match &self.lowered.partition {
            Ok(partition) => parallel::run_cut(self, partition, cuts),
            Err(_) => self.whole(),
        }
    }

    /// Runs the kernel as a whole.
    pub(crate) fn whole(&self) -> Result<Tensor, Diagnostic> {
        let mut frame = self.frame(None)?;
        self.enter(&mut frame)?;
        self.taken(&mut frame)
    }

    /// Calls the function.
    pub(crate) fn enter(&self, frame: &mut Frame) -> Result<(), Diagnostic> {
        // SAFETY: the slots follow the function's parameters one by one: inputs are arrays of
        // tensors that are valid and have the storage the function was compiled for, outputs have
        // the size of the result, the rest is empty or was left by another call.
        match unsafe { self.executable.call(&mut frame.slots) } {
            Status::Ok => Ok(()),
            status => Err(self.executable.failure().unwrap_or_else(|| self.failed(status))),
        }
    }

    /// The dimensions of the result.
    pub(crate) fn shape(&self) -> Vec<u64> {
        shape(self.target, self.dims)
    }

    /// The tensor with the levels of the result, if they are known.
    fn pattern(&self) -> Option<&Tensor> {
        self.values[self.id.index()].as_deref()
    }

    /// How many elements a result has of which each has a position.
    pub(crate) fn full_size(&self) -> Result<usize, Diagnostic> {
        if let Some(pattern) = self.pattern() {
            return Ok(pattern.vals().len());
        }
        match self.lowered.like {
            Some(like) => size_like(like, self.entries_like(like), self.target, self.dims),
            None => full_size(self.target, self.dims),
        }
    }

    /// The levels that the result shares with an operand.
    pub(crate) fn levels_like(&self, like: SharedStructure) -> &[LevelData] {
        let operand = self.values[like.operand.index()].as_deref();
        &operand.expect("operands are computed first").levels()[..like.levels]
    }

    /// How many entries these list.
    fn entries_like(&self, like: SharedStructure) -> usize {
        let last = self.levels_like(like).last();
        last.and_then(|level| level.crd.as_ref()).map_or(0, Buffer::len)
    }

    /// Slots for the whole kernel. An output is written to `shared`, or to memory of its own.
    pub(crate) fn frame(&self, shared: Option<*mut u8>) -> Result<Frame, Diagnostic> {
        let function = &self.lowered.function;
        let (slots, owned) = (Slots::new(), SmallVec::new());
        let mut frame = Frame { slots, owned, interval: None, locals: 0, lent: None };
        let mut interval = [0; 2];
        for (param, binding) in function.params.iter().zip(&self.lowered.bindings) {
            let place = frame.slots.len();
            match (param, binding) {
                (Param::Array(array), _) => {
                    self.array(function.arrays[*array].role, binding, shared, &mut frame)?;
                }
                (Param::Scalar(_), Binding::Dimension(var)) => frame.slots.push(self.dims[*var]),
                (Param::Scalar(_), binding) => {
                    interval[usize::from(*binding == Binding::End)] = place;
                    frame.interval = Some((interval[0], interval[1]));
                    frame.slots.push(0);
                }
            }
        }
        frame.locals = frame.slots.len();
        for _ in function.locals() {
            frame.owned.push(frame.slots.len());
            frame.push(0, 0);
        }
        frame.set_interval(i64::MIN, i64::MAX);
        Ok(frame)
    }

    fn array(
        &self,
        role: ir::ArrayRole,
        binding: &Binding,
        shared: Option<*mut u8>,
        frame: &mut Frame,
    ) -> Result<(), Diagnostic> {
        let datatype = self.target.storage.datatype;
        match role {
            ir::ArrayRole::Input => {
                let buffer = bound(binding, self.values);
                let len = buffer.len() * parts(buffer.datatype());
                frame.push(buffer.address() as u64, len);
                return Ok(());
            }
            ir::ArrayRole::Output | ir::ArrayRole::Shared => {
                let size = self.full_size()?;
                let address = match shared {
                    Some(address) => address,
                    None => {
                        let fresh = memory::allocate(datatype, size)?;
                        frame.owned.push(frame.slots.len());
                        fresh
                    }
                };
                frame.push(address as u64, size * parts(datatype));
            }
            ir::ArrayRole::Result | ir::ArrayRole::Local | ir::ArrayRole::Common => {
                frame.owned.push(frame.slots.len());
                frame.push(0, 0);
            }
        }
        Ok(())
    }

    /// The result's arrays out of the slots.
    pub(crate) fn taken(&self, frame: &mut Frame) -> Result<Tensor, Diagnostic> {
        let storage = &self.target.storage;
        let mut levels = vec![LevelData::default(); storage.format.levels().len()];
        let mut vals = None;
        for (place, array, binding) in self.result_arrays() {
            let (address, len) = (frame.slots[place], frame.slots[place + 1] as usize);
            (frame.slots[place], frame.slots[place + 1]) = (0, 0);
            // SAFETY: the kernel left memory of the malloc family with `len` elements here, and
            // the null keeps anyone else from freeing it.
            let buffer = |len, elem| unsafe { Buffer::from_malloc(address as *mut u8, len, elem) };
            match binding {
                Binding::Level { level, part, .. } => {
                    *levels[level.index()].part_mut(*part) = Some(buffer(len, array.elem));
                }
                _ => vals = Some(buffer(len / parts(storage.datatype), storage.datatype)),
            }
        }
        let vals = vals.expect("every result has values");
        if let Some(pattern) = self.pattern() {
            return Ok(with_values(pattern, vals));
        }
        let shape = self.shape();
        if let Some(like) = self.lowered.like {
            for (own, level) in levels.iter_mut().zip(self.levels_like(like)) {
                *own = level.kept()?;
            }
            // SAFETY: the levels are those of a valid tensor, and there is a value for each position.
            return Ok(unsafe {
                Tensor::from_parts_unchecked(shape, storage.clone(), levels, vals)
            });
        }
        let positions = truncate(&mut levels, &storage.format, &shape);
        let vals = vals.truncated(positions).fitted();
        // SAFETY: generated code assembles valid tensors.
        Ok(unsafe { Tensor::from_parts_unchecked(shape, storage.clone(), levels, vals) })
    }

    /// The arrays that the kernel writes for its caller: the slot, the array, what it is.
    pub(crate) fn result_arrays(&self) -> impl Iterator<Item = (usize, &ir::ArrayDecl, &Binding)> {
        let function = &self.lowered.function;
        let mut next = 0;
        let places = function.params.iter().zip(&self.lowered.bindings).map(move |(p, binding)| {
            let place = next;
            next += if matches!(p, Param::Scalar(_)) { 1 } else { 2 };
            (place, p, binding)
        });
        places.filter_map(|(place, param, binding)| match param {
            Param::Array(a) if function.arrays[*a].role != ir::ArrayRole::Input => {
                Some((place, &function.arrays[*a], binding))
            }
            _ => None,
        })
    }

    /// The level and the part of it that an array of the result is, if it is not its values.
    pub(crate) fn level_part(&self, binding: &Binding) -> Option<(usize, Part)> {
        match binding {
            Binding::Level { level, part, .. } => Some((level.index(), *part)),
            _ => None,
        }
    }

    /// The diagnostic of a call that ended early.
    pub(crate) fn failed(&self, status: Status) -> Diagnostic {
        failed(status, self.target)
    }
}

/// The dimensions of a result.
pub(crate) fn shape(target: &cin::Tensor, dims: &IdVec<IndexVar, u64>) -> Vec<u64> {
    target.modes.iter().map(|&v| dims[v]).collect()
}

/// How many elements a result has whose first levels are those of an operand, which list so many entries.
///
/// # Errors
///
/// If these are more than anyone has memory for.
pub fn size_like(
    like: SharedStructure,
    entries: usize,
    target: &cin::Tensor,
    dims: &IdVec<IndexVar, u64>,
) -> Result<usize, Diagnostic> {
    let shape = shape(target, dims);
    let headers = target.storage.format.headers(&shape, &|_| 0);
    product(entries as u64, &headers[like.levels..]).ok_or_else(|| too_large(&shape))
}

/// How many elements a result has whose levels are all full.
///
/// # Errors
///
/// If these are more than anyone has memory for.
pub fn full_size(target: &cin::Tensor, dims: &IdVec<IndexVar, u64>) -> Result<usize, Diagnostic> {
    let shape = shape(target, dims);
    let headers = target.storage.format.headers(&shape, &|_| 0);
    product(1, &headers).ok_or_else(|| too_large(&shape))
}

/// How many positions there are below so many: a level with one coordinate for each adds none.
fn product(parents: u64, levels: &[Header]) -> Option<usize> {
    let mut sizes = levels.iter().map(|l| if l.properties.branchless { 1 } else { l.size });
    let size = sizes.try_fold(parents, u64::checked_mul);
    size.filter(|&n| n <= i64::MAX as u64 / 16).map(|n| n as usize)
}

/// How many numbers of the imperative form an element is.
fn parts(datatype: DataType) -> usize {
    if datatype.is_complex() { 2 } else { 1 }
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
            *array = array.take().map(|array| array.truncated(length).fitted());
        }
    }
    parents as usize
}

/// The array that an input parameter stands for.
fn bound<'v>(binding: &Binding, values: &'v [Option<Cow<'_, Tensor>>]) -> &'v Buffer {
    let tensor = |id: TensorId| values[id.index()].as_deref().expect("operands are computed first");
    match binding {
        Binding::Level { tensor: id, level, part } => {
            let array = tensor(*id).levels()[level.index()].part(*part);
            array.expect("a valid tensor has its format's arrays")
        }
        Binding::Vals { tensor: id } => tensor(*id).vals(),
        Binding::Dimension(_) | Binding::Begin | Binding::End => {
            unreachable!("numbers are no arrays")
        }
    }
}

/// The types that hold integers which one does not.
fn wider(datatype: DataType) -> &'static str {
    match datatype {
        DataType::I64 => "ask for {f64}, which rounds, or scale the operands",
        DataType::U64 => "ask for {i64} for negative values, or {f64}, which rounds",
        _ => "ask for a wider element type, such as {i64} or {f64}",
    }
}

/// Why a call that computes a tensor ended early.
pub fn failed(status: Status, target: &cin::Tensor) -> Diagnostic {
    let (name, storage) = (&target.name, &target.storage);
    match status {
        Status::IntegerOverflow if target.role == cin::Role::Temporary => Diagnostic::new(
            Code::IntegerOverflow,
            "a sum or product on the way to a narrower result leaves 64 bits".to_owned(),
        )
        .help("compute in floats: ask for {f64}, or convert an operand"),
        Status::IntegerOverflow => Diagnostic::new(
            Code::IntegerOverflow,
            format!("a value of {name} does not fit {}", storage.datatype),
        )
        .help(wider(storage.datatype)),
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
        Status::Dimensions => Diagnostic::new(
            Code::DimensionMismatch,
            format!("operands of {name} disagree on a dimension"),
        )
        .help("give operands of equal dimension"),
        Status::OutOfMemory | Status::Ok => budget::refusal(name, None, budget::SMALLER_RESULT),
    }
}
