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
mod bound;
mod chosen;
mod command;
mod divide;
mod expression;
mod fuse;
mod gpu;
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

pub use bound::check_dimensions;
pub use chosen::{chosen, have_same_loops};
pub use command::Command;
pub use gpu::heuristics::Found;
pub use gpu::{MOST_THREADS, WARP};
pub use parallelize::not_by_lanes;
pub use parse::parse;
pub use scheduler::computing;
pub use workspace::Kind;

use crate::cin::{Bound, Merge, Program, Races, Unit};
use crate::legalise::Request;
use scheduler::Scheduler;
use std::fmt::{self, Display};
use std::ops::Range;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::TensorId;

/// Commands in order.
///
/// ```
/// use tamis_core::schedule::Schedule;
/// let mut schedule = Schedule::default();
/// schedule.reorder(&["j", "i"])?;
/// assert_eq!(schedule, tamis_core::schedule::parse("reorder(j, i)")?);
/// # Ok::<(), tamis_ir::diagnostic::Diagnostic>(())
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

/// Why a schedule cannot be applied.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What is wrong.
    pub diagnostic: Diagnostic,
    /// The tensor of the notation that the loops cannot read or write as it is stored, if that is all.
    pub storage: Option<TensorId>,
}

impl From<Diagnostic> for Refusal {
    fn from(diagnostic: Diagnostic) -> Refusal {
        Refusal { diagnostic, storage: None }
    }
}

impl From<Refusal> for Diagnostic {
    fn from(refusal: Refusal) -> Diagnostic {
        refusal.diagnostic
    }
}

/// The program as the schedule wants it, with everything else filled in.
pub fn schedule(program: Program, schedule: &Schedule) -> Result<Program, Refusal> {
    let program = match schedule.commands.is_empty() {
        true => program,
        false => Scheduler::run(program, schedule)?,
    };
    let program = accumulate::accumulate(program);
    partial_sums::check(&program, schedule)?;
    Ok(program)
}

/// The program with loops on units of a GPU, and the schedule of each kernel, or why it has none.
pub fn schedule_on_gpu(program: Program, request: &Request<'_>) -> (Program, Vec<Found>) {
    let (program, found) = gpu::heuristics::on_gpu(program, request);
    (accumulate::accumulate(program), found)
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

    /// Whether the first command takes loops apart.
    pub fn begins_apart(&self) -> bool {
        matches!(self.commands().next(), Some(Command::Loopfuse { .. }))
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

    /// Appends `split(..)`.
    pub fn split(
        &mut self,
        var: &str,
        (outer, inner): (&str, &str),
        size: u64,
    ) -> Result<&mut Schedule, Diagnostic> {
        let (outer, inner) = (outer.to_owned(), inner.to_owned());
        self.push(&Command::Split { var: var.to_owned(), outer, inner, size })
    }

    /// Appends `divide(..)`.
    pub fn divide(
        &mut self,
        var: &str,
        (outer, inner): (&str, &str),
        parts: u64,
    ) -> Result<&mut Schedule, Diagnostic> {
        let (outer, inner) = (outer.to_owned(), inner.to_owned());
        self.push(&Command::Divide { var: var.to_owned(), outer, inner, parts })
    }

    /// Appends `fuse(..)`.
    pub fn fuse(
        &mut self,
        (outer, inner): (&str, &str),
        fused: &str,
    ) -> Result<&mut Schedule, Diagnostic> {
        let (outer, inner) = (outer.to_owned(), inner.to_owned());
        self.push(&Command::Fuse { outer, inner, fused: fused.to_owned() })
    }

    /// Appends `pos(..)`: the operand by name, or as it is used: `A(i,j)`.
    pub fn pos(
        &mut self,
        var: &str,
        position: &str,
        operand: &str,
    ) -> Result<&mut Schedule, Diagnostic> {
        let (position, operand) = (position.to_owned(), operand.to_owned());
        self.push(&Command::Pos { var: var.to_owned(), position, operand })
    }

    /// Appends `coord(..)`.
    pub fn coord(&mut self, position: &str, var: &str) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Coord { position: position.to_owned(), var: var.to_owned() })
    }

    /// Appends `bound(..)`.
    pub fn bound(
        &mut self,
        var: &str,
        bounded: &str,
        bound: Bound,
    ) -> Result<&mut Schedule, Diagnostic> {
        let (var, bounded) = (var.to_owned(), bounded.to_owned());
        self.push(&Command::Bound { var, bounded, bound })
    }

    /// Appends `unroll(..)`.
    pub fn unroll(&mut self, var: &str, factor: u64) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Unroll { var: var.to_owned(), factor })
    }

    /// Appends `mergeby(..)`.
    pub fn mergeby(&mut self, var: &str, merge: Merge) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Mergeby { var: var.to_owned(), merge })
    }

    /// Appends `parallelize(..)`.
    pub fn parallelize(
        &mut self,
        var: &str,
        unit: Unit,
        races: Races,
    ) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Parallelize { var: var.to_owned(), unit, races })
    }

    /// Appends `loopfuse(..)`: operands that share no inner loops run apart, so many times over,
    /// beginning with the last operand or this one.
    pub fn loopfuse(
        &mut self,
        times: u64,
        operand: Option<&str>,
    ) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Loopfuse { times, operand: operand.map(str::to_owned) })
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
