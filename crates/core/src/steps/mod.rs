//! Warnings before a slow run: about programs that take far more steps than they have values, and about results that
//! store every element because of their value where operands have no entry.
//!
//! ```text
//! N(i,j) = A(i,j) / d(i)     IEEE's zeros, A: csr, 30000 x 30000 with 1e5 entries
//!
//! N stores 9e8 values, its operands 130000: where A has no entry, `A(i,j) / d(i)` is `0 / d(i)`
//! ```
//!
//! Steps are counted in the plan that runs, with the sizes of the call, and weighed as legalisation weighs loops.

mod count;
mod estimate;
mod reason;
mod sizes;

pub(crate) use count::CONTIGUOUS;
pub use estimate::{Estimate, LoopEstimate, estimates};

use crate::cin::terms::Sizes;
use crate::cin::{Kernel, Program, Role};
use crate::notation;
use crate::plan::{Plan, plan};
use count::{Around, Counts};
use reason::Blamed;
use sizes::{Known, distinct};
use std::collections::BTreeMap;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::TensorId;

/// Programs of fewer steps finish before a user could read the warning.
pub const FLOOR: f64 = 1e7;

/// This many multiply-adds per stored value are many: 300, or 1,000 vectorised ones.
const MANY: f64 = 300.0;

/// Work of this many times the floor, some ten seconds, is worth a warning even if the program cannot be written in a
/// better way.
pub const LONG: f64 = 3000.0;

/// A result with this many elements per value of the operands is large.
const LARGE: f64 = 1000.0;

/// Estimated number of lookups in each hash map.
pub(crate) fn looks(program: &Program, plan: &Plan, sizes: &Sizes<'_>) -> BTreeMap<TensorId, f64> {
    let known = Known { program, sizes, computed: BTreeMap::new() };
    Counts::of(&known, plan.root.as_ref()).looks
}

/// The warnings about a program for operands of these sizes, if it takes about `floor` steps or more.
pub fn warnings(
    notation: &notation::Program,
    program: &Program,
    sizes: &Sizes<'_>,
    floor: f64,
) -> Vec<Diagnostic> {
    let mut known = Known { program, sizes, computed: BTreeMap::new() };
    let plans: Vec<Plan> = program.kernels.iter().map(|kernel| plan(program, kernel)).collect();
    let (mut steps, mut work) = (0.0, 0.0);
    let mut hottest: (f64, Option<(&Kernel, Vec<Around<'_>>)>) = (0.0, None);
    let mut found = vec![];
    for (kernel, plan) in program.kernels.iter().zip(&plans) {
        let count = Counts::of(&known, plan.root.as_ref());
        steps += count.steps;
        work += count.work;
        if count.hottest.0 > hottest.0 {
            hottest = (count.hottest.0, Some((kernel, count.hottest.1)));
        }
        let values = values(&known, kernel, &count.written);
        let blamed = Blamed { known: &known, kernel };
        found.extend(dense(&blamed, values, floor, notation));
        known.computed.insert(kernel.result, values);
    }
    let stored = stored(&known);
    if let (_, Some((kernel, path))) = hottest
        && found.is_empty()
        && steps >= floor
        && work >= MANY * stored
    {
        let blamed = Blamed { known: &known, kernel };
        let least = || (work >= LONG * floor).then(|| blamed.product(&path));
        let message = format!("{} steps for {} stored values", about(steps), about(stored));
        let reason = blamed.reason(&path).or_else(least);
        found.extend(reason.map(|reason| reason.told(Code::ManySteps, &message, notation)));
    }
    found
}

/// The number of values of a kernel's result, given the number of writes.
fn values(known: &Known<'_>, kernel: &Kernel, written: &BTreeMap<TensorId, f64>) -> f64 {
    let elements = known.elements(kernel.result);
    let written = written.get(&kernel.result).copied().unwrap_or(0.0);
    match known.program.storage(kernel.result).format.is_full() {
        true => elements,
        false if kernel.accumulates() => distinct(written, elements),
        false => written.min(elements),
    }
}

/// The warning about a result that stores so many values because of its value where operands have no entry.
fn dense(
    blamed: &Blamed<'_>,
    values: f64,
    floor: f64,
    notation: &notation::Program,
) -> Option<Diagnostic> {
    let (known, kernel) = (blamed.known, blamed.kernel);
    let of: f64 = blamed.operands().into_iter().filter_map(|t| known.entries(t)).sum();
    if values < floor || values < LARGE * of {
        return None;
    }
    let name = match known.program.tensors[kernel.result].role {
        Role::Result(_) => known.program.name(kernel),
        _ => "a temporary",
    };
    let message = format!("{name} stores {} values, its operands {}", about(values), about(of));
    Some(blamed.dense(kernel.result)?.told(Code::DenseResult, &message, notation))
}

/// A number as people read it: 74, 90000, 9e8.
fn about(number: f64) -> String {
    if number < 1e6 { format!("{number:.0}") } else { format!("{number:.0e}") }
}

/// The number of values of a program's operands and results.
fn stored(known: &Known<'_>) -> f64 {
    let is_stored =
        |id: &TensorId| matches!(known.program.tensors[*id].role, Role::Input(_) | Role::Result(_));
    let ids = known.program.tensors.enumerate().map(|(id, _)| id).filter(is_stored);
    ids.filter_map(|id| known.entries(id)).sum::<f64>().max(1.0)
}
