//! NVIDIA's driver, where it is installed: a device, its memory, and kernels on it.
//!
//! It is looked for when it is first needed: the file that `$TAMIS_CUDA_DRIVER` names, else the
//! system's. Every call is checked. Memory is plain: nothing moves between host and device but by
//! the copies that are asked for.

use crate::library::{Library, functions};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;
use tamis_core::diagnostic::{Code, Diagnostic};

type Handle = *mut c_void;

functions! {
    /// What is called of the library.
    Api {
        init = "cuInit"(c_uint);
        error_text = "cuGetErrorString"(c_int, *mut *const c_char);
        device_count = "cuDeviceGetCount"(*mut c_int);
        device_get = "cuDeviceGet"(*mut c_int, c_int);
        device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
        device_attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
        context = "cuDevicePrimaryCtxRetain"(*mut Handle, c_int);
        set_current = "cuCtxSetCurrent"(Handle);
        synchronize = "cuCtxSynchronize"();
        load = "cuModuleLoadData"(*mut Handle, *const c_void);
        unload = "cuModuleUnload"(Handle);
        function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
        occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"(*mut c_int, Handle, c_int, usize);
        launch = "cuLaunchKernel"(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
        allocate = "cuMemAlloc_v2"(*mut u64, usize);
        free = "cuMemFree_v2"(u64);
        memory_info = "cuMemGetInfo_v2"(*mut usize, *mut usize);
        to_device = "cuMemcpyHtoD_v2"(u64, *const c_void, usize);
        from_device = "cuMemcpyDtoH_v2"(*mut c_void, u64, usize);
        event_create = "cuEventCreate"(*mut Handle, c_uint);
        event_record = "cuEventRecord"(Handle, Handle);
        event_elapsed = "cuEventElapsedTime"(*mut f32, Handle, Handle);
    }
}

/// The oldest devices whose kernels add doubles atomically.
const OLDEST: (c_int, c_int) = (6, 0);
/// The driver's numbers of attributes: multiprocessors, and the two parts of the capability.
const ATTRIBUTES: [c_int; 3] = [16, 75, 76];
const OUT_OF_MEMORY: c_int = 2;

/// The first device of the driver.
pub struct Device {
    api: Api,
    context: Handle,
    /// Its name.
    pub name: String,
    /// What kernels are compiled for, such as `sm_90`.
    pub architecture: String,
    /// How many multiprocessors it has.
    pub processors: u32,
    start: Handle,
    end: Handle,
    _library: Library,
}

// SAFETY: the driver's functions may be called from any thread; handles are only numbers.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// The device, found when it is first asked for.
///
/// # Errors
///
/// [`Code::UnsupportedBackend`] without a driver, without a device, or if either is too old.
pub fn device() -> Result<&'static Device, Diagnostic> {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    match DEVICE.get() {
        Some(device) => Ok(device),
        None => find().map(|found| DEVICE.get_or_init(|| found)),
    }
}

fn find() -> Result<Device, Diagnostic> {
    let named = std::env::var_os("TAMIS_CUDA_DRIVER").map(PathBuf::from);
    let names = match named {
        Some(path) => vec![path],
        None => ["libcuda.so.1", "libcuda.so"].map(PathBuf::from).to_vec(),
    };
    let Some(library) = names.iter().find_map(|name| Library::open(name)) else {
        let message =
            format!("there is no CUDA driver here: {} cannot be loaded", names[0].display());
        return Err(unsupported(message));
    };
    let api = Api::of(&library).map_err(|name| {
        unsupported(format!("the CUDA driver is too old: it has no function {name}"))
    })?;
    opened(api, library)
}

