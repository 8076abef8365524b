//! Which loops gallop, because some of their operands have far fewer coordinates than others.
//!
//! ```text
//! C(i,j) = A(i,j) * B(i,j)      2 entries in a row of A, 300 in one of B      mergeby(j, gallop)
//! ```

use crate::cin::{Kernel, MergeStrategy, Program, Tag};
use crate::legalise::{Context, Task};
use crate::notation::Access;
use crate::plan::plan;
use std::collections::BTreeMap;
use tamis_ir::ids::IndexVar;

/// The ratio of coordinates from which a search is faster than a walk.
pub(in crate::legalise) const SKEWED: f64 = 64.0;

/// The loops over these variables that should gallop.
pub(in crate::legalise) fn galloping_loops(
    cx: &Context<'_>,
    task: &Task,
    vars: &[IndexVar],
) -> BTreeMap<IndexVar, Tag> {
    let operands = crate::plan::access::distinct(&task.value);
    let needed = |a: &&Access| cx.access_methods().decides(a, task);
    let needed: Vec<&Access> = operands.iter().filter(needed).collect();
    let in_order = |a: &&Access, var: &IndexVar| {
        let mut levels = cx.program.levels(a).into_iter().filter(|(_, of)| of == var);
        levels.all(|(level, _)| level.kind.locates() || level.kind.properties().ordered)
    };
    let gallops = |var: &IndexVar| {
        // Unordered entries are walked, and the other operands are searched for each.
        if !needed.iter().all(|a| in_order(a, var)) {
            return false;
        }
        let few = needed.iter().filter_map(|a| cx.fan_out(a, *var)).fold(f64::INFINITY, f64::min);
        // Other operands, such as terms of a factor, follow the needed ones.
        operands.iter().filter_map(|a| cx.fan_out(a, *var)).any(|many| many >= SKEWED * few)
    };
    let tag = Tag { merge: Some(MergeStrategy::Gallop), ..Tag::default() };
    vars.iter().filter(|v| gallops(v)).map(|&v| (v, tag)).collect()
}

/// A kernel without the tags of loops that search no operand, for instance because the other operands are located.
pub(in crate::legalise) fn only_galloping(program: &Program, mut kernel: Kernel) -> Kernel {
    if !kernel.tags.is_empty() {
        let root = plan(program, &kernel).root;
        let loops = |var| root.as_ref().map_or(vec![], |root| root.loops_over(var));
        kernel.tags.retain(|&var, _| loops(var).iter().any(|nest| nest.gallops()));
    }
    kernel
}
