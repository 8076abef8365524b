//! Two operands merged by two fingers: the one at the lesser coordinate moves on, or gallops.

use super::forall::Loop;
use crate::iteration::lattice::Set;
use crate::lower::Lowerer;
use crate::plan::Case;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{all, assign, eq, lt};
use tamis_ir::ir::{Expr, Stmt};

impl Lowerer<'_> {
    /// Walks several operands while all are live.
    pub(in crate::lower) fn together(&mut self, nest: &Loop<'_>, case: &Case) -> Stmt {
        let mut live = vec![];
        let mut body = vec![];
        let mut coordinates = vec![];
        for it in nest.members(case.present) {
            live.push(lt(Expr::Var(it.position), Expr::Var(it.end(&mut self.cx))));
            let coordinate = it.coordinate_var(&mut self.cx, nest);
            body.push(assign(coordinate, it.coordinate(it.position)));
            coordinates.push(coordinate);
        }
        let rest = match coordinates[..] {
            [a, b] => self.two(nest, case.present, a, b),
            _ if nest.members(case.present).all(|it| it.gallops) => {
                self.all_of(nest, case.present, &coordinates)
            }
            _ => self.many(nest, case.present, &coordinates),
        };
        body.extend(rest);
        Stmt::While { cond: all(live), body }
    }

    /// Two operands: both, only the first, only the second.
    pub(in crate::lower) fn two(
        &mut self,
        nest: &Loop<'_>,
        present: Set,
        a: Var,
        b: Var,
    ) -> Vec<Stmt> {
        let first = 1 << present.trailing_zeros();
        let second = present & !first;
        let both = self.advancing(nest, present, a);
        let only_first = self.passing(nest, first, (a, b));
        let only_second = self.passing(nest, second, (b, a));
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

    /// The case in which one of two operands is at a coordinate before that of the other.
    pub(in crate::lower) fn passing(
        &mut self,
        nest: &Loop<'_>,
        alone: Set,
        (own, other): (Var, Var),
    ) -> Vec<Stmt> {
        match nest.members(alone).next() {
            Some(it) if it.gallops => self.galloped(it, other),
            _ => self.advancing(nest, alone, own),
        }
    }

    /// The case in which exactly these operands are at the coordinate, which moves them on.
    pub(in crate::lower) fn advancing(
        &mut self,
        nest: &Loop<'_>,
        present: Set,
        coordinate: Var,
    ) -> Vec<Stmt> {
        let mut stmts = vec![];
        let case = nest.plan.below(present).next();
        if case.is_some() || nest.members(present).any(|it| it.segmented) {
            stmts.push(assign(nest.index, Expr::Var(coordinate)));
        }
        stmts.extend(self.segments_at(nest, &nest.at(present)));
        if let Some(case) = case {
            stmts.extend(self.case(nest, &nest.at(case.present), &case.node).stmts);
        }
        for it in nest.members(present) {
            stmts.push(self.advanced(it));
        }
        stmts
    }
}
