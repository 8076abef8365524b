//! Loops over positions that track the parent of each run over the children of one parent at a
//! time.
//!
//! ```text
//! for p in lo..hi { while pos[q + 1] <= p { q = q + 1 }  y[q] = y[q] + A[p] }
//!
//! first = lo
//! while first < hi {
//!   p = first
//!   while pos[q + 1] <= p { q = q + 1 }
//!   last = min(hi, pos[q + 1])
//!   for p in first..last { y[q] = y[q] + A[p] }
//!   first = last
//! }
//! ```
//!
//! The inner loop has nothing to track, so that what belongs to a parent can stay in registers.

use super::affine::{beside, reads_inputs_only};
use super::{fresh, rewrite};
use crate::algebra::BinaryOp;
use crate::ids::Var;
use crate::ir::build::{assign, binary, int, lt, sub};
use crate::ir::flow::{assigned, mentions, reads_first, replace};
use crate::ir::{Expr, Function, Role, Stmt, Type};

/// The pass.
pub(super) fn split(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = rewrite(body, &mut |s| by_parent(&mut function, s));
    Function { body, ..function }
}

fn by_parent(function: &mut Function, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let at = body.iter().position(|s| !matches!(s, Stmt::Assign { .. }))?;
    let (before, rest) = (&body[..at], &body[at + 1..]);
    let end = end_of_children(function, *var, body, at)?;
    if keeps_runs(rest) {
        return None;
    }
    let mut changed = vec![];
    assigned(body, &mut changed);
    if changed.iter().any(|v| mentions(hi, *v)) || !reads_inputs_only(function, hi) {
        return None;
    }
    let [first, last] = ["first", "last"].map(|suffix| {
        let name = format!("{}_{suffix}", function.vars[*var].name);
        fresh(function, &name, Type::INDEX)
    });
    // What names the position is evaluated for the first one, and again for each.
    let mut turn: Vec<Stmt> = body[..=at].to_vec();
    for s in &mut turn {
        *s = s.clone().map_children(&mut |e| replace(e, *var, &Expr::Var(first)), &mut |b| b);
    }
    let each = [before, rest].concat();
    let (from, to) = (Expr::Var(first), Expr::Var(last));
    turn.push(assign(last, binary(BinaryOp::Min, hi.clone(), end)));
    turn.push(Stmt::For { var: *var, lo: from.clone(), hi: to.clone(), step: 1, body: each });
    turn.push(assign(first, to));
    let cond = lt(from, hi.clone());
    Some(vec![assign(first, lo.clone()), Stmt::While { cond, body: turn }])
}

/// Whether turns hand something on under conditions: sums of runs, for which there is nothing to gain.
fn keeps_runs(rest: &[Stmt]) -> bool {
    let mut changed = vec![];
    let chosen = rest.iter().filter(|s| matches!(s, Stmt::If { .. }));
    chosen.flat_map(Stmt::blocks).for_each(|block| assigned(block, &mut changed));
    changed.iter().any(|&v| reads_first(rest, v, &mut false))
}

/// The end of the children of the parent that the statement at a place of a loop tracks, as a
/// value of the loop variable.
fn end_of_children(function: &Function, var: Var, body: &[Stmt], at: usize) -> Option<Expr> {
    let Stmt::While { cond: Expr::Binary(BinaryOp::Le, end, position), body: advance } = &body[at]
    else {
        return None;
    };
    let [Stmt::Assign { var: parent, .. }] = advance[..] else { return None };
    let mut position = (**position).clone();
    for s in body[..at].iter().rev() {
        let Stmt::Assign { var: name, value } = s else { return None };
        position = replace(position, *name, value);
    }
    let offset = beside(&position, var)?;
    let Expr::Load { array, index, lanes: 1 } = &**end else { return None };
    let mut changed = vec![var];
    assigned(body, &mut changed);
    let fixed =
        !changed.iter().any(|v| mentions(&offset, *v)) && reads_inputs_only(function, &offset);
    let mut changed = vec![];
    assigned(&body[at + 1..], &mut changed);
    let tracks = function.arrays[*array].role == Role::Input
        && beside(index, parent)? == int(1)
        && !changed.contains(&parent);
    (fixed && tracks).then(|| sub((**end).clone(), offset))
}
