//! Refusals of schedule commands that the generated code does not carry out.
//!
//! ```text
//! unroll(j, 4)      C(i,j) = A(i,j) * B(i,j), csr      refused: the loop over j merges two operands
//! ```

use super::command::Command;
use super::list::Schedule;
use crate::cin::{Assembling, MergeStrategy, ParallelUnit};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// A request of a schedule about a loop, or about the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Unroll the loop.
    Unrolled,
    /// Distribute the loop over ranks.
    OnRanks,
    /// Run the iterations on a unit.
    On(ParallelUnit),
    /// Gallop.
    Gallop,
    /// Assemble the result in this way.
    Assembled(Assembling),
}

/// Refuses a schedule if it has this request: the loop has the first of these names, and was derived from loops with
/// the other names.
pub fn refuse_dropped(
    schedule: &Schedule,
    names: &[String],
    wanted: Wanted,
    why: &str,
) -> Result<(), Diagnostic> {
    let own = |c: &Command| {
        wanted.is_of(c) && c.needs().iter().all(|name| names.iter().any(|own| own == name))
    };
    let Some(placed) = schedule.commands.iter().rev().find(|placed| own(&placed.command)) else {
        return Ok(());
    };
    let (message, help) = wanted.refused(&names[0], why);
    let diagnostic = Diagnostic::new(Code::UnsupportedSchedule, message).help(help);
    Err(diagnostic.at(&schedule.source, placed.args[0].clone()))
}

impl Wanted {
    fn is_of(self, command: &Command) -> bool {
        match (self, command) {
            (Wanted::On(own), Command::Parallelize { unit, .. }) => own == *unit,
            (Wanted::OnRanks, Command::Distribute { .. }) => true,
            (Wanted::Assembled(own), Command::Assemble { how, .. }) => own == *how,
            (Wanted::Gallop, Command::Mergeby { merge, .. }) => *merge == MergeStrategy::Gallop,
            (wanted, Command::Unroll { .. }) => wanted == Wanted::Unrolled,
            _ => false,
        }
    }

    /// What cannot be done, and what to do instead.
    fn refused(self, name: &str, why: &str) -> (String, &'static str) {
        match self {
            Wanted::Unrolled => (
                format!("the loop over {name} cannot be unrolled: {why}"),
                "unroll a loop over a dimension or over the entries of one operand, or leave unroll out",
            ),
            Wanted::OnRanks => (
                format!("ranks cannot share the loop over {name}: {why}"),
                "name the outermost loop, over coordinates of the result or over positions of an operand \
                 that is stored in order, or another loop over a mode of the result, or leave distribute out: \
                 ranks then share what they can",
            ),
            Wanted::Gallop => (
                format!("nothing is searched in the loop over {name}: {why}"),
                "name a loop over coordinates that several operands have to have, or leave gallop out",
            ),
            Wanted::Assembled(how) => (
                format!("{name} is not assembled by {}: {why}", how.name()),
                match how {
                    Assembling::Append => {
                        "run the loops in the order in which it is stored, or choose insert, or leave \
                         assemble out"
                    }
                    Assembling::Insert => {
                        "choose loops that come to each entry once, as over the entries of one operand, or \
                         append, or leave assemble out"
                    }
                },
            ),
            Wanted::On(ParallelUnit::CpuVector) => (
                format!("vector lanes cannot run the loop over {name}: {why}"),
                "choose a loop over the last mode of what is stored dense, with reorder, split or \
                 precompute first, or leave cpu_vector out",
            ),
            Wanted::On(unit) => {
                let message = format!("{} cannot run the loop over {name}: {why}", unit.name());
                let help = match unit {
                    ParallelUnit::Gpu(_) => {
                        "choose a loop over coordinates of the result, or over the positions of one \
                         operand, or leave this one to run in order"
                    }
                    _ => "choose another loop or another format, or leave cpu_thread out",
                };
                (message, help)
            }
        }
    }
}
