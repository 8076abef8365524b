//! Executable memory.

use std::time::Duration;
use tamis_ir::diagnostic::{Code as DiagnosticCode, Diagnostic, Setting};
use tamis_ir::ir::Status;
use tamis_runtime::kernel::Executable;

/// A compiled function; its memory is freed on drop.
pub struct Code {
    address: *mut libc::c_void,
    mapped: usize,
    /// What it calls by its address.
    _callee: Option<Box<Code>>,
    /// What each step of its generation took.
    generation: Vec<(&'static str, Duration)>,
}

// SAFETY: the memory is executable and never written again.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// Makes machine code executable.
    pub(crate) fn new(code: &[u8]) -> Result<Code, Diagnostic> {
        let mapped = code.len().next_multiple_of(4096).max(4096);
        // SAFETY: an anonymous mapping touches no other memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(refused());
        }
        let owned = Code { address, mapped, _callee: None, generation: vec![] };
        // SAFETY: the mapping is writable, fresh and at least as long as the code.
        let protected = unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), address.cast(), code.len());
            libc::mprotect(address, mapped, libc::PROT_READ | libc::PROT_EXEC)
        };
        if protected == 0 { Ok(owned) } else { Err(refused()) }
    }

    /// The same code, which calls other code by its address.
    pub(crate) fn calling(self, callee: Option<Code>) -> Code {
        let mut code = self;
        code._callee = callee.map(Box::new);
        code
    }

    /// The same code, whose generation took these steps.
    pub(crate) fn generated_in(self, steps: [(&'static str, Duration); 3]) -> Code {
        let mut code = self;
        code.generation = steps.to_vec();
        code
    }

    /// Where the code is.
    pub(crate) fn address(&self) -> usize {
        self.address as usize
    }
}

impl Executable for Code {
    unsafe fn call(&self, slots: &mut [u64]) -> Status {
        // SAFETY: the memory holds a function of this signature, as `compile` made it.
        let function: extern "C" fn(*mut u64) -> i64 = unsafe { std::mem::transmute(self.address) };
        let status = function(slots.as_mut_ptr());
        Status::ALL.into_iter().find(|s| *s as i64 == status).unwrap_or(Status::OutOfMemory)
    }

    fn generation(&self) -> &[(&'static str, Duration)] {
        &self.generation
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned by this value and unmapped once.
        unsafe { libc::munmap(self.address, self.mapped) };
    }
}

fn refused() -> Diagnostic {
    Diagnostic::new(DiagnosticCode::UnsupportedBackend, "the system refuses executable memory")
        .help_by("use {} or {}", [Setting::BackendC, Setting::BackendInterpreter])
}
