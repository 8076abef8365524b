//! Reductions in fewer loops around each other: nested ones as one, terms of unlike variables apart, and
//! what lacks variables of the result once for all of their coordinates.
//!
//! ```text
//! s = sum(i, sum(j, A(i,j)))             s = sum(i, j, A(i,j))
//! y(i) = min(j, min(A(i,j), b(j)))       y(i) = min(min(j, A(i,j)), min(j, b(j)))
//! C(i,k) = sum(j, A(i,j))                t(i) = sum(j, A(i,j));  C(i,k) = t(i)
//! ```
//!
//! Under a schedule none of that happens: its commands name the loops of the statement.

use crate::legalise::{Legaliser, Task};
use crate::notation::Expr;
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::ids::IndexVar;

impl Legaliser<'_> {
    /// A value with nested reductions as one, and with reductions of terms of unlike variables apart.
    pub(in crate::legalise) fn regrouped(&self, value: Expr) -> Expr {
        if self.request.scheduled { value } else { regroup(value) }
    }

    /// The task as a copy of a temporary, if it is a reduction that lacks variables of the result.
    pub(in crate::legalise) fn repeated(&mut self, task: Task) -> Task {
        let order = self.storage_order(&task);
        let is_reduction = matches!(task.value, Expr::Reduce { .. });
        let free = task.value.free_vars();
        let used: Vec<IndexVar> = order.iter().copied().filter(|v| free.contains(v)).collect();
        if self.request.scheduled || !is_reduction || used.len() == order.len() {
            return task;
        }
        let value = self.temporary("t", None, used, task.value, task.compute);
        Task { value, ..task }
    }
}

fn regroup(e: Expr) -> Expr {
    match e.map_children(&mut regroup) {
        Expr::Reduce { op, mut vars, body } => match *body {
            Expr::Reduce { op: inner, vars: more, body } if inner == op && disjoint(&vars, &more) => {
                vars.extend(more);
                apart(op, vars, *body)
            }
            body => apart(op, vars, body),
        },
        e => e,
    }
}

fn disjoint(vars: &[IndexVar], others: &[IndexVar]) -> bool {
    !vars.iter().any(|v| others.contains(v))
}

/// A reduction, of two terms apart if both have all of its variables, and one lacks another.
fn apart(op: ReduceOp, vars: Vec<IndexVar>, body: Expr) -> Expr {
    let joins = |o: BinaryOp| o == op.binary() || (op == ReduceOp::Add && o == BinaryOp::Sub);
    match body {
        Expr::Binary(o, a, b) if joins(o) && is_apart(&vars, &a, &b) => {
            let [a, b] = [a, b].map(|term| Box::new(apart(op, vars.clone(), *term)));
            Expr::Binary(o, a, b)
        }
        body => Expr::Reduce { op, vars, body: Box::new(body) },
    }
}

fn is_apart(vars: &[IndexVar], a: &Expr, b: &Expr) -> bool {
    let [a, b] = [a, b].map(Expr::free_vars);
    let all = vars.iter().all(|v| a.contains(v) && b.contains(v));
    all && (a.iter().any(|v| !b.contains(v)) || b.iter().any(|v| !a.contains(v)))
}
