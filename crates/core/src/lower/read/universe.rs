//! A loop over every coordinate of a dimension, with operands that may be there or not.

use super::forall::{Iterator, Loop};
use crate::lower::{Code, Lowerer};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{all, assign, eq, int, lt};
use tamis_ir::ir::{Expr, Stmt};

impl Lowerer<'_> {
    /// Every coordinate of the dimension.
    pub(in crate::lower) fn universe(&mut self, nest: &Loop<'_>) -> Code {
        let every = nest.every();
        let (lo, hi) = match &nest.window {
            Some(window) => window.clone(),
            None => self.turns(nest),
        };
        // Iterations that run at the same time find their own positions.
        let apart = self.unit(nest.plan.own).is_some();
        let first = if apart { Expr::Var(nest.index) } else { lo.clone() };
        let places = self.tracking(nest.plan.var, &first, nest.scope);
        let (mut stmts, mut body) = if apart { (vec![], places) } else { (places, vec![]) };
        stmts.extend(self.start(nest, every));
        if lo != int(0) && nest.window.is_none() && !self.is_cut(nest) {
            stmts.extend(nest.members(every).map(|it| self.skipped(it, &lo)));
        }
        let mut flags = vec![];
        for it in nest.members(every) {
            flags.push((it, self.flagged(nest, it, &mut body)));
        }
        let flag_of = |it: &Iterator| flags.iter().find(|f| std::ptr::eq(f.0, it)).map(|f| f.1);
        let cases = self.cases(nest, every, &flag_of);
        body.extend(cases.stmts);
        for (it, flag) in &flags {
            body.push(self.advanced_if(it, *flag));
        }
        self.on_unit(nest.plan.own, nest.index);
        let every_coordinate = Stmt::For { var: nest.index, lo, hi, step: 1, body };
        match self.whole_block(nest) {
            Some((size, rest)) if !self.kernel.tags.contains_key(&nest.plan.own) => {
                stmts.push(crate::lower::read::peel_blocks::peeled(every_coordinate, size, rest));
            }
            _ => stmts.extend(self.unrolled(nest.plan.own, every_coordinate)),
        }
        Code { stmts, covers: cases.covers && !self.cx.planner().leaves_gaps(nest.plan) }
    }

    /// Sets the variable that says whether an operand is at the coordinate, and its segment.
    pub(in crate::lower) fn flagged(
        &mut self,
        nest: &Loop<'_>,
        it: &Iterator,
        into: &mut Vec<Stmt>,
    ) -> Var {
        let live = lt(Expr::Var(it.position), Expr::Var(it.end(&mut self.cx)));
        let here = eq(it.coordinate(it.position), Expr::Var(nest.index));
        let flag = it.flag(&mut self.cx);
        into.push(assign(flag, all([live, here])));
        into.extend(self.segment_if(nest, it, flag));
        flag
    }
}
