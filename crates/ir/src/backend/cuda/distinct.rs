//! Whether a loop stores to each element of an array at most once.
//!
//! ```text
//! for j in 0..min(n - 16 * j0, 16) {                        w_vals[j * 32 + k] is a different element each time,
//!   for k in 0..min(m - 32 * k0, 32) on gpu_thread {        since k is below 32
//!     p = j * 32 + k
//!     w_vals[p] = ..
//! ```

use super::shape::surely_most;
use crate::algebra::BinaryOp;
use crate::ids::{Array, Var};
use crate::ir::build::int;
use crate::ir::flow::{arrays, assigned, mentions, replace};
use crate::ir::{Expr, Stmt};

/// Whether a loop uses an array only to store to it, never twice to the same element.
pub(super) fn each_its_own(s: &Stmt, array: Array) -> bool {
    let mut used = vec![];
    arrays(s, &mut used);
    let once = used.iter().filter(|a| **a == array).count() == 1;
    let mut way = Way::default();
    if !once || !way.find(std::slice::from_ref(s), array) {
        return false;
    }
    let mut changed = vec![];
    assigned(std::slice::from_ref(s), &mut changed);
    way.are_apart(&changed)
}

/// The path to a store.
#[derive(Default)]
struct Way {
    /// The surrounding loops, with their largest trip counts.
    loops: Vec<(Var, i64)>,
    /// The assignments of variables on the path, in order.
    given: Vec<(Var, Expr)>,
    index: Option<Expr>,
}

impl Way {
    /// Searches for the store to an array; returns whether there is one, within loops of bounded trip counts.
    fn find(&mut self, block: &[Stmt], array: Array) -> bool {
        for s in block {
            let (loops, given) = (self.loops.len(), self.given.len());
            match s {
                Stmt::Store { array: a, index, .. } if *a == array => {
                    self.index = Some(index.clone());
                    return true;
                }
                Stmt::Assign { var, value } => self.given.push((*var, value.clone())),
                Stmt::For { var, lo, hi, .. } | Stmt::Parallel { var, lo, hi, .. }
                    if *lo == int(0) =>
                {
                    let most = surely_most(hi, &[]).unwrap_or(i64::MAX);
                    self.loops.push((*var, most.max(1)));
                }
                // The iterations cannot be distinguished.
                Stmt::For { .. } | Stmt::Parallel { .. } | Stmt::While { .. } => continue,
                _ => {}
            }
            if s.blocks().any(|block| self.find(block, array)) {
                return true;
            }
            self.loops.truncate(loops);
            if s.blocks().next().is_some() {
                self.given.truncate(given);
            }
        }
        false
    }

    /// Whether different values of the loops' variables give different indices; `changed` are all variables that
    /// differ between iterations.
    fn are_apart(&self, changed: &[Var]) -> bool {
        let Some(index) = self.index.clone() else { return false };
        let once = |var: &Var| changed.iter().filter(|v| *v == var).count() == 1;
        let given = self.given.iter().rev().filter(|(var, _)| once(var));
        let index = given.fold(index, |e, (var, value)| replace(e, *var, value));
        let mut loads = false;
        index.walk(&mut |e| loads |= matches!(e, Expr::Load { .. }));
        let of = |var: Var| factor(&index, var);
        let Some(mut steps) = self
            .loops
            .iter()
            .map(|&(v, n)| Some((of(v)?.checked_abs()?, n)))
            .collect::<Option<Vec<_>>>()
        else {
            return false;
        };
        let is_loop = |v: &Var| self.loops.iter().any(|(own, _)| own == v);
        if loads || changed.iter().any(|v| !is_loop(v) && mentions(&index, *v)) {
            return false;
        }
        // As with digits of a number, each step exceeds the sum of all smaller ones.
        steps.sort_unstable();
        let mut reach = 0_i64;
        steps.into_iter().all(|(step, count)| {
            let apart = count == 1 || step > reach;
            reach = reach.saturating_add(step.saturating_mul(count - 1));
            apart
        })
    }
}

/// The constant by which an expression grows with a variable, if there is one.
fn factor(e: &Expr, var: Var) -> Option<i64> {
    match e {
        e if !mentions(e, var) => Some(0),
        Expr::Var(_) => Some(1),
        Expr::Binary(BinaryOp::Add, a, b) => factor(a, var)?.checked_add(factor(b, var)?),
        Expr::Binary(BinaryOp::Sub, a, b) => factor(a, var)?.checked_sub(factor(b, var)?),
        Expr::Binary(BinaryOp::Mul, a, b) => match (&**a, &**b) {
            (Expr::Const(c), x) | (x, Expr::Const(c)) => factor(x, var)?.checked_mul(c.as_i64()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::each_its_own;
    use crate::ids::{Array, Id};
    use crate::ir::parse::parse;

    /// Whether the first statement stores to different elements of `w` in each iteration.
    fn is_own(text: &str) -> bool {
        let head = "fn f(n: i64, c: in [i64], w: out [i64]) {\n  var i, j, k, p, q: i64\n";
        let function = parse(&format!("{head}{text}\n}}\n")).unwrap();
        each_its_own(&function.body[0], Array::new(1))
    }

    #[test]
    fn stores_that_come_again_are_told_from_others() {
        let right = [
            "for i in 0..n {\n w[i] = n\n }",
            "for i in 0..n {\n w[2 * i + 1] = n\n }",
            "for i in 0..n {\n for j in 0..4 {\n w[i * 4 + j] = c[i]\n }\n }",
            "for i in 0..n {\n for j in 0..min(n - i, 4) {\n p = i * 8\n q = p + j\n w[q] = n\n }\n }",
            "for i in 0..4 {\n for j in 0..8 {\n for k in 0..n {\n w[k * 32 + i * 8 + j] = n\n }\n }\n }",
        ];
        let wrong = [
            "for i in 0..n {\n w[0] = i\n }",
            "for i in 0..n {\n w[c[i]] = i\n }",
            "for i in 0..n {\n w[i / 2] = i\n }",
            "for i in 0..n {\n w[i] = w[i] + 1\n }",
            "for i in 0..n {\n w[i] = 1\n w[n - i] = 2\n }",
            "for i in 0..n {\n for j in 0..5 {\n w[i * 4 + j] = i\n }\n }",
            "for i in 0..n {\n for j in 0..n {\n w[i * 4 + j] = i\n }\n }",
            "for i in 1..n {\n p = 0\n while p < i {\n w[i] = p\n p = p + 1\n }\n }",
            "for i in 0..n {\n p = i\n if i > 3 {\n p = 0\n }\n w[p] = i\n }",
        ];
        for text in right {
            assert!(is_own(text), "{text}");
        }
        for text in wrong {
            assert!(!is_own(text), "{text}");
        }
    }
}
