//! Merging by galloping: an operand skips coordinates that the others lack by a search with steps that double.
//!
//! ```text
//! mergeby(j, gallop)          if jA < jB
//!                               pA = the first position from pA + 1 on with A2_crd[pA] >= jB
//! ```
//!
//! Merging n coordinates with m more numerous ones takes about n log (m / n) steps.

use super::forall::{Iterator, LoopEmitter};
use crate::iteration::lattice::Set;
use crate::lower::Lowerer;
use crate::lower::builder::Builder;
use crate::lower::builder::advance;
use crate::lower::read::locate::first_from;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, assign, binary, eq, int, lt, mul, sub, when};
use tamis_ir::ir::{Expr, Stmt};

impl Iterator {
    /// Moves an operand from a coordinate below the target to the first one that is not.
    pub(in crate::lower) fn galloped(&self, cx: &mut Builder, target: Var) -> Vec<Stmt> {
        let p = self.position;
        let (step, probe) = (cx.temp("step"), cx.temp("probe"));
        let end = Expr::Var(self.end(cx));
        let inside = lt(Expr::Var(probe), end.clone());
        let before = lt(self.raw(probe).coordinate, Expr::Var(target));
        let next = sub(add(Expr::Var(p), Expr::Var(step)), int(1));
        let mut stmts = vec![
            advance(p),
            assign(step, int(1)),
            assign(probe, Expr::Var(p)),
            Stmt::While {
                cond: Expr::AndThen(Box::new(inside), Box::new(before)),
                body: vec![
                    assign(p, add(Expr::Var(probe), int(1))),
                    assign(step, mul(Expr::Var(step), int(2))),
                    assign(probe, next),
                ],
            },
        ];
        let behind = binary(BinaryOp::Min, Expr::Var(probe), end);
        let before = |at: Var| lt(self.raw(at).coordinate, Expr::Var(target));
        stmts.extend(first_from(cx, p, &before, behind));
        stmts
    }
}

impl LoopEmitter<'_> {
    /// Several operands that are all needed: those behind the largest coordinate are searched for it.
    pub(in crate::lower) fn all_of(
        &self,
        lowerer: &mut Lowerer<'_>,
        every: Set,
        coordinates: &[Var],
    ) -> Vec<Stmt> {
        let last = lowerer.cx.temp_of(self.index, "_last");
        let of_all = |op| {
            let all = coordinates.iter().map(|&c| Expr::Var(c));
            all.reduce(|a, b| binary(op, a, b)).expect("operands that are merged have coordinates")
        };
        let (greatest, least) = (of_all(BinaryOp::Max), of_all(BinaryOp::Min));
        let mut behind = vec![];
        for (it, &coordinate) in self.members(every).zip(coordinates) {
            let search = it.galloped(&mut lowerer.cx, last);
            behind.push(when(lt(Expr::Var(coordinate), Expr::Var(last)), search));
        }
        let here = self.advancing(lowerer, every, last);
        let meet = eq(least, Expr::Var(last));
        vec![assign(last, greatest), Stmt::If { cond: meet, then: here, otherwise: behind }]
    }
}
