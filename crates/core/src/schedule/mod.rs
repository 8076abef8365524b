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
mod command;
mod expression;
mod nest;
mod parse;
mod precompute;
mod reorder;
mod scheduler;
mod sums;
mod way;
mod workspace;

pub use command::Command;
pub use parse::parse;
pub use workspace::Kind;

use crate::cin::Program;
use crate::diagnostic::{Code, Diagnostic};
use scheduler::Scheduler;
use std::fmt::{self, Display};
use std::ops::Range;

/// Commands in order.
///
/// ```
/// use tamis_core::schedule::Schedule;
/// let mut schedule = Schedule::default();
/// schedule.reorder(&["j", "i"])?;
/// assert_eq!(schedule, tamis_core::schedule::parse("reorder(j, i)")?);
/// # Ok::<(), tamis_core::diagnostic::Diagnostic>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Schedule {
    /// The text that was read.
    source: String,
    commands: Vec<Placed>,
}

/// A command and where it stands in the text.
#[derive(Clone, Debug)]
struct Placed {
    command: Command,
    span: Range<usize>,
    args: Vec<Range<usize>>,
}

/// The program as the schedule wants it, with everything else filled in.
pub fn schedule(program: Program, schedule: &Schedule) -> Result<Program, Diagnostic> {
    let program = match schedule.commands.is_empty() {
        true => program,
        false => Scheduler::run(program, schedule)?,
    };
    let program = accumulate::accumulate(program);
    sums::check(&program, schedule)?;
    Ok(program)
}

impl Schedule {
    /// The commands.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.commands.iter().map(|placed| &placed.command)
    }

    /// Whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Appends a command; a name or number that could not be written is refused.
    pub fn push(&mut self, command: &Command) -> Result<&mut Schedule, Diagnostic> {
        let separator = if self.is_empty() { "" } else { "; " };
        let longer = parse(&format!("{self}{separator}{command}"))?;
        if longer.commands().last() != Some(command) {
            let message = format!("{command} cannot be written as a command");
            return Err(Diagnostic::new(Code::Syntax, message)
                .help("names are letters, digits and underscores"));
        }
        *self = longer;
        Ok(self)
    }

    /// Appends `reorder(..)`.
    pub fn reorder(&mut self, vars: &[&str]) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Reorder { vars: vars.iter().map(|&v| v.to_owned()).collect() })
    }

    /// Appends `precompute(..)`: a part of a value over some loops, the names that these have where
    /// it is computed, and the workspace.
    pub fn precompute(
        &mut self,
        value: &str,
        vars: &[&str],
        own: &[&str],
        workspace: &str,
        kind: Option<Kind>,
    ) -> Result<&mut Schedule, Diagnostic> {
        let list = |names: &[&str]| names.iter().map(|&v| v.to_owned()).collect();
        let (vars, own) = (list(vars), list(own));
        let (value, workspace) = (value.to_owned(), workspace.to_owned());
        self.push(&Command::Precompute { value, vars, own, workspace, kind })
    }
}

/// Schedules are equal if their commands are, however they are written.
impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.commands().eq(other.commands())
    }
}

/// Commands separated by `; `: reading the text gives the schedule back.
impl Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, command) in self.commands().enumerate() {
            write!(f, "{}{command}", if k == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}
