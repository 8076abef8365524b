//! Products to sum inside of loops.

use crate::legalise::Context;
use crate::legalise::order::edges;
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

/// A factor of a product.
#[derive(Clone, PartialEq)]
pub(super) enum Factor {
    Operand(Access),
    /// What the part of the split of this number leaves.
    Part(usize, Vec<IndexVar>),
}

/// A product to sum inside of loops.
#[derive(Clone)]
pub(super) struct Product {
    pub(super) factors: Vec<Factor>,
    /// The variables of what it is added to.
    pub(super) written: Vec<IndexVar>,
    /// The variables of the loops around.
    pub(super) outer: Vec<IndexVar>,
    /// Of these, so many leading ones are outside of what it is added to.
    pub(super) begun: usize,
    /// How often the loops around run.
    pub(super) trips: f64,
}

impl Factor {
    pub(super) fn vars(&self) -> &[IndexVar] {
        match self {
            Factor::Operand(access) => &access.indices,
            Factor::Part(_, kept) => kept,
        }
    }
}

impl Product {
    /// The variables that have no loop yet.
    pub(super) fn open(&self) -> Vec<IndexVar> {
        let all = self.written.iter().chain(self.factors.iter().flat_map(|f| f.vars()));
        let mut open: Vec<IndexVar> = vec![];
        for &var in all {
            if !self.outer.contains(&var) && !open.contains(&var) {
                open.push(var);
            }
        }
        open
    }

    /// Of these, the ones that are summed.
    pub(super) fn sums(&self) -> Vec<IndexVar> {
        let mut sums = self.open();
        sums.retain(|v| !self.written.contains(v));
        sums
    }
}

/// Whether factors list the coordinates of some of the variables.
pub(super) fn lists(cx: &Context<'_>, factors: &[Factor], of: impl Fn(IndexVar) -> bool) -> bool {
    factors.iter().any(|factor| {
        let Factor::Operand(access) = factor else { return false };
        let mut levels = cx.program.levels(access).into_iter();
        levels.any(|(level, v)| !level.kind.properties().full && of(v))
    })
}

/// Which variables come before which, since levels are read from the outside in.
pub(super) fn edges_of(
    cx: &Context<'_>,
    factors: &[Factor],
    vars: &[IndexVar],
) -> Vec<(IndexVar, IndexVar)> {
    let operands = factors.iter().filter_map(|f| match f {
        Factor::Operand(access) => Some(access.clone()),
        Factor::Part(..) => None,
    });
    let operands: Vec<Access> = operands.collect();
    edges(cx, &operands, vars)
}
