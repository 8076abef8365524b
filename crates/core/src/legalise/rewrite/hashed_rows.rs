//! Hashed workspaces for rows of a sparse result whose sums are unordered, where a dense workspace would be too large
//! or have several modes. The workspace holds one row at a time.
//!
//! ```text
//! C(i,j,k) = A(i,l) * B(l,j,k)        C: csf
//!
//! forall(i, where(forall(j, forall(k, C(i,j,k) = w(j,k))),
//!                 forall(l, forall(j, forall(k, w(j,k) += A(i,l) * B(l,j,k))))))
//! ```
//!
//! Its memory is that of one row's entries; without it, all products would be listed and sorted (sparse tensor algebra
//! with workspaces, section 4.4).

use super::row_workspaces::{Rows, has_reduction};
use crate::legalise::output::{follows_rows, output_order, scatters};
use crate::legalise::{Context, Task};
use crate::level::HASHED_WORKSPACE;
use crate::notation::Expr;
use crate::plan::OutputOrder;
use tamis_ir::ids::IndexVar;

/// The elements of a dense workspace that cost as much as one step of the loops. Measured: hashing breaks even at
/// about 200 elements for each product.
const FREE: f64 = 20.0;
/// A dense workspace of fewer elements is always worth its memory.
const LEAST: u64 = 1 << 20;

/// The rows of a task to hold in a hashed workspace, for loops with this number of steps, as far as known.
pub(in crate::legalise) fn hashed_rows(
    cx: &Context<'_>,
    task: &Task,
    loops: &[IndexVar],
    steps: Option<f64>,
) -> Option<Rows> {
    let Expr::Reduce { op, vars: reduced, body } = &task.value else { return None };
    let storage = cx.program.storage(task.result);
    let own = |v: &IndexVar| task.vars.contains(v) || reduced.contains(v);
    let identity = cx.program.identity(*op, task.compute);
    let starts = identity.is_some_and(|id| id.same_value(storage.fill.computed(task.compute)));
    let simple = storage.format.stores_modes() && loops.iter().all(own) && starts;
    if cx.request.commands.given || !simple || has_reduction(body) || scatters(cx, task) {
        return None;
    }
    let levels = cx.program.level_vars(task.result, &task.vars);
    let outer = loops.iter().zip(&levels).take_while(|(a, b)| a == b).count();
    let row = levels[outer..].to_vec();
    let is_wide = match row[..] {
        [] => false,
        [var] => cx.known_dimension(var).is_some_and(|d| {
            !cx.is_small(var) || (d > LEAST && steps.is_some_and(|steps| d as f64 > FREE * steps))
        }),
        _ => true,
    };
    let come = || output_order(cx, task, loops, &[]);
    let fits = outer > 0
        && is_wide
        && matches!(come(), OutputOrder::Listed | OutputOrder::Gathered | OutputOrder::Counted)
        && follows_rows(cx, task, (&levels, outer));
    fits.then_some(Rows { outer, row, kind: HASHED_WORKSPACE })
}
