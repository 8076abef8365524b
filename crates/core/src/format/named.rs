//! Formats that have a name. A new one is an entry of [`NAMED`].

use super::{Format, LevelMap, LevelSpec};
use crate::level::{BITMAP, COMPRESSED, DENSE, HASHED, LevelKind, Property, RANGE, SINGLETON};
use tamis_ir::ids::{Id, Mode};

/// A format with a name, for tensors of one order or of any.
#[derive(Clone, Copy, Debug)]
pub struct NamedFormat {
    /// The name that is printed.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// The arguments in parentheses, as users write them.
    pub usage: &'static str,
    /// One line for people.
    pub summary: &'static str,
    levels: Levels,
}

/// An argument in parentheses behind a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormatArgument {
    /// The size of a block.
    Size(u64),
    /// A property.
    Property(Property),
}

#[derive(Clone, Copy, Debug)]
enum Levels {
    /// Modes in order, all with the same level format, for orders from `least` on.
    Alike { kind: LevelKind, least: usize },
    /// Modes in order, the last with another level format than the others.
    Last { before: LevelKind, last: LevelKind, least: usize },
    /// The mode and the level format of each level. Properties in parentheses apply to the compressed level, if there
    /// is one.
    Listed(&'static [(usize, LevelKind)]),
    /// Modes last to first, all dense.
    ColumnMajor,
    /// A chain of coordinates, with `dense` dense modes below.
    List { dense: usize },
    /// Levels made from two block sizes.
    Blocks(fn(u64, u64) -> Option<Vec<LevelSpec>>),
    /// Levels that store functions of two modes.
    Mapped(fn() -> Option<Vec<LevelSpec>>),
}

const fn named(name: &'static str, summary: &'static str, levels: Levels) -> NamedFormat {
    NamedFormat { name, aliases: &[], usage: "", summary, levels }
}

/// The arguments of formats with one chain of coordinates.
const LIST: &str = "[nonordered] [nonunique]";

/// Every named format; a format with several names prints as the first.
pub static NAMED: [NamedFormat; 17] = [
    NamedFormat {
        aliases: &["scalar"],
        ..named(
            "dense",
            "every element, the last mode contiguous",
            Levels::Alike { kind: DENSE, least: 0 },
        )
    },
    NamedFormat {
        aliases: &["colmajor", "fortran"],
        ..named("dense-column", "every element, the first mode contiguous", Levels::ColumnMajor)
    },
    NamedFormat {
        aliases: &["sv", "sparse-vector"],
        usage: LIST,
        ..named("sparse", "vector of coordinates and values", Levels::Listed(&[(0, COMPRESSED)]))
    },
    NamedFormat {
        aliases: &["hash-vector"],
        ..named("hash", "vector as a hash map", Levels::Listed(&[(0, HASHED)]))
    },
    NamedFormat {
        usage: LIST,
        ..named(
            "csr",
            "compressed sparse rows, each in order unless nonordered",
            Levels::Listed(&[(0, DENSE), (1, COMPRESSED)]),
        )
    },
    NamedFormat {
        usage: LIST,
        ..named(
            "csc",
            "compressed sparse columns, each in order unless nonordered",
            Levels::Listed(&[(1, DENSE), (0, COMPRESSED)]),
        )
    },
    named(
        "dcsr",
        "compressed sparse rows, of which only those with entries are stored",
        Levels::Listed(&[(0, COMPRESSED), (1, COMPRESSED)]),
    ),
    named(
        "dcsc",
        "compressed sparse columns, of which only those with entries are stored",
        Levels::Listed(&[(1, COMPRESSED), (0, COMPRESSED)]),
    ),
    NamedFormat {
        usage: "[nonordered] [nonunique] [aos]",
        ..named(
            "coo",
            "list of coordinates, in order unless nonordered, each once unless nonunique",
            Levels::List { dense: 0 },
        )
    },
    named("dok", "a hash map for every row", Levels::Listed(&[(0, DENSE), (1, HASHED)])),
    named("ell", "as many slots for every row, column by column", Levels::Mapped(ell)),
    named("dia", "the diagonals that have entries", Levels::Mapped(dia)),
    NamedFormat {
        aliases: &["bsr"],
        usage: "rows, columns",
        ..named("bcsr", "compressed sparse rows of dense blocks", Levels::Blocks(bcsr))
    },
    NamedFormat {
        usage: "rows, columns",
        ..named("csb", "dense grid of blocks, each a list of coordinates", Levels::Blocks(csb))
    },
    named(
        "csf",
        "compressed sparse fibers: every mode compressed, in order",
        Levels::Alike { kind: COMPRESSED, least: 1 },
    ),
    NamedFormat {
        aliases: &["mode-generic"],
        ..named(
            "coo-dense",
            "mode-generic: list of coordinates, each with a dense last mode",
            Levels::List { dense: 1 },
        )
    },
    named(
        "bitmap",
        "every element, and a mask of those present",
        Levels::Last { before: DENSE, last: BITMAP, least: 1 },
    ),
];

fn mode(m: usize) -> Mode {
    Mode::new(m)
}

fn ell() -> Option<Vec<LevelSpec>> {
    Some(vec![
        LevelSpec { map: LevelMap::Slot(mode(0)), kind: DENSE },
        LevelSpec::of(mode(0), DENSE),
        LevelSpec::of(mode(1), SINGLETON.with(Property::Padded)?),
    ])
}

fn dia() -> Option<Vec<LevelSpec>> {
    let diagonal = LevelMap::Diff { plus: mode(1), minus: mode(0) };
    Some(vec![LevelSpec { map: diagonal, kind: COMPRESSED }, LevelSpec::of(mode(0), RANGE)])
}

fn bcsr(rows: u64, columns: u64) -> Option<Vec<LevelSpec>> {
    Some(vec![
        LevelSpec { map: LevelMap::Div(mode(0), rows), kind: DENSE },
        LevelSpec { map: LevelMap::Div(mode(1), columns), kind: COMPRESSED },
        LevelSpec { map: LevelMap::Mod(mode(0), rows), kind: DENSE },
        LevelSpec { map: LevelMap::Mod(mode(1), columns), kind: DENSE },
    ])
}

fn csb(rows: u64, columns: u64) -> Option<Vec<LevelSpec>> {
    let row = COMPRESSED.with(Property::Nonordered)?.with(Property::Nonunique)?;
    let column = SINGLETON.with(Property::Nonordered)?;
    Some(vec![
        LevelSpec { map: LevelMap::Div(mode(0), rows), kind: DENSE },
        LevelSpec { map: LevelMap::Div(mode(1), columns), kind: DENSE },
        LevelSpec { map: LevelMap::Mod(mode(0), rows), kind: row },
        LevelSpec { map: LevelMap::Mod(mode(1), columns), kind: column },
    ])
}

/// The arguments, if all are properties.
fn properties(arguments: &[FormatArgument]) -> Option<Vec<Property>> {
    let property = |a: &FormatArgument| match a {
        FormatArgument::Property(p) => Some(*p),
        FormatArgument::Size(_) => None,
    };
    arguments.iter().map(property).collect()
}

/// These levels, with the properties applied to the compressed one.
fn listed(levels: &[(usize, LevelKind)], properties: &[Property]) -> Option<Vec<LevelSpec>> {
    let compressed = levels.iter().filter(|(_, kind)| *kind == COMPRESSED).count();
    if !properties.is_empty() && compressed != 1 {
        return None;
    }
    let with = |kind: LevelKind| match kind == COMPRESSED {
        true => properties.iter().try_fold(kind, |kind, &p| kind.with(p)),
        false => Some(kind),
    };
    levels.iter().map(|&(m, kind)| Some(LevelSpec::of(mode(m), with(kind)?))).collect()
}

/// A chain of the first modes, with dense levels below.
fn list(order: usize, dense: usize, properties: &[Property]) -> Option<Vec<LevelSpec>> {
    let listed = order.checked_sub(dense).filter(|&n| n >= 1)?;
    let has = |p: Property| properties.contains(&p);
    if has(Property::Padded) {
        return None;
    }
    let kind = |k: usize| -> Option<LevelKind> {
        let mut kind = if k == 0 { COMPRESSED } else { SINGLETON };
        if has(Property::Nonordered) {
            kind = kind.with(Property::Nonordered)?;
        }
        if k + 1 < listed || has(Property::Nonunique) {
            kind = kind.with(Property::Nonunique)?;
        }
        if k == 0 && has(Property::Interleaved) {
            kind = kind.with(Property::Interleaved)?;
        }
        Some(kind)
    };
    let of = |k: usize| {
        let kind = if k < listed { kind(k)? } else { DENSE };
        Some(LevelSpec::of(mode(k), kind))
    };
    (0..order).map(of).collect()
}

impl NamedFormat {
    /// The named format of this name or alias.
    pub fn find(name: &str) -> Option<&'static NamedFormat> {
        NAMED.iter().find(|named| named.name == name || named.aliases.contains(&name))
    }

