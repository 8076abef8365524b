//! Why equivalent programs may take more than a few times as much as each other.

use super::comparison::{Cliff, Pair, Taken};
use super::transformation::Transformation;
use crate::case::{Case, Operand};
use tamis_core::notation::{self, Expr};
use tamis_ir::algebra::BinaryOp;

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
        why: "an operand is copied in the order of the loops, or of its modes for a slice, once and sorted: \
              n log n",
        entries: |pair| if moves(pair) { slower(pair).copied as f64 } else { 0.0 },
    },
    Reason {
        why: "entries that come in another order than that of the result, or of the statement's own, are \
              sorted: n log n",
        entries: |pair| if moves(pair) { slower(pair).sorted as f64 } else { 0.0 },
    },
    Reason {
        why: "a diagonal is located in an array, and a list that has it is walked to its end or searched",
        entries: |pair| match pair.transformation {
            Transformation::Reformat => changed(pair)
                .filter(|o| has_diagonal(&pair.case, &o.name))
                .map(stored)
                .fold(0.0, f64::max),
            _ => 0.0,
        },
    },
    Reason {
        why: "sums and minima of terms are taken of the terms apart; distributed over a maximum or the like \
              they are no terms, and all of their loops are around each other",
        entries: |pair| match pair.transformation {
            Transformation::Distribute if has_choice(&pair.case) => {
                pair.case.dims.values().map(|&d| d as f64).product()
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

/// Whether a transformation changes what order entries have.
fn moves(pair: &Pair) -> bool {
    use Transformation::{Double, Reformat, SliceWhole, SplitReduction, SplitStatement};
    let those = [Double, Reformat, SliceWhole, SplitReduction, SplitStatement];
    those.contains(&pair.transformation)
}

fn slower(pair: &Pair) -> &Taken {
    let [a, b] = &pair.taken;
    if a.steps > b.steps { a } else { b }
}

/// Whether an operand is used with the same variable for two of its modes.
fn has_diagonal(case: &Case, name: &str) -> bool {
    let Ok(program) = notation::parse(&case.text) else { return false };
    let accesses = program.statements.iter().flat_map(|s| s.value.accesses());
    let mut of_name = accesses.filter(|a| program.tensors[a.tensor].name == name);
    of_name.any(|a| (1..a.indices.len()).any(|k| a.indices[..k].contains(&a.indices[k])))
}

/// Whether a minimum, maximum or the like is reduced.
fn has_choice(case: &Case) -> bool {
    let Ok(program) = notation::parse(&case.text) else { return false };
    let mut found = false;
    for statement in &program.statements {
        statement.value.walk(&mut |e| {
            use BinaryOp::{And, Max, Min, Or};
            let Expr::Reduce { body, .. } = e else { return };
            let chooses = |e: &Expr| matches!(e, Expr::Binary(Min | Max | And | Or, ..));
            body.walk(&mut |e| found |= chooses(e));
        });
    }
    found
}
