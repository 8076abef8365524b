//! The commands of a schedule, and how they are written.
//!
//! ```text
//! split(i, i0, i1, 32); reorder(i0, j, i1)
//! ```

use super::workspace::Kind;
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
    /// A part of a value, computed beforehand into a workspace.
    Precompute {
        /// The part, in index notation.
        value: String,
        /// Loops over which it is computed.
        vars: Vec<String>,
        /// What these are called where it is computed; the same names or new ones.
        own: Vec<String>,
        /// The name of the workspace: a new one, or the result's.
        workspace: String,
        /// How the workspace is stored, if not as fits.
        kind: Option<Kind>,
    },
}

/// How each command is written.
pub(super) const USAGES: [(&str, &str); 2] =
    [("precompute", "precompute(A(i,j) * x(j), j, jw, w)"), ("reorder", "reorder(i, j, k)")];

impl Command {
    /// The name in text.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Reorder { .. } => "reorder",
            Command::Precompute { .. } => "precompute",
        }
    }

    /// The arguments as they are written.
    pub fn args(&self) -> Vec<String> {
        match self {
            Command::Reorder { vars } => vars.clone(),
            Command::Precompute { value, vars, own, workspace, kind } => {
                let mut args = vec![value.clone(), list(vars), list(own), workspace.clone()];
                args.extend(kind.map(|kind| kind.name().to_owned()));
                args
            }
        }
    }

    /// The loops that there have to be before.
    pub fn needs(&self) -> Vec<&str> {
        match self {
            Command::Reorder { vars } | Command::Precompute { vars, .. } => {
                vars.iter().map(String::as_str).collect()
            }
        }
    }

    /// The loops that there are afterwards and were not before.
    pub fn makes(&self) -> Vec<&str> {
        match self {
            Command::Reorder { .. } => vec![],
            Command::Precompute { own, .. } => own.iter().map(String::as_str).collect(),
        }
    }
}

/// One name, or several in parentheses.
fn list(names: &[String]) -> String {
    match names {
        [name] => name.clone(),
        names => format!("({})", names.join(", ")),
    }
}

/// As the text of a schedule has it: `reorder(i, j, k)`.
impl Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.args().join(", "))
    }
}
