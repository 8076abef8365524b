//! Merges three or more operands in one loop: by the lowest coordinate, and a flag for each operand that has it.

use super::forall::LoopEmitter;
use crate::iteration::lattice::Set;
use crate::lower::Lowerer;
use crate::plan::Merge;
use std::collections::BTreeMap;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{all, assign, binary, eq, int, lt, when};
use tamis_ir::ir::{Expr, Stmt};

impl LoopEmitter<'_> {
    /// Computes the lowest coordinate of several operands, and the flags of those that have it.
    pub(in crate::lower) fn many(
        &self,
        lowerer: &mut Lowerer<'_>,
        present: Set,
        coordinates: &[Var],
    ) -> Vec<Stmt> {
        let least = coordinates.iter().map(|&c| Expr::Var(c));
        let least = least.reduce(|a, b| binary(BinaryOp::Min, a, b)).unwrap_or(int(0));
        let mut stmts = vec![assign(self.index, least)];
        let mut flags = BTreeMap::new();
        for (it, &coordinate) in self.members(present).zip(coordinates) {
            let flag = it.flag(&mut lowerer.cx);
            flags.insert(it.number, flag);
            stmts.push(assign(flag, eq(Expr::Var(coordinate), Expr::Var(self.index))));
        }
        for it in self.members(present) {
            stmts.extend(self.segment_if(&mut lowerer.cx, it, flags[&it.number]));
        }
        stmts.extend(match self.plan.merge == Merge::Led(present) {
            true => {
                let here = flags.values().map(|&flag| Expr::Var(flag));
                vec![when(all(here), self.with_followers(lowerer, present))]
            }
            false => self.cases(lowerer, present, &flags).stmts,
        });
        for it in self.members(present) {
            stmts.push(it.advanced_if(&mut lowerer.cx, flags[&it.number]));
        }
        stmts
    }

    /// Three operands or more, none of which is needed everywhere: one loop while some point is possible, so there is
    /// one case per point instead of one per point and loop. An operand at its end has a coordinate beyond all others.
    pub(in crate::lower) fn any(&self, lowerer: &mut Lowerer<'_>, every: Set) -> Vec<Stmt> {
        let mut stmts = self.start(&mut lowerer.cx, every);
        let mut body = vec![];
        let mut coordinates = vec![];
        for it in self.members(every) {
            let coordinate = it.coordinate_var(&mut lowerer.cx, self);
            let live = lt(Expr::Var(it.position), Expr::Var(it.end(&mut lowerer.cx)));
            body.push(Stmt::If {
                cond: live,
                then: vec![assign(coordinate, it.coordinate(it.position))],
                otherwise: vec![assign(coordinate, int(i64::MAX))],
            });
            coordinates.push(coordinate);
        }
        body.extend(self.many(lowerer, every, &coordinates));
        let points = self.plan.points();
        let minimal = points.iter().filter(|&&p| {
            let below = |q: Set| q != p && q & !p == 0;
            !points.iter().any(|&q| below(q))
        });
        let mut live = vec![];
        for &point in minimal {
            let mut parts = vec![];
            for it in self.members(point) {
                parts.push(lt(Expr::Var(it.position), Expr::Var(it.end(&mut lowerer.cx))));
            }
            live.push(all(parts));
        }
        let cond = live.into_iter().reduce(|a, b| binary(BinaryOp::Or, a, b));
        let cond = cond.unwrap_or(Expr::Const(Scalar::Bool(false)));
        stmts.push(Stmt::While { cond, body });
        stmts
    }
}
