//! Loops over a part of the coordinates of another variable: tiles of an operand's level.
//!
//! ```text
//! split(j, j0, j1, 32)      A's level 2 is compressed, over j: the loop over j1 walks A between
//!                           the first position from j0 * 32 on and the first from j0 * 32 + 32 on
//! ```

use super::known::{Known, Tile, settled, tile_of};
use super::read::ReadPlanner;
use super::{Window, given};
use crate::cin::{Relation, Stmt, WalkOrder};
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

impl ReadPlanner<'_> {
    /// The variable that operands are walked over in a loop over `var`, and which of its coordinates are visited;
    /// `None` if that is `var` itself, or no operand is walked.
    pub(super) fn window(
        self,
        var: IndexVar,
        body: &Stmt,
        known: &Known,
    ) -> Option<(IndexVar, Window)> {
        let (program, kernel) = (self.planner.program, self.planner.kernel);
        if !program.derived.is_scheduled(var) {
            return None;
        }
        let moving = self.in_step(var, known);
        let mut walked: Vec<(Access, IndexVar)> = vec![];
        for access in given(body) {
            let Some(next) = known.next_var(program, &access) else { continue };
            let level = known.descent(&access).levels;
            if moving[1..].contains(&next) && !self.kind(&access, level).locates() {
                walked.push((access, next));
            }
        }
        let &(_, of) = walked.first()?;
        // A level that cannot be walked between bounds is searched at each coordinate.
        let between = |access: &Access| {
            let level = known.descent(access).levels;
            let p = self.kind(access, level).properties();
            p.ordered && p.compact && program.walk(access, level) != WalkOrder::OutOfOrder
        };
        if kernel.scatter || !walked.iter().all(|(access, v)| *v == of && between(access)) {
            return None;
        }
        let is_whole = program.derived.map(var).is_none() && program.derived.is_same(var, of);
        Some((of, if is_whole { Window::Whole } else { Window::Part }))
    }

    /// The variables whose values increase by one whenever the loop variable does.
    fn in_step(self, var: IndexVar, known: &Known) -> Vec<IndexVar> {
        let derived = &self.planner.program.derived;
        let is_bound = |v: IndexVar| known.bound.contains(&v);
        let mut found = vec![var];
        loop {
            let at = found[found.len() - 1];
            let is_place = matches!(tile_of(derived, at), Some((_, Tile::Place)));
            let next = match derived.relation(at) {
                Some(&Relation::Same { of, .. }) => Some(of),
                _ if is_place => settled(derived, at, &is_bound),
                _ => None,
            };
            match next {
                Some(next) if !is_bound(next) => found.push(next),
                _ => return found,
            }
        }
    }
}
