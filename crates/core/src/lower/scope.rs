//! What is known at a statement of the loops: coordinates, and how far operands have been descended.

use crate::cin::Derived;
use crate::notation::Access;
use crate::plan::Planner;
use std::collections::BTreeMap;
use tamis_ir::ids::{IndexVar, Var};
use tamis_ir::ir;

/// What is known at a statement of the loop nest.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// Index variables with a value, and the variable that holds it.
    pub(super) bound: BTreeMap<IndexVar, Var>,
    /// How far each access has descended its levels.
    pub(super) reached: Vec<(Access, Reached)>,
    /// How far the loops have descended the levels that the result stores in order.
    pub(super) result: Reached,
    /// The position at the last of an operand's levels that the result has.
    pub(super) like: Option<ir::Expr>,
    /// Between which positions those lie that a variable counts in a tile of coordinates.
    pub(super) tiles: BTreeMap<IndexVar, (Var, Var)>,
    /// The loops around.
    pub(super) loops: Vec<IndexVar>,
    /// Those of them that may visit a coordinate again: over entries of an operand that repeats
    /// coordinates.
    pub(super) repeating: Vec<IndexVar>,
}

/// The levels of an access that are behind, and the position at the last of them.
#[derive(Clone)]
pub(super) struct Reached {
    pub(super) levels: usize,
    pub(super) position: ir::Expr,
    /// The end of several positions of the same coordinate.
    pub(super) end: Option<ir::Expr>,
}

impl Default for Reached {
    fn default() -> Self {
        Reached { levels: 0, position: ir::build::int(0), end: None }
    }
}

impl Scope {
    /// A scope without what follows from a variable.
    pub(super) fn around(&self, derived: &Derived, var: IndexVar) -> Scope {
        let mut scope = self.clone();
        for v in derived.ancestors(var) {
            scope.bound.remove(&v);
        }
        scope
    }

    pub(super) fn reached(&self, access: &Access) -> Reached {
        let known = self.reached.iter().find(|(a, _)| a == access);
        known.map_or(Reached::default(), |(_, r)| r.clone())
    }

    /// Descends an operand.
    pub(super) fn reach(&mut self, planner: Planner<'_>, access: &Access, reached: Reached) {
        if reached.levels > 0 && planner.is_shared_level(access, reached.levels - 1) {
            self.like = Some(reached.position.clone());
        }
        self.reached.retain(|(a, _)| a != access);
        self.reached.push((access.clone(), reached));
    }
}
