//! By `dlopen`, from a file of our own for a moment.

use crate::disk_cache;
use crate::temporary::{Readers, Temporary};
use std::ffi::{CStr, CString, c_void};
use std::io::Write;
use std::path::Path;

/// A loaded library.
pub(crate) struct Library(*mut c_void);

// SAFETY: the handle is only used to look symbols up and to close it once.
unsafe impl Send for Library {}
// SAFETY: as above; dlsym is thread-safe.
unsafe impl Sync for Library {}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle came from dlopen and is closed once.
        unsafe { libc::dlclose(self.0) };
    }
}

impl Library {
    /// Loads a library of our own making: from a copy that nobody else can write to and that has no name
    /// once it is loaded, so that it stays as it was checked.
    pub(crate) fn load(bytes: &[u8]) -> Result<Library, String> {
        let mut reason = String::new();
        // A folder may be on a disk from which nothing is loaded.
        for folder in disk_cache::workspaces() {
            match folder.and_then(|folder| copy(bytes, &folder)) {
                Ok(library) => return Ok(library),
                Err(why) => reason = why,
            }
        }
        Err(reason)
    }

    /// The address of a function or variable.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is open and the name is terminated.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

fn copy(bytes: &[u8], folder: &Path) -> Result<Library, String> {
    let (temporary, mut file) =
        Temporary::file(folder, Readers::User).map_err(|e| format!("{}: {e}", folder.display()))?;
    let path = temporary.path();
    file.write_all(bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    let name = CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| "a path with a NUL byte".to_owned())?;
    // SAFETY: the library is one that the compiler made of our own text, whole and unchanged; it runs no
    // code on load.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(Library(handle));
    }
    // SAFETY: the text of the error is terminated and stays until the next call of this thread.
    let reason = unsafe {
        let text = libc::dlerror();
        if text.is_null() { c"no reason" } else { CStr::from_ptr(text) }
    };
    Err(format!("the library cannot be loaded: {}", reason.to_string_lossy()))
}
