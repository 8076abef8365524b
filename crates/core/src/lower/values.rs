//! Builds values of a kernel: elements of arrays, converted to its compute type.

use super::builder::Builder;
use super::intervals::Intervals;
use super::value::{Vals, Value};
use crate::cin::simplify::Facts;
use crate::cin::{Kernel, Program};
use crate::plan::Planner;
use std::ops::{Deref, DerefMut};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::Register;
use tamis_ir::ir::Expr;

/// The function so far, with the facts that values depend on.
pub(super) struct Values<'p> {
    pub(super) builder: Builder,
    pub(super) program: &'p Program,
    pub(super) kernel: &'p Kernel,
    pub(super) facts: Facts<'p>,
    /// The ranges of integers that variables hold.
    pub(super) intervals: Intervals,
}

impl Deref for Values<'_> {
    type Target = Builder;

    fn deref(&self) -> &Builder {
        &self.builder
    }
}

impl DerefMut for Values<'_> {
    fn deref_mut(&mut self) -> &mut Builder {
        &mut self.builder
    }
}

impl<'p> Values<'p> {
    pub(super) fn new(program: &'p Program, kernel: &'p Kernel, builder: Builder) -> Values<'p> {
        let facts = Facts { program, compute: kernel.compute };
        let intervals = Intervals::new(facts.register());
        Values { builder, program, kernel, facts, intervals }
    }

    /// The planner, for the facts from which the plan was made.
    pub(super) fn planner(&self) -> Planner<'p> {
        Planner::new(self.program, self.kernel)
    }

    /// A value as a reduction of it alone: 1 or 0 for `any` and `all`.
    pub(super) fn reduced(&self, op: Option<ReduceOp>, value: Value) -> Value {
        match op {
            Some(ReduceOp::Or | ReduceOp::And) => {
                convert(self.facts.register(), self.is_true(value)).into()
            }
            _ => value,
        }
    }

    /// An element of an array in the compute type.
    pub(super) fn loaded(&self, vals: Vals, position: Expr) -> Value {
        let to = self.facts.register();
        let from = self.builder.arrays[vals.arrays()[0]].elem.register();
        let converted = |e| if from == to { e } else { convert(to, e) };
        let Value { re, im } = vals.load(&position);
        Value { re: converted(re), im: im.map(converted) }
    }
}

pub(super) fn convert(to: Register, e: Expr) -> Expr {
    match (&e, to) {
        (Expr::Const(c), _) => Expr::Const(c.convert(to)),
        (Expr::Var(_), Register::I64) => e,
        _ => Expr::Convert(to, Box::new(e)),
    }
}
