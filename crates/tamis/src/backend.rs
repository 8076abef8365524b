//! Backends: what runs a function of the imperative form, and which were compiled in.
//!
//! ```text
//! auto    jit with the feature `jit`, else interp
//! jit     its engine with the feature `jit`, else refused: enable the feature `jit`
//! ```

#[cfg(feature = "c-tier")]
mod c;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod interpreter;
#[cfg(feature = "jit")]
mod jit;

use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ir::Function;
use tamis_ir::ir::verify::verify;
use tamis_ir::transform::Target;
use tamis_runtime::kernel::Executable;
use tamis_runtime::processor::{self, Level};

/// What runs the kernels. One that was not compiled in is refused where kernels are compiled, with the feature
/// to enable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Backend {
    /// Machine code in process at once, and the C tier where it pays; without the feature `jit` the
    /// interpreter, without `c-tier` no C.
    #[default]
    Auto,
    /// Machine code in process: the feature `jit`.
    Jit,
    /// The system's C compiler: the feature `c-tier`.
    C,
    /// The interpreter: slow, checks everything.
    Interpreter,
    /// The interpreter on code with strips, tiles and vectors, as processors run it: every check on
    /// all that this reads and writes, for tests.
    InterpreterOfVectors,
    /// Kernels for a GPU, on one; what has no kernel runs as machine code in process. The feature `cuda`.
    Cuda,
    /// Kernels for a GPU, emulated on the processor thread by thread: slow, for tests. The feature `cuda`.
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

    /// Whether the backend was compiled in, and everything that it needs is there.
    pub fn is_available(self) -> bool {
        self.engine().is_ok_and(|engine| (engine.is_available)())
    }

    /// Of `auto` the backend that runs its calls at first; any other is itself.
    pub fn at_first(self) -> Backend {
        let has_jit = || ENGINES.iter().any(|(backend, _)| *backend == Backend::Jit);
        match self {
            Backend::Auto if has_jit() => Backend::Jit,
            Backend::Auto => Backend::Interpreter,
            other => other,
        }
    }

    /// What runs the backend's code, if it was compiled in.
    fn engine(self) -> Result<&'static Engine, Diagnostic> {
        let own = self.at_first();
        let found = ENGINES.iter().find(|(backend, _)| *backend == own);
        found.map(|(_, engine)| engine).ok_or_else(|| self.missing())
    }

    /// Why the backend is refused where it was not compiled in.
    pub(crate) fn missing(self) -> Diagnostic {
        let message = format!("the backend {} was not compiled in", self.name());
        let feature = match self {
            Backend::C => "c-tier",
            Backend::Cuda | Backend::CudaEmulated => "cuda",
            _ => "jit",
        };
        Diagnostic::new(Code::UnsupportedBackend, message)
            .help(format!("enable the feature `{feature}` of the crate tamis, or use auto"))
    }

    /// What code for the backend may assume.
    pub fn target(self) -> Target {
        self.target_of(processor::level().ok())
    }

    /// What code may assume on a processor of some level, which need not be this one; the baseline if it has
    /// no valid name.
    pub(crate) fn target_of(self, level: Option<Level>) -> Target {
        match self.at_first() {
            // Its compiler takes loads out of loops.
            Backend::C => Target { hoists: false, ..of_processor(level) },
            Backend::Interpreter => Target::SCALAR,
            Backend::InterpreterOfVectors => WIDE,
            Backend::Cuda | Backend::CudaEmulated => Target::GPU,
            Backend::Jit | Backend::Auto => of_processor(level),
        }
    }

    /// Makes functions ready to call; `None` if they are better transformed for [`NARROW`] first.
    pub(crate) fn load_suited(
        self,
        functions: &[&Function],
    ) -> Result<Option<Executables>, Diagnostic> {
        let engine = self.engine()?;
        functions.iter().try_for_each(|function| verify(function))?;
        (engine.suited)(functions)
    }

    /// Makes functions ready to call. One that breaks an invariant of the imperative form, by a
    /// mistake of the compiler, is refused: its machine code would write anywhere.
    pub(crate) fn load(self, functions: &[&Function]) -> Result<Executables, Diagnostic> {
        let engine = self.engine()?;
        functions.iter().try_for_each(|function| verify(function))?;
        (engine.load)(functions)
    }

    /// A function's machine code as text.
    pub(crate) fn listing(self, function: &Function) -> Result<String, Diagnostic> {
        let listing = self.engine()?.listing.ok_or_else(|| Backend::Jit.missing())?;
        listing(function)
    }
}

/// Machine code as text.
type Listing = fn(&Function) -> Result<String, Diagnostic>;

/// What runs a backend's code.
struct Engine {
    /// Whether all that it needs is there.
    is_available: fn() -> bool,
    /// Makes functions ready to call.
    load: Load<Executables>,
    /// The same; `None` if they are better transformed for [`NARROW`] first.
    suited: Load<Option<Executables>>,
    /// A function's code as text, where it is not text anyway.
    listing: Option<Listing>,
}

/// Makes functions ready to call.
type Load<E> = fn(&[&Function]) -> Result<E, Diagnostic>;

/// The engines that were compiled in.
static ENGINES: &[(Backend, Engine)] = &[
    #[cfg(feature = "jit")]
    (Backend::Jit, jit::ENGINE),
    #[cfg(feature = "c-tier")]
    (Backend::C, c::ENGINE),
    (Backend::Interpreter, interpreter::ENGINE),
    (Backend::InterpreterOfVectors, interpreter::ENGINE),
    #[cfg(feature = "cuda")]
    (Backend::Cuda, cuda::ENGINE),
    #[cfg(feature = "cuda")]
    (Backend::CudaEmulated, cuda::EMULATED),
];

/// What code may assume of a processor of some level.
fn of_processor(level: Option<Level>) -> Target {
    match level.map_or(16, Level::vector_bytes) {
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

/// The features of this crate that were compiled in.
pub fn features() -> impl Iterator<Item = &'static str> {
    let all = [
        ("jit", cfg!(feature = "jit")),
        ("c-tier", cfg!(feature = "c-tier")),
        ("cuda", cfg!(feature = "cuda")),
        ("io", cfg!(feature = "io")),
        ("dist", cfg!(feature = "dist")),
        ("ndarray", cfg!(feature = "ndarray")),
        ("sprs", cfg!(feature = "sprs")),
        ("nalgebra-sparse", cfg!(feature = "nalgebra-sparse")),
        ("faer", cfg!(feature = "faer")),
        ("serde", cfg!(feature = "serde")),
    ];
    all.into_iter().filter(|(_, is_in)| *is_in).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests are built with every feature.
    #[test]
    fn every_backend_has_an_engine_and_a_feature() {
        let manifest = include_str!("../Cargo.toml");
        for backend in Backend::ALL {
            assert!(backend.engine().is_ok(), "{}", backend.name());
            let refusal = backend.missing().to_string();
            let feature = refusal.split('`').nth(1).unwrap_or_default();
            assert!(manifest.contains(&format!("\n{feature} = [")), "{refusal}");
        }
    }
}
