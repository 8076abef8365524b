//! A word before it is slow: programs that take far more steps than they have values, and results that store every
//! element because of what they are where operands have none.
//!
//! ```text
//! N(i,j) = A(i,j) / d(i)     IEEE's zeros, A: csr, 30000 x 30000 with 1e5 entries
//!
//! N stores 9e8 values: where A has no entry, `A(i,j) / d(i)` is `0 / d(i)`
//! ```
//!
//! What is counted is the plan that runs, with the sizes of the call; it is weighed as legalisation weighs loops.

mod count;
mod reason;
mod sizes;

use crate::cin::terms::Sizes;
use crate::cin::{Program, Role};
use crate::notation;
use crate::plan::plan;
use count::Count;
use reason::{Blamed, Reason};
use sizes::{Known, distinct};
use std::collections::BTreeMap;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::TensorId;

/// Programs of fewer steps are done before anybody has read about them.
pub const FLOOR: f64 = 1e7;

/// So many multiply-adds for each value that is stored are many: 300, or 1,000 that vectorise.
const MANY: f64 = 300.0;

/// A result of so many elements for each value of its operands is large.
const LARGE: f64 = 1000.0;

/// What a program does for operands of some sizes, about.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Iterations of loops, and steps of searches.
    pub steps: f64,
    /// The values of operands and results.
    pub stored: f64,
}

/// About how many steps a program takes for operands of these sizes, and what is slow about it if it takes at
/// least `floor`.
pub fn warnings(
    notation: &notation::Program,
    program: &Program,
    sizes: &Sizes<'_>,
    floor: f64,
) -> (Steps, Vec<Diagnostic>) {
    let mut known = Known { program, sizes, computed: BTreeMap::new() };
    let (mut steps, mut work) = (0.0, 0.0);
    let mut hottest: Option<(f64, Reason)> = None;
    let mut found = vec![];
    for kernel in &program.kernels {
        let plan = plan(program, kernel);
        let count = Count::of(&known, plan.root.as_ref());
        steps += count.steps;
        work += count.work;
        let blamed = Blamed { known: &known, kernel };
        if hottest.as_ref().is_none_or(|(most, _)| count.hottest.0 > *most) {
            hottest = Some((count.hottest.0, blamed.reason(&count.hottest.1)));
        }
        let result = kernel.result;
        let elements = known.elements(result);
        let values = match program.storage(result).format.is_full() {
            true => elements,
            false => {
                let written = count.written.get(&result).copied().unwrap_or(0.0);
                if kernel.accumulates() {
                    distinct(written, elements)
                } else {
                    written.min(elements)
                }
            }
        };
        let of: f64 = blamed.operands().into_iter().filter_map(|t| known.entries(t)).sum();
        if values >= floor && values >= LARGE * of {
            let name = match program.tensors[result].role {
                Role::Result(_) => program.name(kernel),
                _ => "a temporary",
            };
            let message = format!("{name} stores {values:.0e} values of {of:.0e}");
            let why = blamed.dense(result);
            found.extend(why.map(|why| why.told(Code::DenseResult, &message, notation)));
        }
        known.computed.insert(result, values);
    }
    let stored = stored(&known);
    if let Some((_, reason)) = hottest
        && found.is_empty()
        && steps >= floor
        && work >= MANY * stored
    {
        let message = format!("{steps:.0e} steps for {stored:.0e} stored values");
        found.push(reason.told(Code::ManySteps, &message, notation));
    }
    (Steps { steps, stored }, found)
}

/// The values of a program's operands and results.
fn stored(known: &Known<'_>) -> f64 {
    let is_stored =
        |id: &TensorId| matches!(known.program.tensors[*id].role, Role::Input(_) | Role::Result(_));
    let ids = known.program.tensors.enumerate().map(|(id, _)| id).filter(is_stored);
    ids.filter_map(|id| known.entries(id)).sum::<f64>().max(1.0)
}
