//! Requests of a schedule that the code of a kernel does not carry out.
//!
//! ```text
//! unroll(j, 4)            C(i,j) = A(i,j) * B(i,j), csr      two operands are merged: the loop is not counted
//! mergeby(j, gallop)      C(i,j) = A(i,j) + B(i,j), csr      each coordinate of both is visited
//! distribute(j, jo, ji, x)      y(i) = A(i,j) * x(j), csr    j is not the outermost loop, and not a mode of y
//! ```
//!
//! Most of these are known only from the code, so they are found here; [`crate::pipeline`] refuses them if they come
//! from a command of the user.

use super::gpu::parallel::Serial;
use crate::cin::{Assembling, Kernel, MergeStrategy, OnRanks, ParallelUnit, Program, Tag};
use crate::plan::distribution::{Asked, Distribution, NOT_SHARED, distribution, sliced_mode};
use crate::plan::{self, NotCut, Output, Plan, Rest};
use crate::schedule::Wanted;
use std::collections::BTreeSet;
use tamis_ir::ids::IndexVar;

/// A request of a schedule about a loop, or about the result, that the code does not carry out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// The loop's variable and the variables it was derived from, or the name of the result.
    pub names: Vec<String>,
    /// The request.
    pub wanted: Wanted,
    /// Why it is not carried out, in words.
    pub why: &'static str,
}

const UNCOUNTED: &str = "it merges or searches what operands store, and counts no iterations";

/// The requests that a kernel drops, given which of its loops are not counted, and, if the host does not run it, which
/// run on no unit of a GPU.
pub(super) fn dropped(
    (program, kernel): (&Program, &Kernel),
    plan: &Plan,
    (uncounted, on_host): (&BTreeSet<IndexVar>, bool),
    serial: &Serial,
) -> Vec<Dropped> {
    let mut found: Vec<Dropped> = vec![];
    let names = |var: IndexVar| names(program, var);
    found.extend(not_on_ranks((program, kernel)));
    for &(var, why) in serial {
        let unit = kernel.tags[&var].parallel.map(|(unit, _)| unit);
        let wanted = unit.map(Wanted::On);
        found.extend(wanted.map(|wanted| Dropped { names: names(var), wanted, why }));
    }
    if let (Some(how), Some(why)) = (kernel.assembly.wanted, assembled_else(kernel, plan)) {
        let names = vec![program.tensors[kernel.result].name.clone()];
        found.push(Dropped { names, wanted: Wanted::Assembled(how), why });
    }
    for (&var, tag) in &kernel.tags {
        let counts = !uncounted.contains(&var);
        let mut add = |wanted, why| found.push(Dropped { names: names(var), wanted, why });
        if !counts && tag.unroll.is_some() {
            add(Wanted::Unrolled, UNCOUNTED);
        }
        match tag.parallel {
            Some((unit @ ParallelUnit::Gpu(_), _)) if !counts && !on_host => {
                add(Wanted::On(unit), UNCOUNTED)
            }
            Some((unit @ ParallelUnit::CpuThread, _)) => {
                let why = whole((program, kernel), plan);
                why.into_iter().for_each(|why| add(Wanted::On(unit), why.reason()));
            }
            _ => {}
        }
        let why = unsearched(plan, var, tag);
        why.into_iter().for_each(|why| add(Wanted::Gallop, why));
    }
    found
}

/// The names of a variable and of those it was derived from.
fn names(program: &Program, var: IndexVar) -> Vec<String> {
    let all = std::iter::once(var).chain(program.derived.ancestors(var));
    all.map(|v| program.vars[v].clone()).collect()
}

/// How a result is assembled, if a schedule wants it otherwise.
fn assembled_else(kernel: &Kernel, plan: &Plan) -> Option<&'static str> {
    const PLACED: &str = "its entries have positions before they are written";
    let rest = match &plan.output {
        Output::Assemble(assembly) => assembly.rest,
        Output::InPlace | Output::Insert | Output::SharedStructure => {
            return (kernel.assembly.wanted == Some(Assembling::Append)).then_some(PLACED);
        }
    };
    match (kernel.assembly.wanted?, rest) {
        (Assembling::Append, Rest::CoordinateBuffer) => {
            Some("its entries come in another order, and are listed and sorted")
        }
        (Assembling::Append, rest) if rest.is_in_two_passes() => Some(PLACED),
        (Assembling::Insert, rest) if rest.is_in_two_passes() => None,
        (Assembling::Append, _) => None,
        (Assembling::Insert, Rest::CoordinateBuffer) => {
            Some("its entries come several times, or cannot be counted, and are listed and sorted")
        }
        (Assembling::Insert, Rest::Accumulator | Rest::PositionAccumulator) => {
            Some("its entries are gathered, and appended from there")
        }
        (Assembling::Insert, _) => Some("its entries are appended"),
    }
}

/// Why threads do not share the iterations of a loop although a schedule asks for it. A kernel that runs on one thread
/// is treated as if it did not, so that a schedule is refused everywhere or nowhere.
fn whole((program, kernel): (&Program, &Kernel), plan: &Plan) -> Option<NotCut> {
    match &plan.parts {
        Ok(partition) if partition.asked => None,
        Ok(_) => Some(NotCut::Apart),
        Err(NotCut::NotAsked) if !kernel.cut.chunked => {
            let kernel = in_parts(kernel);
            whole((program, &kernel), &plan::plan(program, &kernel))
        }
        Err(why) => Some(*why),
    }
}

/// The kernel, called for parts.
fn in_parts(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.cut.chunked = true;
    kernel
}

/// Why ranks do not share the loops that a schedule distributes, whether or not threads share them.
fn not_on_ranks((program, kernel): (&Program, &Kernel)) -> Option<Dropped> {
    if kernel.cut.ranks.is_empty() {
        return None;
    }
    let kernel = &in_parts(kernel);
    let plan = plan::plan(program, kernel);
    let Asked { cut, sliced } = Asked::of(program, kernel, &plan);
    let dropped = |asked: &OnRanks, why: &'static str| {
        let (names, wanted) = (names(program, asked.inner), Wanted::OnRanks);
        Some(Dropped { names, wanted, why })
    };
    let is_kept = |asked: &&OnRanks| sliced_mode(program, kernel, asked).is_some();
    if let Some(asked) = sliced.into_iter().find(|asked| !is_kept(asked)) {
        return dropped(asked, NOT_SHARED);
    }
    match distribution(program, kernel, &plan) {
        Distribution::Everywhere(why) => cut.and_then(|asked| dropped(asked, why)),
        Distribution::Parts { .. } | Distribution::Combined { .. } => None,
    }
}

/// Why no loop over a variable gallops although a schedule asks for it.
fn unsearched(plan: &Plan, var: IndexVar, tag: &Tag) -> Option<&'static str> {
    let (Some(MergeStrategy::Gallop), Some(root)) = (tag.merge, &plan.root) else { return None };
    let loops = root.loops_over(var);
    match loops.iter().map(|nest| nest.drivers.len()).max().unwrap_or(0) {
        _ if loops.iter().any(|nest| nest.gallops()) => None,
        0 | 1 => Some("it does not merge what several operands store"),
        _ => Some("it looks at every coordinate of each operand that it merges"),
    }
}
