//! The engine of the system's C compiler: functions as C in, those of a loaded library out.

use super::{Engine, Executables, boxed};
use tamis_ir::backend::c;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ir::Function;
use tamis_runtime::cc;

/// The system's C compiler.
pub(super) const ENGINE: Engine = Engine {
    is_available: cc::is_available,
    load,
    suited: |functions| load(functions).map(Some),
    listing: None,
};

fn load(functions: &[&Function]) -> Result<Executables, Diagnostic> {
    Ok(boxed(cc::compile(&c::emit(functions), &c::entries(functions))?))
}
