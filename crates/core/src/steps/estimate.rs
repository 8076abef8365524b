//! Estimates, before a run, of the trip counts of each kernel's loops and of the size of its result.
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

/// The estimates for a kernel.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Iterations of loops, and steps of searches.
    pub steps: f64,
    /// The loops of the plan, each once: the copies in several cases count together.
    pub loops: Vec<LoopEstimate>,
    /// The number of values that the result stores.
    pub values: f64,
    /// The bytes of the result's arrays.
    pub bytes: f64,
}

/// A loop of a plan.
#[derive(Clone, Debug)]
pub struct LoopEstimate {
    /// Its variable.
    pub var: IndexVar,
    /// The number of loops around it.
    pub depth: usize,
    /// The variable of the innermost loop around it.
    pub within: Option<IndexVar>,
    /// The tensors that drive the loop; none if it visits every coordinate.
    pub drivers: Vec<TensorId>,
    /// The number of iterations.
    pub iterations: f64,
}

/// The estimates for each kernel of a program, with operands of these sizes.
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

/// The counted loops, one for each variable and surrounding loop.
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