/// The first device of a driver, ready for kernels.
fn opened(api: Api, library: Library) -> Result<Device, Diagnostic> {
    let refused = |what: &str, error: c_int, api: &Api| {
        unsupported(format!("the CUDA driver {what}: {}", told(api, error)))
    };
    // SAFETY: the driver's own initialisation, before all else.
    let error = unsafe { (api.init)(0) };
    if error != 0 {
        return Err(refused("cannot start", error, &api));
    }
    let (mut count, mut number) = (0, 0);
    // SAFETY: there is a place for the count.
    let error = unsafe { (api.device_count)(&mut count) };
    if error != 0 || count == 0 {
        return Err(unsupported("the CUDA driver finds no device".to_owned()));
    }
    let mut name = [0 as c_char; 256];
    let (mut context, mut start, mut end): (Handle, Handle, Handle) =
        (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    let mut values = [0 as c_int; 3];
    // SAFETY: there are places for all results; the device is one of those counted, and its context
    // is current before events are made in it.
    let error = unsafe {
        let mut all = vec![
            (api.device_get)(&mut number, 0),
            (api.device_name)(name.as_mut_ptr(), 255, number),
        ];
        for (value, attribute) in values.iter_mut().zip(ATTRIBUTES) {
            all.push((api.device_attribute)(value, attribute, number));
        }
        all.push((api.context)(&mut context, number));
        all.push((api.set_current)(context));
        all.push((api.event_create)(&mut start, 0));
        all.push((api.event_create)(&mut end, 0));
        all.into_iter().find(|&error| error != 0).unwrap_or(0)
    };
    if error != 0 {
        return Err(refused("cannot use its device", error, &api));
    }
    // SAFETY: the driver wrote a terminated text into the array, whose last byte stays 0.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    let [processors, major, minor] = values;
    if (major, minor) < OLDEST {
        let message = format!(
            "{name} has compute capability {major}.{minor}, and kernels need {}.{} or newer",
            OLDEST.0, OLDEST.1
        );
        return Err(unsupported(message));
    }
    let (architecture, processors) = (format!("sm_{major}{minor}"), processors.max(1) as u32);
    Ok(Device { api, context, name, architecture, processors, start, end, _library: library })
}

fn unsupported(message: String) -> Diagnostic {
    Diagnostic::new(Code::UnsupportedBackend, message)
        .help("use --backend jit, or cuda-emulated to try kernels without a GPU")
}

/// What the driver says of an error.
fn told(api: &Api, error: c_int) -> String {
    let mut text = std::ptr::null();
    // SAFETY: there is a place for the text, which is the driver's and lasts.
    let found = unsafe { (api.error_text)(error, &mut text) };
    match found == 0 && !text.is_null() {
        // SAFETY: the driver gives a terminated text.
        true => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        false => format!("error {error}"),
    }
}

/// Memory of the device, freed when dropped.
pub struct Memory {
    device: &'static Device,
    address: u64,
}

impl Memory {
    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the address was allocated and is freed once.
        unsafe { (self.device.api.free)(self.address) };
    }
}

/// Kernels on a device.
pub struct Module {
    device: &'static Device,
    handle: Handle,
}

// SAFETY: as for the device.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the module was loaded and is unloaded once.
        unsafe { (self.device.api.unload)(self.handle) };
    }
}

/// A kernel of a module.
#[derive(Clone, Copy)]
pub struct Function(Handle);

