//! The state at a statement: coordinates with a value, and how many levels operands have descended.

use crate::cin::Derived;
use crate::notation::Access;
use crate::plan::Planner;
use std::collections::BTreeMap;
use tamis_ir::ids::{IndexVar, Var};
use tamis_ir::ir;

/// The state at a statement of the loop nest.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// Index variables with a value, each with the variable of the code that holds it.
    pub(super) bound: BTreeMap<IndexVar, Var>,
    /// How many levels each access has descended.
    pub(super) reached: Vec<(Access, Reached)>,
    /// How many of the levels that the result stores in order the loops have descended.
    pub(super) result: Reached,
    /// The position at the last level that the result shares with an operand.
    pub(super) like: Option<ir::Expr>,
    /// For a variable that counts positions in a tile of coordinates, the first of these positions and the end.
    pub(super) tiles: BTreeMap<IndexVar, (Var, Var)>,
    /// The surrounding loops.
    pub(super) loops: Vec<IndexVar>,
    /// Those loops that may visit a coordinate several times: they walk an operand with duplicates entry by entry.
    pub(super) repeating: Vec<IndexVar>,
}

/// The levels that an access has descended, and the position at the last of them.
#[derive(Clone)]
pub(super) struct Reached {
    pub(super) levels: usize,
    pub(super) position: ir::Expr,
    /// The end of a segment, if the position is that of several positions with the same coordinate.
    pub(super) end: Option<ir::Expr>,
}

impl Default for Reached {
    fn default() -> Self {
        Reached { levels: 0, position: ir::build::int(0), end: None }
    }
}

impl Scope {
    /// The scope without the variables from which a variable was derived.
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
