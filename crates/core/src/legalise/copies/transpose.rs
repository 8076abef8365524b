//! Transposes dense operands and results that the innermost loop would stride through.
//!
//! ```text
//! Y(i,k) = A(i,j) * X(j,k)      X by columns     X_transposed(j,k) = X(j,k)
//!                               Y by columns     t(i,k) = A(i,j) * X(j,k)
//!                                                Y(i,k) = t(i,k)
//! ```
//!
//! A copy with rows along the innermost loop takes a few steps for each element. It is made where sparse operands are
//! known to have so many entries that loops reach each element more often than that.

use crate::cin::Role;
use crate::format::Format;
use crate::legalise::{Context, Task};
use crate::level::DENSE;
use crate::notation::{Access, Expr};
use crate::plan::access::distinct;
use tamis_ir::ids::IndexVar;

/// How often loops have to reach an element for a copy to pay.
const OFTEN: u64 = 8;

/// The dense operands to copy for loops in this order.
pub(in crate::legalise) fn transposed_operands(
    cx: &Context<'_>,
    task: &Task,
    loops: &[IndexVar],
) -> Vec<Access> {
    let mut operands = distinct(&task.value);
    operands.retain(|a| {
        let is_dense = is_dense(&cx.program.storage(a.tensor).format) && !a.is_sliced();
        is_dense && is_across(&cx.level_vars(a), loops) && is_often(cx, &a.indices, task)
    });
    operands
}

/// The variables of a temporary for a dense result, in the order of the loops that compute it.
pub(in crate::legalise) fn transposed_result(
    cx: &Context<'_>,
    task: &Task,
    loops: &[IndexVar],
) -> Option<Vec<IndexVar>> {
    let levels = cx.program.level_vars(task.result, &task.vars);
    let mut vars = task.vars.clone();
    vars.sort_by_key(|&v| cx.depth(v, loops));
    (is_across(&levels, loops) && is_written_often(cx, task)).then_some(vars)
}

/// Whether loops reach the elements of a dense result often.
pub(in crate::legalise) fn is_written_often(cx: &Context<'_>, task: &Task) -> bool {
    is_dense(&cx.program.storage(task.result).format) && is_often(cx, &task.vars, task)
}

/// Whether each sparse operand has so many entries that loops over them reach each combination of these variables
/// often, in an order that no schedule chose.
fn is_often(cx: &Context<'_>, vars: &[IndexVar], task: &Task) -> bool {
    if cx.request.commands.given || !matches!(task.value, Expr::Reduce { .. }) {
        return false;
    }
    let accesses = distinct(&task.value);
    let mut sparse = accesses.iter().filter(|a| !cx.is_full(a)).peekable();
    let often = |a: &Access| {
        let Role::Input(id) = cx.program.tensors[a.tensor].role else { return false };
        let listed = vars.iter().filter(|v| a.indices.contains(v));
        let sizes: Option<Vec<u64>> = listed.map(|v| cx.known_dimension(*v)).collect();
        let entries = cx.request.statistics.entries.get(&id);
        sizes.zip(entries).is_some_and(|(sizes, &entries)| {
            sizes.into_iter().fold(OFTEN, u64::saturating_mul) <= entries
        })
    };
    sparse.peek().is_some() && sparse.all(often)
}

/// Whether the innermost loop strides through a tensor with levels of these variables.
fn is_across(levels: &[IndexVar], loops: &[IndexVar]) -> bool {
    loops.last().is_some_and(|v| levels.contains(v) && levels.last() != Some(v))
}

/// Whether all levels of a format are dense, in any order of modes.
pub(in crate::legalise) fn is_dense(format: &Format) -> bool {
    format.levels().iter().all(|l| l.kind == DENSE && l.stores_mode())
}
