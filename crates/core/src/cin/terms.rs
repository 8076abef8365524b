//! Bounds for the number of terms in sums of a kernel, from dimensions and numbers of stored values.
//!
//! ```text
//! forall(i, where(y(i) = t, forall(j, t += A(i,j) * x(j))))     t: at most j terms, and at most entries of A
//! forall(i, forall(j, s += max(x(i), y(j))))                    s: at most i * j terms
//! ```
//!
//! Integers of 32 bits add up to 64 bits only where a sum has very many terms ([`MANY`]); then a kernel has
//! [long sums](super::Overflow::CheckedLong).

use super::simplify::written;
use super::{Kernel, Program, Stmt};
use crate::notation::{Access, Expr};
use std::collections::BTreeMap;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::ids::{IndexVar, TensorId};

/// This many terms of at most 32 bits sum to less than 2^62.
pub const MANY: u64 = 1 << 30;

/// The sizes known at a call.
pub struct Sizes<'s> {
    /// The dimension of each index variable of the notation.
    pub dimension: &'s dyn Fn(IndexVar) -> u64,
    /// The number of values that a tensor stores; `None` for temporaries.
    pub stored: &'s dyn Fn(TensorId) -> Option<u64>,
}

/// A bound for the number of terms that any sum of a kernel has.
pub fn most_terms(program: &Program, kernel: &Kernel, sizes: &Sizes<'_>) -> u64 {
    terms(program, kernel, sizes).into_values().max().unwrap_or(0)
}

/// A bound for the number of terms of an element of each tensor that a kernel writes, temporaries among them.
pub fn terms(program: &Program, kernel: &Kernel, sizes: &Sizes<'_>) -> BTreeMap<TensorId, u64> {
    let mut terms = Terms { program, kernel, sizes, begun: BTreeMap::new(), sums: BTreeMap::new() };
    terms.stmt(&kernel.body, &mut vec![]);
    terms.sums
}

struct Terms<'t> {
    program: &'t Program,
    kernel: &'t Kernel,
    sizes: &'t Sizes<'t>,
    /// For each temporary, the number of loops around the statement that initialises it.
    begun: BTreeMap<TensorId, usize>,
    /// For each tensor, the number of terms of one element so far.
    sums: BTreeMap<TensorId, u64>,
}

impl Terms<'_> {
    fn stmt(&mut self, s: &Stmt, loops: &mut Vec<IndexVar>) {
        match s {
            Stmt::Forall { var, body } => {
                loops.push(*var);
                self.stmt(body, loops);
                loops.pop();
            }
            Stmt::Assign { lhs, op, rhs } => {
                let terms = self.of_assignment(lhs, *op, rhs, loops);
                let sum = self.sums.entry(lhs.tensor).or_default();
                *sum = sum.saturating_add(terms);
            }
            _ => {
                if let Stmt::Where { producer, .. } = s {
                    self.begun.insert(written(producer), loops.len());
                }
                s.children().into_iter().for_each(|child| self.stmt(child, loops));
            }
        }
    }

    /// How many terms an assignment adds to an element.
    fn of_assignment(
        &self,
        lhs: &Access,
        op: Option<ReduceOp>,
        rhs: &Expr,
        loops: &[IndexVar],
    ) -> u64 {
        let accesses = rhs.accesses();
        let repeats = |a: &&&Access| self.program.storage(a.tensor).format.has_duplicates();
        let repeating: Vec<&&Access> = accesses.iter().filter(repeats).collect();
        let sums = match op {
            Some(op) => op == ReduceOp::Add,
            None => self.kernel.scatter,
        };
        let (outer, inner) = loops.split_at(self.begun.get(&lhs.tensor).copied().unwrap_or(0));
        let vars = match sums {
            true => self.summed_over(lhs, rhs, outer, inner),
            // Only duplicate coordinates are added up.
            false => vec![],
        };
        let all = |vars: &mut dyn Iterator<Item = &IndexVar>| {
            vars.fold(1, |n: u64, &var| n.saturating_mul((self.sizes.dimension)(var)))
        };
        let by_entries = |access: &Access| {
            let stored = (self.sizes.stored)(access.tensor).unwrap_or(u64::MAX);
            stored.saturating_mul(all(&mut vars.iter().filter(|v| !access.indices.contains(v))))
        };
        let again = repeating.iter().map(|a| by_entries(a)).fold(0, u64::saturating_add);
        let by_dimensions = all(&mut vars.iter()).saturating_add(again);
        let factors = self.factors(rhs);
        let only = |a: &&&Access| repeating.iter().all(|other| other == a);
        let by_factor = factors.iter().filter(only).map(|a| by_entries(a)).min();
        by_factor.map_or(by_dimensions, |n| n.min(by_dimensions))
    }

    /// The variables of the notation that differ between terms of one element.
    fn summed_over(
        &self,
        lhs: &Access,
        rhs: &Expr,
        outer: &[IndexVar],
        inner: &[IndexVar],
    ) -> Vec<IndexVar> {
        let derived = &self.program.derived;
        let known = [&lhs.indices, outer].concat();
        let mut vars = inner.to_vec();
        vars.extend(inner.iter().flat_map(|&var| derived.ancestors(var)));
        rhs.walk(&mut |e| match e {
            Expr::Access(a) => vars.extend(&a.indices),
            Expr::Index(var) => vars.push(*var),
            _ => {}
        });
        vars.sort();
        vars.dedup();
        let own = |var: IndexVar| derived.map(var).is_none() && !derived.is_scheduled(var);
        vars.retain(|&var| own(var) && !derived.follows(var, &known));
        vars
    }

    /// The operands whose implicit coordinates make the value 0.
    fn factors<'e>(&self, e: &'e Expr) -> Vec<&'e Access> {
        match e {
            Expr::Access(a) if self.program.storage(a.tensor).fill.is_zero() => vec![a],
            Expr::Unary(UnaryOp::Neg, a) => self.factors(a),
            Expr::Binary(BinaryOp::Mul, a, b) => [self.factors(a), self.factors(b)].concat(),
            _ => vec![],
        }
    }
}
