//! Merges two branches that do the same with elements of either operand into one that selects the operand.
//!
//! ```text
//! v = A[p]; if v < 9 { S[s] = v } else { fail }; p = p + 1
//! w = B[q]; if w < 9 { S[s] = w } else { fail }; q = q + 1
//!
//! v = select(first, A[p], B[q]); if v < 9 { S[s] = v } else { fail }
//! p = p + i64(first); q = q + (1 - i64(first))
//! ```
//!
//! Both operands of a select are computed, so both have to be safe: no division, and no element whose index or guard
//! belongs to one branch alone.

use crate::algebra::{BinaryOp, UnaryOp};
use crate::datatype::Register;
use crate::ids::{Id, Var};
use crate::ir::build::{add, assign, int, sub};
use crate::ir::flow::{assigned, exposes, replace};
use crate::ir::{Expr, Function, Stmt};

/// The number of reads of each of a function's variables.
pub(super) fn reads(function: &Function) -> Vec<usize> {
    let mut reads = vec![0; function.vars.len()];
    count(&function.body, &mut reads);
    reads
}

fn count(block: &[Stmt], reads: &mut [usize]) {
    for s in block {
        let mut read = |e: &Expr| {
            if let Expr::Var(var) = e
                && let Some(times) = reads.get_mut(var.index())
            {
                *times += 1;
            }
        };
        s.exprs().for_each(|e| e.walk(&mut read));
        s.blocks().for_each(|block| count(block, reads));
    }
}

/// Two branches, chosen by a condition.
pub(super) struct Choice<'f> {
    /// The condition for the first branch.
    first: Var,
    function: &'f Function,
    /// The number of reads of each variable.
    reads: &'f [usize],
    /// Variables that are read outside of their branch, or before the branch assigns them.
    shared: Vec<Var>,
    /// Variables that a branch assigns, except the positions.
    assigned: Vec<Var>,
    /// The number of conditions around a step.
    guards: usize,
    /// The positions that the branches advance.
    positions: [Var; 2],
    /// Variables of the second branch, and the variables of the first branch that replace them.
    renamed: Vec<(Var, Var)>,
}

