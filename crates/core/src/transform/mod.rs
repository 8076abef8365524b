//! Passes from imperative form to imperative form; each is one pure function in one file.

use crate::ir::Function;

/// What the passes may assume of the machine that will run the function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// Bytes of a vector register; 0 asks for scalar code.
    pub vector_bytes: u16,
    /// How many vector registers hold the accumulators of a tile.
    pub tile_registers: u16,
}

impl Target {
    /// Scalar code, as the interpreter and people read it best.
    pub const SCALAR: Target = Target { vector_bytes: 0, tile_registers: 0 };
}

/// All passes in order.
pub fn transform(function: Function, target: Target) -> Function {
    let _ = target;
    function
}
