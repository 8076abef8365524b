//! Temporaries in which loops accumulate the entries of a result that they would list or sort otherwise.
//!
//! The coordinate buffer of a product has a value for each multiplication. A temporary whose entries are accumulated,
//! and a copy of it, take less time and memory, and run in parts where the buffer does not. Counting twice also takes
//! less time than sorting, and sorting rows, by one coordinate, less than sorting blocks, by two.

use super::output::{ascending, output_order_by, repeats};
use super::{Context, Task};
use crate::format::{Format, LevelSpec};
use crate::legalise::order::basis::block_basis;
use crate::legalise::rewrite::hashed_rows::hashed_rows;
use crate::level::{COMPRESSED, DENSE};
use crate::notation::{Access, Expr, Slicing};
use crate::plan::access::distinct;
use crate::plan::{OutputOrder, Visits};
use tamis_ir::ids::IndexVar;

/// The variables and the format of a temporary in which loops accumulate the entries of a result that they would list
/// or sort otherwise, with copies of some operands in their order.
pub(super) fn gathered_elsewhere(
    cx: &Context<'_>,
    task: &Task,
    (loops, copied): (&[IndexVar], &[Access]),
    written: OutputOrder,
) -> Option<(Vec<IndexVar>, Format)> {
    let is_listed = match written {
        OutputOrder::Listed => true,
        OutputOrder::Sorted => false,
        OutputOrder::InOrder | OutputOrder::Gathered | OutputOrder::Counted => return None,
    };
    let is_hashed = hashed_rows(cx, task, loops, None).is_some();
    let is_gathered = cx.gathering.last() == Some(&task.value);
    if cx.request.commands.given || task.vars.is_empty() || is_hashed || is_gathered {
        return None;
    }
    let format = &cx.program.storage(task.result).format;
    let last = format.levels().len() - 1;
    let may_sort =
        Steps { temporary: is_listed || format.chain_head(last) < last, result: is_listed };
    let mut by_loops = task.vars.clone();
    by_loops.sort_by_key(|&v| cx.depth(v, loops));
    let mut candidates = vec![by_loops];
    if let Expr::Access(_) = task.value {
        candidates.insert(0, cx.storage_order(task));
    }
    candidates.into_iter().find_map(|vars| {
        let format = gathering_format(cx, task, (loops, copied, &vars), may_sort)?;
        Some((vars, format))
    })
}

/// Which of the two kernels, that of the temporary and that of the result, may sort rows.
#[derive(Clone, Copy)]
struct Steps {
    /// The kernel of the temporary.
    temporary: bool,
    /// The kernel that copies it to the result.
    result: bool,
}

/// Whether a tensor is written without a coordinate buffer, and without sorted rows unless `may_sort`.
fn is_reached(order: OutputOrder, may_sort: bool) -> bool {
    match order {
        OutputOrder::InOrder | OutputOrder::Gathered | OutputOrder::Counted => true,
        OutputOrder::Sorted => may_sort,
        OutputOrder::Listed => false,
    }
}

/// The format of a temporary over these variables in which loops accumulate entries, and which is then copied to the
/// result without a coordinate buffer.
fn gathering_format(
    cx: &Context<'_>,
    task: &Task,
    (loops, copied, vars): (&[IndexVar], &[Access], &[IndexVar]),
    may_sort: Steps,
) -> Option<Format> {
    let rows = vars.len() > 1 && has_rows(cx, vars, task);
    let first = if rows { DENSE } else { COMPRESSED };
    let kind = |k| if k == 0 { first } else { COMPRESSED };
    let format = Format::in_order((0..vars.len()).map(kind));
    let is_same = |tensor, indices: &[IndexVar]| {
        let own = cx.program.level_vars(tensor, indices);
        cx.program.storage(tensor).format == format && own == vars
    };
    let stays = is_same(task.result, &task.vars)
        || matches!(&task.value, Expr::Access(a) if is_same(a.tensor, &a.indices));
    let mut operands = distinct(&task.value);
    // A workspace takes the entries of a vector in any order.
    operands.retain(|a| vars.len() > 1 || !copied.contains(a));
    let visits =
        Visits { derived: &cx.program.derived, loops, repeats: repeats(cx, task, &operands) };
    let gathered = OutputOrder::of(visits, &format, vars, &ascending(cx, &operands));
    let of_rows = rows && loops.first() == vars.first();
    let taken = |a: &Access| is_gathered(cx, a, of_rows.then_some(vars[0]));
    let gathers = !stays && is_reached(gathered, may_sort.temporary);
    let taken = gathers && operands.iter().all(taken);
    (taken && becomes_result(cx, (vars, rows), task, may_sort.result)).then_some(format)
}

/// Whether a temporary with levels of these variables is copied to the result without a coordinate buffer, perhaps
/// through another temporary in the result's order, or by loops over the result's blocks.
fn becomes_result(
    cx: &Context<'_>,
    (vars, rows): (&[IndexVar], bool),
    task: &Task,
    may_sort: bool,
) -> bool {
    let own = cx.storage_order(task);
    let derived = &cx.program.derived;
    let written = |loops: &[IndexVar]| {
        output_order_by(cx, task, Visits { derived, loops, repeats: false }, &|_| true)
    };
    let blocks = block_basis(cx, task);
    let by_blocks = || {
        let follows = blocks.last() == vars.last() && !vars.contains(&blocks[0]);
        let written = written(&blocks);
        rows && follows && matches!(written, OutputOrder::Gathered | OutputOrder::Counted)
    };
    is_reached(written(vars), may_sort)
        || by_blocks()
        || has_rows(cx, &own, task) && written(&own) == OutputOrder::InOrder
}

/// Whether an array over the first variable is worth its memory: loops visit all its coordinates anyway, or an operand
/// has about as many entries.
fn has_rows(cx: &Context<'_>, vars: &[IndexVar], task: &Task) -> bool {
    let passes = |a: &Access| {
        let levels = cx.program.levels(a);
        levels.iter().any(|(l, v)| *v == vars[0] && l.kind.properties().full)
    };
    let accesses = distinct(&task.value);
    cx.is_small(vars[0]) && accesses.iter().any(|a| passes(a) || cx.fills_rows(a, vars[0]))
}

/// Whether loops reach the entries of an operand once each, in the order of their coordinates, or at least row by row.
fn is_gathered(cx: &Context<'_>, access: &Access, row: Option<IndexVar>) -> bool {
    let format = &cx.program.storage(access.tensor).format;
    let levels = cx.program.levels(access);
    let ordered = levels.iter().all(|(l, _)| l.kind.properties().ordered);
    let in_order = ordered && !format.is_revisiting();
    let of_row = |(l, v): &(LevelSpec, IndexVar)| {
        Some(*v) == row && l.kind.properties().full && l.kind.locates()
    };
    let is_whole = in_order || !format.has_duplicates() || levels.iter().any(of_row);
    // An ascending slice keeps the order of entries.
    let forwards = |s: &Slicing| matches!(s, Slicing::Taken(_)) && s.ascends();
    is_whole && (cx.is_full(access) || access.slices.values().all(forwards))
}
