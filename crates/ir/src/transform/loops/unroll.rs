//! Unrolls short loops with a constant trip count, so that sums over a block of values need no counter.
//!
//! ```text
//! for j1 in 0..2 { s = fma(A[p + j1], x[j + j1], s) }
//!
//! s = fma(A[p + 0], x[j + 0], s)
//! s = fma(A[p + 1], x[j + 1], s)
//! ```

use crate::datatype::Scalar;
use crate::ir::build::int;
use crate::ir::flow::replace;
use crate::ir::{Expr, Function, Stmt};

/// The largest trip count that is unrolled.
const ITERATIONS: i64 = 8;
/// The largest number of resulting statements.
const STATEMENTS: usize = 256;

/// The pass.
pub(in crate::transform) fn unroll(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    Function { body: block(&function, body), ..function }
}

/// Inner loops first, so that nested loops become straight code.
fn block(function: &Function, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let inner = |s: Stmt| s.map_children(&mut |e| e, &mut |b| block(function, b));
    stmts.into_iter().flat_map(|s| written_out(function, inner(s))).collect()
}

fn written_out(function: &Function, s: Stmt) -> Vec<Stmt> {
    let Stmt::For { var, lo: Expr::Const(lo), hi: Expr::Const(hi), step: 1, body } = &s else {
        return vec![s];
    };
    let (Scalar::I64(lo), Scalar::I64(hi)) = (lo, hi) else { return vec![s] };
    let iterations = hi.saturating_sub(*lo);
    let straight = body.iter().all(|s| matches!(s, Stmt::Assign { .. } | Stmt::Store { .. }));
    let short = iterations <= ITERATIONS && iterations.max(0) as usize * body.len() <= STATEMENTS;
    // A schedule may have the loop vectorised.
    if !straight || !short || function.vars[*var].by_lanes {
        return vec![s];
    }
    let iteration = |k: i64| {
        body.iter()
            .map(move |s| s.clone().map_children(&mut |e| replace(e, *var, &int(k)), &mut |b| b))
    };
    (*lo..*hi).flat_map(iteration).collect()
}
