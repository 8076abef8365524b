//! Loops that some operands lead: there is work only where all leaders have an entry; other operands follow.
//!
//! ```text
//! within(C(i,j), C(i,j) = A(i,j) + B(i,j))          {C, A, B}, {C, A}, {C, B}
//!
//! for pC2 in C2_pos[i]..C2_pos[i + 1]
//!   j = C2_crd[pC2]
//!   while pA2 < pA2_end and A2_crd[pA2] < j   pA2 = pA2 + 1       likewise B
//!   cases: both have j / only A has it / only B has it
//! ```
//!
//! Several leaders, as the factors of `C(i,j) * D(i,j) * (A(i,j) + B(i,j))`, are merged with each other, and the
//! others follow where these meet: if that is seldom, the others are hardly read. If followers have no entries but the
//! leader's, each step skips one entry. The terms of a sum are already behind their coordinate when they are added
//! ([`super::nary_sum`]), and skip nothing then.

use super::forall::{Iterator, LoopEmitter};
use crate::iteration::lattice::Set;
use crate::lower::builder::Builder;
use crate::lower::builder::advance;
use crate::lower::{Code, Lowerer};
use crate::plan::Body;
use std::collections::BTreeMap;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{all, assign, lt, when};
use tamis_ir::ir::{Expr, Stmt};

impl LoopEmitter<'_> {
    /// A loop over the positions at which all leaders have an entry.
    pub(in crate::lower) fn led(&self, lowerer: &mut Lowerer<'_>, leaders: Set) -> Code {
        let every = self.every();
        let heads = self.heads(lowerer, every & !leaders);
        let leader = &self.iterators[leaders.trailing_zeros() as usize];
        let position = leader.position;
        let is_plain = leaders.count_ones() == 1 && !leader.is_clipped() && !self.is_cut();
        if !is_plain {
            let mut stmts = self.start(&mut lowerer.cx, every);
            stmts.extend(heads);
            stmts.push(self.together(lowerer, leaders));
            return Code { stmts, covers: false };
        }
        let mut body = vec![assign(self.index, leader.coordinate(position))];
        body.extend(self.with_followers(lowerer, leaders));
        let mut stmts = self.start(&mut lowerer.cx, every & !leaders);
        stmts.extend(heads);
        stmts.extend(self.positions(lowerer, leader, position, leader.bounds(), body));
        Code { stmts, covers: false }
    }

    /// The code at a coordinate of the leaders, to which the other operands follow.
    pub(in crate::lower) fn with_followers(
        &self,
        lowerer: &mut Lowerer<'_>,
        leaders: Set,
    ) -> Vec<Stmt> {
        let every = self.every();
        let others = every & !leaders;
        if let (Body::Sum(sum), true) = (&self.plan.body, self.has_heads(others)) {
            return self.followed(lowerer, sum, others);
        }
        let (mut stmts, mut flags) = (vec![], BTreeMap::new());
        for it in self.members(others) {
            stmts.push(match it.gallops {
                true => it.leapt(&mut lowerer.cx, self.index),
                false => it.skipped(&mut lowerer.cx, &Expr::Var(self.index)),
            });
            flags.insert(it.number, self.flagged(&mut lowerer.cx, it, &mut stmts));
        }
        stmts.extend(self.cases(lowerer, every, &flags).stmts);
        stmts
    }
}

impl Iterator {
    /// Makes an operand gallop to the first coordinate not below the target, if it is below.
    fn leapt(&self, cx: &mut Builder, target: Var) -> Stmt {
        let live = lt(Expr::Var(self.position), Expr::Var(self.end(cx)));
        let before = lt(self.coordinate(self.position), Expr::Var(target));
        when(all([live, before]), self.galloped(cx, target))
    }

    /// Moves an operand past the coordinates before the first visited one.
    pub(in crate::lower) fn skipped(&self, cx: &mut Builder, first: &Expr) -> Stmt {
        let live = lt(Expr::Var(self.position), Expr::Var(self.end(cx)));
        let before = lt(self.coordinate(self.position), first.clone());
        Stmt::While { cond: all([live, before]), body: vec![advance(self.position)] }
    }
}
