//! The engine of the interpreter: it runs functions as they are and checks all that they do.

use super::{Engine, Executables, boxed};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ir::Function;
use tamis_runtime::interpreted::Interpreted;

/// The interpreter, on code of any target.
pub(super) const ENGINE: Engine = Engine {
    is_available: || true,
    load,
    suited: |functions| load(functions).map(Some),
    listing: None,
};

fn load(functions: &[&Function]) -> Result<Executables, Diagnostic> {
    Ok(boxed(functions.iter().map(|function| Interpreted::new((*function).clone())).collect()))
}
