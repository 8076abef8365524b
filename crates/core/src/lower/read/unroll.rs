//! Counted loops, which a unit of a GPU may run, and which may be unrolled.
//!
//! ```text
//! unroll(j, 2)          for j in 0..n - n mod 2 step 2   s = .. j ..;  s = .. j + 1 ..
//!                       for j in n - n mod 2..n          s = .. j ..
//! ```

use crate::lower::Lowerer;
use crate::lower::symbols::Symbols;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, Var};
use tamis_ir::ir::build::{add, assign, binary, int, sub};
use tamis_ir::ir::{Expr, Stmt};

impl Lowerer<'_> {
    /// A loop of the plan over `own` that counts `var`, with the tags of the schedule.
    pub(in crate::lower) fn counted_loop(
        &mut self,
        own: IndexVar,
        var: Var,
        (lo, hi): (Expr, Expr),
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        *self.counted.entry(own).or_default() += 1;
        self.gpu.on_unit(&mut self.cx, own, var);
        unrolled(&mut self.cx, own, Stmt::For { var, lo, hi, step: 1, body })
    }
}

/// A counted loop over a variable, unrolled if the schedule asks for that.
fn unrolled(cx: &mut Symbols<'_>, var: IndexVar, s: Stmt) -> Vec<Stmt> {
    let tag = cx.kernel.tags.get(&var);
    let factor = tag.filter(|tag| tag.gpu().is_none()).and_then(|tag| tag.unroll);
    let (Some(factor), Stmt::For { var, lo, hi, step: 1, body }) = (factor, &s) else {
        return vec![s];
    };
    let factor = factor as i64;
    let copies = |count: i64| -> Vec<Stmt> {
        (0..count).flat_map(|k| shifted(body.clone(), *var, k)).collect()
    };
    if let (Expr::Const(from), Expr::Const(to)) = (lo, hi)
        && let (0, to) = (from.as_i64(), to.as_i64())
        && to % factor == 0
    {
        let (lo, hi) = (lo.clone(), hi.clone());
        return vec![Stmt::For { var: *var, lo, hi, step: factor, body: copies(factor) }];
    }
    let whole = cx.temp_of(*var, "_whole");
    let count = sub(hi.clone(), lo.clone());
    let rest = binary(BinaryOp::Mod, binary(BinaryOp::Max, count, int(0)), int(factor));
    let behind = Expr::Var(whole);
    let rolled = Stmt::For {
        var: *var,
        lo: lo.clone(),
        hi: behind.clone(),
        step: factor,
        body: copies(factor),
    };
    let tail = Stmt::For { var: *var, lo: behind, hi: hi.clone(), step: 1, body: body.clone() };
    vec![assign(whole, sub(hi.clone(), rest)), rolled, tail]
}

/// The block, with the loop variable increased by `by`.
fn shifted(block: Vec<Stmt>, var: Var, by: i64) -> Vec<Stmt> {
    let expr = |e| replaced(e, var, by);
    block
        .into_iter()
        .map(|s| s.map_children(&mut |e| expr(e), &mut |b| shifted(b, var, by)))
        .collect()
}

fn replaced(e: Expr, var: Var, by: i64) -> Expr {
    match e {
        Expr::Var(v) if v == var => add(Expr::Var(v), int(by)),
        e => e.map_children(&mut |child| replaced(child, var, by)),
    }
}
