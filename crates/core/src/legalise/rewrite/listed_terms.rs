//! Lists the terms of a reduction over products of sparse operands first, where implicit terms count once.
//!
//! ```text
//! R(i,k) = max(j, A(i,j) * B(j,k))        T(i,k,j) = A(i,j) * B(j,k)
//!                                         R(i,k) = max(j, T(i,k,j))
//! ```
//!
//! An implicit 0 joins a maximum unless all terms are stored, which only loops with the reduction innermost can know.
//! These visit every element of the result, and merge the operands for each; the temporary has only elements with
//! terms.

use crate::legalise::{Context, Legaliser, Task};
use crate::notation::{Access, Expr};
use tamis_ir::ids::IndexVar;

impl Legaliser<'_> {
    /// The task as a reduction of a temporary that lists its terms, if there are fewer terms than elements.
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

/// Whether a constant joins a reduction unless all terms are stored, and there are fewer terms than elements of the
/// result, which loops would visit: the sparse operands together have all variables of the result, and none of them
/// has all.
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
