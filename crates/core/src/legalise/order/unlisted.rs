//! Operands that do not list coordinates in order, while a copy would: loops that walk or locate them have to search
//! other operands, or to visit every coordinate.
//!
//! ```text
//! C(i,j) = A(i,j) * B(i,j)      A: csr    B: csr(nonordered)    B walked and A searched, or B sorted and merged
//! C(i,j) = A(i,j) + B(i,j)      A: csr    B: dok                every coordinate visited, or B sorted and merged
//! ```
//!
//! And operands whose rows a copy would locate, where loops repeatedly merge the list of all rows:
//!
//! ```text
//! C(i,j) = A(i,k) * B(k,j)      A: csr    B: coo                a row of A merged with all rows of B, or located
//! ```

use crate::format::{LevelMap, LevelSpec};
use crate::legalise::copies::in_order::{copy_format, copy_order};
use crate::legalise::output::output_order;
use crate::legalise::{Context, Task};
use crate::level::HASHED;
use crate::notation::Access;
use crate::plan::OutputOrder;
use crate::plan::access::distinct;
use tamis_ir::ids::IndexVar;

/// Whether loops would walk an operand alone, since its entries are unordered, and search another operand, or a
/// reordered copy of it, which they would merge with a copy.
pub(in crate::legalise) fn is_alone_beside(cx: &Context<'_>, access: &Access, task: &Task) -> bool {
    let lists = |a: &Access, var: IndexVar| {
        let levels = cx.program.levels(a);
        levels.iter().any(|(_, v)| *v == var) && levels.iter().any(|(l, _)| !l.kind.locates())
    };
    let others = distinct(&task.value);
    let met = |(level, var): (LevelSpec, IndexVar)| {
        let p = level.kind.properties();
        let merges = level.kind.locates() || p.ordered && p.compact;
        !merges && others.iter().any(|a| a != access && lists(a, var))
    };
    !cx.request.commands.given && cx.program.levels(access).into_iter().any(met)
}

/// Whether loops visit every coordinate of a level that a copy would list. Either the level is unordered, and there is
/// work without an entry, or another operand is walked in the same loops, or the loops reach the level before those
/// above it. Or it stores diagonals, and there is work without an entry.
pub(in crate::legalise) fn is_unlisted(
    cx: &Context<'_>,
    access: &Access,
    loops: &[IndexVar],
    task: &Task,
) -> bool {
    let levels = cx.program.levels(access);
    let mut latest = 0;
    let mut is_against = false;
    let unlisted = levels.iter().filter(|(level, var)| {
        let (p, depth) = (level.kind.properties(), cx.depth(*var, loops));
        let hashed = level.kind.locates() && !p.ordered;
        is_against |= hashed && depth < latest;
        latest = latest.max(depth);
        let diagonals = matches!(level.map, LevelMap::Diff { .. });
        hashed || diagonals && !cx.access_methods().decides(access, task)
    });
    let free = !cx.request.commands.given && !task.is_copy();
    let decides = |a: &Access| cx.access_methods().decides(a, task);
    let walked = |a: &Access| {
        let levels = cx.program.storage(a.tensor).format.levels();
        levels.iter().any(|level| !level.kind.locates()) && !decides(a)
    };
    let is_alone = || decides(access) && !distinct(&task.value).iter().any(walked);
    unlisted.count() > 0 && free && (is_against || !is_alone())
}

/// Whether loops walk a hash map, which meets no other sparse operand, once for each coordinate of a variable that the
/// operand lacks, or sort the result since entries arrive in the order of the map.
pub(in crate::legalise) fn is_costly_map(
    cx: &Context<'_>,
    access: &Access,
    loops: &[IndexVar],
    task: &Task,
) -> bool {
    let levels = cx.program.levels(access);
    let Some(&(_, var)) = levels.iter().find(|(level, _)| level.kind == HASHED) else {
        return false;
    };
    let meets = |a: &Access| a != access && a.indices.contains(&var) && !cx.is_full(a);
    let is_met = distinct(&task.value).iter().any(meets);
    if cx.request.commands.given || task.is_copy() || is_met || !loops.contains(&var) {
        return false;
    }
    let own = |v: &IndexVar| levels.iter().any(|(_, of)| of == v);
    let mut around = loops.iter().take_while(|v| !cx.follows(var, &[**v]));
    let written = output_order(cx, task, loops, &[]);
    let is_sorted = matches!(written, OutputOrder::Listed | OutputOrder::Sorted);
    around.any(|v| !own(v)) || is_sorted && task.vars.contains(&var)
}

/// Whether inner loops merge the whole outermost level of an operand with entries of another one, and a copy would
/// locate its rows.
pub(in crate::legalise) fn is_merged_again(
    cx: &Context<'_>,
    access: &Access,
    loops: &[IndexVar],
    all: &[Access],
) -> bool {
    let lists = |a: &Access, var: IndexVar| {
        let levels = cx.program.levels(a);
        levels.iter().any(|(level, v)| *v == var && !level.kind.properties().full)
    };
    let levels = cx.program.levels(access);
    let Some(&(outermost, var)) = levels.first() else { return false };
    let is_again = !outermost.kind.locates() && cx.depth(var, loops) > 1;
    is_again && all.iter().any(|a| a != access && lists(a, var)) && {
        let copy = copy_format(cx, access, &copy_order(cx, access, loops));
        copy.levels().first().is_some_and(|level| level.kind.locates())
    }
}
