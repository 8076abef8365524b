//! Shared libraries that are found when they are needed, and may be missing.

use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

/// A library that stays loaded: those of a GPU may have threads, and code for the end of the process.
pub(crate) struct Library(ManuallyDrop<libloading::Library>);

impl Library {
    /// The library at a path, or of a name that the system knows.
    pub(crate) fn open(path: &Path) -> Option<Library> {
        // SAFETY: the library is the system's or the user's own choice.
        unsafe { opened(path) }.ok().map(|library| Library(ManuallyDrop::new(library)))
    }

    /// The address of a function; `None` if the library is too old to have it.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: only the address is taken, and the library stays loaded.
        let address =
            unsafe { self.0.get::<*mut c_void>(name.to_bytes_with_nul()).ok()?.try_as_raw_ptr()? };
        (!address.is_null()).then_some(address)
    }
}

/// Loads a library with all that it needs, so that one that lacks something is refused at once.
///
/// # Safety
/// What the library does when it is loaded is safe.
unsafe fn opened(path: &Path) -> Result<libloading::Library, libloading::Error> {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        // SAFETY: as the caller promises.
        unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
    }
    #[cfg(not(unix))]
    // SAFETY: as the caller promises.
    unsafe {
        libloading::Library::new(path)
    }
}

/// Declares a struct of functions of a library, and how it is filled.
macro_rules! functions {
    ($(#[$about:meta])* $name:ident { $($field:ident = $symbol:literal ($($arg:ty),*);)* }) => {
        $(#[$about])*
        pub(crate) struct $name {
            $(pub(crate) $field: unsafe extern "C" fn($($arg),*) -> std::ffi::c_int,)*
        }

        impl $name {
            /// The functions of a library; else the name of one that it lacks.
            fn of(library: &$crate::library::Library) -> Result<$name, &'static str> {
                $(
                    let name = std::ffi::CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes());
                    let name = name.expect("names have no zero byte");
                    let $field = library.symbol(name).ok_or($symbol)?;
                    // SAFETY: the library's function of this name has this type.
                    let $field = unsafe {
                        std::mem::transmute::<
                            *mut std::ffi::c_void,
                            unsafe extern "C" fn($($arg),*) -> std::ffi::c_int,
                        >($field)
                    };
                )*
                Ok($name { $($field,)* })
            }
        }
    };
}

pub(crate) use functions;
