//! The three ABIs of MPI libraries: what handles are, and the few constants that are used.
//!
//! | | handles | found in |
//! |---|---|---|
//! | Open MPI | addresses of variables | Open MPI 3 to 5 |
//! | standard | small numbers, as wide as addresses | the ABI of MPI 5, such as MPICH 5 |
//! | MPICH | numbers of 32 bits | MPICH 3 and 4, Intel MPI, Cray MPICH, MVAPICH |
//!
//! Handles are passed as 64 bits everywhere: a function that takes 32 looks at no more, on all processors that
//! Tamis makes code for.

use super::library::{Library, has_standard_name};
use std::ffi::{c_char, c_int, c_void};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// A communicator, datatype or error handler.
pub(crate) type Handle = usize;

/// What differs between libraries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Abi {
    pub(crate) world: Handle,
    /// The communicator of this rank alone.
    pub(crate) own: Handle,
    pub(crate) byte: Handle,
    pub(crate) errors_return: Handle,
    /// The thread level at which any thread may call, one at a time; levels below are smaller.
    pub(crate) serialized: c_int,
    /// How many bytes a request is.
    pub(crate) request: usize,
}

const STANDARD: Abi = Abi {
    world: 0x101,
    own: 0x102,
    byte: 0x247,
    errors_return: 0x143,
    serialized: 2048,
    request: 8,
};

const MPICH: Abi = Abi {
    world: 0x4400_0000,
    own: 0x4400_0001,
    byte: 0x4c00_010d,
    errors_return: 0x5400_0001,
    serialized: 2,
    request: 4,
};

/// What libraries of MPICH's ABI call themselves.
const MPICHS: [&str; 4] = ["MPICH", "Intel(R) MPI", "CRAY", "MVAPICH"];

impl Abi {
    /// The ABI of a library.
    ///
    /// # Errors
    ///
    /// [`Code::UnsupportedBackend`] for a library of another ABI, or none of MPI.
    fn of(library: &Library) -> Result<Abi, Diagnostic> {
        let address = |name: &str| library.symbol(name).map(|address| address as Handle);
        if library.symbol("MPI_Init_thread").is_some_and(|s| has_standard_name(&library.file(s))) {
            return Ok(STANDARD);
        }
        let symbols = ["comm_world", "comm_self", "byte", "errors_return"];
        let symbols = symbols.map(|name| address(&format!("ompi_mpi_{name}")));
        if let [Some(world), Some(own), Some(byte), Some(errors_return)] = symbols {
            return Ok(Abi { world, own, byte, errors_return, serialized: 2, request: 8 });
        }
        let version = library.version().unwrap_or_default();
        if MPICHS.iter().any(|name| version.contains(name)) {
            return Ok(MPICH);
        }
        let name = library.name.display();
        let message = match version.is_empty() {
            true => format!("{name} is no MPI library"),
            false => format!("{name} has handles of a kind that is not known: it is {version}"),
        };
        let help = "name a library of Open MPI, MPICH or of the ABI of MPI 5 by TAMIS_MPI";
        Err(Diagnostic::new(Code::UnsupportedBackend, message).help(help))
    }
}

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($arg:ty),*);)*) => {
        /// What is called of a library, and how its handles look.
        pub(crate) struct Api {
            pub(crate) abi: Abi,
            /// What the library says it is.
            pub(crate) version: String,
            $(pub(crate) $field: unsafe extern "C" fn($($arg),*) -> c_int,)*
            _library: Library,
        }

        impl Api {
            /// The functions of a library.
            ///
            /// # Errors
            ///
            /// [`Code::UnsupportedBackend`] if it lacks one, or its handles are not known.
            pub(crate) fn of(library: Library) -> Result<Api, Diagnostic> {
                let abi = Abi::of(&library)?;
                let version = library.version().unwrap_or_default();
                $(
                    let address = library.symbol($symbol).ok_or_else(|| lacks(&library, $symbol))?;
                    // SAFETY: MPI's function of this name has this type, but that handles may be narrower.
                    let $field = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> c_int>(address)
                    };
                )*
                Ok(Api { abi, version, $($field,)* _library: library })
            }
        }
    };
}

functions! {
    initialized = "MPI_Initialized"(*mut c_int);
    finalized = "MPI_Finalized"(*mut c_int);
    init = "MPI_Init_thread"(*mut c_void, *mut c_void, c_int, *mut c_int);
    query_thread = "MPI_Query_thread"(*mut c_int);
    finalize = "MPI_Finalize"();
    abort = "MPI_Abort"(Handle, c_int);
    error_string = "MPI_Error_string"(c_int, *mut c_char, *mut c_int);
    dup = "MPI_Comm_dup"(Handle, *mut Handle);
    split = "MPI_Comm_split"(Handle, c_int, c_int, *mut Handle);
    free = "MPI_Comm_free"(*mut Handle);
    set_errhandler = "MPI_Comm_set_errhandler"(Handle, Handle);
    rank = "MPI_Comm_rank"(Handle, *mut c_int);
    size = "MPI_Comm_size"(Handle, *mut c_int);
    alltoall = "MPI_Alltoall"(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle);
    isend = "MPI_Isend"(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void);
    irecv = "MPI_Irecv"(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void);
    waitall = "MPI_Waitall"(c_int, *mut c_void, *mut c_void);
}

fn lacks(library: &Library, function: &str) -> Diagnostic {
    let message = format!("{} has no function {function}", library.name.display());
    let help = "name another MPI library by TAMIS_MPI";
    Diagnostic::new(Code::UnsupportedBackend, message).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::library::Which;

    #[test]
    fn a_library_that_is_not_of_mpi_is_refused() {
        let libc = std::path::Path::new(if cfg!(target_os = "macos") {
            "libSystem.B.dylib"
        } else {
            "libc.so.6"
        });
        // A C library of another kind may have another name; then there is nothing to try.
        let Ok(library) = Library::open(libc, Which::Any) else { return };
        let told = Api::of(library).err().map(|told| told.to_string()).unwrap_or_default();
        let wanted = format!("error[unsupported-backend]: {} is no MPI library", libc.display());
        assert!(told.starts_with(&wanted), "{told}");
    }
}
