//! Schedules: commands in order, each with its location in the text.

use super::command::Command;
use std::fmt::{self, Display};
use std::ops::Range;

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
    /// The text that was parsed.
    pub(super) source: String,
    pub(super) commands: Vec<Placed>,
}

/// A command and its location in the text.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) command: Command,
    pub(super) span: Range<usize>,
    pub(super) args: Vec<Range<usize>>,
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

    /// Whether some command changes how loops run, other than distributing them over ranks.
    pub fn shapes_loops(&self) -> bool {
        let of_ranks = |command: &Command| {
            matches!(command, Command::Distribute { .. } | Command::Communicate { .. })
        };
        !self.commands().all(of_ranks)
    }

    /// Whether commands leave the loops open: they only say which parts are precomputed.
    pub fn leave_loops(&self) -> bool {
        let beforehand = |command: &Command| {
            matches!(command, Command::Loopfuse { .. } | Command::Precompute { .. })
        };
        self.commands().all(beforehand)
    }

    /// Whether commands name parts of values.
    pub fn names_values(&self) -> bool {
        self.commands().any(|command| matches!(command, Command::Precompute { .. }))
    }

    /// Whether the first command splits loops.
    pub fn begins_apart(&self) -> bool {
        matches!(self.commands().next(), Some(Command::Loopfuse { .. }))
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
