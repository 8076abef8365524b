//! Splits loops over positions that track the parent of each into loops over the children of one parent at a time.
//!
//! ```text
//! for p1 in lo..hi { p = p0 * n + p1  while pos[q + 1] <= p { q = q + 1 }  y[q] = y[q] + A[p] }
//!
//! if lo < hi {
//!   first = p0 * n + lo
//!   last = p0 * n + hi
//!   while pos[q + 1] <= first { q = q + 1 }
//!   while pos[q] < last {
//!     for p in max(first, pos[q])..min(last, pos[q + 1]) { y[q] = y[q] + A[p] }
//!     q = q + 1
//!   }
//!   q = q - 1
//! }
//! ```
//!
//! The inner loop tracks nothing, so values of a parent can stay in registers, and no parent waits for the end of the
//! previous one.

use crate::algebra::BinaryOp;
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, int, load, lt, sub, when};
use crate::ir::flow::{assigned, mentions, reads_first, replace};
use crate::ir::{ArrayRole, Expr, Function, Stmt, Type};
use crate::transform::affine::{beside, reads_inputs_only};
use crate::transform::{for_each, fresh, rewrite};

/// The pass.
pub(in crate::transform) fn split_by_parent(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let mut replaced = vec![];
    let body = rewrite(body, &mut |s| {
        let (all, var) = by_parent(&mut function, s)?;
        replaced.push(var);
        Some(all)
    });
    for_each(&body, &mut |s| {
        if let Stmt::For { var, .. } = s {
            replaced.retain(|replaced| replaced != var);
        }
    });
    replaced.into_iter().for_each(|var| function.vars[var].by_lanes = false);
    Function { body, ..function }
}

/// The loops over the children of one parent at a time, and the variable of the replaced loop: if that was to be
/// vectorised, the new loops are.
fn by_parent(function: &mut Function, s: &Stmt) -> Option<(Vec<Stmt>, Var)> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let at = body.iter().position(|s| !matches!(s, Stmt::Assign { .. }))?;
    let (before, rest) = (&body[..at], &body[at + 1..]);
    let Tracked { parent, pos, offset } = tracked(function, *var, body, at)?;
    if keeps_runs(rest) {
        return None;
    }
    let mut changed = vec![];
    assigned(body, &mut changed);
    let is_fixed =
        |e: &Expr| !changed.iter().any(|v| mentions(e, *v)) && reads_inputs_only(function, e);
    if !is_fixed(lo) || !is_fixed(hi) {
        return None;
    }
    let name = function.vars[*var].name.clone();
    let mut named = |suffix| fresh(function, &format!("{name}_{suffix}"), Type::INDEX);
    let [first, last, position] = ["first", "last", "at"].map(&mut named);
    function.vars[position].by_lanes = function.vars[*var].by_lanes;
    let places = Places { var: *var, offset: &offset, position: Expr::Var(position) };
    let each = [before, rest].concat().into_iter().map(|s| places.stmt(s)).collect();
    let [first_at, last_at, q] = [first, last, parent].map(Expr::Var);
    let next = |by: i64| assign(parent, add(q.clone(), int(by)));
    let [begin, end] = [0, 1].map(|k| load(pos, add(q.clone(), int(k))));
    let from = binary(BinaryOp::Max, first_at.clone(), begin.clone());
    let to = binary(BinaryOp::Min, last_at.clone(), end.clone());
    let children = Stmt::For { var: position, lo: from, hi: to, step: 1, body: each };
    let skip = binary(BinaryOp::Le, end, first_at);
    let all = vec![
        assign(first, add(offset.clone(), lo.clone())),
        assign(last, add(offset.clone(), hi.clone())),
        Stmt::While { cond: skip, body: vec![next(1)] },
        Stmt::While { cond: lt(begin, last_at), body: vec![children, next(1)] },
        next(-1),
    ];
    Some((vec![when(lt(lo.clone(), hi.clone()), all)], *var))
}

/// Rewrites statements of a loop by its variable plus an offset as statements of a loop over the sum.
struct Places<'o> {
    var: Var,
    offset: &'o Expr,
    position: Expr,
}

impl Places<'_> {
    fn stmt(&self, s: Stmt) -> Stmt {
        let block = &mut |b: Vec<Stmt>| b.into_iter().map(|s| self.stmt(s)).collect();
        s.map_children(&mut |e| self.expr(e), block)
    }

    fn expr(&self, e: Expr) -> Expr {
        match beside(&e, self.var) {
            Some(offset) if offset == *self.offset => self.position.clone(),
            Some(_) if e == Expr::Var(self.var) => sub(self.position.clone(), self.offset.clone()),
            _ => e.map_children(&mut |child| self.expr(child)),
        }
    }
}

/// Whether iterations pass values on under conditions, as sums of runs do: splitting gains nothing there.
fn keeps_runs(rest: &[Stmt]) -> bool {
    let mut changed = vec![];
    let chosen = rest.iter().filter(|s| matches!(s, Stmt::If { .. }));
    chosen.flat_map(Stmt::blocks).for_each(|block| assigned(block, &mut changed));
    changed.iter().any(|&v| reads_first(rest, v, &mut false))
}

/// How a loop tracks the parent of each position.
struct Tracked {
    parent: Var,
    /// The starts of children.
    pos: Array,
    /// The offset that is added to the loop variable.
    offset: Expr,
}

/// The tracking that the statement at an index of a loop's body does.
fn tracked(function: &Function, var: Var, body: &[Stmt], at: usize) -> Option<Tracked> {
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
    let tracks = function.arrays[*array].role == ArrayRole::Input
        && beside(index, parent)? == int(1)
        && !changed.contains(&parent);
    (fixed && tracks).then_some(Tracked { parent, pos: *array, offset })
}
