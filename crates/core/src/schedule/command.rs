//! The commands of a schedule, and how they are written.
//!
//! ```text
//! split(i, i0, i1, 32); reorder(i0, j, i1)
//! ```

use std::fmt::{self, Display};

/// One command. Variables and tensors are named as in the text of the program, or as earlier
/// commands name them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Directly nested loops in a new order, outermost first.
    Reorder {
        /// The new order.
        vars: Vec<String>,
    },
}

/// How each command is written.
pub(super) const USAGES: [(&str, &str); 1] = [("reorder", "reorder(i, j, k)")];

impl Command {
    /// The name in text.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Reorder { .. } => "reorder",
        }
    }

    /// The arguments as they are written.
    pub fn args(&self) -> Vec<String> {
        match self {
            Command::Reorder { vars } => vars.clone(),
        }
    }

    /// The loops that there have to be before.
    pub fn needs(&self) -> Vec<&str> {
        match self {
            Command::Reorder { vars } => vars.iter().map(String::as_str).collect(),
        }
    }

    /// The loops that there are afterwards and were not before.
    pub fn makes(&self) -> Vec<&str> {
        match self {
            Command::Reorder { .. } => vec![],
        }
    }
}

/// As the text of a schedule has it: `reorder(i, j, k)`.
impl Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.args().join(", "))
    }
}
