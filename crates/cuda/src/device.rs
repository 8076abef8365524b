//! Functions whose kernels run on a GPU, one after another in a stream.
//!
//! ```text
//! operands on the device, kernels, a result on the device
//! results: a kernel finds out how long their arrays are, unless the host knows; these are allocated, others
//! fill them
//! ```
//!
//! The host waits where it reads lengths or whether a kernel failed, and nowhere else.

use crate::driver::{self, Device, Function, Module};
use crate::memory::Memory;
use crate::nvrtc::Suited;
use crate::stream::Stream;
use crate::tensor::{DeviceTensor, Elements, Key, Parts, place};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tamis_core::cin;
use tamis_core::level::Part;
use tamis_core::lower::{Binding, Lowered, SharedStructure};
use tamis_ir::backend::cuda::{self, HostValues, Launch, LaunchArgument};
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Array, Id, IdVec, IndexVar, TensorId, Var};
use tamis_ir::ir::{self, ArrayDecl, ArrayRole, Param, Status};
use tamis_runtime::disk_cache::Cache;
use tamis_runtime::kernel::{failed, full_size, size_like};

/// So many times as many blocks are started as run at the same time, so that some may take longer.
const WAVES: u32 = 8;

/// A function on a device.
pub struct OnDevice {
    device: &'static Device,
    starts: Vec<Start>,
    /// What tells its tables from those of others.
    number: u64,
    /// Lives as long as it does.
    alive: Arc<()>,
    _module: Arc<Module>,
}

/// How a kernel is started.
struct Start {
    kernel: Function,
    blocks: u32,
    launch: Launch,
}

/// What a function is called for.
#[derive(Clone, Copy)]
pub struct Call<'c> {
    /// The tensor that the function computes.
    pub target: &'c cin::Tensor,
    /// Its id.
    pub id: TensorId,
    /// The function.
    pub lowered: &'c Lowered,
    /// The tensors that were given or computed before, by id; of the result, the pattern that the function
    /// follows.
    pub values: &'c [Option<DeviceTensor>],
    /// The dimension of each index variable.
    pub dims: &'c IdVec<IndexVar, u64>,
}

/// Compiles the kernels of functions that have some; see [`cuda::kernels`].
///
/// # Errors
///
/// Without a driver, a device or a compiler, or where one of these fails.
pub fn compile(functions: &[&ir::Function]) -> Result<Vec<OnDevice>, Diagnostic> {
    let device = driver::device()?;
    let _entered = device.enter()?;
    let text = cuda::emit(functions);
    let module = Arc::new(device.load(&binary(&text, device)?)?);
    let mut compiled = vec![];
    for kernels in cuda::kernels(functions).into_iter().flatten() {
        let mut starts = vec![];
        for launch in kernels.launches {
            let kernel = module.function(&launch.name)?;
            let blocks = match launch.many {
                true => device.blocks(kernel, launch.threads)?.saturating_mul(WAVES),
                false => 1,
            };
            starts.push(Start { kernel, blocks, launch });
        }
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (number, alive) = (NEXT.fetch_add(1, Ordering::Relaxed), Arc::new(()));
        let module = Arc::clone(&module);
        compiled.push(OnDevice { device, starts, number, alive, _module: module });
    }
    Ok(compiled)
}

/// Code of a text for a device, from the disk if it was compiled before.
fn binary(text: &str, device: &Device) -> Result<Vec<u8>, Diagnostic> {
    let compiler = Suited::to(device.capability, Some(device.version.0))?;
    let cache = Cache::open(&["device", &compiler.identity(), text]);
    if let Some(code) = cache.find().filter(|code| !code.is_empty()) {
        return Ok(code);
    }
    let code = compiler.compile(text)?.code;
    cache.store(&code);
    Ok(code)
}

/// An array of a call.
struct Place {
    elements: Elements,
    /// Whether it is of a table that was kept before.
    kept: bool,
}

/// A call that is under way.
struct Running<'c> {
    call: Call<'c>,
    stream: &'c Stream,
    arrays: &'c IdVec<Array, ArrayDecl>,
    scalars: BTreeMap<Var, u64>,
    /// Arrays that have memory.
    places: BTreeMap<Array, Place>,
    /// The status, and behind it lengths of arrays as kernels leave them.
    notes: Memory,
}

