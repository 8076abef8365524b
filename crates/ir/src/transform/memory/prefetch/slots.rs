//! Prefetches slots of entries, which are written one behind the other in the row of their coordinate.
//!
//! ```text
//! ahead = min(A_pos[i + 1] + 32, A_pos[n]) - A_pos[i + 1]
//! for p in A_pos[i]..A_pos[i + 1] {
//!   j = A_crd[p]
//!   slot = next[j]
//!   next[j] = slot + 1
//!   T_vals[slot] = A_vals[p]
//!   prefetch T_vals[next[A_crd[p + ahead]]]
//! }
//! ```
//!
//! Until its iteration, the slot of a later entry may move on, but seldom to another line.

use super::Streams;
use crate::ir::{Expr, Stmt};

/// The distance of prefetched slots, in entries.
const AHEAD: i64 = 32;

impl Streams<'_> {
    /// Hints for the slots that later steps of the stream write to.
    pub(in crate::transform::memory::prefetch) fn slots(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        let straight = |s: &Stmt| matches!(s, Stmt::Assign { .. } | Stmt::Store { .. });
        let Some(position) = self.steps.as_ref().map(|steps| steps.position) else { return vec![] };
        if !body.iter().all(straight) {
            return vec![];
        }
        let mut hints = vec![];
        for s in body {
            let Stmt::Store { array, index: Expr::Var(slot), .. } = s else { continue };
            let next = body.iter().find_map(|s| match s {
                Stmt::Assign { var, value: next @ Expr::Load { .. } } if var == slot => Some(next),
                _ => None,
            });
            let Some(next @ Expr::Load { index, .. }) = next else { continue };
            let Some(chosen) = self.chosen(body, position, index) else { continue };
            // Since the hint reads the slot, a coordinate of another segment has to have one.
            let mut is_alone = true;
            index.walk(&mut |e| is_alone &= !matches!(e, Expr::Var(v) if *v != chosen.var));
            if is_alone {
                hints.extend(self.hint(*array, next.clone(), &chosen, AHEAD));
            }
        }
        hints
    }
}
