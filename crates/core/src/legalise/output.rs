//! How loops reach the positions of a result whose levels are assembled, and which results are assembled elsewhere
//! first.
//!
//! ```text
//! in order    forall i, j      S(i,j) in csr, coo    each entry is appended
//! gathered    forall i, j, k   S(i,k) in csr         a workspace for each row
//! counted     forall j, i      S(i,j) in csr         all entries are counted, then placed
//!             forall i, j      S(i,j) in ell, dok    all entries are counted, then inserted
//! sorted      forall j, i      S(i,j) in csb         the same as counted, and then each block is sorted
//! listed      forall i, j, k   S(i,k) in coo, csc    all values are listed, sorted and summed up
//! hashed      forall i, l, j, k   S(i,j,k) in csf    a hashed workspace for each row
//! ```

use super::{Context, Task};
use crate::format::{Format, LevelMap};
use crate::legalise::functions::has_slow_functions_of;
use crate::notation::Access;
use crate::plan::access::distinct;
use crate::plan::{OutputOrder, Visits};
use tamis_ir::ids::IndexVar;

/// Segments with this many entries, on average, are summed in a register instead of entry by entry.
const LONG_SEGMENT: f64 = 8.0;
/// Functions of entries are computed in batches, and short segments end a batch. Measured with exponentials: segments
/// of 15 entries take 1.6 times as long as the whole list at once, 40 as long, 100 take 0.8 times as long.
const BATCHED_SEGMENT: f64 = 48.0;

/// Whether the levels of a result are written in order by loops over the first `outer` of them, whatever operands
/// these loops walk, and loops over a workspace for the others.
pub(super) fn follows_rows(
    cx: &Context<'_>,
    task: &Task,
    (levels, outer): (&[IndexVar], usize),
) -> bool {
    let operands = distinct(&task.value);
    let visits = Visits { derived: &cx.program.derived, loops: levels, repeats: false };
    let ascends = ascending(cx, &operands);
    let ascends = |v| !levels[..outer].contains(&v) || ascends(v);
    output_order_by(cx, task, visits, &ascends) == OutputOrder::InOrder
}

/// The order in which loops reach the elements of a task's result, with copies of some operands in loop order.
pub(super) fn output_order(
    cx: &Context<'_>,
    task: &Task,
    loops: &[IndexVar],
    copied: &[Access],
) -> OutputOrder {
    let mut operands = distinct(&task.value);
    operands.retain(|a| !copied.contains(a));
    let repeats = repeats(cx, task, &operands);
    let visits = Visits { derived: &cx.program.derived, loops, repeats };
    output_order_by(cx, task, visits, &ascending(cx, &operands))
}

/// Whether loops reach an entry once for each of its duplicates in these operands, to sum them.
pub(super) fn repeats(cx: &Context<'_>, task: &Task, operands: &[Access]) -> bool {
    let apart = |a: &Access| cx.program.storage(a.tensor).format.has_duplicates();
    operands.iter().any(apart) && scatters(cx, task)
}

/// [`output_order`], for loops of which some visit their coordinates in order.
pub(super) fn output_order_by(
    cx: &Context<'_>,
    task: &Task,
    visits: Visits<'_>,
    ascends: &dyn Fn(IndexVar) -> bool,
) -> OutputOrder {
    let levels = cx.program.level_vars(task.result, &task.vars);
    let format = &cx.program.storage(task.result).format;
    OutputOrder::of(visits, format, &levels, ascends)
}

/// The order in which a copy of an operand with levels of these variables is written.
pub(super) fn copy_output_order(
    cx: &Context<'_>,
    access: &Access,
    vars: &[IndexVar],
    format: &Format,
) -> OutputOrder {
    let source = &cx.program.storage(access.tensor).format;
    let has_slots = source.levels().iter().any(|l| matches!(l.map, LevelMap::Slot(_)));
    let loops = cx.level_vars(access);
    let repeats = source.has_duplicates() && !has_slots;
    let visits = Visits { derived: &cx.program.derived, loops: &loops, repeats };
    match OutputOrder::of(visits, format, vars, &|v| !is_unordered(cx, access, v)) {
        // Loops over rows are around loops over their slots.
        _ if has_slots => OutputOrder::Gathered,
        _ if source.has_duplicates() => OutputOrder::Listed,
        order => order,
    }
}

/// Whether a loop visits its coordinates in order, however it walks these operands.
pub(super) fn ascending<'a>(
    cx: &'a Context<'_>,
    operands: &'a [Access],
) -> impl Fn(IndexVar) -> bool + 'a {
    move |v| !operands.iter().any(|a| is_unordered(cx, a, v))
}

/// Whether a loop that walks an operand's level of a variable may visit coordinates unordered.
fn is_unordered(cx: &Context<'_>, access: &Access, var: IndexVar) -> bool {
    cx.program.levels(access).into_iter().any(|(level, v)| {
        let p = level.kind.properties();
        v == var && !p.full && !(p.ordered && (p.compact || level.kind.locates()))
    })
}

/// Whether loops reach positions of the result in the order of operands' entries, perhaps repeatedly.
pub(super) fn scatters(cx: &Context<'_>, task: &Task) -> bool {
    let revisited =
        cx.access_methods().revisits_result(task.value.accesses().into_iter(), &task.vars);
    revisited || cx.access_methods().is_list_driven(task) && !sums_segments(cx, task)
}

/// Whether the segments of an operand's last level have so many entries, on average, that a register should sum them;
/// the entries of a segment are consecutive.
fn sums_segments(cx: &Context<'_>, task: &Task) -> bool {
    let sparse = distinct(&task.value).into_iter().find(|a| !cx.is_full(a));
    let Some(levels) = sparse.and_then(|a| cx.positions(&a)) else { return false };
    let outer = levels.iter().take_while(|(_, v, _)| task.vars.contains(v)).count();
    let inside = levels[outer..].iter().any(|(_, v, _)| task.vars.contains(v));
    let above = &levels[..levels.len().saturating_sub(1)];
    let cells: f64 = above.iter().map(|(_, v, _)| cx.dimension_of(*v)).product();
    let entries = levels.last().map_or(0.0, |(.., positions)| *positions);
    let is_batched = levels.last().is_some_and(|(_, v, _)| has_slow_functions_of(*v, &task.value));
    let least = if is_batched { BATCHED_SEGMENT } else { LONG_SEGMENT };
    outer > 0 && !inside && entries >= least * cells
}
