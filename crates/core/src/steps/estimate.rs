//! How often the loops of each kernel iterate and how large its result is, about, before anything runs.
//!
//! ```text
//! y(i) = A(i,j) * x(j)     A: csr, 1000 x 1000 with 5000 entries
//!
//! i 1000 iterations, j of A 5000; y has 1000 values, 8000 bytes
//! ```

use super::count::Counts;
use super::sizes::Known;
use super::values;
use crate::cin::Program;
use crate::cin::terms::Sizes;
use crate::plan::plan;
use std::collections::BTreeMap;
use tamis_ir::ids::{IndexVar, TensorId};

/// What a kernel does, about.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Iterations of loops and steps of searches.
    pub steps: f64,
    /// The loops as the plan has them, each once: those of several cases count together.
    pub loops: Vec<LoopEstimate>,
    /// How many values the result stores.
    pub values: f64,
    /// The bytes of the result's arrays.
    pub bytes: f64,
}

/// A loop of a plan.
#[derive(Clone, Debug)]
pub struct LoopEstimate {
    /// Its variable.
    pub var: IndexVar,
    /// How many loops are around it.
    pub depth: usize,
    /// The variable of the innermost of them.
    pub within: Option<IndexVar>,
    /// The tensors whose coordinates it visits; none where it visits every coordinate.
    pub drivers: Vec<TensorId>,
    /// How often it iterates.
    pub iterations: f64,
}

/// What each kernel of a program does for operands of these sizes.
pub fn estimates(program: &Program, sizes: &Sizes<'_>) -> Vec<Estimate> {
    let mut known = Known { program, sizes, computed: BTreeMap::new() };
    let mut estimates = vec![];
    for kernel in &program.kernels {
        let plan = plan(program, kernel);
        let count = Counts::of(&known, plan.root.as_ref());
        let values = values(&known, kernel, &count.written);
        let (steps, loops) = (count.steps, loops(&count));
        known.computed.insert(kernel.result, values);
        estimates.push(Estimate { steps, loops, values, bytes: known.bytes(kernel.result) });
    }
    estimates
}

/// The loops that were counted, one for each variable and loop around it.
fn loops(count: &Counts<'_, '_>) -> Vec<LoopEstimate> {
    let mut loops: Vec<LoopEstimate> = vec![];
    for counted in &count.loops {
        let (var, depth, within) = (counted.nest.own, counted.depth, counted.within);
        let known = loops.iter().position(|known| (known.var, known.within) == (var, within));
        let at = known.unwrap_or_else(|| {
            loops.push(LoopEstimate { var, depth, within, drivers: vec![], iterations: 0.0 });
            loops.len() - 1
        });
        loops[at].iterations += counted.count;
        for driver in &counted.nest.drivers {
            if !loops[at].drivers.contains(&driver.access.tensor) {
                loops[at].drivers.push(driver.access.tensor);
            }
        }
    }
    loops
}
