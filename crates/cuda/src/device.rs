//! Functions whose kernels run on a GPU, behind the calling convention of compiled code.
//!
//! ```text
//! inputs to the device, kernels one after another, outputs back      unless they stay: see `resident`
//! results: a kernel finds out how long their arrays are, these are allocated, others fill them
//! ```

use crate::driver::{self, Device, Function, Memory, Module};
use crate::kept::{self, Key};
use crate::{nvrtc, resident};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use tamis_core::backend::cuda;
use tamis_core::diagnostic::Diagnostic;
use tamis_core::ids::Array;
use tamis_core::ir::{self, Param, Role, Status};
use tamis_runtime::disk_cache::Cache;
use tamis_runtime::kernel::Executable;
use tamis_runtime::{budget, memory};

/// So many times as many blocks are started as run at the same time, so that some may take longer.
const WAVES: u32 = 8;

/// A function on a device.
pub struct OnDevice {
    device: &'static Device,
    launches: Vec<Start>,
    /// Of each parameter the role and the bytes of an element, if it is an array; behind them arrays
    /// that kernels share.
    params: Vec<Option<(Role, usize)>>,
    fails: bool,
    reserves: bool,
    /// What tells its tables from those of others.
    number: u64,
    failure: Mutex<Option<Diagnostic>>,
    _module: Arc<Module>,
}

/// How a kernel is started.
struct Start {
    kernel: Function,
    blocks: u32,
    threads: u32,
    /// Arrays that are allocated after it, by their places among the parameters, and the bytes of
    /// their elements.
    reserves: Vec<(usize, usize)>,
    table: Option<Table>,
}

/// What a kernel leaves by operands alone, and these, by their places among the parameters.
struct Table {
    arrays: Vec<usize>,
    inputs: Vec<usize>,
}

/// The milliseconds that kernels of the last call took on the device.
static LAST: Mutex<Option<f32>> = Mutex::new(None);

/// The milliseconds that the kernels of the last call took, copies not counted.
pub fn last_milliseconds() -> Option<f32> {
    LAST.lock().ok().and_then(|last| *last)
}

/// Compiles the kernels of functions that have some; see [`cuda::kernels`].
///
/// # Errors
///
/// Without a driver, a device or a compiler, or where one of these fails.
pub fn compile(functions: &[&ir::Function]) -> Result<Vec<OnDevice>, Diagnostic> {
    let device = driver::device()?;
    device.enter()?;
    let text = cuda::emit(functions);
    let module = Arc::new(device.load(&binary(&text, &device.architecture)?)?);
    let mut compiled = vec![];
    for (function, kernels) in functions.iter().zip(cuda::kernels(functions)) {
        let Ok(kernels) = kernels else { continue };
        let size = |array: Array| function.arrays[array].elem.size();
        let mut arrays: Vec<Option<Array>> = function.params.iter().map(array_of).collect();
        arrays.extend(kernels.common.iter().copied().map(Some));
        let place = |array: Array| arrays.iter().position(|a| *a == Some(array)).unwrap_or(0);
        let mut launches = vec![];
        for launch in &kernels.launches {
            let kernel = module.function(&launch.name)?;
            let blocks = match launch.many {
                true => device.blocks(kernel, launch.threads)?.saturating_mul(WAVES),
                false => 1,
            };
            let reserves = launch.reserves.iter().map(|&a| (place(a), size(a))).collect();
            let table = launch.table.as_ref().map(|table| Table {
                arrays: table.arrays.iter().map(|&a| place(a)).collect(),
                inputs: table.inputs.iter().map(|&a| place(a)).collect(),
            });
            launches.push(Start { kernel, blocks, threads: launch.threads, reserves, table });
        }
        let param = |array: &Option<Array>| array.map(|a| (function.arrays[a].role, size(a)));
        compiled.push(OnDevice {
            device,
            launches,
            params: arrays.iter().map(param).collect(),
            fails: kernels.fails,
            reserves: kernels.reserves,
            number: kept::function(),
            failure: Mutex::new(None),
            _module: Arc::clone(&module),
        });
    }
    Ok(compiled)
}

fn array_of(param: &Param) -> Option<Array> {
    match param {
        Param::Scalar(_) => None,
        Param::Array(array) => Some(*array),
    }
}

/// Machine code of a text, from the disk if it was compiled before.
fn binary(text: &str, architecture: &str) -> Result<Vec<u8>, Diagnostic> {
    let cache = Cache::open(&[&nvrtc::identity()?, architecture, text]);
    let kept = |path: &std::path::Path| std::fs::read(path).ok().filter(|code| !code.is_empty());
    if let Some(code) = cache.find(text).and_then(|path| kept(&path)) {
        return Ok(code);
    }
    let code = nvrtc::compile(text, architecture)?.code;
    // What cannot be kept is compiled again the next time.
    let _ = cache.store(text, |_, target| {
        let unwritten = |e: std::io::Error| {
            Diagnostic::new(tamis_core::diagnostic::Code::CompilerFailed, e.to_string())
        };
        std::fs::write(target, &code).map_err(unwritten)
    });
    Ok(code)
}

