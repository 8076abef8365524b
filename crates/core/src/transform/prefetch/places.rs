//! Places of entries that are put one behind the other in the row of their coordinate.
//!
//! ```text
//! for p in A_pos[i]..A_pos[i + 1] {
//!   j = A_crd[p]
//!   place = next[j]
//!   next[j] = place + 1
//!   T_vals[place] = A_vals[p]
//!   p_next = min(p + 32, A_pos[n] - 1)
//!   prefetch T_vals[next[A_crd[p_next]]]
//! }
//! ```
//!
//! The place of a later entry may move on until its turn, but seldom to another line.

use super::{Ahead, Streams};
use crate::ids::Var;
use crate::ir::{Expr, Stmt};

/// How many entries ahead places are asked for.
const AHEAD: i64 = 32;

impl Streams<'_> {
    /// Hints for the places that later steps of a stream write to.
    pub(super) fn places(&mut self, steps: &(Var, Expr), body: &[Stmt]) -> Option<Ahead> {
        let straight = |s: &Stmt| matches!(s, Stmt::Assign { .. } | Stmt::Store { .. });
        body.iter().all(straight).then_some(())?;
        let mut found = vec![];
        for s in body {
            let Stmt::Store { array, index: Expr::Var(place), .. } = s else { continue };
            let next = body.iter().find_map(|s| match s {
                Stmt::Assign { var, value: next @ Expr::Load { .. } } if var == place => Some(next),
                _ => None,
            });
            let Some(Expr::Load { index, .. }) = next else { continue };
            if let Some(chosen) = self.chosen(body, steps.0, index) {
                found.extend(next.map(|next| (*array, next.clone(), chosen)));
            }
        }
        (!found.is_empty()).then_some(())?;
        let mut ahead = Ahead::new(self.function, steps.clone(), AHEAD);
        found.into_iter().for_each(|(array, next, chosen)| ahead.ask(array, next, &chosen));
        Some(ahead)
    }
}
