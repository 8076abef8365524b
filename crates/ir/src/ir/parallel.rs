//! Parallel loops: the units that run their iterations, and how these share values.
//!
//! Iterations share nothing but the values that they combine, so a processor may run them in order. A local array
//! belongs to each iteration of the loops around all its uses, and inner loops share it ([`owners`]): on a GPU it is
//! in memory of a block or warp, or in a thread's registers.
//!
//! ```text
//! for block in 0..(n + 255) / 256 on gpu_block {
//!   for warp in 0..8 on gpu_warp {
//!     s = 0.0
//!     for lane in 0..32 on gpu_thread with s by sum {      s is summed over the threads
//! ```

use super::flow::arrays;
use super::{Expr, Stmt};
use crate::algebra::{BinaryOp, ReduceOp};
use crate::ids::{Array, Var};

/// The unit that runs the iterations of a parallel loop. Blocks hold warps, warps hold threads; cores hold nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unit {
    /// The threads of a processor.
    Core,
    /// Blocks of a GPU's threads.
    Block,
    /// Groups of threads of a block that run in lockstep.
    Warp,
    /// Threads of a warp, or of a block if no loop is over warps.
    Thread,
}

impl Unit {
    /// Every unit, outermost first.
    pub const ALL: [Unit; 4] = [Unit::Core, Unit::Block, Unit::Warp, Unit::Thread];

    /// The name in schedules and in printed text.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Core => "cpu_thread",
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
    /// The operator; never [`ReduceOp::User`]. For `or` and `and`, all values are 0 or 1.
    pub op: ReduceOp,
}

/// The operator on numbers that combines values as `op` does: on 0 and 1, `or` is the maximum and `and` the minimum.
pub fn on_numbers(op: ReduceOp) -> BinaryOp {
    match op {
        ReduceOp::Or => BinaryOp::Max,
        ReduceOp::And => BinaryOp::Min,
        op => op.binary(),
    }
}

/// Whether a block contains a parallel loop.
pub fn has_parallel(block: &[Stmt]) -> bool {
    block.iter().any(|s| matches!(s, Stmt::Parallel { .. }) || s.blocks().any(has_parallel))
}

/// The iterations to which a local array belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Owner {
    /// The number of parallel loops around all uses: each of their iterations has its own array.
    pub loops: usize,
    /// The unit that runs the innermost of these loops.
    pub unit: Option<Unit>,
    /// Whether a parallel loop inside of these uses it, whose iterations share it.
    pub shared: bool,
}

/// The owners of an array that a function reserves, one for each group of parallel loops that use it; uses outside of
/// parallel loops do not count.
pub fn owners(block: &[Stmt], array: Array) -> Vec<Owner> {
    let mut found = vec![];
    for s in block.iter().filter(|s| is_user(s, array)) {
        match s {
            Stmt::Parallel { .. } => {
                found.extend(within(std::slice::from_ref(s), array, Owner::default()));
            }
            s => s.blocks().for_each(|b| found.extend(owners(b, array))),
        }
    }
    found
}

/// The innermost parallel loops of a block that are each around all uses of one value: several statements, or
/// branches, may each store to the array without reading what the others stored.
fn within(block: &[Stmt], array: Array, owner: Owner) -> Vec<Owner> {
    let users: Vec<&Stmt> = block.iter().filter(|s| is_user(s, array)).collect();
    let uses = |b: &&[Stmt]| b.iter().any(|s| is_user(s, array));
    let apart = match users[..] {
        [only] if only.blocks().filter(uses).count() == 1 => !only.exprs().any(|e| loads(e, array)),
        _ => users.iter().all(|s| begins_by_storing(s, array)),
    };
    let nested = users.iter().all(|s| s.blocks().next().is_some());
    if !apart || !nested {
        return vec![Owner { shared: in_parallel(block, array), ..owner }];
    }
    let inside = |s: &&Stmt| {
        let owner = match s {
            Stmt::Parallel { unit, .. } => {
                Owner { loops: owner.loops + 1, unit: Some(*unit), shared: false }
            }
            _ => owner,
        };
        let blocks = s.blocks().filter(uses);
        blocks.flat_map(|b| within(b, array, owner)).collect::<Vec<_>>()
    };
    users.iter().flat_map(inside).collect()
}

/// Whether a statement stores to an array before it reads the array.
fn begins_by_storing(s: &Stmt, array: Array) -> bool {
    if s.exprs().any(|e| loads(e, array)) || matches!(s, Stmt::Update { .. } | Stmt::Sort { .. }) {
        return false;
    }
    let uses = |b: &[Stmt]| b.iter().any(|s| is_user(s, array));
    let may_pass_over = |s: &Stmt| matches!(s, Stmt::If { .. }) && !s.blocks().all(uses);
    s.blocks().all(|b| {
        let mut users = b.iter().filter(|s| is_user(s, array));
        users.next().is_none_or(|first| {
            begins_by_storing(first, array) && (!may_pass_over(first) || users.next().is_none())
        })
    })
}

/// Whether a statement uses an array in another way than to reserve it.
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
