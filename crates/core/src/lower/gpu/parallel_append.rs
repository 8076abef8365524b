//! Parallel append: each thread writes at its iteration's offset.
//!
//! ```text
//! for p in lo..hi on gpu_thread          for p in lo..hi on gpu_thread
//!   C2_crd[pC2] = j; pC2 = pC2 + 1         pC2_at = pC2 + (p - lo); C2_crd[pC2_at] = j
//!                                        pC2 = pC2 + max(hi - lo, 0)
//! ```

use crate::lower::builder::Builder;
use crate::lower::builder::advance;
use crate::lower::gpu::parallel::Units;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::Var;
use tamis_ir::ir::Unit;
use tamis_ir::ir::build::{add, assign, binary, int, sub};
use tamis_ir::ir::flow::{assigned, mentions, replace, uses};
use tamis_ir::ir::{Expr, Stmt};

/// Entries that every iteration of a loop over threads appends get positions that follow from the iteration.
pub(in crate::lower) fn by_threads(
    cx: &mut Builder,
    units: &Units,
    nexts: &[Var],
    block: Vec<Stmt>,
) -> Vec<Stmt> {
    let mut out = vec![];
    for s in block {
        let s = s.map_children(&mut |e| e, &mut |b| by_threads(cx, units, nexts, b));
        let is_thread = |var: &Var| units.get(var).is_some_and(|(_, unit)| *unit == Unit::Thread);
        let on_threads = matches!(&s, Stmt::For { var, .. } if is_thread(var));
        let taken =
            nexts.iter().filter(|_| on_threads).find_map(|&next| numbered_iterations(cx, &s, next));
        out.extend(taken.unwrap_or_else(|| vec![s]));
    }
    out
}

/// A loop whose every iteration advances a position once, with positions that follow from the iteration.
fn numbered_iterations(cx: &mut Builder, s: &Stmt, next: Var) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let advances = advance(next);
    let at = body.iter().position(|s| *s == advances)?;
    let mut changed = vec![];
    assigned(body, &mut changed);
    let once = changed.iter().filter(|v| **v == next).count() == 1;
    let later = body[at + 1..].iter().any(|s| uses(s, next));
    let moves = |e: &Expr| changed.iter().any(|&v| mentions(e, v)) || mentions(e, *var);
    if !once || later || moves(lo) || moves(hi) {
        return None;
    }
    let own = cx.temp_of(next, "_at");
    let turn = sub(Expr::Var(*var), lo.clone());
    let mut inner = vec![assign(own, add(Expr::Var(next), turn))];
    inner.extend(body.iter().filter(|s| **s != advances).map(|s| renamed(s.clone(), next, own)));
    let trips = binary(BinaryOp::Max, sub(hi.clone(), lo.clone()), int(0));
    let (lo, hi) = (lo.clone(), hi.clone());
    Some(vec![
        Stmt::For { var: *var, lo, hi, step: 1, body: inner },
        assign(next, add(Expr::Var(next), trips)),
    ])
}

/// A statement that reads one variable instead of another.
fn renamed(s: Stmt, from: Var, to: Var) -> Stmt {
    s.map_children(&mut |e| replace(e, from, &Expr::Var(to)), &mut |b| {
        b.into_iter().map(|s| renamed(s, from, to)).collect()
    })
}