// SAFETY: as for the device.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Device {
    fn check(&self, what: &str, error: c_int) -> Result<(), Diagnostic> {
        if error == 0 {
            return Ok(());
        }
        let message = format!("{} {what}: {}", self.name, told(&self.api, error));
        Err(Diagnostic::new(Code::DeviceFailed, message)
            .help("run again with --backend jit; a device that failed may need a new process"))
    }

    /// Makes the device that of the calling thread.
    pub fn enter(&self) -> Result<(), Diagnostic> {
        // SAFETY: the context is the device's own.
        self.check("cannot be used", unsafe { (self.api.set_current)(self.context) })
    }

    /// Loads machine code.
    pub fn load(&'static self, code: &[u8]) -> Result<Module, Diagnostic> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the code is a whole module as the compiler made it.
        let error = unsafe { (self.api.load)(&mut handle, code.as_ptr().cast()) };
        self.check("does not take kernels", error)?;
        Ok(Module { device: self, handle })
    }

    /// So many bytes of memory; of none a little.
    pub fn allocate(&'static self, bytes: usize) -> Result<Memory, Diagnostic> {
        let mut address = 0;
        // SAFETY: there is a place for the address.
        let error = unsafe { (self.api.allocate)(&mut address, bytes.max(16)) };
        if error == OUT_OF_MEMORY {
            let (mut free, mut total) = (0, 0);
            // SAFETY: there are places for both numbers.
            unsafe { (self.api.memory_info)(&mut free, &mut total) };
            let message =
                format!("{} has no room for {bytes} bytes: {free} of {total} are free", self.name);
            return Err(Diagnostic::new(Code::OutOfMemory, message)
                .help("free tensors on the device, or use --backend jit"));
        }
        self.check("cannot allocate", error)?;
        Ok(Memory { device: self, address })
    }

    /// Copies to the device.
    ///
    /// # Safety
    /// `from` holds so many bytes.
    pub unsafe fn copy_in(
        &self,
        to: &Memory,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), Diagnostic> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller promises the bytes; the memory is at least as large.
        let error = unsafe { (self.api.to_device)(to.address, from.cast(), bytes) };
        self.check("cannot be written", error)
    }

    /// Copies from the device.
    ///
    /// # Safety
    /// There is room for so many bytes at `to`.
    pub unsafe fn copy_out(
        &self,
        to: *mut u8,
        from: &Memory,
        bytes: usize,
    ) -> Result<(), Diagnostic> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller promises the room; the memory is at least as large.
        let error = unsafe { (self.api.from_device)(to.cast(), from.address, bytes) };
        self.check("cannot be read", error)
    }

    /// Waits for what was started; an error of a kernel shows here.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        // SAFETY: no arguments.
        self.check("failed", unsafe { (self.api.synchronize)() })
    }

    /// Begins to measure time on the device.
    pub fn start_clock(&self) -> Result<(), Diagnostic> {
        // SAFETY: the event is the device's own.
        let error = unsafe { (self.api.event_record)(self.start, std::ptr::null_mut()) };
        self.check("has no clock", error)
    }

    /// The milliseconds since; all that was started in between has to be done.
    pub fn stop_clock(&self) -> Result<f32, Diagnostic> {
        let mut elapsed = 0.0;
        // SAFETY: the events are the device's own; there is a place for the time.
        let error = unsafe {
            let error = (self.api.event_record)(self.end, std::ptr::null_mut());
            if error == 0 { (self.api.synchronize)() } else { error }
        };
        self.check("failed", error)?;
        // SAFETY: as above; both events were recorded.
        let error = unsafe { (self.api.event_elapsed)(&mut elapsed, self.start, self.end) };
        self.check("has no clock", error).map(|()| elapsed)
    }

    /// How many blocks of a kernel run at the same time.
    pub fn blocks(&self, function: Function, threads: u32) -> Result<u32, Diagnostic> {
        let mut blocks = 0;
        // SAFETY: the function is of a module that is loaded; there is a place for the number.
        let error = unsafe { (self.api.occupancy)(&mut blocks, function.0, threads as c_int, 0) };
        self.check("cannot run blocks of this size", error)?;
        Ok(self.processors * blocks.max(1) as u32)
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// The arguments point to values of the kernel's parameters, whose arrays are on the device.
    pub unsafe fn launch(
        &self,
        function: Function,
        blocks: u32,
        threads: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Diagnostic> {
        let none = std::ptr::null_mut();
        // SAFETY: the caller promises the arguments.
        let error = unsafe {
            (self.api.launch)(
                function.0,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                none,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.check("cannot start a kernel", error)
    }
}

impl Module {
    /// The kernel of a name.
    pub fn function(&self, name: &str) -> Result<Function, Diagnostic> {
        let mut handle = std::ptr::null_mut();
        let named = CString::new(name).unwrap_or_default();
        // SAFETY: the module is loaded, the name terminated, and there is a place for the handle.
        let error = unsafe { (self.device.api.function)(&mut handle, self.handle, named.as_ptr()) };
        self.device.check(&format!("has no kernel {name}"), error)?;
        Ok(Function(handle))
    }
}
