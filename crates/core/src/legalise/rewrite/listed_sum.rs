//! Sums of more sparse operands than are worth merging: each term has loops of its own, in the order in which it is
//! stored, and appends to a coordinate buffer.
//!
//! ```text
//! R(i,j,k) = T(i,j,k) + T(i,k,j) + .. + T(k,j,i)
//!
//! sequence(forall(i, forall(j, forall(k, R(i,j,k) += T(i,j,k)))),
//!          forall(i, forall(k, forall(j, R(i,j,k) += T(i,k,j)))), ..)
//! ```
//!
//! The buffer is sorted once. Merges in pairs would read common entries repeatedly, and copy each operand that is
//! stored in another order; but they read ordered entries.

use crate::cin::Stmt;
use crate::format::Format;
use crate::legalise::copies::in_order::{copy_format, copy_order};
use crate::legalise::cost::conversion;
use crate::legalise::order::best_order;
use crate::legalise::order::loops::loops_in_order;
use crate::legalise::rewrite::merge_size::merges_little;
use crate::legalise::rewrite::nary_sum::{adds_entries, reduces, terms};
use crate::legalise::weights::{BRANCH, CONVERT, STAGE};
use crate::legalise::{Context, Legaliser, Task};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::ReduceOp;

/// The terms of a sum, or of another reduction, and the operator.
pub(in crate::legalise) struct ListedSum {
    op: ReduceOp,
    terms: Vec<Expr>,
}

/// The terms to list, if a value has more operands than are worth merging and lists are cheaper than merges in pairs.
pub(in crate::legalise) fn listed_sum(cx: &Context<'_>, task: &Task) -> Option<ListedSum> {
    if cx.request.commands.given || merges_little(cx, &task.value, task.compute) {
        return None;
    }
    let (op, terms) = terms(&task.value)?;
    let duplicates = |e: &Expr| {
        let format = |tensor| &cx.program.storage(tensor).format;
        let repeats = |f: &Format| f.has_duplicates() || f.is_revisiting();
        e.accesses().iter().any(|a| repeats(format(a.tensor)))
    };
    let simple = |e: &Expr| {
        merges_little(cx, e, task.compute) && !reduces(e) && !duplicates(e) && spans(e, task)
    };
    let fits = terms.iter().all(simple) && adds_entries(cx, task, (&terms, op));
    (fits && is_cheaper(cx, task, &terms)).then_some(ListedSum { op, terms })
}

/// Whether loops over a term reach each element once.
fn spans(e: &Expr, task: &Task) -> bool {
    let free = e.free_vars();
    task.vars.iter().all(|v| free.contains(v))
}

/// Whether each element of the result has a position, to which terms are added.
fn is_placed(cx: &Context<'_>, task: &Task) -> bool {
    let format = &cx.program.storage(task.result).format;
    format.is_full() || format.is_placed()
}

/// Whether listing all terms costs less than merging them one by one, in the order of the result or of a term.
fn is_cheaper(cx: &Context<'_>, task: &Task, terms: &[Expr]) -> bool {
    let cells = cx.trips_over(&task.vars);
    let entries = |e: &Expr| cx.density(e, task.compute).unwrap_or(1.0) * cells;
    let all: f64 = terms.iter().map(entries).sum();
    let list = all * if is_placed(cx, task) { BRANCH } else { STAGE };
    let (mut merges, mut before) = (0.0, 0.0);
    for term in terms {
        before += entries(term);
        merges += before * BRANCH / 2.0;
    }
    let own = cx.storage_order(task);
    let sparse = |e: &Expr| e.accesses().into_iter().find(|a| !cx.is_full(a)).cloned();
    let operands: Vec<(Access, f64)> =
        terms.iter().filter_map(|e| Some((sparse(e)?, entries(e)))).collect();
    let orders = operands.iter().map(|(a, _)| copy_order(cx, a, &cx.level_vars(a)));
    let copies = orders.chain([own.clone()]).map(|order| {
        let of_result = if order == own { 0.0 } else { all * CONVERT };
        let copy = |(a, n): &(Access, f64)| match cx.level_vars(a) == order {
            true => 0.0,
            false => n * conversion(cx, a, &order, &copy_format(cx, a, &order)),
        };
        of_result + operands.iter().map(copy).sum::<f64>()
    });
    list < merges + copies.fold(f64::INFINITY, f64::min)
}

/// The loops of each term, in an order in which its operands are stored.
pub(in crate::legalise) fn listing_loops(
    l: &mut Legaliser<'_>,
    task: &Task,
    sum: ListedSum,
) -> Stmt {
    let ListedSum { op, terms } = sum;
    let parts = terms.into_iter().map(|value| {
        let term = Task { value, ..task.clone() };
        let order = best_order(l, &term, true);
        let value = l.convert(term.value.clone(), &order, &term);
        adding(loops_in_order(l, Task { value, ..term }, &order.vars, false), op)
    });
    Stmt::Sequence(parts.collect())
}

/// The statement, with an assignment that combines by an operator.
fn adding(s: Stmt, op: ReduceOp) -> Stmt {
    match s {
        Stmt::Assign { lhs, rhs, .. } => Stmt::Assign { lhs, op: Some(op), rhs },
        s => s.map_children(&mut |child| adding(child, op)),
    }
}
