//! Peels loops over the offsets in a block into two copies: one for whole blocks, with a constant trip count, and one
//! for the partial block at the end of a tensor.
//!
//! ```text
//! if rest < 3                     for j1 in 0..min(rest, 3) ..
//! else                            for j1 in 0..3 ..
//! ```

use super::forall::LoopEmitter;
use crate::format::LevelMap;
use crate::lower::symbols::Symbols;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ir::build::{binary, int, lt, mul, sub};
use tamis_ir::ir::flow::count;
use tamis_ir::ir::{Expr, Stmt};

impl LoopEmitter<'_> {
    /// For a loop over the offsets in a block that the end of the tensor may cut: the size of a whole block, and the
    /// number of offsets.
    pub(in crate::lower) fn whole_block(&self, cx: &mut Symbols<'_>) -> Option<(i64, Expr)> {
        let Some(LevelMap::Mod(i, size)) = cx.program.derived.map(self.plan.var) else {
            return None;
        };
        let block = cx.program.derived.var(LevelMap::Div(i, size))?;
        let &block = self.scope.bound.get(&block)?;
        let small = self.iterators.is_empty() && size > 1 && size <= MOST_PEELED;
        let before = mul(Expr::Var(block), int(size as i64));
        small.then(|| (size as i64, sub(cx.size(i, self.scope), before)))
    }
}

/// The largest number of statements in a peeled loop: nested loops over blocks would double the code each time.
const MOST_COPIED: usize = 100;

/// The largest blocks whose loops are peeled.
const MOST_PEELED: u64 = 8;

/// Peels a loop over the offsets in a block. Long loops, and those with inner loops other than peeled ones, stay as
/// they are.
pub(in crate::lower) fn peeled(whole: Stmt, size: i64, rest: Expr) -> Stmt {
    let Stmt::For { var, lo, hi, step, body } = whole else { return whole };
    if !body.iter().all(is_short) || count(&body) > MOST_COPIED {
        return Stmt::For { var, lo, hi, step, body };
    }
    let full = Stmt::For { var, lo: lo.clone(), hi: int(size), step, body: body.clone() };
    // The bound tells later passes that the trip count is small.
    let hi = binary(BinaryOp::Min, rest.clone(), int(size));
    let part = Stmt::For { var, lo, hi, step, body };
    Stmt::If { cond: lt(rest, int(size)), then: vec![part], otherwise: vec![full] }
}

/// Whether code has no loops other than peeled ones.
fn is_short(s: &Stmt) -> bool {
    match s {
        Stmt::While { .. } | Stmt::Sort { .. } => false,
        Stmt::For { lo, hi: Expr::Const(_), body, .. } => {
            matches!(lo, Expr::Const(_)) && body.iter().all(is_short)
        }
        Stmt::For { .. } => false,
        Stmt::If { then, otherwise, .. } => {
            // The partial block at the end of a tensor runs once, so its size does not matter.
            otherwise.iter().all(is_short) && (then.iter().all(is_short) || is_peeled(otherwise))
        }
        _ => true,
    }
}

fn is_peeled(block: &[Stmt]) -> bool {
    matches!(block, [Stmt::For { hi: Expr::Const(_), .. }])
}
