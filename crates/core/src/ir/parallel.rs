//! Parallel loops: what runs their iterations, and what these give each other.
//!
//! ```text
//! for block in 0..(n + 255) / 256 on gpu_block {
//!   for warp in 0..8 on gpu_warp {
//!     s = 0.0
//!     for lane in 0..32 on gpu_thread with s by sum {      s is added up over the threads
//! ```

use super::flow::arrays;
use super::{Expr, Stmt};
use crate::algebra::{BinaryOp, ReduceOp};
use crate::ids::{Array, Var};

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

/// To whom a local array belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Owner {
    /// How many parallel loops are around all that uses it: each of their iterations has its own.
    pub loops: usize,
    /// What runs the innermost of these.
    pub unit: Option<Unit>,
    /// Whether a parallel loop inside of them uses it, whose iterations share it.
    pub shared: bool,
}

/// To whom an array that a function reserves belongs, in each of the outermost parallel loops that use it;
/// what is outside of all does not count.
pub fn owners(block: &[Stmt], array: Array) -> Vec<Owner> {
    let mut found = vec![];
    for s in block.iter().filter(|s| is_user(s, array)) {
        match s {
            Stmt::Parallel { .. } => found.push(within(std::slice::from_ref(s), array)),
            s => s.blocks().for_each(|b| found.extend(owners(b, array))),
        }
    }
    found
}

/// The innermost parallel loop of a block that is around all that uses an array.
fn within(mut block: &[Stmt], array: Array) -> Owner {
    let mut owner = Owner::default();
    loop {
        let mut users = block.iter().filter(|s| is_user(s, array));
        let (Some(only), None) = (users.next(), users.next()) else { break };
        let mut blocks = only.blocks().filter(|b| b.iter().any(|s| is_user(s, array)));
        let (Some(inner), None) = (blocks.next(), blocks.next()) else { break };
        if only.exprs().any(|e| loads(e, array)) {
            break;
        }
        if let Stmt::Parallel { unit, .. } = only {
            owner = Owner { loops: owner.loops + 1, unit: Some(*unit), shared: false };
        }
        block = inner;
    }
    owner.shared = in_parallel(block, array);
    owner
}

/// Whether a statement does more with an array than to make room for it.
fn is_user(s: &Stmt, array: Array) -> bool {
    let mut used = vec![];
    if !matches!(s, Stmt::Reserve { .. }) {
        arrays(s, &mut used);
    }
    used.contains(&array)
}

fn loads(e: &Expr, array: Array) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Load { array: a, .. } if *a == array));
    found
}

/// Whether a parallel loop in a block uses an array.
fn in_parallel(block: &[Stmt], array: Array) -> bool {
    block.iter().any(|s| match s {
        Stmt::Parallel { .. } => is_user(s, array),
        s => s.blocks().any(|b| in_parallel(b, array)),
    })
}
