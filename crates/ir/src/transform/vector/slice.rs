//! Slices: the statements of a loop that the value of an expression depends on.
//!
//! ```text
//! j = crd[p]; t = A[p] * B[j]; y[q] = t * exp(x[j]); q = q + 1      for x[j]:  j = crd[p]
//! ```
//!
//! Source: M. Weiser, "Program slicing", ICSE 1981.

use super::batch_functions::has_function;
use crate::ids::{Array, Var};
use crate::ir::flow::{assigned, exposes};
use crate::ir::{Expr, Stmt};
use crate::transform::for_each;
use std::collections::{BTreeMap, BTreeSet};

/// The code that an expression in a loop depends on.
pub(super) struct Slice {
    /// The arrays that the loop writes.
    written: BTreeSet<Array>,
    needed: BTreeSet<Var>,
    /// Whether all of the slice may be computed before the rest of the loop.
    pure: bool,
}

impl Slice {
    /// The slice of an expression within `block` of a loop.
    pub(super) fn of(around: &Stmt, e: &Expr, block: &[Stmt]) -> Slice {
        let mut written = BTreeSet::new();
        writes(around, &mut written);
        let mut slice = Slice { written, needed: BTreeSet::new(), pure: true };
        slice.adds([e], block);
        slice
    }

    /// Adds the slices of other expressions.
    pub(super) fn adds<const N: usize>(&mut self, es: [&Expr; N], block: &[Stmt]) {
        es.into_iter().for_each(|e| self.needs(e));
        let mut known = None;
        while known != Some(self.needed.len()) {
            known = Some(self.needed.len());
            self.closes(block);
        }
    }

    /// Whether the slice can be computed for later iterations of loops with these bodies in advance: it must not
    /// depend on earlier iterations, and has to depend on the variable of the innermost loop.
    pub(super) fn is_free(&self, bodies: &[&[Stmt]], var: Var) -> bool {
        let carried = |body: &&[Stmt]| {
            let mut all = vec![];
            assigned(body, &mut all);
            all.into_iter().any(|v| self.needed.contains(&v) && exposes(body, v))
        };
        self.pure && self.needed.contains(&var) && !bodies.iter().any(carried)
    }

    /// A block that reads the value from elsewhere, without statements that are then unused. `before` is the block
    /// with the expression; `reads` counts all reads of variables.
    pub(super) fn left(&self, before: &[Stmt], after: Vec<Stmt>, reads: &Reads) -> Vec<Stmt> {
        let mut own = vec![];
        assigned(before, &mut own);
        let within = reads_of(before);
        let here = |v: &Var| self.needed.contains(v) && within.get(v) == reads.get(v);
        let mut unread: BTreeSet<Var> = own.into_iter().filter(here).collect();
        loop {
            let left = without(&after, &unread);
            let read = reads_of(&left);
            let count = unread.len();
            unread.retain(|v| !read.contains_key(v));
            if unread.len() == count {
                return left;
            }
        }
    }

    /// Whether a block has loops that also belong to the slice.
    pub(super) fn has_loops_of(&self, block: &[Stmt]) -> bool {
        let mut some = false;
        for_each(block, &mut |s| {
            let mut vars = vec![];
            if let Stmt::For { body, .. } | Stmt::While { body, .. } = s {
                assigned(body, &mut vars);
            }
            some |= vars.iter().any(|v| self.needed.contains(v));
        });
        some
    }

    fn needs(&mut self, e: &Expr) {
        self.pure &= !has_function(e);
        e.walk(&mut |e| match e {
            Expr::Var(v) => drop(self.needed.insert(*v)),
            Expr::Load { array, .. } | Expr::Len(array) => {
                self.pure &= !self.written.contains(array);
            }
            _ => {}
        });
    }

    /// Adds the dependences of needed statements of a block; returns whether there are any.
    fn closes(&mut self, block: &[Stmt]) -> bool {
        let mut some = false;
        for s in block.iter().rev() {
            let needed = match s {
                Stmt::Assign { var, .. } => self.needed.contains(var),
                Stmt::For { .. } | Stmt::While { .. } | Stmt::If { .. } => {
                    s.blocks().fold(false, |some, b| self.closes(b) | some)
                }
                Stmt::Parallel { .. } => {
                    self.pure &= !s.blocks().fold(false, |some, b| self.closes(b) | some);
                    false
                }
                _ => false,
            };
            if needed {
                s.exprs().for_each(|e| self.needs(e));
            }
            some |= needed;
        }
        some
    }

    /// The needed statements of a block.
    pub(super) fn kept(&self, block: &[Stmt]) -> Vec<Stmt> {
        let kept = |s: &Stmt| match s {
            Stmt::Assign { var, .. } => self.needed.contains(var).then(|| s.clone()),
            Stmt::For { .. } | Stmt::While { .. } | Stmt::If { .. } => {
                let s = s.clone().map_children(&mut |e| e, &mut |b| self.kept(&b));
                let some = s.blocks().any(|b| !b.is_empty());
                some.then_some(s)
            }
            _ => None,
        };
        block.iter().filter_map(kept).collect()
    }
}

/// The number of reads of each variable.
pub(super) type Reads = BTreeMap<Var, usize>;

/// The number of reads of each variable in a block.
pub(super) fn reads_of(block: &[Stmt]) -> Reads {
    let mut reads = Reads::new();
    for_each(block, &mut |s| {
        s.exprs().for_each(|e| {
            e.walk(&mut |e| {
                if let Expr::Var(v) = e {
                    *reads.entry(*v).or_default() += 1;
                }
            });
        });
    });
    reads
}

/// A block without assignments of these variables, and without blocks that are then empty.
fn without(block: &[Stmt], vars: &BTreeSet<Var>) -> Vec<Stmt> {
    let left = |s: &Stmt| match s {
        Stmt::Assign { var, .. } => (!vars.contains(var)).then(|| s.clone()),
        Stmt::For { .. } | Stmt::If { .. } => {
            let s = s.clone().map_children(&mut |e| e, &mut |b| without(&b, vars));
            let some = s.blocks().any(|b| !b.is_empty());
            some.then_some(s)
        }
        s => Some(s.clone()),
    };
    block.iter().filter_map(left).collect()
}

/// Collects the arrays that a statement writes or extends.
fn writes(s: &Stmt, found: &mut BTreeSet<Array>) {
    if !matches!(s, Stmt::Prefetch { .. }) {
        found.extend(s.named().1);
    }
    s.blocks().flatten().for_each(|s| writes(s, found));
}
