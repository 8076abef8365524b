//! Shared libraries by `dlopen`.

use super::Which;
use std::ffi::{CStr, CString, OsString, c_void};
use std::path::{Path, PathBuf};

/// A library that stays loaded.
pub(super) struct Handle(*mut c_void);

// SAFETY: the handle is only used to look symbols up, which any thread may do.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// The library at a path, or of a name that the system knows; else what the system says.
    pub(super) fn open(name: &Path, which: Which) -> Result<Handle, String> {
        let path = CString::new(name.as_os_str().as_encoded_bytes()).map_err(|e| e.to_string())?;
        let flags = match which {
            Which::Loaded => libc::RTLD_NOLOAD,
            Which::Any => libc::RTLD_LOCAL,
        };
        // SAFETY: the name is terminated. The library is the system's or the user's own choice.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | flags) };
        if !handle.is_null() {
            return Ok(Handle(handle));
        }
        // SAFETY: after a failure, this is a terminated text, or null.
        let told = unsafe {
            let told = libc::dlerror();
            (!told.is_null()).then(|| CStr::from_ptr(told).to_string_lossy().into_owned())
        };
        Err(told.unwrap_or_else(|| format!("{} cannot be loaded", name.display())))
    }

    /// The address of a function or a variable.
    pub(super) fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is open and the name is terminated.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    /// The file that a symbol is in, if the system tells it.
    pub(super) fn file(&self, symbol: *mut c_void) -> Option<PathBuf> {
        // SAFETY: zero is a valid state of this struct, which has pointers only.
        let mut told: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: the address is of a library that is loaded, which outlives the use of its name.
        let name = unsafe {
            let found = libc::dladdr(symbol, &mut told) != 0 && !told.dli_fname.is_null();
            found.then(|| CStr::from_ptr(told.dli_fname).to_bytes().to_vec())
        };
        // SAFETY: the bytes are a path that the system gave.
        Some(PathBuf::from(unsafe { OsString::from_encoded_bytes_unchecked(name?) }))
    }
}

/// The process that started this one.
pub(super) fn parent() -> Option<u32> {
    // SAFETY: the call cannot fail.
    u32::try_from(unsafe { libc::getppid() }).ok()
}