impl HostValues for Running<'_> {
    fn scalar(&self, var: Var) -> Option<Scalar> {
        self.scalars.get(&var).map(|&bits| Scalar::I64(bits as i64))
    }

    fn element(&self, array: Array, at: i64) -> Option<i64> {
        let elements = &self.places.get(&array)?.elements;
        (usize::try_from(at).ok()? + 1 == elements.len).then_some(elements.last)?
    }
}

impl OnDevice {
    /// Runs the kernels in a stream of the device, which was entered; the result may still be computed
    /// when this returns.
    ///
    /// # Errors
    ///
    /// As the statuses of the function, and where the device has no memory or fails.
    pub fn run(&self, call: &Call<'_>, stream: &Stream) -> Result<DeviceTensor, Diagnostic> {
        let mut running = Running::new(call, stream)?;
        let tables = self.kept_tables(&mut running);
        let mut unread = false;
        for (k, start) in self.starts.iter().enumerate() {
            let launch = &start.launch;
            let is_kept = |array| running.places.get(array).is_some_and(|place| place.kept);
            if launch.table.as_ref().is_some_and(|table| table.arrays.iter().all(is_kept)) {
                continue;
            }
            if let Some(lengths) = known_lengths(launch, &running) {
                running.allocate(launch, &lengths)?;
                continue;
            }
            running.launch(self.device, start)?;
            unread |= launch.fails();
            if let (Some((tensor, key)), Some(table)) = (&tables[k], &launch.table) {
                running.keep(&table.arrays, *tensor, key.clone(), &self.alive);
            }
            if !launch.reserves.is_empty() {
                let lengths = running.read(launch.reserves.len())?;
                unread = false;
                running.allocate(launch, &lengths)?;
            }
        }
        if unread {
            running.read(0)?;
        }
        running.result()
    }

    /// Of each kernel that leaves a table the tensor that it is kept with, and what decides it; those that
    /// are kept get their addresses.
    fn kept_tables(&self, running: &mut Running<'_>) -> Vec<Option<(TensorId, Key)>> {
        let mut found = vec![];
        for (launch, start) in self.starts.iter().enumerate() {
            let table = start.launch.table.as_ref();
            let tensor = table.and_then(|table| running.only_operand(&table.inputs));
            let scalars = || running.scalars.values().copied().collect();
            let key =
                tensor.map(|id| (id, Key { function: self.number, launch, scalars: scalars() }));
            if let (Some(table), Some((id, key))) = (table, &key) {
                let kept =
                    running.call.values[id.index()].as_ref().and_then(|t| t.tables().find(key));
                for (&array, elements) in table.arrays.iter().zip(kept.into_iter().flatten()) {
                    running.places.insert(array, Place { elements, kept: true });
                }
            }
            found.push(key);
        }
        found
    }
}

/// The lengths that a kernel is for, if the host knows them.
fn known_lengths(launch: &Launch, running: &Running<'_>) -> Option<Vec<i64>> {
    let asks = !launch.lengths.is_empty() && !launch.fails();
    asks.then(|| cuda::lengths(&launch.lengths, running)).flatten()
}

