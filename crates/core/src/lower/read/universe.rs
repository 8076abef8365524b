//! Loops over every coordinate of a dimension, with operands that may or may not have an entry.

use super::forall::{Iterator, LoopEmitter};
use crate::lower::builder::Builder;
use crate::lower::{Code, Lowerer};
use std::collections::BTreeMap;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{all, assign, eq, int, lt};
use tamis_ir::ir::{Expr, Stmt};

impl LoopEmitter<'_> {
    /// A loop over every coordinate of the dimension.
    pub(in crate::lower) fn universe(&self, lowerer: &mut Lowerer<'_>) -> Code {
        let every = self.every();
        let (lo, hi) = match &self.window {
            Some(window) => window.clone(),
            None => self.coordinate_range(&mut lowerer.cx),
        };
        // Concurrent iterations each find their own positions.
        let apart = lowerer.cx.planner().unit(self.plan.own).is_some();
        let first = if apart { Expr::Var(self.index) } else { lo.clone() };
        let places =
            lowerer.gpu.tables.tracking(&mut lowerer.cx, self.plan.var, &first, self.scope);
        let (mut stmts, mut body) = if apart { (vec![], places) } else { (places, vec![]) };
        stmts.extend(self.start(&mut lowerer.cx, every));
        if lo != int(0) && self.window.is_none() && !self.is_cut() {
            stmts.extend(self.members(every).map(|it| it.skipped(&mut lowerer.cx, &lo)));
        }
        let mut flags = BTreeMap::new();
        for it in self.members(every) {
            flags.insert(it.number, self.flagged(&mut lowerer.cx, it, &mut body));
        }
        let cases = self.cases(lowerer, every, &flags);
        body.extend(cases.stmts);
        for it in self.members(every) {
            body.push(it.advanced_if(&mut lowerer.cx, flags[&it.number]));
        }
        match self.whole_block(&mut lowerer.cx) {
            Some((size, rest)) if !lowerer.kernel.tags.contains_key(&self.plan.own) => {
                let every_coordinate = Stmt::For { var: self.index, lo, hi, step: 1, body };
                stmts.push(crate::lower::read::peel_blocks::peeled(every_coordinate, size, rest));
            }
            _ => stmts.extend(lowerer.counted_loop(self.plan.own, self.index, (lo, hi), body)),
        }
        Code { stmts, covers: cases.covers && !lowerer.cx.planner().leaves_gaps(self.plan) }
    }

    /// Sets the flag that an operand is at the coordinate, and its segment.
    pub(in crate::lower) fn flagged(
        &self,
        cx: &mut Builder,
        it: &Iterator,
        into: &mut Vec<Stmt>,
    ) -> Var {
        let live = lt(Expr::Var(it.position), Expr::Var(it.end(cx)));
        let here = eq(it.coordinate(it.position), Expr::Var(self.index));
        let flag = it.flag(cx);
        into.push(assign(flag, all([live, here])));
        into.extend(self.segment_if(cx, it, flag));
        flag
    }
}
