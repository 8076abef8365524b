//! The statements before which the threads of a block, or of a warp, need a barrier.
//!
//! ```text
//! for block .. {
//!   for step .. {
//!     w[..] = ..      barrier: threads may still read values of the previous step in w
//!     s += w[..]      barrier: other threads wrote these elements of w
//! ```
//!
//! A barrier can only be where all threads pass: between the statements of a loop over blocks or warps, outside of
//! loops over the threads of these. A statement needs one if it uses an array that was written since the last barrier,
//! or writes to one that was used since then, including in the previous iteration. Values that each iteration of a
//! loop over threads uses alone need no barrier, nor do values of other blocks, except in memory that consecutive
//! iterations of a block share.

use super::distinct::each_its_own;
use crate::ids::Array;
use crate::ir::{Expr, Stmt, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// The paths of statements with a barrier: the doubled indices in their blocks, plus one inside of a second block.
pub(super) fn barriers(
    body: &[Stmt],
    exchanged: &BTreeSet<Array>,
    owners: &BTreeMap<Array, Unit>,
) -> BTreeSet<Vec<usize>> {
    let mut finder = Finder { exchanged, owners, found: BTreeSet::new(), path: vec![] };
    finder.each_below(body);
    finder.found
}

struct Finder<'f> {
    exchanged: &'f BTreeSet<Array>,
    /// Arrays for which consecutive iterations of a unit share memory.
    owners: &'f BTreeMap<Array, Unit>,
    found: BTreeSet<Vec<usize>>,
    path: Vec<usize>,
}

/// The uses of arrays.
#[derive(Clone, Default)]
struct Uses {
    read: BTreeSet<Array>,
    written: BTreeSet<Array>,
    /// Arrays that are updated atomically.
    updated: BTreeSet<Array>,
}

impl Uses {
    fn of(s: &Stmt) -> Uses {
        let mut uses = Uses::default();
        uses.add(s);
        uses
    }

    fn add(&mut self, s: &Stmt) {
        match s {
            Stmt::Store { array, .. } | Stmt::Fill { array, .. } => {
                self.written.insert(*array);
            }
            Stmt::Update { array, .. } => {
                self.updated.insert(*array);
            }
            _ => {}
        }
        for e in s.exprs() {
            e.walk(&mut |e| {
                if let Expr::Load { array, .. } = e {
                    self.read.insert(*array);
                }
            });
        }
        s.blocks().flatten().for_each(|s| self.add(s));
    }

    fn retain(mut self, keep: impl Fn(&Array) -> bool) -> Uses {
        for set in [&mut self.read, &mut self.written, &mut self.updated] {
            set.retain(&keep);
        }
        self
    }

    fn and(mut self, other: &Uses) -> Uses {
        self.read.extend(&other.read);
        self.written.extend(&other.written);
        self.updated.extend(&other.updated);
        self
    }

    /// Whether threads need a barrier between these uses and later ones.
    fn meet(&self, later: &Uses) -> bool {
        let both = |a: &BTreeSet<Array>, b: &BTreeSet<Array>| !a.is_disjoint(b);
        let changes = |one: &Uses, other: &Uses| {
            both(&one.written, &other.read)
                || both(&one.written, &other.updated)
                || both(&one.updated, &other.read)
        };
        both(&self.written, &later.written) || changes(self, later) || changes(later, self)
    }
}

