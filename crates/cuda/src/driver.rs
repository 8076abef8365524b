//! NVIDIA's driver, where it is installed: a device, and kernels on it.
//!
//! It is looked for when it is first needed: the file that `$TAMIS_CUDA_DRIVER` names, else the
//! system's. The device is the first one, or that whose number `$TAMIS_CUDA_DEVICE` names. Every call is
//! checked. The device is that of a thread only while a value of [`Entered`] lives, so that what others do
//! on other devices goes on there.

use crate::library::{Library, functions};
use crate::memory::Pool;
use crate::stream::{Stream, Streams};
use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_void};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};

/// What the driver calls its things by.
pub(crate) type Handle = *mut c_void;

functions! {
    /// What is called of the library.
    Api {
        init = "cuInit"(c_uint);
        version = "cuDriverGetVersion"(*mut c_int);
        error_text = "cuGetErrorString"(c_int, *mut *const c_char);
        device_count = "cuDeviceGetCount"(*mut c_int);
        device_get = "cuDeviceGet"(*mut c_int, c_int);
        device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
        device_attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
        context = "cuDevicePrimaryCtxRetain"(*mut Handle, c_int);
        push = "cuCtxPushCurrent_v2"(Handle);
        pop = "cuCtxPopCurrent_v2"(*mut Handle);
        load = "cuModuleLoadData"(*mut Handle, *const c_void);
        unload = "cuModuleUnload"(Handle);
        function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
        occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"(*mut c_int, Handle, c_int, usize);
        launch = "cuLaunchKernel"(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
        allocate = "cuMemAlloc_v2"(*mut u64, usize);
        free = "cuMemFree_v2"(u64);
        memory_info = "cuMemGetInfo_v2"(*mut usize, *mut usize);
        to_device = "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, Handle);
        from_device = "cuMemcpyDtoHAsync_v2"(*mut c_void, u64, usize, Handle);
        set = "cuMemsetD8Async"(u64, c_uchar, usize, Handle);
        stream_create = "cuStreamCreate"(*mut Handle, c_uint);
        stream_synchronize = "cuStreamSynchronize"(Handle);
        stream_wait = "cuStreamWaitEvent"(Handle, Handle, c_uint);
        event_create = "cuEventCreate"(*mut Handle, c_uint);
        event_record = "cuEventRecord"(Handle, Handle);
        event_synchronize = "cuEventSynchronize"(Handle);
        event_elapsed = "cuEventElapsedTime"(*mut f32, Handle, Handle);
        event_destroy = "cuEventDestroy_v2"(Handle);
    }
}

/// The oldest devices whose kernels add doubles atomically.
const OLDEST: (c_int, c_int) = (6, 0);
/// The driver's numbers of attributes: multiprocessors, and the two parts of the capability.
const ATTRIBUTES: [c_int; 3] = [16, 75, 76];

/// A device of the driver.
pub struct Device {
    pub(crate) api: Api,
    context: Handle,
    /// Its name.
    pub name: String,
    /// Its compute capability, such as 90 for 9.0.
    pub capability: u32,
    /// The newest version of CUDA that the driver knows, such as 12.4.
    pub version: (u32, u32),
    /// How many multiprocessors it has.
    pub processors: u32,
    pub(crate) streams: Mutex<Streams>,
    pub(crate) pool: Mutex<Pool>,
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

/// The device of a driver, ready for kernels.
fn opened(api: Api, library: Library) -> Result<Device, Diagnostic> {
    let refused = |what: &str, error: c_int, api: &Api| {
        unsupported(format!("the CUDA driver {what}: {}", told(api, error)))
    };
    // SAFETY: the driver's own initialisation, before all else.
    let error = unsafe { (api.init)(0) };
    if error != 0 {
        return Err(refused("cannot start", error, &api));
    }
    let wanted = wanted(&api)?;
    let (mut number, mut version, mut context) = (0, 0, std::ptr::null_mut());
    let mut name = [0 as c_char; 256];
    let mut values = [0 as c_int; 3];
    // SAFETY: there is room for all results; the device is one of those counted.
    let error = unsafe {
        let mut all = vec![
            (api.version)(&mut version),
            (api.device_get)(&mut number, wanted),
            (api.device_name)(name.as_mut_ptr(), 255, number),
        ];
        for (value, attribute) in values.iter_mut().zip(ATTRIBUTES) {
            all.push((api.device_attribute)(value, attribute, number));
        }
        all.push((api.context)(&mut context, number));
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
    Ok(Device {
        api,
        context,
        name,
        capability: (major * 10 + minor) as u32,
        version: (version as u32 / 1000, version as u32 % 1000 / 10),
        processors: processors.max(1) as u32,
        streams: Mutex::default(),
        pool: Mutex::default(),
        _library: library,
    })
}

/// The number of the device that is asked for.
fn wanted(api: &Api) -> Result<c_int, Diagnostic> {
    let mut count = 0;
    // SAFETY: there is room for the count.
    let error = unsafe { (api.device_count)(&mut count) };
    if error != 0 || count == 0 {
        return Err(unsupported("the CUDA driver finds no device".to_owned()));
    }
    let Ok(named) = std::env::var("TAMIS_CUDA_DEVICE") else { return Ok(0) };
    named.parse().ok().filter(|number| (0..count).contains(number)).ok_or_else(|| {
        let message = format!("there is no CUDA device {named}, which TAMIS_CUDA_DEVICE names");
        unsupported(message).help(format!("name a number from 0 to {}", count - 1))
    })
}

fn unsupported(message: String) -> Diagnostic {
    Diagnostic::new(Code::UnsupportedBackend, message).help_by(
        "use {}, or {} to try kernels without a GPU",
        [Setting::BackendJit, Setting::BackendEmulated],
    )
}

/// What the driver says of an error.
fn told(api: &Api, error: c_int) -> String {
    let mut text = std::ptr::null();
    // SAFETY: there is room for the text, which is the driver's and lasts.
    let found = unsafe { (api.error_text)(error, &mut text) };
    match found == 0 && !text.is_null() {
        // SAFETY: the driver gives a terminated text.
        true => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        false => format!("error {error}"),
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
        // Any thread may drop it. Where the device cannot be entered, the driver has ended, and its modules with it.
        if let Ok(entered) = self.device.enter() {
            // SAFETY: the module was loaded and is unloaded once.
            unsafe { (entered.device.api.unload)(self.handle) };
        }
    }
}

/// A kernel of a module.
#[derive(Clone, Copy)]
pub struct Function(Handle);

// SAFETY: as for the device.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// The device is that of the thread as long as this lives, then the one before is again.
pub struct Entered {
    device: &'static Device,
    /// It belongs to a thread.
    _thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut own = std::ptr::null_mut();
        // SAFETY: the context was pushed by this thread; there is room for it.
        unsafe { (self.device.api.pop)(&mut own) };
    }
}

impl Device {
    /// Fails where the driver reports an error.
    pub(crate) fn check(&self, what: &str, error: c_int) -> Result<(), Diagnostic> {
        if error == 0 {
            return Ok(());
        }
        let message = format!("{} {what}: {}", self.name, told(&self.api, error));
        Err(Diagnostic::new(Code::DeviceFailed, message).help_by(
            "run again with {}; a device that failed may need a new process",
            [Setting::BackendJit],
        ))
    }

    /// Makes the device that of the calling thread.
    pub fn enter(&'static self) -> Result<Entered, Diagnostic> {
        // SAFETY: the context is the device's own.
        self.check("cannot be used", unsafe { (self.api.push)(self.context) })?;
        Ok(Entered { device: self, _thread: PhantomData })
    }

    /// Loads machine code, or the text of a machine that the driver compiles, which ends with a zero byte.
    pub fn load(&'static self, code: &[u8]) -> Result<Module, Diagnostic> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the code is a whole module as the compiler made it.
        let error = unsafe { (self.api.load)(&mut handle, code.as_ptr().cast()) };
        self.check("does not take kernels", error)?;
        Ok(Module { device: self, handle })
    }

    /// How many blocks of a kernel run at the same time.
    pub fn blocks(&self, function: Function, threads: u32) -> Result<u32, Diagnostic> {
        let mut blocks = 0;
        // SAFETY: the function is of a module that is loaded; there is room for the number.
        let error = unsafe { (self.api.occupancy)(&mut blocks, function.0, threads as c_int, 0) };
        self.check("cannot run blocks of this size", error)?;
        Ok(self.processors * blocks.max(1) as u32)
    }

    /// Starts a kernel, which runs when all that was asked of the stream before is done.
    ///
    /// # Safety
    /// The arguments point to values of the kernel's parameters, whose arrays are on the device.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        function: Function,
        (blocks, threads): (u32, u32),
        arguments: &mut [*mut c_void],
    ) -> Result<(), Diagnostic> {
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
                stream.handle(),
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
        // SAFETY: the module is loaded, the name terminated, and there is room for the handle.
        let error = unsafe { (self.device.api.function)(&mut handle, self.handle, named.as_ptr()) };
        self.device.check(&format!("has no kernel {name}"), error)?;
        Ok(Function(handle))
    }
}