/// An array on the device: of this call, or one that stays there.
enum Place {
    Own(Memory),
    Resident(Arc<Memory>),
    /// Its length is found out on the device.
    Later,
}

impl Place {
    fn address(&self) -> u64 {
        match self {
            Place::Own(memory) => memory.address(),
            Place::Resident(memory) => memory.address(),
            Place::Later => 0,
        }
    }
}

/// What a call has on the device.
struct Call {
    /// Of each parameter its place, if it is an array, and of the arrays that kernels share.
    places: Vec<Option<Place>>,
    /// How many elements the arrays have that were allocated meanwhile.
    lengths: BTreeMap<usize, usize>,
    status: Memory,
    /// Lengths of arrays, as kernels leave them.
    wanted: Memory,
}

impl Call {
    /// Keeps what a kernel has left.
    fn keep(&mut self, key: Key, table: &Table) {
        let mut arrays = vec![];
        for &place in &table.arrays {
            let memory = match self.places[place].take() {
                Some(Place::Own(memory)) => Arc::new(memory),
                other => {
                    self.places[place] = other;
                    return;
                }
            };
            self.places[place] = Some(Place::Resident(Arc::clone(&memory)));
            arrays.push(memory);
        }
        kept::keep(key, Arc::new(arrays));
    }
}

impl OnDevice {
    /// # Safety
    /// The slots follow the function's calling convention.
    unsafe fn run(&self, slots: &mut [u64]) -> Result<Status, Diagnostic> {
        self.device.enter()?;
        // SAFETY: as the caller promises.
        let places = unsafe { self.places(slots) }?;
        let status = self.device.allocate(4)?;
        let wanted = self.device.allocate(8 * places.len().max(1))?;
        let mut call = Call { places, lengths: BTreeMap::new(), status, wanted };
        let ended = 0i32;
        // SAFETY: the status has four bytes.
        unsafe { self.device.copy_in(&call.status, (&raw const ended).cast(), 4) }?;
        let mut elapsed = 0.0;
        let keys = self.tables(slots, &mut call);
        for (k, launch) in self.launches.iter().enumerate() {
            let own = |&place: &usize| matches!(call.places[place], Some(Place::Resident(_)));
            if launch.table.as_ref().is_some_and(|table| table.arrays.iter().all(own)) {
                continue;
            }
            let mut values = self.values(slots, &call);
            let mut arguments: Vec<*mut c_void> =
                values.iter_mut().map(|value| (value as *mut u64).cast()).collect();
            self.device.start_clock()?;
            // SAFETY: the arguments are those of the function, arrays by their addresses.
            unsafe {
                self.device.launch(launch.kernel, launch.blocks, launch.threads, &mut arguments)
            }?;
            elapsed += self.device.stop_clock()?;
            if let (Some(key), Some(table)) = (&keys[k], &launch.table) {
                call.keep(key.clone(), table);
            }
            if launch.reserves.is_empty() {
                continue;
            }
            let status = self.status(&call)?;
            if status != Status::Ok || !self.allocate(launch, &mut call)? {
                return Ok(if status == Status::Ok { Status::OutOfMemory } else { status });
            }
        }
        if let Ok(mut last) = LAST.lock() {
            *last = Some(elapsed);
        }
        let status = self.status(&call)?;
        if status == Status::Ok {
            // SAFETY: as the caller promises.
            unsafe { self.copy_back(slots, &call) }?;
        }
        Ok(status)
    }

    /// What decides the table of each kernel that leaves one, if it may be kept; those that are
    /// kept get their places.
    fn tables(&self, slots: &[u64], call: &mut Call) -> Vec<Option<Key>> {
        let mut found = vec![];
        for (launch, start) in self.launches.iter().enumerate() {
            let key = start.table.as_ref().and_then(|table| self.key(slots, launch, table));
            let kept = key.as_ref().and_then(kept::find);
            let kept = kept.and_then(|arrays| arrays.downcast::<Vec<Arc<Memory>>>().ok());
            if let (Some(table), Some(arrays)) = (&start.table, kept) {
                for (&place, memory) in table.arrays.iter().zip(arrays.iter()) {
                    call.places[place] = Some(Place::Resident(Arc::clone(memory)));
                }
            }
            found.push(key);
        }
        found
    }

    /// What decides a table, if it is tensors that stay where they are.
    fn key(&self, slots: &[u64], launch: usize, table: &Table) -> Option<Key> {
        let (mut scalars, mut inputs, mut slot) = (vec![], vec![], 0);
        for (place, param) in self.params.iter().enumerate() {
            match *param {
                None => scalars.push(slots[slot]),
                Some((Role::Input, size)) if table.inputs.contains(&place) => {
                    inputs.push((slots[slot], slots[slot + 1] as usize * size));
                }
                Some(_) => {}
            }
            slot += if param.is_some() { 2 } else { 1 };
        }
        let held = inputs.iter().all(|&place| resident::is_held(place));
        held.then_some(Key { function: self.number, launch, scalars, inputs })
    }

