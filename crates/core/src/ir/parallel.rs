//! Parallel loops: what runs their iterations, and what these give each other.
//!
//! ```text
//! for block in 0..(n + 255) / 256 on gpu_block {
//!   for warp in 0..8 on gpu_warp {
//!     s = 0.0
//!     for lane in 0..32 on gpu_thread with s by sum {      s is added up over the threads
//! ```

use super::Stmt;
use crate::algebra::{BinaryOp, ReduceOp};
use crate::ids::Var;

/// What runs the iterations of a parallel loop. Blocks hold warps, and these threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unit {
    /// Blocks of a GPU's threads.
    Block,
    /// Groups of threads of a block that run in step.
    Warp,
    /// Threads of a warp, or of a block where no loop is over warps.
    Thread,
}

impl Unit {
    /// Every unit, outermost first.
    pub const ALL: [Unit; 3] = [Unit::Block, Unit::Warp, Unit::Thread];

    /// The name in schedules and in printed text.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Block => "gpu_block",
            Unit::Warp => "gpu_warp",
            Unit::Thread => "gpu_thread",
        }
    }
}

/// A variable that iterations combine: `var = var op ..` in each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reduction {
    /// The variable, with a value before the loop.
    pub var: Var,
    /// By what; never [`ReduceOp::User`]. Of `or` and `and` all values are 0 or 1.
    pub op: ReduceOp,
}

/// The operator on numbers that combines values as another does: of 0 and 1, `or` is the larger
/// and `and` the smaller.
pub fn on_numbers(op: ReduceOp) -> BinaryOp {
    match op {
        ReduceOp::Or => BinaryOp::Max,
        ReduceOp::And => BinaryOp::Min,
        op => op.binary(),
    }
}

/// Whether a parallel loop is somewhere in a block.
pub fn has_parallel(block: &[Stmt]) -> bool {
    block.iter().any(|s| matches!(s, Stmt::Parallel { .. }) || s.blocks().any(has_parallel))
}
