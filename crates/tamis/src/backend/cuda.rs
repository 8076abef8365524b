//! The engines of kernels for a GPU: functions that have kernels run there, the others as machine code.
//!
//! ```text
//! compute_t    has a kernel      on the device, or emulated
//! compute_y    has none          on the host
//! ```

use super::{Backend, Engine, Executables, boxed};
use tamis_cuda::{driver, emulated, nvrtc};
use tamis_ir::backend::cuda;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ir::Function;
use tamis_runtime::cc;

/// Kernels on a GPU, whose programs are called in another way: see `on_device`.
pub(super) const ENGINE: Engine =
    Engine { is_available: || driver::device().is_ok() && nvrtc::is_available(), ..EMULATED };

/// Kernels that are emulated on the processor.
pub(super) const EMULATED: Engine = Engine {
    is_available: cc::is_available,
    load,
    suited: |functions| load(functions).map(Some),
    listing: None,
};

fn load(functions: &[&Function]) -> Result<Executables, Diagnostic> {
    let emulated = &|functions: &[&Function]| Ok(boxed(emulated::compile(functions)?));
    on_units(functions, emulated, &|functions| Backend::Jit.load(functions))
}

/// Compiles several functions.
type Compile<'c, E> = &'c dyn Fn(&[&Function]) -> Result<Vec<E>, Diagnostic>;

/// Compiles functions for a device. A function that cannot run there is compiled for the host.
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
