//! Why equivalent programs may take more than a few times as much as each other.

use super::comparison::{Cliff, Pair};
use super::transformation::Transformation;
use crate::case::{Case, Operand};
use tamis_core::format::{self, LevelMap};

/// Steps to find, read, move and write an entry, but for those of sorting.
const EACH: f64 = 12.0;
/// Bytes of an entry with its coordinates, and of the buffer that it is sorted in.
const EACH_BYTES: f64 = 64.0;

/// A reason, as narrow as it can be.
#[derive(Debug)]
pub struct Reason {
    /// One sentence.
    pub why: &'static str,
    /// How many entries of a pair are stored, read or sorted more for it.
    entries: fn(&Pair) -> f64,
}

/// All reasons.
pub const REASONS: &[Reason] = &[
    Reason {
        why: "a statement of its own stores all of its result, also what the next one does not need",
        entries: |pair| match pair.transformation {
            Transformation::SplitStatement if pair.taken[1].steps > pair.taken[0].steps => {
                let own = pair.taken[1].results.iter().filter(|(name, _)| name == "T");
                own.map(|(_, t)| t.vals().len() as f64).sum()
            }
            _ => 0.0,
        },
    },
    Reason {
        why: "an operand that is stored otherwise is walked to its end, or copied in the order of the loops, \
              where coordinates of another format are located",
        entries: |pair| match pair.transformation {
            Transformation::Reformat => changed(pair).map(stored).fold(0.0, f64::max),
            _ => 0.0,
        },
    },
    Reason {
        why: "a slice with an end is one of any dimension, and of a level of blocks or diagonals it is taken \
              from a copy",
        entries: |pair| match pair.transformation {
            Transformation::SliceWhole => {
                let sliced = |o: &&Operand| is_sliced(&pair.other, &o.name) && has_maps(o);
                pair.case.operands.iter().filter(sliced).map(stored).sum()
            }
            _ => 0.0,
        },
    },
];

impl Reason {
    /// How much more one of a pair may take for this reason.
    pub fn extra(&self, pair: &Pair, cliff: Cliff) -> u64 {
        let entries = (self.entries)(pair);
        let extra = match cliff {
            Cliff::Steps => entries * (EACH + entries.max(1.0).log2()),
            Cliff::Bytes => entries * EACH_BYTES,
        };
        extra as u64
    }
}

/// The operands that are stored otherwise, both ways.
fn changed(pair: &Pair) -> impl Iterator<Item = &Operand> {
    let both = pair.case.operands.iter().zip(&pair.other.operands);
    both.filter(|(a, b)| a.format != b.format).flat_map(|(a, b)| [a, b])
}

/// How many values an operand stores.
fn stored(operand: &Operand) -> f64 {
    operand.tensor().map_or(0.0, |t| t.vals().len() as f64)
}

fn is_sliced(case: &Case, name: &str) -> bool {
    let Ok(program) = tamis_core::notation::parse(&case.text) else { return false };
    let accesses = program.statements.iter().flat_map(|s| s.value.accesses());
    accesses.into_iter().any(|a| a.is_sliced() && program.tensors[a.tensor].name == name)
}

/// Whether levels of an operand are functions of modes.
fn has_maps(operand: &Operand) -> bool {
    format::parse(&operand.format, Some(operand.dims.len())).is_ok_and(|spec| {
        spec.format.levels().iter().any(|l| !matches!(l.map, LevelMap::Mode(_)))
    })
}
