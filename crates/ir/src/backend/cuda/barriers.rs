//! Before which statements the threads of a block, or of a warp, wait for each other.
//!
//! ```text
//! for block .. {
//!   for step .. {
//!     w[..] = ..      waits: threads may still read what the step before left in w
//!     s += w[..]      waits: w is what other threads wrote
//! ```
//!
//! Threads wait where all of them come by: between the statements of a loop over blocks or warps that are
//! outside of loops over what these hold. A statement waits if what it uses was written since they waited
//! last, or if it writes to what was used since then, the iteration before included. What each iteration
//! of a loop over threads does by itself is nobody else's, and so are blocks, but for the memory that their
//! iterations have one after another.

use super::distinct::each_its_own;
use crate::ids::Array;
use crate::ir::{Expr, Stmt, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// The paths of the statements that wait: the indices in their blocks twice, and one more for what is in
/// a second block.
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
    /// What has memory of its own in the iterations of a unit, one after another.
    owners: &'f BTreeMap<Array, Unit>,
    found: BTreeSet<Vec<usize>>,
    path: Vec<usize>,
}

/// What is done with arrays.
#[derive(Clone, Default)]
struct Uses {
    read: BTreeSet<Array>,
    written: BTreeSet<Array>,
    /// By what no other thread sees a half of.
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

    /// Whether threads have to wait between these and later ones.
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
    /// Finds the statements of a block that wait; gives what was used since threads waited last.
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

    /// The loops over units somewhere in a statement, whose blocks begin anew.
    fn below(&mut self, s: &Stmt) {
        for (branch, block) in s.blocks().enumerate() {
            self.branch(branch, |f| match s {
                Stmt::Parallel { unit: Unit::Thread, .. } => {}
                Stmt::Parallel { unit, .. } => {
                    // Its memory is that of the iteration before, too.
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

    /// In one of the blocks of the statement at hand.
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

    /// Whether no thread has to wait within a statement.
    fn is_quiet(&self, s: &Stmt, unit: Unit) -> bool {
        self.after(s, unit, Uses::default()).is_some()
    }

    /// What was used after a statement before which, and within which, nobody waits; `None` if somebody
    /// has to.
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

    /// What a statement uses of that by which threads of a unit hand values on.
    fn uses(&self, s: &Stmt, unit: Unit) -> Uses {
        let is_known = |a: &Array| self.owners.get(a).is_none_or(|owner| *owner <= unit);
        Uses::of(s).retain(|a| self.exchanged.contains(a) && is_known(a))
    }

    /// What an iteration of a loop finds used by those before; nothing of a statement that runs once.
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

    /// What threads wait before, in a loop over blocks that have a w of their own.
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
        // What a block leaves in an array of all is nobody else's.
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
