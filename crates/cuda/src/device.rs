//! Functions whose kernels run on a GPU, behind the calling convention of compiled code.
//!
//! ```text
//! inputs to the device, kernels one after another, outputs back      unless they stay: see `resident`
//! ```

use crate::driver::{self, Device, Function, Memory, Module};
use crate::{nvrtc, resident};
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use tamis_core::backend::cuda;
use tamis_core::diagnostic::Diagnostic;
use tamis_core::ir::{self, Param, Role, Status};
use tamis_runtime::disk_cache::Cache;
use tamis_runtime::kernel::Executable;

/// So many times as many blocks are started as run at the same time, so that some may take longer.
const WAVES: u32 = 8;

/// A function on a device.
pub struct OnDevice {
    device: &'static Device,
    launches: Vec<(Function, u32, u32)>,
    /// Of each parameter the role and the bytes of an element, if it is an array.
    params: Vec<Option<(Role, usize)>>,
    fails: bool,
    failure: Mutex<Option<Diagnostic>>,
    _module: Arc<Module>,
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
        let mut launches = vec![];
        for launch in &kernels.launches {
            let kernel = module.function(&launch.name)?;
            let blocks = match launch.many {
                true => device.blocks(kernel, launch.threads)?.saturating_mul(WAVES),
                false => 1,
            };
            launches.push((kernel, blocks, launch.threads));
        }
        let param = |param: &Param| match param {
            Param::Scalar(_) => None,
            Param::Array(a) => {
                let array = &function.arrays[*a];
                Some((array.role, array.elem.size()))
            }
        };
        compiled.push(OnDevice {
            device,
            launches,
            params: function.params.iter().map(param).collect(),
            fails: kernels.fails,
            failure: Mutex::new(None),
            _module: Arc::clone(&module),
        });
    }
    Ok(compiled)
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
}

impl Place {
    fn memory(&self) -> &Memory {
        match self {
            Place::Own(memory) => memory,
            Place::Resident(memory) => memory,
        }
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
        let mut ended = 0i32;
        // SAFETY: the status has four bytes.
        unsafe { self.device.copy_in(&status, (&raw const ended).cast(), 4) }?;
        let mut values: Vec<u64> = vec![];
        let mut slot = 0;
        for place in &places {
            values.push(place.as_ref().map_or(slots[slot], |p| p.memory().address()));
            slot += if place.is_some() { 2 } else { 1 };
        }
        if self.fails {
            values.push(status.address());
        }
        let mut arguments: Vec<*mut c_void> =
            values.iter_mut().map(|value| (value as *mut u64).cast()).collect();
        self.device.start_clock()?;
        for &(function, blocks, threads) in &self.launches {
            // SAFETY: the arguments are those of the function, arrays by their addresses.
            unsafe { self.device.launch(function, blocks, threads, &mut arguments) }?;
        }
        let elapsed = self.device.stop_clock()?;
        if let Ok(mut last) = LAST.lock() {
            *last = Some(elapsed);
        }
        // SAFETY: there is room for the status.
        unsafe { self.device.copy_out((&raw mut ended).cast(), &status, 4) }?;
        // SAFETY: as the caller promises.
        unsafe { self.copy_back(slots, &places) }?;
        let known = Status::ALL.into_iter().find(|s| *s as i64 == i64::from(ended));
        Ok(known.unwrap_or(Status::OutOfMemory))
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
            let (address, bytes) = (slots[slot], slots[slot + 1] as usize * size);
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
    unsafe fn copy_back(&self, slots: &[u64], places: &[Option<Place>]) -> Result<(), Diagnostic> {
        let mut slot = 0;
        for (param, place) in self.params.iter().zip(places) {
            let (Some((role, size)), Some(place)) = (*param, place) else {
                slot += 1;
                continue;
            };
            let (address, bytes) = (slots[slot], slots[slot + 1] as usize * size);
            slot += 2;
            if role != Role::Input {
                // SAFETY: the slot holds the address of room for so many bytes.
                unsafe { self.device.copy_out(address as *mut u8, place.memory(), bytes) }?;
            }
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