    /// The order of the tensors that the format stores; `None` if there are several.
    pub fn order(&self) -> Option<usize> {
        match self.levels {
            Levels::Listed(levels) => Some(levels.len()),
            Levels::Blocks(_) | Levels::Mapped(_) => Some(2),
            _ => None,
        }
    }

    /// The least order of the tensors that the format stores.
    pub fn least(&self) -> usize {
        match self.levels {
            Levels::Alike { least, .. } | Levels::Last { least, .. } => least,
            Levels::Listed(levels) => levels.len(),
            Levels::ColumnMajor | Levels::Blocks(_) | Levels::Mapped(_) => 2,
            Levels::List { dense } => 1 + dense,
        }
    }

    /// The format without arguments for tensors of an order, if there is one.
    pub fn for_order(&self, order: usize) -> Option<Format> {
        self.with(order, &[])
    }

    /// Whether the format exists for tensors of an order, with some arguments.
    pub fn suits(&self, order: usize) -> bool {
        match self.levels {
            Levels::Blocks(_) => order == 2,
            _ => self.for_order(order).is_some(),
        }
    }

    /// The format for tensors of an order with these arguments, if there is one.
    pub fn with(&self, order: usize, arguments: &[FormatArgument]) -> Option<Format> {
        let plain = arguments.is_empty();
        let levels: Vec<LevelSpec> = match self.levels {
            Levels::Alike { kind, least } => {
                return (plain && order >= least).then(|| Format::in_order(vec![kind; order]));
            }
            Levels::Last { before, last, least } => {
                let kinds = (0..order).map(|k| if k + 1 < order { before } else { last });
                return (plain && order >= least).then(|| Format::in_order(kinds));
            }
            Levels::Listed(levels) if levels.len() == order => {
                listed(levels, &properties(arguments)?)?
            }
            Levels::ColumnMajor if plain && order >= 2 => {
                (0..order).rev().map(|m| LevelSpec::of(mode(m), DENSE)).collect()
            }
            Levels::List { dense } => list(order, dense, &properties(arguments)?)?,
            Levels::Blocks(levels) if order == 2 => match *arguments {
                [FormatArgument::Size(rows), FormatArgument::Size(columns)] => {
                    levels(rows, columns)?
                }
                _ => return None,
            },
            Levels::Mapped(levels) if plain && order == 2 => levels()?,
            _ => return None,
        };
        Format::new(levels, order).ok()
    }

