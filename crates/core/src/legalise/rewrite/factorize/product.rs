//! Products to sum within loops.

use crate::legalise::Context;
use crate::legalise::order::edges;
use crate::legalise::rewrite::semiring::Semiring;
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

/// A factor of a product.
#[derive(Clone, PartialEq)]
pub(super) enum Factor {
    Operand(Access),
    /// The sum of a part: the number of its split, its variables, and whether it may be an empty reduction.
    Part(usize, Vec<IndexVar>, bool),
}

/// A product to sum within loops.
#[derive(Clone)]
pub(super) struct Product {
    pub(super) semiring: Semiring,
    pub(super) factors: Vec<Factor>,
    /// The variables of the element that it is added to.
    pub(super) written: Vec<IndexVar>,
    /// The leading ones of these that outer loops still have to write in order.
    pub(super) appended: Vec<IndexVar>,
    /// The variables of the surrounding loops.
    pub(super) outer: Vec<IndexVar>,
    /// The number of leading loops of `outer` outside of the initialisation of the element.
    pub(super) begun: usize,
    /// The trip count of all surrounding loops.
    pub(super) trips: f64,
}

impl Factor {
    pub(super) fn vars(&self) -> &[IndexVar] {
        match self {
            Factor::Operand(access) => &access.indices,
            Factor::Part(_, kept, _) => kept,
        }
    }
}

impl Product {
    /// The variables of loops that are still needed.
    pub(super) fn open(&self) -> Vec<IndexVar> {
        self.of_factors(|factor| factor.vars().to_vec())
    }

    /// The loops that are still needed, with those over levels of operands that list other coordinates than those of
    /// modes.
    pub(super) fn loops(&self, cx: &Context<'_>) -> Vec<IndexVar> {
        self.of_factors(|factor| match factor {
            Factor::Operand(a) if !is_by_modes(cx, a) => cx.level_vars(a),
            factor => factor.vars().to_vec(),
        })
    }

    /// The variables of the written element and of factors, without those of surrounding loops.
    fn of_factors(&self, vars: impl Fn(&Factor) -> Vec<IndexVar>) -> Vec<IndexVar> {
        let all = self.written.iter().copied().chain(self.factors.iter().flat_map(vars));
        let mut open: Vec<IndexVar> = vec![];
        for var in all {
            if !self.outer.contains(&var) && !open.contains(&var) {
                open.push(var);
            }
        }
        open
    }

    /// Whether loops over these variables may merge and search all operands that have them.
    pub(super) fn are_ascending(&self, cx: &Context<'_>, vars: &[IndexVar]) -> bool {
        self.factors.iter().all(|factor| match factor {
            Factor::Operand(a) => {
                let is_met = a.indices.iter().any(|v| vars.contains(v));
                !is_met || cx.program.storage(a.tensor).format.is_ascending() || cx.is_full(a)
            }
            Factor::Part(..) => true,
        })
    }

    /// The open variables that are summed.
    pub(super) fn sums(&self) -> Vec<IndexVar> {
        let mut sums = self.open();
        sums.retain(|v| !self.written.contains(v));
        sums
    }
}

/// Whether loops over the modes of an operand reach its elements.
pub(super) fn is_by_modes(cx: &Context<'_>, access: &Access) -> bool {
    cx.is_full(access) || cx.program.storage(access.tensor).format.stores_modes()
}

/// Whether a factor lists coordinates of some of the variables.
pub(super) fn lists(cx: &Context<'_>, factors: &[Factor], of: impl Fn(IndexVar) -> bool) -> bool {
    factors.iter().any(|factor| {
        let Factor::Operand(access) = factor else { return false };
        let listed = || cx.program.levels(access).into_iter();
        !cx.is_full(access) && listed().any(|(level, v)| !level.kind.properties().full && of(v))
    })
}

/// The number of operands that are searched for their diagonal element at a variable.
pub(super) fn diagonals(cx: &Context<'_>, factors: &[Factor], var: IndexVar) -> usize {
    let is_searched = |factor: &&Factor| match factor {
        Factor::Operand(a) => a.is_diagonal() && !cx.is_full(a) && a.indices.contains(&var),
        Factor::Part(..) => false,
    };
    factors.iter().filter(is_searched).count()
}

/// Which variables have to come before which others, since levels are read from the outside in.
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
