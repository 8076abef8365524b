//! Two-finger merges: of two operands, the one at the lower coordinate advances, or gallops.

use super::forall::LoopEmitter;
use crate::iteration::lattice::Set;
use crate::lower::Lowerer;
use crate::plan::Merge;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{all, assign, eq, lt};
use tamis_ir::ir::{Expr, Stmt};

impl LoopEmitter<'_> {
    /// Walks operands while all of them have entries left.
    pub(in crate::lower) fn together(&self, lowerer: &mut Lowerer<'_>, present: Set) -> Stmt {
        let mut live = vec![];
        let mut body = vec![];
        let mut coordinates = vec![];
        for it in self.members(present) {
            live.push(lt(Expr::Var(it.position), Expr::Var(it.end(&mut lowerer.cx))));
            let coordinate = it.coordinate_var(&mut lowerer.cx, self);
            body.push(assign(coordinate, it.coordinate(it.position)));
            coordinates.push(coordinate);
        }
        let rest = match coordinates[..] {
            [alone] => self.advancing(lowerer, present, alone),
            [a, b] => self.two(lowerer, present, a, b),
            _ if self.members(present).all(|it| it.gallops) => {
                self.all_of(lowerer, present, &coordinates)
            }
            _ => self.many(lowerer, present, &coordinates),
        };
        body.extend(rest);
        Stmt::While { cond: all(live), body }
    }

    /// The cases for two operands: both, only the first, only the second.
    pub(in crate::lower) fn two(
        &self,
        lowerer: &mut Lowerer<'_>,
        present: Set,
        a: Var,
        b: Var,
    ) -> Vec<Stmt> {
        let first = 1 << present.trailing_zeros();
        let second = present & !first;
        let both = self.advancing(lowerer, present, a);
        let only_first = self.passing(lowerer, first, (a, b));
        let only_second = self.passing(lowerer, second, (b, a));
        vec![Stmt::If {
            cond: eq(Expr::Var(a), Expr::Var(b)),
            then: both,
            otherwise: vec![Stmt::If {
                cond: lt(Expr::Var(a), Expr::Var(b)),
                then: only_first,
                otherwise: only_second,
            }],
        }]
    }

    /// The case in which one of two operands is at a lower coordinate than the other.
    pub(in crate::lower) fn passing(
        &self,
        lowerer: &mut Lowerer<'_>,
        alone: Set,
        (own, other): (Var, Var),
    ) -> Vec<Stmt> {
        match self.members(alone).next() {
            Some(it) if it.gallops => it.galloped(&mut lowerer.cx, other),
            _ => self.advancing(lowerer, alone, own),
        }
    }

    /// The case in which exactly these operands are at the coordinate; it advances them.
    pub(in crate::lower) fn advancing(
        &self,
        lowerer: &mut Lowerer<'_>,
        present: Set,
        coordinate: Var,
    ) -> Vec<Stmt> {
        let mut stmts = vec![];
        let is_led = self.plan.merge == Merge::Led(present);
        let case = self.plan.below(present).next().filter(|_| !is_led);
        if is_led || case.is_some() || self.members(present).any(|it| it.segmented) {
            stmts.push(assign(self.index, Expr::Var(coordinate)));
        }
        stmts.extend(self.segments_at(&mut lowerer.cx, &self.at(present)));
        if is_led {
            stmts.extend(self.with_followers(lowerer, present));
        }
        if let Some(case) = case {
            stmts.extend(self.case(lowerer, &self.at(case.present), &case.node).stmts);
        }
        for it in self.members(present) {
            stmts.push(it.advanced(&mut lowerer.cx));
        }
        stmts
    }
}
