//! Loops that a pattern leads: nothing is done outside of it, and other operands follow.
//!
//! ```text
//! within(C(i,j), C(i,j) = A(i,j) + B(i,j))          {C, A, B}, {C, A}, {C, B}
//!
//! for pC2 in C2_pos[i]..C2_pos[i + 1]
//!   j = C2_crd[pC2]
//!   while pA2 < pA2_end and A2_crd[pA2] < j   pA2 = pA2 + 1       likewise B
//!   both are at j / only A is / only B is
//! ```
//!
//! Where operands have no entries but the pattern's, each step skips one. Terms of a sum are past their coordinate
//! once they were added ([`super::nary_sum`]), so that they skip nothing then.

use super::forall::{Iterator, LoopEmitter};
use crate::lower::builder::Builder;
use crate::lower::builder::advance;
use crate::lower::{Code, Lowerer};
use crate::plan::Body;
use std::collections::BTreeMap;
use tamis_ir::ir::build::{all, assign, lt};
use tamis_ir::ir::{Expr, Stmt};

impl LoopEmitter<'_> {
    /// A loop over the positions of the pattern.
    pub(in crate::lower) fn led(&self, lowerer: &mut Lowerer<'_>, leader: &Iterator) -> Code {
        let every = self.every();
        let others = every & !(1 << leader.number);
        let mut body = vec![assign(self.index, leader.coordinate(leader.position))];
        let position = leader.position;
        let mut heads = vec![];
        let is_sum = !self.members(others).any(|it| it.segmented);
        if let (Body::Sum(sum), true) = (&self.plan.body, is_sum) {
            let [first, following] = self.followed(lowerer, sum, others);
            heads = first;
            body.extend(following);
        } else {
            let mut flags = BTreeMap::new();
            for it in self.members(others) {
                body.push(it.skipped(&mut lowerer.cx, &Expr::Var(self.index)));
                flags.insert(it.number, self.flagged(&mut lowerer.cx, it, &mut body));
            }
            body.extend(self.cases(lowerer, every, &flags).stmts);
        }
        let stmts = match leader.is_clipped() || self.is_cut() {
            true => {
                let mut stmts = self.start(&mut lowerer.cx, every);
                stmts.extend(heads);
                let cond = lt(Expr::Var(position), Expr::Var(leader.end(&mut lowerer.cx)));
                body.push(advance(position));
                stmts.push(Stmt::While { cond, body });
                stmts
            }
            false => {
                let mut stmts = self.start(&mut lowerer.cx, others);
                stmts.extend(heads);
                stmts.extend(self.positions(lowerer, leader, position, leader.bounds(), body));
                stmts
            }
        };
        Code { stmts, covers: false }
    }
}

impl Iterator {
    /// Moves an operand past the coordinates before the first that is visited.
    pub(in crate::lower) fn skipped(&self, cx: &mut Builder, first: &Expr) -> Stmt {
        let live = lt(Expr::Var(self.position), Expr::Var(self.end(cx)));
        let before = lt(self.coordinate(self.position), first.clone());
        Stmt::While { cond: all([live, before]), body: vec![advance(self.position)] }
    }
}
