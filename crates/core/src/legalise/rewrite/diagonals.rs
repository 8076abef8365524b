//! Diagonals computed once, where loops over other variables would search for them repeatedly.
//!
//! ```text
//! R(i,j,k) = A(i,j,j) * B(i) * c(k)           A_diagonal(i,j) = A(i,j,j)      once, not for each k
//!                                             R(i,j,k) = A_diagonal(i,j) * B(i) * c(k)
//! ```
//!
//! Both ways are compared by cost: loops that need few elements of the diagonal search for these alone.

use crate::legalise::copies::in_order::replace;
use crate::legalise::order::best_orders;
use crate::legalise::{Context, Legaliser, Task};
use crate::notation::{Access, Expr};
use crate::plan::access::distinct;
use tamis_ir::ids::IndexVar;

/// The task with temporaries for the diagonals that are cheaper to compute once.
pub(super) fn diagonals_once(l: &mut Legaliser<'_>, mut task: Task) -> Task {
    if l.request.commands.given {
        return task;
    }
    let mut diagonals = distinct(&task.value);
    diagonals.retain(|a| a.is_diagonal() && !l.is_full(a) && is_repeated(a, &task));
    for access in diagonals {
        let before = l.program.clone();
        let value = with_diagonal(l, &access, &task);
        let other = Task { value, vars: task.vars.clone(), ..task };
        let made = l.program.kernels[before.kernels.len()..].iter();
        let made: f64 = made.filter_map(|k| Some(k.choices.first()?.cost)).sum();
        match made + cost(l, &other) < cost(l, &task) {
            true => task = other,
            false => l.restore(before),
        }
    }
    task
}

/// The value of a task, reading a diagonal instead of the operand.
fn with_diagonal(l: &mut Legaliser<'_>, access: &Access, task: &Task) -> Expr {
    let mut vars: Vec<IndexVar> = vec![];
    for &var in &access.indices {
        if !vars.contains(&var) {
            vars.push(var);
        }
    }
    let name = format!("{}_diagonal", l.program.tensors[access.tensor].name);
    let diagonal = l.temporary(&name, None, vars, Expr::Access(access.clone()), task.compute);
    l.declare_uses(&diagonal);
    replace(task.value.clone(), access, &diagonal)
}

/// Whether loops of the task have variables that an operand lacks.
fn is_repeated(access: &Access, task: &Task) -> bool {
    let operands = task.value.accesses();
    let mut vars = operands.iter().flat_map(|a| &a.indices).chain(&task.vars);
    vars.any(|v| !access.indices.contains(v))
}

/// The cost of the cheapest loops of a task.
fn cost(cx: &Context<'_>, task: &Task) -> f64 {
    best_orders(cx, task, false).first().map_or(f64::INFINITY, |(cost, _)| *cost)
}
