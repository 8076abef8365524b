//! How much of a kernel runs on a GPU by a schedule.
//!
//! ```text
//! parallelize(i, gpu_block, no_races); parallelize(j, gpu_thread, no_races)
//!
//! the loop over j merges two operands in one thread:       parallelize(i, gpu_block, no_races)
//! ```

use crate::cin::Program;

/// How much of a kernel runs on a GPU by its schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fit {
    /// All of it.
    Whole,
    /// Parts run on the host.
    PartOnHost,
    /// A loop stays serial although a unit should run it.
    Serial {
        /// The loop.
        var: String,
        /// Why not.
        why: &'static str,
    },
}

/// Tells how much of a program's only kernel runs on a GPU.
pub type Runs<'r> = dyn Fn(&Program) -> Fit + 'r;

/// A schedule without the command that runs a loop on a unit, if other loops still have units.
pub(super) fn without_unit(text: &str, var: &str) -> Option<String> {
    let own = format!("parallelize({var},");
    let all: Vec<&str> = text.split("; ").collect();
    let rest: Vec<&str> = all.iter().copied().filter(|c| !c.starts_with(&own)).collect();
    let blocks = rest.iter().any(|command| command.contains("gpu_block"));
    (rest.len() < all.len() && blocks).then(|| rest.join("; "))
}
