//! The commands of a schedule, and their syntax.
//!
//! ```text
//! split(i, i0, i1, 32); reorder(i0, j, i1)
//! ```

use crate::cin::{Assembling, BoundType, MergeStrategy, ParallelUnit, Races};
use crate::level::{BITMAP, DENSE, HASHED_WORKSPACE, LISTED, LevelKind};
use std::fmt::{self, Display};

/// A command. Variables and tensors have the names of the program's text, or names that earlier commands made; a name
/// that a command makes is new.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// How the entries of a result get their positions.
    Assemble {
        /// The result.
        tensor: String,
        /// The kind of assembly.
        how: Assembling,
    },
    /// A loop whose trip count is promised.
    Bound {
        /// The loop.
        var: String,
        /// The new loop.
        bounded: String,
        /// The promise.
        bound: BoundType,
    },
    /// When ranks get the elements of a tensor that they need.
    Communicate {
        /// The operand, or the result.
        tensor: String,
        /// The loop over ranks.
        outer: String,
    },
    /// A loop over positions becomes one over their coordinates.
    Coord {
        /// The loop.
        position: String,
        /// The new loop.
        var: String,
    },
    /// Each rank runs a part of a loop.
    Distribute {
        /// The loop.
        var: String,
        /// The loop over ranks.
        outer: String,
        /// The loop within a part.
        inner: String,
        /// The axis of the grid of ranks.
        axis: String,
    },
    /// A loop as one over a number of parts, and one within a part.
    Divide {
        /// The loop.
        var: String,
        /// The loop over parts.
        outer: String,
        /// The loop within a part.
        inner: String,
        /// The number of parts.
        parts: u64,
    },
    /// Two directly nested loops become one.
    Fuse {
        /// The outer loop.
        outer: String,
        /// The inner loop.
        inner: String,
        /// The new loop.
        fused: String,
    },
    /// Loops that operands do not share become separate loops.
    Loopfuse {
        /// How many times.
        times: u64,
        /// The operand that is split off first, if not the last one.
        operand: Option<String>,
    },
    /// How a loop merges its operands.
    Mergeby {
        /// The loop.
        var: String,
        /// The strategy.
        merge: MergeStrategy,
    },
    /// The unit that runs the iterations of a loop.
    Parallelize {
        /// The loop.
        var: String,
        /// The unit.
        unit: ParallelUnit,
        /// How races on elements are resolved.
        races: Races,
    },
    /// A loop over coordinates becomes one over the positions of an operand.
    Pos {
        /// The loop.
        var: String,
        /// The new loop.
        position: String,
        /// The operand: its name, or its use.
        operand: String,
    },
    /// A part of a value is computed beforehand into a workspace.
    Precompute {
        /// The part, in index notation.
        value: String,
        /// Loops over which it is computed.
        vars: Vec<String>,
        /// The names of these loops where the part is computed; the same names, or new ones.
        own: Vec<String>,
        /// The name of the workspace: a new one, or the result's.
        workspace: String,
        /// The kind of workspace, if not the default.
        kind: Option<WorkspaceKind>,
    },
    /// Directly nested loops get a new order, outermost first.
    Reorder {
        /// The new order.
        vars: Vec<String>,
    },
    /// A loop becomes one over tiles of a size, and one within a tile.
    Split {
        /// The loop.
        var: String,
        /// The loop over tiles.
        outer: String,
        /// The loop within a tile.
        inner: String,
        /// The number of coordinates or positions of a tile.
        size: u64,
    },
    /// A loop is unrolled.
    Unroll {
        /// The loop.
        var: String,
        /// The unroll factor.
        factor: u64,
    },
}

/// How a workspace stores its modes: `Hashed` applies to all modes, other kinds to the last one, with the others
/// dense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkspaceKind {
    /// Every element.
    Dense,
    /// Every element, with a mask and a list of written elements.
    Listed,
    /// Every element, with a mask of written elements.
    Bitmap,
    /// A hash table of written elements.
    Hashed,
}

impl WorkspaceKind {
    /// Every kind.
    pub const ALL: [WorkspaceKind; 4] =
        [WorkspaceKind::Dense, WorkspaceKind::Listed, WorkspaceKind::Bitmap, WorkspaceKind::Hashed];

    /// The name in commands.
    pub fn name(self) -> &'static str {
        self.level().name()
    }

    /// The level formats for this number of modes.
    pub(super) fn levels(self, modes: usize) -> Vec<LevelKind> {
        let kind = self.level();
        let above = if self == WorkspaceKind::Hashed { kind } else { DENSE };
        (1..=modes).map(|mode| if mode == modes { kind } else { above }).collect()
    }

    fn level(self) -> LevelKind {
        match self {
            WorkspaceKind::Dense => DENSE,
            WorkspaceKind::Listed => LISTED,
            WorkspaceKind::Bitmap => BITMAP,
            WorkspaceKind::Hashed => HASHED_WORKSPACE,
        }
    }
}