impl<'f> Choice<'f> {
    pub(super) fn new(first: Var, function: &'f Function, reads: &'f [usize]) -> Choice<'f> {
        let (shared, assigned, renamed) = (vec![], vec![], vec![]);
        let positions = [first; 2];
        Choice { first, function, reads, shared, assigned, guards: 0, positions, renamed }
    }

    /// The steps of two operands as one; `None` if they differ in what they do.
    pub(super) fn steps(
        &mut self,
        (one, p): (&[Stmt], Var),
        (other, q): (&[Stmt], Var),
    ) -> Option<Vec<Stmt>> {
        let [(last, one), (other_last, other)] = [one.split_last()?, other.split_last()?];
        let advances = |s: &Stmt, p: Var| *s == assign(p, add(Expr::Var(p), int(1)));
        if !advances(last, p) || !advances(other_last, q) {
            return None;
        }
        self.positions = [p, q];
        self.shared = [one, other].into_iter().flat_map(|block| self.shared(block)).collect();
        [one, other].into_iter().for_each(|block| assigned(block, &mut self.assigned));
        let mut steps = self.block(one, other)?;
        // As a number, the condition does not tempt compilers to make branches again.
        let taken = Expr::Convert(Register::I64, Box::new(Expr::Var(self.first)));
        steps.push(assign(p, add(Expr::Var(p), taken.clone())));
        steps.push(assign(q, add(Expr::Var(q), sub(int(1), taken))));
        Some(steps)
    }

    /// The variables that a block assigns and that are also used outside of it.
    fn shared(&self, block: &[Stmt]) -> Vec<Var> {
        let (mut names, mut own) = (vec![], vec![0; self.reads.len()]);
        assigned(block, &mut names);
        count(block, &mut own);
        let is_shared =
            |var: &Var| own.get(var.index()) != self.reads.get(var.index()) || exposes(block, *var);
        names.into_iter().filter(is_shared).collect()
    }

    fn block(&mut self, one: &[Stmt], other: &[Stmt]) -> Option<Vec<Stmt>> {
        if one.len() != other.len() {
            return None;
        }
        one.iter().zip(other).map(|(a, b)| self.step(a, b)).collect()
    }

    fn step(&mut self, a: &Stmt, b: &Stmt) -> Option<Stmt> {
        Some(match (a, b) {
            (Stmt::Assign { var, value: a }, Stmt::Assign { var: other, value: b }) => {
                let value = self.chosen(a, b)?;
                self.give_name(*var, *other)?;
                assign(*var, value)
            }
            (
                Stmt::Store { array, index, value: a },
                Stmt::Store { array: same, index: at, value: b },
            ) if array == same && *index == self.named(at) => {
                Stmt::Store { array: *array, index: index.clone(), value: self.chosen(a, b)? }
            }
            (
                Stmt::If { cond: a, then, otherwise },
                Stmt::If { cond: b, then: other_then, otherwise: other_otherwise },
            ) => {
                let cond = self.chosen(a, b)?;
                self.guards += 1;
                let then = self.block(then, other_then)?;
                let otherwise = self.block(otherwise, other_otherwise)?;
                self.guards -= 1;
                Stmt::If { cond, then, otherwise }
            }
            (Stmt::Reserve { array, len }, Stmt::Reserve { array: same, len: other })
                if array == same && *len == self.named(other) =>
            {
                a.clone()
            }
            (Stmt::Fail(_), _) if a == b => a.clone(),
            _ => return None,
        })
    }

    /// Lets a variable of the first branch replace one of the second, unless one of them is read elsewhere.
    fn give_name(&mut self, var: Var, other: Var) -> Option<()> {
        if self.positions.contains(&var) || self.positions.contains(&other) {
            return None;
        }
        if var == other {
            return Some(());
        }
        let types = [var, other].map(|var| self.function.vars[var].ty);
        if self.shared.contains(&var) || self.shared.contains(&other) || types[0] != types[1] {
            return None;
        }
        let known = self.renamed.iter().find(|(from, to)| *from == other || *to == var);
        match known {
            Some(pair) => (*pair == (other, var)).then_some(()),
            None => {
                self.renamed.push((other, var));
                Some(())
            }
        }
    }

    /// An expression of the second branch, with the variables of the first.
    fn named(&self, e: &Expr) -> Expr {
        let names = self.renamed.iter();
        names.fold(e.clone(), |e, (from, to)| replace(e, *from, &Expr::Var(*to)))
    }

    fn chosen(&self, a: &Expr, b: &Expr) -> Option<Expr> {
        let b = self.named(b);
        if *a == b {
            return Some(b);
        }
        let [a, b] = [a.clone(), b].map(|e| self.is_free(&e).then(|| Box::new(e)));
        Some(Expr::Select(Box::new(Expr::Var(self.first)), a?, b?))
    }

    /// Whether an expression is safe to compute where its branch does not run: both operands then have entries, but
    /// assignments and tests of the branch have not run.
    fn is_free(&self, e: &Expr) -> bool {
        let mut is_free = is_cheap(e);
        e.walk(&mut |e| {
            if let Expr::Load { index, .. } = e {
                is_free &= match self.guards {
                    0 => {
                        let mut found = false;
                        index.walk(&mut |e| {
                            found |= matches!(e, Expr::Var(v) if self.assigned.contains(v));
                        });
                        !found
                    }
                    _ => matches!(**index, Expr::Var(v) if self.positions.contains(&v)),
                };
            }
        });
        is_free
    }
}

/// Whether computing both operands of a select is cheap: elements of operands and simple arithmetic.
fn is_cheap(e: &Expr) -> bool {
    use BinaryOp::{Add, And, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Or, Sub, Xor};
    let mut cheap = true;
    e.walk(&mut |e| {
        cheap &= match e {
            Expr::Load { lanes, .. } => *lanes == 1,
            Expr::Var(_) | Expr::Const(_) | Expr::Convert(..) | Expr::Select(..) => true,
            Expr::Binary(op, ..) => matches!(
                op,
                Add | Sub | Mul | Min | Max | And | Or | Xor | Eq | Ne | Lt | Le | Gt | Ge
            ),
            Expr::Unary(op, _) => matches!(op, UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not),
            _ => false,
        };
    });
    cheap
}
