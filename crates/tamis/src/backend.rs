//! Backends: what runs a function of the imperative form.

use tamis_core::backend::c;
use tamis_core::diagnostic::Diagnostic;
use tamis_core::ir::Function;
use tamis_core::transform::Target;
use tamis_runtime::cc;
use tamis_runtime::interpreted::Interpreted;
use tamis_runtime::kernel::Executable;

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
            Backend::Auto | Backend::Jit => {
                Target { vector_bytes: 16, tile_registers: 8, hoists: true, prefetches: true }
            }
            Backend::C => {
                Target { vector_bytes: 64, tile_registers: 16, hoists: false, prefetches: true }
            }
            Backend::Interpreter => Target::SCALAR,
        }
    }

    /// Makes functions ready to call.
    pub(crate) fn load(
        self,
        functions: &[&Function],
    ) -> Result<Vec<Box<dyn Executable>>, Diagnostic> {
        match self {
            Backend::Auto | Backend::Jit => {
                let compiled = tamis_jit::compile_all(functions)?;
                Ok(compiled.into_iter().map(|f| Box::new(f) as Box<dyn Executable>).collect())
            }
            Backend::C => {
                let compiled = cc::compile(&c::emit(functions), &c::entries(functions))?;
                Ok(compiled.into_iter().map(|f| Box::new(f) as Box<dyn Executable>).collect())
            }
            Backend::Interpreter => Ok(functions
                .iter()
                .map(|f| Box::new(Interpreted::new((*f).clone())) as Box<dyn Executable>)
                .collect()),
        }
    }
}
