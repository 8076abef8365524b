//! The terms of a reduction over products of sparse operands are listed first, where what is implicit counts once.
//!
//! ```text
//! R(i,k) = max(j, A(i,j) * B(j,k))        T(i,k,j) = A(i,j) * B(j,k)
//!                                         R(i,k) = max(j, T(i,k,j))
//! ```
//!
//! An implicit 0 joins a maximum unless all terms are stored, which only loops that have the reduction innermost can
//! tell. These visit every element of the result, for each of which they merge the operands. The list has elements with
//! terms alone.

use crate::legalise::{Context, Legaliser, Task};
use crate::notation::{Access, Expr};
use tamis_ir::ids::IndexVar;

impl Legaliser<'_> {
    /// The task as a reduction of a temporary that lists its terms, if these are fewer than its elements.
    pub(in crate::legalise) fn with_listed_terms(&mut self, task: Task) -> Task {
        if self.request.commands.given || !has_few_terms(self, &task) {
            return task;
        }
        let mut outer = self.storage_order(&task);
        let Task { value: Expr::Reduce { op, vars, body }, compute, .. } = task else {
            return task;
        };
        outer.extend(&vars);
        let body = Box::new(self.temporary("t", None, outer, *body, compute));
        Task { value: Expr::Reduce { op, vars, body }, ..task }
    }
}

/// Whether a constant joins a reduction for all terms that are not stored, and the terms are fewer than the elements of
/// the result, which loops would visit: sparse operands have all variables of these, none has all of them.
fn has_few_terms(cx: &Context<'_>, task: &Task) -> bool {
    let Expr::Reduce { op, vars, body } = &task.value else { return false };
    let mut sparse = body.accesses();
    sparse.retain(|a| !cx.is_full(a));
    let is_listed = |v: &IndexVar| sparse.iter().any(|a| a.indices.contains(v));
    let lists_all = |a: &&Access| task.vars.iter().all(|v| a.indices.contains(v));
    let free = body.free_vars();
    let facts = cx.facts(task.compute);
    let identity = cx.program.identity(*op, task.compute);
    let joins = match facts.expr_without(body, &|a| !cx.is_full(a)) {
        Expr::Literal(c) => !identity.is_some_and(|id| id.same_value(c)),
        _ => false,
    };
    let all = [&task.vars[..], vars].concat();
    let few = |density: f64| density * cx.trips_over(&all) < cx.trips_over(&task.vars);
    joins
        && vars.iter().all(|v| free.contains(v))
        && task.vars.iter().all(is_listed)
        && !sparse.iter().any(lists_all)
        && cx.density(body, task.compute).is_some_and(few)
}
