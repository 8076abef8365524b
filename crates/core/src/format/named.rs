//! Formats that have a name. A new one is a line of [`NAMED`].

use super::{Format, LevelSpec};
use crate::ids::{Id, Mode};
use crate::level::{COMPRESSED, DENSE, LevelKind};

/// A format with a name, for tensors of one order or of any.
#[derive(Clone, Copy, Debug)]
pub struct NamedFormat {
    /// The name that is printed.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// One line for people.
    pub summary: &'static str,
    levels: Levels,
}

#[derive(Clone, Copy, Debug)]
enum Levels {
    /// Modes in order, all stored alike, for any order from `least` on.
    Alike { kind: LevelKind, least: usize },
    /// The mode and the level format of each level.
    Listed(&'static [(usize, LevelKind)]),
}

/// Every named format; where several fit, the first is printed.
pub static NAMED: [NamedFormat; 7] = [
    NamedFormat {
        name: "dense",
        aliases: &["scalar"],
        summary: "every element, the last mode contiguous",
        levels: Levels::Alike { kind: DENSE, least: 0 },
    },
    NamedFormat {
        name: "sparse",
        aliases: &["sv", "sparse-vector"],
        summary: "vector of coordinates and values",
        levels: Levels::Listed(&[(0, COMPRESSED)]),
    },
    NamedFormat {
        name: "csr",
        aliases: &[],
        summary: "compressed sparse rows",
        levels: Levels::Listed(&[(0, DENSE), (1, COMPRESSED)]),
    },
    NamedFormat {
        name: "csc",
        aliases: &[],
        summary: "compressed sparse columns",
        levels: Levels::Listed(&[(1, DENSE), (0, COMPRESSED)]),
    },
    NamedFormat {
        name: "dcsr",
        aliases: &[],
        summary: "compressed sparse rows, of which only those with entries are stored",
        levels: Levels::Listed(&[(0, COMPRESSED), (1, COMPRESSED)]),
    },
    NamedFormat {
        name: "dcsc",
        aliases: &[],
        summary: "compressed sparse columns, of which only those with entries are stored",
        levels: Levels::Listed(&[(1, COMPRESSED), (0, COMPRESSED)]),
    },
    NamedFormat {
        name: "csf",
        aliases: &[],
        summary: "compressed sparse fibers: every mode compressed, in order",
        levels: Levels::Alike { kind: COMPRESSED, least: 1 },
    },
];

impl NamedFormat {
    /// The named format of this name or alias.
    pub fn find(name: &str) -> Option<&'static NamedFormat> {
        NAMED.iter().find(|named| named.name == name || named.aliases.contains(&name))
    }

    /// The order of the tensors that the format stores; `None` for any.
    pub fn order(&self) -> Option<usize> {
        match self.levels {
            Levels::Alike { .. } => None,
            Levels::Listed(levels) => Some(levels.len()),
        }
    }

    /// The format for tensors of an order, if there is one.
    pub fn for_order(&self, order: usize) -> Option<Format> {
        match self.levels {
            Levels::Alike { kind, least } => {
                (order >= least).then(|| Format::in_order(vec![kind; order]))
            }
            Levels::Listed(levels) if levels.len() == order => {
                let spec =
                    |&(mode, kind): &(usize, LevelKind)| LevelSpec { mode: Mode::new(mode), kind };
                Format::new(levels.iter().map(spec).collect())
            }
            Levels::Listed(_) => None,
        }
    }
}

impl Format {
    /// The name of the format, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        let same = |named: &&NamedFormat| named.for_order(self.order()).as_ref() == Some(self);
        NAMED.iter().find(same).map(|named| named.name)
    }
}
