//! The engine of machine code in process: `tamis_jit` with what it may assume of the processor.

use super::{Engine, boxed};

/// Machine code in process.
pub(super) const ENGINE: Engine = Engine {
    is_available: || true,
    load: |functions| Ok(boxed(tamis_jit::compile_all(functions)?)),
    suited: |functions| Ok(tamis_jit::compile_suited(functions)?.map(boxed)),
    listing: Some(tamis_jit::listing),
};