impl<'c> Running<'c> {
    fn new(call: &Call<'c>, stream: &'c Stream) -> Result<Running<'c>, Diagnostic> {
        let function = &call.lowered.function;
        let notes = stream.allocate(8 * (function.arrays.len() + 1))?;
        stream.clear(&notes, 8)?;
        let (scalars, places) = (BTreeMap::new(), BTreeMap::new());
        let arrays = &function.arrays;
        let mut running = Running { call: *call, stream, arrays, scalars, places, notes };
        for (param, binding) in function.params.iter().zip(&call.lowered.bindings) {
            match *param {
                Param::Scalar(var) => {
                    let bits = match binding {
                        Binding::Dimension(of) => call.dims[*of],
                        Binding::Begin => i64::MIN as u64,
                        _ => i64::MAX as u64,
                    };
                    running.scalars.insert(var, bits);
                }
                Param::Array(array) => running.param(array, binding)?,
            }
        }
        Ok(running)
    }

    /// The address of a parameter, if it has one from the beginning.
    fn param(&mut self, array: Array, binding: &Binding) -> Result<(), Diagnostic> {
        let ArrayDecl { role, elem, .. } = self.arrays[array];
        let elements = match role {
            ArrayRole::Input => {
                let elements = self.operand(binding);
                elements.memory.read_by(self.stream)?;
                elements
            }
            ArrayRole::Output | ArrayRole::Shared => {
                let size = self.size()?;
                self.fresh(elem, size * parts(self.call.target.storage.datatype))?
            }
            ArrayRole::Result | ArrayRole::Local | ArrayRole::Common => return Ok(()),
        };
        self.places.insert(array, Place { elements, kept: false });
        Ok(())
    }

    /// How many values the result has, where that is known from the beginning.
    fn size(&self) -> Result<usize, Diagnostic> {
        let Call { target, id, lowered, values, dims } = self.call;
        match (&values[id.index()], lowered.like) {
            (Some(pattern), _) => Ok(pattern.stored()),
            (None, Some(like)) => {
                let last = self.levels_like(like).last();
                let entries = last.and_then(|parts| parts[place(Part::Crd)].as_ref());
                size_like(like, entries.map_or(0, |crd| crd.len), target, dims)
            }
            (None, None) => full_size(target, dims),
        }
    }

    /// The levels that the result shares with an operand.
    fn levels_like(&self, like: SharedStructure) -> &'c [Parts] {
        let operand = self.call.values[like.operand.index()].as_ref();
        &operand.expect("operands are computed first").levels()[..like.levels]
    }

    /// The array of an operand.
    fn operand(&self, binding: &Binding) -> Elements {
        let tensor = |id: TensorId| self.call.values[id.index()].as_ref();
        let elements = match binding {
            Binding::Level { tensor: id, level, part } => {
                tensor(*id).and_then(|t| t.part(level.index(), *part)).cloned()
            }
            Binding::Vals { tensor: id } => tensor(*id).map(|t| t.vals().clone()),
            Binding::Dimension(_) | Binding::Begin | Binding::End => None,
        };
        elements.expect("operands are computed first, and have the arrays of their formats")
    }

    /// So many elements of new memory.
    fn fresh(&self, datatype: DataType, len: usize) -> Result<Elements, Diagnostic> {
        let bytes =
            len.checked_mul(datatype.size()).ok_or_else(|| self.failed(Status::OutOfMemory))?;
        let memory = Arc::new(self.stream.allocate(bytes)?);
        Ok(Elements { memory, len, datatype, last: None })
    }

    fn failed(&self, status: Status) -> Diagnostic {
        failed(status, self.call.target)
    }

    /// The operand that arrays belong to, if it is one for all.
    fn only_operand(&self, arrays: &[Array]) -> Option<TensorId> {
        let function = &self.call.lowered.function;
        let of = |array: &Array| {
            let at = function.params.iter().position(|p| *p == Param::Array(*array))?;
            match self.call.lowered.bindings[at] {
                Binding::Level { tensor, .. } | Binding::Vals { tensor } => Some(tensor),
                _ => None,
            }
        };
        let first = of(arrays.first()?)?;
        arrays.iter().all(|array| of(array) == Some(first)).then_some(first)
    }

    /// Starts a kernel.
    fn launch(&self, device: &'static Device, start: &Start) -> Result<(), Diagnostic> {
        let address = |array: &Array| {
            self.places.get(array).map_or(0, |place| place.elements.memory.address())
        };
        let value = |argument: &LaunchArgument| match argument {
            LaunchArgument::Scalar(var) => self.scalars[var],
            LaunchArgument::Array(array) => address(array),
            LaunchArgument::Status => self.notes.address(),
            LaunchArgument::Lengths => self.notes.address() + 8,
        };
        let mut values: Vec<u64> = start.launch.arguments.iter().map(value).collect();
        let mut arguments: Vec<*mut c_void> =
            values.iter_mut().map(|value| (value as *mut u64).cast()).collect();
        let busy = start.launch.blocks.as_ref().and_then(|work| cuda::blocks(work, self));
        let grid = (start.blocks.min(busy.unwrap_or(u32::MAX)), start.launch.threads);
        // SAFETY: the arguments are those of the kernel, arrays by their addresses.
        unsafe { device.launch(self.stream, start.kernel, grid, &mut arguments) }
    }

    /// Waits for the kernels before, and reads their status and so many lengths.
    fn read(&self, count: usize) -> Result<Vec<i64>, Diagnostic> {
        let mut notes = vec![0i64; count + 1];
        // SAFETY: there is room for so many numbers, and the stream is waited for.
        let copied = unsafe {
            self.stream.copy_out(notes.as_mut_ptr().cast(), &self.notes, 8 * notes.len())
        };
        self.stream.wait()?;
        copied?;
        let ended = notes.remove(0);
        match Status::ALL.into_iter().find(|s| *s as i64 == ended).unwrap_or(Status::OutOfMemory) {
            Status::Ok => Ok(notes),
            status => Err(self.failed(status)),
        }
    }

    /// Memory for arrays of these lengths; what lengths tell of the ends of others is noted.
    fn allocate(&mut self, launch: &Launch, lengths: &[i64]) -> Result<(), Diagnostic> {
        for (array, at, value) in cuda::told(&launch.lengths, lengths, self) {
            if let Some(place) = self.places.get_mut(&array)
                && usize::try_from(at).is_ok_and(|at| at + 1 == place.elements.len)
            {
                place.elements.last = Some(value);
            }
        }
        for (&array, &length) in launch.reserves.iter().zip(lengths) {
            if self.places.get(&array).is_some_and(|place| place.kept) {
                continue;
            }
            let length = usize::try_from(length).map_err(|_| self.failed(Status::OutOfMemory))?;
            let elements = self.fresh(self.arrays[array].elem, length)?;
            self.places.insert(array, Place { elements, kept: false });
        }
        Ok(())
    }

    /// Keeps what a kernel has left with the tensor that it follows from.
    fn keep(&self, arrays: &[Array], tensor: TensorId, key: Key, function: &Arc<()>) {
        let elements = |array| self.places.get(array).map(|place| place.elements.clone());
        let arrays: Option<Vec<Elements>> = arrays.iter().map(elements).collect();
        if let (Some(tensor), Some(arrays)) = (&self.call.values[tensor.index()], arrays) {
            tensor.tables().keep(key, function, arrays);
        }
    }

    /// The tensor of the arrays that the kernels wrote.
    fn result(mut self) -> Result<DeviceTensor, Diagnostic> {
        let Call { target, lowered, .. } = self.call;
        let mut levels = vec![Parts::default(); target.storage.format.levels().len()];
        let mut vals = None;
        for (param, binding) in lowered.function.params.iter().zip(&lowered.bindings) {
            let Param::Array(array) = param else { continue };
            if self.arrays[*array].role == ArrayRole::Input {
                continue;
            }
            let elements = match self.places.remove(array) {
                Some(place) => place.elements,
                None => self.fresh(self.arrays[*array].elem, 0)?,
            };
            match binding {
                Binding::Level { level, part, .. } => {
                    levels[level.index()][place(*part)] = Some(elements);
                }
                _ => vals = Some(elements),
            }
        }
        let vals = vals.expect("every result has values");
        let datatype = target.storage.datatype;
        let vals = Elements { len: vals.len / parts(datatype), datatype, ..vals };
        Ok(match &self.call.values[self.call.id.index()] {
            Some(pattern) => pattern.with_values(vals),
            None => {
                if let Some(like) = lowered.like {
                    levels[..like.levels].clone_from_slice(self.levels_like(like));
                }
                let shape = target.modes.iter().map(|&var| self.call.dims[var]).collect();
                DeviceTensor::of(shape, target.storage.clone(), levels, vals)
            }
        })
    }
}

/// How many numbers of the imperative form an element is.
fn parts(datatype: DataType) -> usize {
    if datatype.is_complex() { 2 } else { 1 }
}
