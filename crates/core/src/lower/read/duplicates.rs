//! Levels with duplicates: the positions of one coordinate are visited as a segment.
//!
//! ```text
//! pA1_segend = pA1 + 1
//! while pA1_segend < pA1_end and A1_crd[pA1_segend] == i
//!   pA1_segend = pA1_segend + 1
//! ```
//!
//! The thesis calls this deduplication and chaining (section 4.4): levels below are walked from
//! the segment's first position to its last.

use super::forall::Iterator;
use crate::level::{Bounds, Labelled};
use crate::lower::builder::Builder;
use crate::lower::builder::advance;
use crate::lower::scope::Reached;
use crate::lower::symbols::Symbols;
use crate::lower::value::Value;
use crate::notation::Access;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, all, assign, eq, for_loop, int, lt};
use tamis_ir::ir::{Expr, Stmt};

impl Iterator {
    /// Finds the end of the segment at a position, whose coordinate in the level is known.
    pub(in crate::lower) fn segment(
        &self,
        cx: &mut Builder,
        position: Var,
        coordinate: Expr,
        end: Expr,
    ) -> Vec<Stmt> {
        let segend = cx.segment_end(position);
        let here = || Expr::Var(segend);
        let same = all([lt(here(), end), eq(self.raw(segend).coordinate, coordinate)]);
        vec![
            assign(segend, add(Expr::Var(position), int(1))),
            Stmt::While { cond: same, body: vec![advance(segend)] },
        ]
    }
}

impl Symbols<'_> {
    /// The value of an access at a segment: the sum over its positions; for booleans, whether any is true.
    pub(in crate::lower) fn summed(
        &mut self,
        reached: Reached,
        access: &Access,
    ) -> (Vec<Stmt>, Value) {
        let vals = self.arrays(access.tensor).vals;
        let first = self.loaded(vals, reached.position.clone());
        let Some(end) = reached.end else { return (vec![], first) };
        let name = format!("{}_value", self.program.tensors[access.tensor].name);
        let total = self.held_vars(&name, first.im.is_some());
        let q = self.temp("q");
        let next = self.loaded(vals, Expr::Var(q));
        let op = match self.program.storage(access.tensor).datatype {
            DataType::Bool => ReduceOp::Max,
            _ => ReduceOp::Add,
        };
        let mut body = vec![];
        let sum = self.combined(op, total.value(), next, &mut body);
        body.extend(self.assigned(total, sum));
        let mut stmts = self.assigned(total, first);
        stmts.push(for_loop(q, add(reached.position, int(1)), end, body));
        (stmts, total.value())
    }
}

impl Iterator {
    /// The positions to walk, below one parent or a segment of parents.
    pub(in crate::lower) fn bounds(&self) -> Bounds {
        let below = |parent: Expr| {
            let bounds = self.kind.pos_bounds(&self.arrays, parent);
            bounds.expect("a level that is iterated has positions")
        };
        let first = below(self.parent.position.clone());
        match &self.parent.end {
            None => first,
            Some(end) => Bounds { lo: first.lo, hi: below(add(end.clone(), int(-1))).hi },
        }
    }

    /// The value of the index variable at a position.
    pub(in crate::lower) fn coordinate(&self, position: Var) -> Expr {
        self.labelled(position).coordinate
    }

    /// The value of the index variable at a position, and the condition that there is one.
    pub(in crate::lower) fn labelled(&self, position: Var) -> Labelled {
        let Labelled { coordinate, found } = self.raw(position);
        let met = self.sliced.met(&coordinate);
        let found = found.into_iter().chain(met).reduce(|a, b| all([a, b]));
        Labelled { coordinate: self.sliced.index(coordinate), found }
    }

    /// The coordinate of the level at a position, and the condition that there is one.
    pub(in crate::lower) fn raw(&self, position: Var) -> Labelled {
        let parent = self.parent.position.clone();
        let at = self.kind.pos_access(&self.arrays, parent, Expr::Var(position));
        at.expect("a level that is iterated has coordinates")
    }
}
