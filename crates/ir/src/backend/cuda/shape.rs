//! The number of threads that run the loops of a kernel.
//!
//! ```text
//! for warp in 0..32 on gpu_warp { for thread in 0..8 on gpu_thread { .. } }      256 threads, 8 of them a warp
//! ```

use crate::algebra::BinaryOp;
use crate::ids::Var;
use crate::ir::{Expr, Stmt, Unit};

/// The threads of a warp.
pub(super) const WARP: i64 = 32;
/// The most threads of a block.
const MOST: i64 = 1024;
/// The threads of a block if no loop determines their number.
pub(super) const USUAL: i64 = 256;

/// The threads of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// All.
    pub(super) threads: i64,
    /// The threads of a warp, or of the part of one that runs an iteration of a loop over warps.
    pub(super) width: i64,
}

/// The threads that run a loop over blocks. Loops advance by the number of threads, so any number is correct, and this
/// one is fast.
pub(super) fn shape(s: &Stmt) -> Shape {
    let mut most = Most::default();
    most.of(s, false);
    let (warps, threads) = (most.warps, most.threads);
    let width = threads.clamp(1, WARP) as u64;
    let width = width.next_power_of_two() as i64;
    let shape = |threads: i64, width: i64| Shape {
        threads: ((threads + WARP - 1) / WARP * WARP).clamp(WARP, MOST),
        width,
    };
    match warps {
        None => shape(if threads == 0 { WARP } else { threads.min(MOST) }, WARP),
        // The other threads of a warp would have no work.
        Some(warps) if threads == 0 => shape(warps, 1),
        Some(warps) => shape(warps.saturating_mul(width), width),
    }
}

/// The largest trip counts of loops over warps, if there are any, and of those over threads.
#[derive(Default)]
struct Most {
    warps: Option<i64>,
    threads: i64,
}

impl Most {
    fn of(&mut self, s: &Stmt, in_warp: bool) {
        let mut inside = in_warp;
        match s {
            Stmt::Parallel { unit: Unit::Warp, lo, hi, .. } => {
                let count = count(lo, hi).unwrap_or(USUAL / WARP);
                self.warps = Some(self.warps.unwrap_or(0).max(count));
                inside = true;
            }
            Stmt::Parallel { unit: Unit::Thread, lo, hi, .. } => {
                let usual = if in_warp { WARP } else { USUAL };
                self.threads = self.threads.max(count(lo, hi).unwrap_or(usual));
            }
            _ => {}
        }
        s.blocks().flatten().for_each(|s| self.of(s, inside));
    }
}

/// The largest trip count between two bounds, if constants determine it.
fn count(lo: &Expr, hi: &Expr) -> Option<i64> {
    let from = match lo {
        Expr::Const(c) => c.as_i64(),
        _ => 0,
    };
    Some(most(hi)?.checked_sub(from)?.max(1))
}

/// The approximate upper limit of an index, in which subtracted values count as 0.
fn most(e: &Expr) -> Option<i64> {
    bounded(e, &|_| true)
}

/// What an index is at most, if these variables are not negative.
pub(super) fn surely_most(e: &Expr, counted: &[Var]) -> Option<i64> {
    bounded(e, &|e| is_counted(e, counted))
}

/// What an index is at most, where `counts` tells what is not negative.
fn bounded(e: &Expr, counts: &dyn Fn(&Expr) -> bool) -> Option<i64> {
    let most = |e: &Expr| bounded(e, counts);
    match e {
        Expr::Const(c) => Some(c.as_i64()),
        Expr::Binary(BinaryOp::Min, a, b) => match (most(a), most(b)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        },
        Expr::Binary(BinaryOp::Max, a, b) => Some(most(a)?.max(most(b)?)),
        Expr::Binary(BinaryOp::Add, a, b) => most(a)?.checked_add(most(b)?),
        Expr::Binary(BinaryOp::Sub, a, b) if counts(b) => most(a),
        Expr::Binary(BinaryOp::Div, a, b) => match &**b {
            Expr::Const(c) if c.as_i64() > 0 => Some(most(a)?.max(0) / c.as_i64()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an index is made of what is not negative.
fn is_counted(e: &Expr, counted: &[Var]) -> bool {
    match e {
        Expr::Const(c) => c.as_i64() >= 0,
        Expr::Var(v) => counted.contains(v),
        Expr::Binary(BinaryOp::Add | BinaryOp::Mul, a, b) => {
            is_counted(a, counted) && is_counted(b, counted)
        }
        _ => false,
    }
}
