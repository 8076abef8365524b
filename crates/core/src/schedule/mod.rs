//! Schedules: how the loops of a kernel run, as commands that rewrite concrete index notation.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))        reorder(j, i)
//!
//! forall(j, forall(i, y(i) += A(i,j) * x(j)))
//! ```
//!
//! Each command is a file and a rewrite that checks its precondition first; what the schedule
//! leaves open, such as registers for sums, is filled in afterwards. A schedule is for one kernel:
//! the last one with loops over all the variables that the schedule names. Sparse iteration space
//! transformations (Senanayake et al.) defines most commands, sparse tensor algebra with
//! workspaces (Kjolstad et al.) `precompute`.

mod accumulate;
mod apply;
mod assemble;
pub(crate) mod bound;
mod build;
mod carried_out;
mod chosen;
mod command;
mod distribute;
mod divide;
pub(crate) mod expression;
mod fuse;
mod gpu;
mod list;
mod long_sums;
mod loopfuse;
mod mergeby;
mod nest;
mod parallelize;
mod parse;
mod partial_sums;
mod path;
mod position;
mod precompute;
mod recover;
mod reorder;
mod scheduler;
mod split;
mod unroll;
mod workspace;

pub use apply::Refusal;
pub use bound::check_dimensions;
pub use carried_out::{Wanted, refuse_dropped};
pub use chosen::{chosen, have_same_loops};
pub use command::{Command, WorkspaceKind};
pub use gpu::heuristics::{Fit, Found, Runs};
pub use gpu::{MOST_THREADS, WARP};
pub use list::Schedule;
pub use parse::parse;
pub use scheduler::computing;

use crate::cin::Program;
use crate::legalise::{Request, Statistics};

/// Applies a schedule, and makes the remaining choices, for operands of about these sizes.
pub fn schedule(
    program: Program,
    schedule: &Schedule,
    sizes: &Statistics,
) -> Result<Program, Refusal> {
    let program = match schedule.is_empty() {
        true => program,
        false => apply::apply(program, schedule, sizes)?,
    };
    let program = accumulate::accumulate(program);
    partial_sums::check(&program, schedule)?;
    Ok(program)
}

/// The program with loops on units of a GPU, and for each kernel its schedule or why it has none; `runs` tells whether
/// a GPU can run it.
pub fn schedule_on_gpu(
    program: Program,
    request: &Request<'_>,
    runs: &Runs<'_>,
) -> (Program, Vec<Found>) {
    let (program, found) = gpu::heuristics::on_gpu(program, request, runs);
    (accumulate::accumulate(program), found)
}
