//! Executable memory.

use memmap2::{Mmap, MmapMut};
use std::time::Duration;
use tamis_ir::diagnostic::{Code as DiagnosticCode, Diagnostic, Setting};
use tamis_ir::ir::Status;
use tamis_runtime::kernel::Executable;

/// A compiled function; its memory is freed on drop.
pub struct Code {
    memory: Mmap,
    /// What it calls by its address.
    _callee: Option<Box<Code>>,
    /// What each step of its generation took.
    generation: Vec<(&'static str, Duration)>,
}

impl Code {
    /// Makes machine code executable.
    pub(crate) fn new(code: &[u8]) -> Result<Code, Diagnostic> {
        let mut memory = MmapMut::map_anon(code.len().max(1)).map_err(|_| refused())?;
        memory[..code.len()].copy_from_slice(code);
        let memory = memory.make_exec().map_err(|_| refused())?;
        Ok(Code { memory, _callee: None, generation: vec![] })
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
        self.memory.as_ptr() as usize
    }
}

impl Executable for Code {
    unsafe fn call(&self, slots: &mut [u64]) -> Status {
        // SAFETY: the memory holds a function of this signature, as `compile` made it.
        let function: extern "C" fn(*mut u64) -> i64 =
            unsafe { std::mem::transmute(self.memory.as_ptr()) };
        let status = function(slots.as_mut_ptr());
        Status::ALL.into_iter().find(|s| *s as i64 == status).unwrap_or(Status::OutOfMemory)
    }

    fn generation(&self) -> &[(&'static str, Duration)] {
        &self.generation
    }
}

fn refused() -> Diagnostic {
    Diagnostic::new(DiagnosticCode::UnsupportedBackend, "the system refuses executable memory")
        .help_by("use {} or {}", [Setting::BackendC, Setting::BackendInterpreter])
}
