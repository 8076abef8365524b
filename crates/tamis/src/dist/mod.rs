//! Programs on several processes, each of which has a part of the tensors.
//!
//! Each rank calls [`Kernel::run_distributed`](crate::Kernel::run_distributed) with its parts. The loop that a
//! processor's threads would share is cut into a part for each rank; what a rank reads of other operands follows
//! from the plan of the kernel ([`distribution`](tamis_core::plan::distribution)), and only that is sent. (Papers: DISTAL and
//! SpDISTAL, on distributions by coordinates, images and preimages.)
//!
//! | module | what it does |
//! |---|---|
//! | `tensor` | which rank has what of a tensor |
//! | `placement` `grid` | where users want it; the ranks by name |
//! | `sliced` `slicing` | tensors in slices, each of a group of ranks; programs that run on these |
//! | `coords` | sets of coordinates that ranks ask for |
//! | `wire` | these, and entries, as bytes |
//! | `fetch` | requests and replies |
//! | `work` | where ranks begin, and what each needs |
//! | `run` | the part of each rank |
//! | `positions` | parts of positions, of whole rows |
//! | `combine` | parts of sums, combined in their order |
//! | `forecast` | what ranks would send, without running them |
//! | `tasks` | parts on tensors of their own, for task graphs |

mod combine;
mod coords;
mod fetch;
mod forecast;
mod grid;
mod placement;
mod positions;
mod run;
mod sliced;
mod slicing;
mod tasks;
mod tensor;
mod wire;
mod work;

pub(crate) use fetch::Requests;
pub use forecast::{Forecast, Network, Run, Sent, Share};
pub use grid::{Grid, placements};
pub use placement::{Placement, Placements, format_of};
pub(crate) use slicing::Slicing;
pub use tamis_dist::{
    Communicator, Counted, Counts, GroupWork, Mpi, agree, grouped, on_threads, phase, same,
};
pub use tasks::{Described, Pieces, Tasks, piece};
pub use tensor::Distributed;

use crate::Results;
use tamis_ir::diagnostic::Diagnostic;

/// Results with all of their elements, on every rank.
///
/// # Errors
/// When they do not fit in the memory of a rank.
pub fn gathered(
    comm: &dyn Communicator,
    results: &Results<Distributed>,
) -> Result<Results, Diagnostic> {
    let whole = results.iter().map(|(name, result)| Ok((name.clone(), result.gather(comm)?)));
    Ok(Results::new(whole.collect::<Result<_, Diagnostic>>()?))
}
