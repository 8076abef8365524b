//! Copies small operands whose rows are merged many times into bitmaps, with random access.
//!
//! ```text
//! A(i,j) = B(i,k,l) * C(k,j) * D(l,j)      a row of C meets a row of D for each entry of B
//!
//! forall(l, forall(j, D_located(l,j) = D(l,j)))          D_located: (dense, bitmap)
//! ```
//!
//! A merge reads each entry of both rows (or vectors), with unpredictable branches. The cost rule: a copy has at most
//! as many positions as merges would read entries of the operand, and fits in cache; in an operand with far more
//! entries a search is faster (`legalise::order::merge_strategy`). One of the operands that meet is not copied: it
//! lists the coordinates to visit.

use super::in_order::replace;
use crate::format::Format;
use crate::legalise::order::merge_strategy::SKEWED;
use crate::legalise::{Context, Legaliser, Task};
use crate::level::{BITMAP, DENSE};
use crate::notation::{Access, Expr};
use crate::plan::access::distinct;
use tamis_ir::ids::IndexVar;

/// The largest number of positions of a copy.
pub(in crate::legalise) const MOST_PLACES: f64 = (1 << 22) as f64;

/// Visiting a row that changes in a loop further inside has to save this many times as many lookups: a row that does
/// not change stays in cache.
const CHANGES: f64 = 4.0;

impl Legaliser<'_> {
    /// The task with operands copied where that saves merges in loops over these variables.
    pub(in crate::legalise) fn with_bitmap_copies(
        &mut self,
        mut task: Task,
        vars: &[IndexVar],
    ) -> Task {
        let at = |d: usize| to_locate(self, &task, vars[d], &vars[..d]);
        for access in (0..vars.len()).flat_map(at).collect::<Vec<Access>>() {
            let name = format!("{}_located", self.program.tensors[access.tensor].name);
            let of = self.level_vars(&access);
            let kinds = (1..of.len()).map(|_| DENSE).chain([BITMAP]);
            let format = Some(Format::in_order(kinds));
            let source = Expr::Access(access.clone());
            let copy = self.temporary(&name, format, of, source, task.compute);
            self.declare_uses(&copy);
            task.value = replace(task.value, &access, &copy);
        }
        task
    }
}

/// The operands to copy among those that meet in an inner loop: all for which it pays. If these are all, one stays to
/// list the coordinates: one with few entries there, which changes seldom.
fn to_locate(cx: &Context<'_>, task: &Task, var: IndexVar, outer: &[IndexVar]) -> Vec<Access> {
    let lists = |a: &Access| {
        let levels = cx.program.levels(a);
        levels.iter().any(|(level, of)| *of == var && !level.kind.locates())
    };
    let mut meeting = distinct(&task.value);
    meeting.retain(|a| lists(a) && cx.access_methods().decides(a, task));
    let merges = merges_of(cx, task, outer);
    let looks = |a: &Access| cx.fan_out(a, var);
    let fits = |a: &Access| {
        let places = places(cx, a, var, outer).filter(|&places| places <= MOST_PLACES);
        places.zip(looks(a)).is_some_and(|(places, looks)| places <= merges * looks)
    };
    let (mut small, mut visited): (Vec<Access>, Vec<Access>) = meeting.into_iter().partition(fits);
    if visited.is_empty() && !small.is_empty() {
        let cost = |a: &Access| {
            let depth = |v: &IndexVar| outer.iter().position(|u| u == v).map(|d| d as i32 + 1);
            let changes = a.indices.iter().filter_map(depth).max().unwrap_or(0);
            looks(a).unwrap_or(f64::INFINITY) * CHANGES.powi(changes)
        };
        small.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        visited.push(small.remove(0));
    }
    let fewest = visited.iter().filter_map(looks).fold(f64::INFINITY, f64::min);
    small.retain(|a| looks(a).is_some_and(|entries| fewest < SKEWED * entries));
    small
}

/// About how often loops over these variables run their body: once for each entry of the operand that decides for most
/// of the loops, or, if all operands are dense there, once for each position.
fn merges_of(cx: &Context<'_>, task: &Task, outer: &[IndexVar]) -> f64 {
    let (mut deciding, mut trips, mut places) = (0, f64::INFINITY, 1.0f64);
    for access in distinct(&task.value) {
        let levels = cx.positions(&access).unwrap_or_default();
        let led = levels.iter().take_while(|(_, of, _)| outer.contains(of)).count();
        let Some(&(.., positions)) = led.checked_sub(1).map(|last| &levels[last]) else {
            continue;
        };
        let is_list = levels[..led].iter().any(|(level, ..)| !level.kind.properties().full);
        if !is_list {
            places = places.max(positions);
        } else if led >= deciding && cx.access_methods().decides(&access, task) {
            trips = if led > deciding { positions } else { trips.min(positions) };
            deciding = led;
        }
    }
    if deciding > 0 { trips.max(1.0) } else { places }
}

/// The number of positions of an operand's copy with rows over variables of the other loops, if such a copy is
/// possible.
fn places(cx: &Context<'_>, access: &Access, var: IndexVar, outer: &[IndexVar]) -> Option<f64> {
    let levels = cx.positions(access)?;
    let ((_, last, _), above) = levels.split_last()?;
    let plain = levels.iter().all(|(level, ..)| level.stores_mode());
    let rows = above.iter().all(|(_, of, _)| outer.contains(of));
    let format = &cx.program.storage(access.tensor).format;
    let suits = plain
        && rows
        && !access.is_diagonal()
        && *last == var
        && !access.is_sliced()
        && !format.has_duplicates();
    let size = |v: &IndexVar| cx.known_dimension(*v).map(|d| d as f64);
    suits.then(|| access.indices.iter().map(size).product::<Option<f64>>())?
}
