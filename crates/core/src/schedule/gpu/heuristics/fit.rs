//! How much of a kernel a GPU runs by a schedule.
//!
//! ```text
//! parallelize(i, gpu_block, no_races); parallelize(j, gpu_thread, no_races)
//!
//! j merges two operands, which one thread does:       parallelize(i, gpu_block, no_races)
//! ```

use crate::cin::Program;

/// How much of a kernel a GPU runs as a schedule says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fit {
    /// All of it.
    Whole,
    /// Parts run on the host.
    PartOnHost,
    /// No unit runs a loop that one was to run.
    Serial {
        /// The loop.
        var: String,
        /// Why not.
        why: &'static str,
    },
}

/// Tells how much of the only kernel of a program a GPU runs as its loops say.
pub type Runs<'r> = dyn Fn(&Program) -> Fit + 'r;

/// A schedule without the command that has a unit run a loop, if others have one.
pub(super) fn without_unit(text: &str, var: &str) -> Option<String> {
    let own = format!("parallelize({var},");
    let all: Vec<&str> = text.split("; ").collect();
    let rest: Vec<&str> = all.iter().copied().filter(|c| !c.starts_with(&own)).collect();
    let blocks = rest.iter().any(|command| command.contains("gpu_block"));
    (rest.len() < all.len() && blocks).then(|| rest.join("; "))
}