    /// The arguments of a kernel.
    fn values(&self, slots: &[u64], call: &Call) -> Vec<u64> {
        let mut values: Vec<u64> = vec![];
        let mut slot = 0;
        for place in &call.places {
            values.push(place.as_ref().map_or_else(|| slots[slot], Place::address));
            slot += if place.is_some() { 2 } else { 1 };
        }
        values.extend(self.fails.then(|| call.status.address()));
        values.extend(self.reserves.then(|| call.wanted.address()));
        values
    }

    fn status(&self, call: &Call) -> Result<Status, Diagnostic> {
        let mut ended = 0i32;
        // SAFETY: there is room for the status.
        unsafe { self.device.copy_out((&raw mut ended).cast(), &call.status, 4) }?;
        let known = Status::ALL.into_iter().find(|s| *s as i64 == i64::from(ended));
        Ok(known.unwrap_or(Status::OutOfMemory))
    }

    /// Arrays whose lengths a kernel found out; false if one of these is none.
    fn allocate(&self, launch: &Start, call: &mut Call) -> Result<bool, Diagnostic> {
        let mut wanted = vec![0i64; launch.reserves.len()];
        // SAFETY: the kernel has left so many lengths, for which there is room.
        unsafe {
            self.device.copy_out(wanted.as_mut_ptr().cast(), &call.wanted, 8 * wanted.len())
        }?;
        for (&(place, size), wanted) in launch.reserves.iter().zip(wanted) {
            if matches!(call.places[place], Some(Place::Resident(_))) {
                continue;
            }
            let length = usize::try_from(wanted).ok();
            let Some(bytes) = length.and_then(|n| n.checked_mul(size)) else { return Ok(false) };
            call.places[place] = Some(Place::Own(self.device.allocate(bytes)?));
            call.lengths.insert(place, bytes / size);
        }
        Ok(true)
    }

    /// The arrays of a call on the device.
    ///
    /// # Safety
    /// The slots follow the function's calling convention.
    unsafe fn places(&self, slots: &[u64]) -> Result<Vec<Option<Place>>, Diagnostic> {
        let mut places = vec![];
        let mut slot = 0;
        for param in &self.params {
            let Some((role, size)) = *param else {
                places.push(None);
                slot += 1;
                continue;
            };
            let (address, bytes) = match role {
                Role::Result | Role::Local | Role::Common => {
                    places.push(Some(Place::Later));
                    slot += 2;
                    continue;
                }
                _ => (slots[slot], slots[slot + 1] as usize * size),
            };
            slot += 2;
            let kept = resident::find(address, bytes).filter(|_| role == Role::Input);
            if let Some(memory) = kept {
                places.push(Some(Place::Resident(memory)));
                continue;
            }
            let memory = self.device.allocate(bytes)?;
            if role != Role::Output {
                // SAFETY: the slot holds the address of so many bytes.
                unsafe { self.device.copy_in(&memory, address as *const u8, bytes) }?;
            }
            places.push(Some(Place::Own(memory)));
        }
        Ok(places)
    }

    /// # Safety
    /// As for `places`.
    unsafe fn copy_back(&self, slots: &mut [u64], call: &Call) -> Result<(), Diagnostic> {
        let mut slot = 0;
        for (k, (param, place)) in self.params.iter().zip(&call.places).enumerate() {
            let (Some((role, size)), Some(place)) = (*param, place) else {
                slot += 1;
                continue;
            };
            let own = slot;
            slot += 2;
            let Place::Own(memory) = place else { continue };
            let bytes = match role {
                Role::Input | Role::Local | Role::Common => continue,
                Role::Output | Role::Shared => slots[own + 1] as usize * size,
                Role::Result => {
                    let len = call.lengths.get(&k).copied().unwrap_or(0);
                    // SAFETY: null, or what an earlier call left, of which nothing is kept.
                    let fresh = unsafe { memory::reserve(slots[own] as *mut u8, 0, len * size) };
                    if fresh.is_null() && len > 0 {
                        return Err(budget::refusal(
                            "a result",
                            Some((len * size) as f64),
                            budget::SMALLER_RESULT,
                        ));
                    }
                    (slots[own], slots[own + 1]) = (fresh as u64, len as u64);
                    len * size
                }
            };
            // SAFETY: the slot holds the address of room for so many bytes.
            unsafe { self.device.copy_out(slots[own] as *mut u8, memory, bytes) }?;
        }
        Ok(())
    }
}

impl Executable for OnDevice {
    // The device's clock is one.
    fn is_concurrent(&self) -> bool {
        false
    }

    unsafe fn call(&self, slots: &mut [u64]) -> Status {
        // SAFETY: the caller passes slots of the function's calling convention.
        match unsafe { self.run(slots) } {
            Ok(status) => status,
            Err(why) => {
                if let Ok(mut failure) = self.failure.lock() {
                    *failure = Some(why);
                }
                Status::OutOfMemory
            }
        }
    }

    fn failure(&self) -> Option<Diagnostic> {
        self.failure.lock().ok().and_then(|mut failure| failure.take())
    }
}
