//! Sums of several sparse operands in one loop: each operand with an entry adds to a register.
//!
//! ```text
//! where(C(i,j) = s, sequence(s += A(i,j), s += B(i,j), s += D(i,j)))
//!
//! jA = A2_crd[pA2], or beyond all at the end;  likewise B and D
//! j = min(jA, jB, jD)
//! while j is not beyond all
//!   s = 0
//!   if jA == j   s = s + A_vals[pA2];  pA2 = pA2 + 1;  jA = ..
//!   if jB == j   ..
//!   C(i,j) = s
//!   j = min(jA, jB, jD)
//! ```
//!
//! Code size is linear in the number of operands, while a merge has a case for each combination of them.

use super::forall::{Iterator, LoopEmitter};
use crate::cin::Role;
use crate::iteration::lattice::Set;
use crate::lower::Lowerer;
use crate::lower::builder::Builder;
use crate::plan::{Body, Sum};
use std::collections::BTreeMap;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, assign, binary, eq, int, lt, when};
use tamis_ir::ir::{self, Expr};

impl LoopEmitter<'_> {
    /// A loop over the coordinates that any operand has.
    pub(in crate::lower) fn sum(&self, lowerer: &mut Lowerer<'_>) -> Vec<ir::Stmt> {
        let Body::Sum(sum) = &self.plan.body else { return vec![] };
        let every = self.every();
        let mut stmts = self.start(&mut lowerer.cx, every);
        let mut heads = BTreeMap::new();
        for it in self.members(every) {
            let head = it.coordinate_var(&mut lowerer.cx, self);
            heads.insert(it.number, head);
            stmts.push(it.looked_at(&mut lowerer.cx, head));
        }
        let least = heads.values().map(|&head| Expr::Var(head));
        let least = least.reduce(|a, b| binary(BinaryOp::Min, a, b)).unwrap_or(int(i64::MAX));
        let next = assign(self.index, least);
        stmts.push(next.clone());
        let here = |it: &Iterator| Some(eq(Expr::Var(heads[&it.number]), Expr::Var(self.index)));
        let mut body = self.terms_at(lowerer, sum, &here, &mut |lowerer, it| {
            it.passed(&mut lowerer.cx, heads[&it.number])
        });
        body.push(next);
        stmts.push(ir::Stmt::While { cond: lt(Expr::Var(self.index), int(i64::MAX)), body });
        stmts
    }

    /// Whether operands that follow a pattern hold their next coordinate in a variable.
    pub(in crate::lower) fn has_heads(&self, others: Set) -> bool {
        let is_sum = matches!(self.plan.body, Body::Sum(_));
        is_sum && !self.members(others).any(|it| it.segmented)
    }

    /// Loads the first coordinates of the following operands, if they hold these in variables.
    pub(in crate::lower) fn heads(&self, lowerer: &mut Lowerer<'_>, others: Set) -> Vec<ir::Stmt> {
        if !self.has_heads(others) {
            return vec![];
        }
        let first = self.members(others).map(|it| {
            let head = it.coordinate_var(&mut lowerer.cx, self);
            it.looked_at(&mut lowerer.cx, head)
        });
        first.collect()
    }

    /// Adds the terms of operands that follow a pattern, at one of its coordinates.
    pub(in crate::lower) fn followed(
        &self,
        lowerer: &mut Lowerer<'_>,
        sum: &Sum,
        others: Set,
    ) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        let mut heads = BTreeMap::new();
        for it in self.members(others) {
            let head = it.coordinate_var(&mut lowerer.cx, self);
            heads.insert(it.number, head);
            let body = it.passed(&mut lowerer.cx, head);
            stmts.push(ir::Stmt::While { cond: lt(Expr::Var(head), Expr::Var(self.index)), body });
        }
        let here = |it: &Iterator| {
            heads.get(&it.number).map(|&head| eq(Expr::Var(head), Expr::Var(self.index)))
        };
        stmts.extend(self.terms_at(lowerer, sum, &here, &mut |lowerer, it| {
            match heads.get(&it.number) {
                Some(&head) => it.passed(&mut lowerer.cx, head),
                None => vec![],
            }
        }));
        stmts
    }

    /// Adds the terms at a coordinate, each followed by its own code, and then consumes their sum.
    pub(in crate::lower) fn terms_at(
        &self,
        lowerer: &mut Lowerer<'_>,
        sum: &Sum,
        here: &dyn Fn(&Iterator) -> Option<Expr>,
        after: &mut dyn FnMut(&mut Lowerer<'_>, &Iterator) -> Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        if let Role::Register(initial) = lowerer.program.tensors[sum.register].role {
            let held = lowerer.cx.register(sum.register);
            let datatype = lowerer.program.storage(sum.register).datatype;
            let initial = crate::lower::Value::constant(initial.computed(datatype));
            stmts.extend(lowerer.cx.assigned(held, initial));
        }
        for (driver, part) in &sum.terms {
            let it = &self.iterators[*driver];
            let mut term = self.case_at(lowerer, &[(it, it.position)], part, None).stmts;
            term.extend(after(lowerer, it));
            match here(it) {
                Some(here) => stmts.push(when(here, term)),
                None => stmts.extend(term),
            }
        }
        let mut consumer = self.case(lowerer, &self.at(sum.pattern), &sum.consumer).stmts;
        // A pattern that does not drive the loop has entries at only some of the coordinates.
        for it in self.members(sum.pattern) {
            if let Some(here) = here(it) {
                consumer.extend(after(lowerer, it));
                consumer = vec![when(here, consumer)];
            }
        }
        stmts.extend(consumer);
        stmts
    }
}

impl Iterator {
    /// Advances an operand, and loads its next coordinate.
    fn passed(&self, cx: &mut Builder, head: Var) -> Vec<ir::Stmt> {
        let advanced = assign(self.position, add(Expr::Var(self.position), int(1)));
        vec![advanced, self.looked_at(cx, head)]
    }

    /// Loads the coordinate at the position of an operand; at its end, one beyond all others.
    fn looked_at(&self, cx: &mut Builder, head: Var) -> ir::Stmt {
        ir::Stmt::If {
            cond: lt(Expr::Var(self.position), Expr::Var(self.end(cx))),
            then: vec![assign(head, self.coordinate(self.position))],
            otherwise: vec![assign(head, int(i64::MAX))],
        }
    }
}
