//! Backends: what runs a function of the imperative form.

use tamis_core::backend::c;
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::ir::{Function, Status};
use tamis_core::transform::Target;
use tamis_runtime::cc;

/// What runs the kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Backend {
    /// Machine code in process at once, and the C tier where it pays.
    #[default]
    Auto,
    /// Machine code in process.
    Jit,
    /// The system's C compiler.
    C,
    /// The interpreter: slow, checks everything.
    Interpreter,
}

impl Backend {
    /// Every backend.
    pub const ALL: [Backend; 4] = [Backend::Auto, Backend::Jit, Backend::C, Backend::Interpreter];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Jit => "jit",
            Backend::C => "c",
            Backend::Interpreter => "interp",
        }
    }

    /// The backend of this name.
    pub fn parse(name: &str) -> Option<Backend> {
        Backend::ALL.into_iter().find(|b| b.name() == name)
    }

    /// What code for the backend may assume.
    pub fn target(self) -> Target {
        match self {
            Backend::Auto | Backend::Jit => Target { vector_bytes: 16, tile_registers: 12 },
            Backend::C => Target { vector_bytes: 64, tile_registers: 16 },
            Backend::Interpreter => Target::SCALAR,
        }
    }

    /// Makes functions ready to call.
    pub(crate) fn load(self, functions: &[&Function]) -> Result<Vec<Executable>, Diagnostic> {
        match self {
            Backend::Auto | Backend::Jit => {
                functions.iter().map(|f| tamis_jit::compile(f).map(Executable::Jit)).collect()
            }
            Backend::C => {
                let source = c::emit(functions);
                let entries: Vec<String> = functions.iter().map(|f| c::entry(f)).collect();
                Ok(cc::compile(&source, &entries)?.into_iter().map(Executable::C).collect())
            }
            Backend::Interpreter => Err(Diagnostic::new(Code::UnsupportedBackend, "not yet")),
        }
    }
}

/// A function, ready to call.
pub(crate) enum Executable {
    Jit(tamis_jit::Code),
    C(cc::CFunction),
}

impl Executable {
    /// Calls the function.
    ///
    /// # Safety
    /// `slots` follows the calling convention of [`tamis_core::ir::Param`].
    pub(crate) unsafe fn call(&self, slots: &mut [u64]) -> Status {
        match self {
            // SAFETY: the caller passes slots of the function's calling convention.
            Executable::Jit(code) => unsafe { code.call(slots) },
            // SAFETY: as above.
            Executable::C(code) => unsafe { code.call(slots) },
        }
    }
}