/// The syntax of each command.
pub(super) const USAGES: [(&str, &str); 15] = [
    ("assemble", "assemble(C, insert), or append"),
    ("bound", "bound(k, kb, 32, max_exact), or max_constraint"),
    ("communicate", "communicate(B, io)"),
    ("coord", "coord(p, i)"),
    ("distribute", "distribute(i, io, ii, x)"),
    ("divide", "divide(i, i0, i1, 4)"),
    ("fuse", "fuse(i, j, f)"),
    ("loopfuse", "loopfuse(1), or loopfuse(1, E(j,l))"),
    ("mergeby", "mergeby(i, gallop), or two_finger"),
    ("parallelize", "parallelize(i0, cpu_thread, no_races)"),
    ("pos", "pos(j, p, A)"),
    ("precompute", "precompute(A(i,j) * x(j), j, jw, w)"),
    ("reorder", "reorder(i, j, k)"),
    ("split", "split(i, i0, i1, 32)"),
    ("unroll", "unroll(i1, 4)"),
];

/// The name of a promised bound.
pub(super) fn bound_name(bound: BoundType) -> &'static str {
    match bound {
        BoundType::Exact(_) => "max_exact",
        BoundType::Most(_) => "max_constraint",
    }
}

impl Command {
    /// The name in text.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Assemble { .. } => "assemble",
            Command::Bound { .. } => "bound",
            Command::Communicate { .. } => "communicate",
            Command::Coord { .. } => "coord",
            Command::Distribute { .. } => "distribute",
            Command::Divide { .. } => "divide",
            Command::Fuse { .. } => "fuse",
            Command::Loopfuse { .. } => "loopfuse",
            Command::Mergeby { .. } => "mergeby",
            Command::Parallelize { .. } => "parallelize",
            Command::Pos { .. } => "pos",
            Command::Precompute { .. } => "precompute",
            Command::Reorder { .. } => "reorder",
            Command::Split { .. } => "split",
            Command::Unroll { .. } => "unroll",
        }
    }

    /// The arguments, as text.
    pub fn args(&self) -> Vec<String> {
        let own = |parts: &[&str]| parts.iter().map(|&p| p.to_owned()).collect();
        match self {
            Command::Assemble { tensor, how } => own(&[tensor, how.name()]),
            Command::Bound { var, bounded, bound } => {
                own(&[var, bounded, &bound.size().to_string(), bound_name(*bound)])
            }
            Command::Communicate { tensor, outer } => own(&[tensor, outer]),
            Command::Coord { position, var } => own(&[position, var]),
            Command::Divide { var, outer, inner, parts } => {
                own(&[var, outer, inner, &parts.to_string()])
            }
            Command::Distribute { var, outer, inner, axis } => own(&[var, outer, inner, axis]),
            Command::Fuse { outer, inner, fused } => own(&[outer, inner, fused]),
            Command::Loopfuse { times, operand } => {
                std::iter::once(times.to_string()).chain(operand.clone()).collect()
            }
            Command::Mergeby { var, merge } => own(&[var, merge.name()]),
            Command::Parallelize { var, unit, races } => own(&[var, unit.name(), races.name()]),
            Command::Pos { var, position, operand } => own(&[var, position, operand]),
            Command::Precompute { value, vars, own, workspace, kind } => {
                let mut args = vec![value.clone(), list(vars), list(own), workspace.clone()];
                args.extend(kind.map(|kind| kind.name().to_owned()));
                args
            }
            Command::Reorder { vars } => vars.clone(),
            Command::Split { var, outer, inner, size } => {
                own(&[var, outer, inner, &size.to_string()])
            }
            Command::Unroll { var, factor } => own(&[var, &factor.to_string()]),
        }
    }

    /// The loops that have to exist before the command.
    pub fn needs(&self) -> Vec<&str> {
        match self {
            Command::Bound { var, .. }
            | Command::Distribute { var, .. }
            | Command::Divide { var, .. }
            | Command::Mergeby { var, .. }
            | Command::Parallelize { var, .. }
            | Command::Pos { var, .. }
            | Command::Split { var, .. }
            | Command::Unroll { var, .. } => vec![var],
            Command::Coord { position, .. } => vec![position],
            Command::Assemble { .. } | Command::Communicate { .. } | Command::Loopfuse { .. } => {
                vec![]
            }
            Command::Fuse { outer, inner, .. } => vec![outer, inner],
            Command::Reorder { vars } | Command::Precompute { vars, .. } => {
                vars.iter().map(String::as_str).collect()
            }
        }
    }

    /// The argument in which the command names operands.
    pub(super) fn names(&self) -> Option<&str> {
        match self {
            Command::Pos { operand: named, .. } | Command::Communicate { tensor: named, .. } => {
                Some(named)
            }
            Command::Precompute { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The loops that the command makes.
    pub fn makes(&self) -> Vec<&str> {
        match self {
            Command::Bound { bounded: var, .. }
            | Command::Coord { var, .. }
            | Command::Fuse { fused: var, .. }
            | Command::Pos { position: var, .. } => vec![var],
            Command::Distribute { outer, inner, .. }
            | Command::Divide { outer, inner, .. }
            | Command::Split { outer, inner, .. } => vec![outer, inner],
            Command::Precompute { own, .. } => own.iter().map(String::as_str).collect(),
            Command::Assemble { .. }
            | Command::Communicate { .. }
            | Command::Loopfuse { .. }
            | Command::Mergeby { .. }
            | Command::Parallelize { .. }
            | Command::Reorder { .. }
            | Command::Unroll { .. } => vec![],
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

/// The command as in a schedule's text: `reorder(i, j, k)`.
impl Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.args().join(", "))
    }
}