    /// The arguments with which this named format could be `format`.
    fn guesses(&self, format: &Format) -> Vec<Vec<FormatArgument>> {
        match self.levels {
            Levels::Blocks(_) => {
                let size = |l: &LevelSpec| match l.map {
                    LevelMap::Div(_, size) => Some(FormatArgument::Size(size)),
                    _ => None,
                };
                vec![format.levels().iter().filter_map(size).collect()]
            }
            Levels::List { .. } | Levels::Listed(_) => {
                let all = [Property::Nonordered, Property::Nonunique, Property::Interleaved];
                let chosen = |set: usize| {
                    let of = all.iter().enumerate().filter(move |(k, _)| set & (1 << k) != 0);
                    of.map(|(_, &p)| FormatArgument::Property(p)).collect()
                };
                (0..1 << all.len()).map(chosen).collect()
            }
            _ => vec![vec![]],
        }
    }
}

impl Format {
    /// The name of the format, if it has one.
    pub fn name(&self) -> Option<String> {
        NAMED.iter().find_map(|named| {
            let same = |a: &Vec<FormatArgument>| named.with(self.order(), a).as_ref() == Some(self);
            let arguments = named.guesses(self).into_iter().find(same)?;
            let words: Vec<String> = arguments
                .iter()
                .map(|a| match a {
                    FormatArgument::Size(size) => size.to_string(),
                    FormatArgument::Property(p) => p.to_string(),
                })
                .collect();
            Some(match words.is_empty() {
                true => named.name.to_owned(),
                false => format!("{}({})", named.name, words.join(",")),
            })
        })
    }
}
