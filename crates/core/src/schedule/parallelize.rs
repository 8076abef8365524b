//! `parallelize(i, unit, races)`: the unit that runs the iterations of a loop, and how races on elements are resolved.
//!
//! ```text
//! forall(i0, forall(i1, forall(j, y(i) += A(i,j) * x(j))))      i0: every y(i) belongs to one iteration
//! forall(p0, forall(p1, y(i) += A(i,j) * x(j)))                 p0: a row may belong to several
//! ```
//!
//! A loop races if its variable does not follow from the written coordinates: there is a reduction that the parallel
//! loop dominates (sparse iteration space transformations, section 6.3). Workspaces inside the loop belong to one
//! iteration each.

use super::scheduler::Scheduler;
use crate::cin::{ParallelUnit, Races};
use crate::notation::Access;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::IndexVar;

pub(super) fn parallelize(
    s: &mut Scheduler<'_>,
    name: &str,
    unit: ParallelUnit,
    races: Races,
) -> Result<(), Diagnostic> {
    let var = s.loop_var(0, name)?;
    let threads = unit == ParallelUnit::CpuThread && races == Races::NoRaces;
    if threads && let Some(lhs) = raced(s, var) {
        let element = crate::cin::print::access(&s.program, &lhs);
        let message = match lhs.indices.is_empty() {
            true => format!("every iteration of {name} may add to {element}"),
            false => format!(
                "several iterations of {name} may add to the same {element}: {name} does not \
                 follow from its coordinates"
            ),
        };
        let help = "choose atomics, temporary or parallel_reduction, or a loop over coordinates \
                    of the result";
        let help = match s.loops_of_kernels() {
            Some(all) => format!("{help}; or name a loop that only another kernel has: {all}"),
            None => help.to_owned(),
        };
        return Err(s.refuse(2, message, help));
    }
    if unit == ParallelUnit::CpuVector
        && let Some((&other, _)) = s.kernel().tags.iter().find(|(_, tag)| tag.is_by_lanes())
        && other != var
    {
        let message = format!("vector lanes run the loop over {} already", s.name(other));
        return Err(s.refuse(0, message, "choose one loop of the kernel for them".to_owned()));
    }
    s.check_unsaid(0, var, |tag| tag.parallel.is_some(), "what runs")?;
    if unit == ParallelUnit::CpuThread
        && let Some((&other, _)) = s.kernel().tags.iter().find(|(_, tag)| tag.is_on_threads())
    {
        let message = format!("threads run the loop over {} already", s.name(other));
        return Err(s.refuse(0, message, "choose one loop of the kernel for them".to_owned()));
    }
    s.kernel_mut().tags.entry(var).or_default().parallel = Some((unit, races));
    Ok(())
}

/// Refuses threads and vectors beside loops on a GPU.
pub(super) fn check_threads(s: &Scheduler<'_>) -> Result<(), Diagnostic> {
    let threads =
        |unit: ParallelUnit| matches!(unit, ParallelUnit::CpuThread | ParallelUnit::CpuVector);
    let mut units = s.kernel().tags.values().filter_map(|tag| tag.parallel);
    if s.kernel().is_for_gpu() && units.any(|(unit, _)| threads(unit)) {
        let message = "some loops of the kernel are for a processor and some for a GPU";
        let help = "use cpu_thread and cpu_vector, or gpu_block, gpu_warp and gpu_thread";
        return Err(s.refuse(1, message.to_owned(), help.to_owned()));
    }
    Ok(())
}

/// The element that several iterations of a loop may write: of the result, or of a workspace from outside.
fn raced(s: &Scheduler<'_>, var: IndexVar) -> Option<Access> {
    let mut found = None;
    super::nest::assignments_within(&s.kernel().body, var, &mut |lhs, inside| {
        let follows = s.program.derived.follows(var, &lhs.indices);
        if !follows && !inside {
            found.get_or_insert(lhs.clone());
        }
    });
    found
}
