//! Backends: what runs a function of the imperative form.

use tamis_ir::backend::{c, cuda};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ir::Function;
use tamis_ir::ir::verify::verify;
use tamis_ir::transform::Target;
use tamis_runtime::cc;
use tamis_runtime::interpreted::Interpreted;
use tamis_runtime::kernel::Executable;
use tamis_runtime::processor::{self, Level};

/// What runs the kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
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
    /// The interpreter on code with strips, tiles and vectors, as processors run it: every check on
    /// all that this reads and writes, for tests.
    InterpreterOfVectors,
    /// Kernels for a GPU, on one; what has no kernel runs as machine code in process.
    Cuda,
    /// Kernels for a GPU, emulated on the processor thread by thread: slow, for tests.
    CudaEmulated,
}

/// What machine code in process may assume of every processor.
pub(crate) const NARROW: Target =
    Target { vector_bytes: 16, tile_registers: 8, hoists: true, prefetches: true, gpu: false };

/// What it may assume of processors with AVX2, and of those with AVX-512.
const HALF_WIDE: Target = Target { vector_bytes: 32, ..NARROW };
const WIDE: Target = Target { vector_bytes: 64, tile_registers: 16, ..NARROW };

impl Backend {
    /// Every backend.
    pub const ALL: [Backend; 7] = [
        Backend::Auto,
        Backend::Jit,
        Backend::C,
        Backend::Interpreter,
        Backend::InterpreterOfVectors,
        Backend::Cuda,
        Backend::CudaEmulated,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Jit => "jit",
            Backend::C => "c",
            Backend::Interpreter => "interp",
            Backend::InterpreterOfVectors => "interp-vectors",
            Backend::Cuda => "cuda",
            Backend::CudaEmulated => "cuda-emulated",
        }
    }

    /// The backend of this name.
    pub fn parse(name: &str) -> Option<Backend> {
        Backend::ALL.into_iter().find(|b| b.name() == name)
    }

    /// Whether everything that the backend needs is there.
    pub fn is_available(self) -> bool {
        match self {
            Backend::Auto | Backend::Jit => true,
            Backend::Interpreter | Backend::InterpreterOfVectors => true,
            Backend::C | Backend::CudaEmulated => cc::is_available(),
            Backend::Cuda => {
                tamis_cuda::driver::device().is_ok() && tamis_cuda::nvrtc::is_available()
            }
        }
    }

    /// What code for the backend may assume.
    pub fn target(self) -> Target {
        self.target_of(processor::level().ok())
    }

    /// What code may assume on a processor of some level, which need not be this one; the baseline if it has
    /// no valid name.
    pub(crate) fn target_of(self, level: Option<Level>) -> Target {
        match self {
            Backend::Auto | Backend::Jit => of_processor(level),
            // Its compiler takes loads out of loops.
            Backend::C => Target { hoists: false, ..of_processor(level) },
            Backend::Interpreter => Target::SCALAR,
            Backend::InterpreterOfVectors => WIDE,
            Backend::Cuda | Backend::CudaEmulated => Target::GPU,
        }
    }

    /// Makes functions ready to call; `None` if they are better transformed for [`NARROW`] first.
    pub(crate) fn load_suited(
        self,
        functions: &[&Function],
    ) -> Result<Option<Executables>, Diagnostic> {
        if !matches!(self, Backend::Auto | Backend::Jit) {
            return self.load(functions).map(Some);
        }
        functions.iter().try_for_each(|function| verify(function))?;
        Ok(tamis_jit::compile_suited(functions)?.map(boxed))
    }

    /// Makes functions ready to call. One that breaks an invariant of the imperative form, by a
    /// mistake of the compiler, is refused: its machine code would write anywhere.
    pub(crate) fn load(self, functions: &[&Function]) -> Result<Executables, Diagnostic> {
        functions.iter().try_for_each(|function| verify(function))?;
        match self {
            Backend::Auto | Backend::Jit => Ok(boxed(tamis_jit::compile_all(functions)?)),
            Backend::C => Ok(boxed(cc::compile(&c::emit(functions), &c::entries(functions))?)),
            Backend::Interpreter | Backend::InterpreterOfVectors => {
                Ok(boxed(functions.iter().map(|f| Interpreted::new((*f).clone())).collect()))
            }
            // Those of a device are called in another way: see `on_device`.
            Backend::Cuda | Backend::CudaEmulated => {
                let emulated =
                    &|functions: &[&Function]| Ok(boxed(tamis_cuda::emulated::compile(functions)?));
                on_units(functions, emulated, &|functions| Backend::Jit.load(functions))
            }
        }
    }
}

/// What code may assume of this process's processor level.
fn of_processor(level: Option<Level>) -> Target {
    match level.map_or(16, tamis_jit::vector_bytes) {
        64 => WIDE,
        32 => HALF_WIDE,
        _ => NARROW,
    }
}

/// Functions ready to call, in order.
pub(crate) type Executables = Vec<Box<dyn Executable>>;

fn boxed<E: Executable + 'static>(functions: Vec<E>) -> Executables {
    functions.into_iter().map(|f| Box::new(f) as Box<dyn Executable>).collect()
}

/// Compiles several functions.
type Compile<'c, E> = &'c dyn Fn(&[&Function]) -> Result<Vec<E>, Diagnostic>;

/// Functions as kernels of a device; those that have none run on the host.
pub(crate) fn on_units<E>(
    functions: &[&Function],
    device: Compile<'_, E>,
    host: Compile<'_, E>,
) -> Result<Vec<E>, Diagnostic> {
    let kernels = cuda::kernels(functions);
    let has = |wanted: bool| -> Vec<&Function> {
        let of = functions.iter().zip(&kernels).filter(|(_, k)| k.is_ok() == wanted);
        of.map(|(&function, _)| function).collect()
    };
    let (on_device, on_host) = (has(true), has(false));
    let compiled = if on_device.is_empty() { vec![] } else { device(&on_device)? };
    let (mut compiled, mut others) = (compiled.into_iter(), host(&on_host)?.into_iter());
    let next = |on_device: bool| if on_device { compiled.next() } else { others.next() };
    Ok(kernels.iter().map(Result::is_ok).filter_map(next).collect())
}