impl Finder<'_> {
    /// Finds the statements of a block with a barrier; returns the uses since the last barrier.
    fn block(&mut self, block: &[Stmt], unit: Unit, before: Uses) -> Uses {
        let mut uses = before;
        for (k, s) in block.iter().enumerate() {
            self.path.push(2 * k);
            uses = self.stmt(s, unit, uses);
            self.path.pop();
        }
        uses
    }

    fn stmt(&mut self, s: &Stmt, unit: Unit, before: Uses) -> Uses {
        if self.is_quiet(s, unit) {
            self.below(s);
            let own = self.uses(s, unit);
            return match before.meet(&own) {
                true => {
                    self.found.insert(self.path.clone());
                    own
                }
                false => before.and(&own),
            };
        }
        let begin = before.clone().and(&self.repeated(s, unit));
        let mut after = if matches!(s, Stmt::If { .. }) { Uses::default() } else { before };
        for (branch, block) in s.blocks().enumerate() {
            after = after.and(&self.branch(branch, |f| f.block(block, unit, begin.clone())));
        }
        after
    }

    /// The loops over units within a statement, each of whose blocks starts afresh.
    fn below(&mut self, s: &Stmt) {
        for (branch, block) in s.blocks().enumerate() {
            self.branch(branch, |f| match s {
                Stmt::Parallel { unit: Unit::Thread, .. } => {}
                Stmt::Parallel { unit, .. } => {
                    // Its memory is also that of the previous iteration.
                    let own = |a: &Array| f.owners.get(a) == Some(unit);
                    let before = f.uses(s, *unit).retain(own);
                    f.block(block, *unit, before);
                }
                _ => f.each_below(block),
            });
        }
    }

    fn each_below(&mut self, block: &[Stmt]) {
        for (k, s) in block.iter().enumerate() {
            self.path.push(2 * k);
            self.below(s);
            self.path.pop();
        }
    }

    /// Runs `inside` in one of the blocks of the current statement.
    fn branch<T>(&mut self, branch: usize, inside: impl FnOnce(&mut Self) -> T) -> T {
        if let Some(last) = self.path.last_mut() {
            *last += branch;
        }
        let found = inside(self);
        if let Some(last) = self.path.last_mut() {
            *last -= branch;
        }
        found
    }

    /// Whether a statement contains no barrier.
    fn is_quiet(&self, s: &Stmt, unit: Unit) -> bool {
        self.after(s, unit, Uses::default()).is_some()
    }

    /// The uses after a statement, if no barrier is needed before or within it; `None` if one is.
    fn after(&self, s: &Stmt, unit: Unit, before: Uses) -> Option<Uses> {
        if matches!(s, Stmt::Parallel { .. }) || s.blocks().next().is_none() {
            let own = self.uses(s, unit);
            return (!before.meet(&own)).then(|| before.and(&own));
        }
        let begin = before.and(&self.repeated(s, unit));
        let mut after = begin.clone();
        for block in s.blocks() {
            let through = |uses: Uses, s: &Stmt| self.after(s, unit, uses);
            after = after.and(&block.iter().try_fold(begin.clone(), through)?);
        }
        Some(after)
    }

    /// The uses of a statement, in memory through which threads of a unit exchange values.
    fn uses(&self, s: &Stmt, unit: Unit) -> Uses {
        let is_known = |a: &Array| self.owners.get(a).is_none_or(|owner| *owner <= unit);
        Uses::of(s).retain(|a| self.exchanged.contains(a) && is_known(a))
    }

    /// The uses of earlier iterations that an iteration of a loop meets; none for a statement that runs once.
    fn repeated(&self, s: &Stmt, unit: Unit) -> Uses {
        match s {
            Stmt::For { .. } => self.uses(s, unit).retain(|a| !each_its_own(s, *a)),
            Stmt::While { .. } => self.uses(s, unit),
            _ => Uses::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::parse::parse;

    /// The statements with a barrier, in a loop over blocks with a `w` each.
    fn check(body: &str, expected: &[&str]) {
        let text = format!(
            "fn f(n: i64, x: in [i64], y: shared [i64]) {{\n  local w: [i64]\n  \
             var b, t, u, v, i, j, s: i64\n  reserve w, 100\n  for b in 0..n on gpu_block {{\n\
             {body}\n  }}\n}}\n"
        );
        let function = parse(&text).unwrap();
        let cuda = crate::backend::cuda::emit(&[&function]);
        let lines: Vec<&str> = cuda.lines().map(str::trim).collect();
        let waits = |k: &usize| lines[*k].starts_with("__sync");
        let places = (0..lines.len()).filter(waits);
        let found: Vec<&str> = places.map(|k| lines[k + 1].split('=').next().unwrap()).collect();
        assert_eq!(found, expected, "{cuda}");
    }

    const FILL: &str = "for t in 0..100 on gpu_thread {\n w[t] = x[t]\n }\n";
    const READ: &str = "for u in 0..100 on gpu_thread {\n y[b * 100 + u] = w[99 - u]\n }\n";

    #[test]
    fn threads_wait_for_what_others_write_and_read() {
        let once = ["{", "{"];
        check(&format!("{FILL}{READ}"), &once);
        check(&format!("{FILL} s = w[1]\n s = s + w[2]\n y[b] = s"), &["{", "int64_t s "]);
        check(&format!("for i in 0..n {{\n {FILL}{READ} }}"), &once);
        check(&format!("{FILL} if n > 3 {{\n {READ} }}"), &["{", "if (n > 3) {"]);
        // No other thread uses the elements that a block writes in a shared array.
        check("for t in 0..n on gpu_thread {\n y[b] = x[t]\n }", &[]);
    }

    #[test]
    fn iterations_wait_unless_each_has_elements_of_its_own() {
        let iterations = |at: &str| {
            format!(
                "for i in 0..10 {{\n for t in 0..10 on gpu_thread {{\n w[{at}] = x[t]\n }}\n }}\n{READ}"
            )
        };
        let each = "for (int64_t i ";
        check(&iterations("i * 10 + t"), &[each, "{"]);
        check(&iterations("t * 10 + i"), &[each, "{"]);
        check(&iterations("i + t"), &["{", "{"]);
    }

    #[test]
    fn both_ways_of_a_branch_count() {
        let body =
            format!("{FILL} if n > 3 {{\n {READ} {FILL} }} else {{\n s = w[1]\n }}\n {READ}");
        check(&body, &["{", "{", "{", "int64_t s ", "{"]);
    }
}
