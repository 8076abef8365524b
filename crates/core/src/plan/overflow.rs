//! Whether integer operations of a kernel may overflow 64 bits, by the types of its operands.
//!
//! ```text
//! y(i) += A(i,j) * x(j)      A, x: i16      products have 32 bits: sums of fewer than 2^31 terms do not overflow
//! y(i) += A(i,j) * x(j)      A, x: i32      products have 64 bits: sums are tested
//! ```

use super::Planner;
use crate::cin::{Overflow, Role, Stmt};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::DataType;

impl Planner<'_> {
    /// Whether overflow of 64 bits ends the call.
    pub(crate) fn is_checked(self) -> bool {
        self.kernel.overflow.is_checked() && self.facts.register().is_integer()
    }

    /// Whether a reduction of the statement may overflow 64 bits, by the types of its operands.
    pub(super) fn may_leave(self, s: &Stmt) -> bool {
        let mut leaves = false;
        let sum_leaves = |rhs| self.kernel.overflow == Overflow::CheckedLong || self.bits(rhs) > 32;
        s.for_each_assign(&mut |_, op, rhs| {
            leaves |= match op {
                Some(ReduceOp::Add) => sum_leaves(rhs),
                Some(ReduceOp::Mul) => true,
                Some(_) => false,
                None => self.kernel.scatter && sum_leaves(rhs),
            };
        });
        self.is_checked() && leaves
    }

    /// Whether each sum waits for the previous one in memory, as in a loop over a list of entries: the product is then
    /// better computed beforehand.
    pub(crate) fn waits_for_sums(self) -> bool {
        let loops = super::outer_loops(&self.kernel.body);
        let Some(&innermost) = loops.last() else { return false };
        let lists = |access: &Access| {
            let vars = self.program.level_vars(access.tensor, &access.indices);
            let levels = self.program.storage(access.tensor).format.levels();
            levels.iter().zip(vars).any(|(l, v)| v == innermost && !l.kind.properties().full)
        };
        self.kernel.scatter && self.kernel.body.reads().into_iter().any(lists)
    }

    /// The largest number of bits that a value may have, by the types of the operands.
    fn bits(self, e: &Expr) -> usize {
        match e {
            Expr::Access(a) => {
                let tensor = &self.program.tensors[a.tensor];
                match (&tensor.role, tensor.storage.datatype) {
                    (Role::Input(_), DataType::Bool) => 1,
                    // An entry is the sum of its duplicates.
                    _ if !self.kernel.scatter && tensor.storage.format.has_duplicates() => 64,
                    (_, datatype) => 8 * datatype.size(),
                }
            }
            Expr::Literal(c) => match c.integer() {
                Some(x) => 129 - x.unsigned_abs().leading_zeros() as usize,
                None => 64,
            },
            Expr::Unary(UnaryOp::Neg | UnaryOp::Abs, a) => self.bits(a) + 1,
            Expr::Binary(BinaryOp::Mul, a, b) => self.bits(a) + self.bits(b),
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => self.bits(a).max(self.bits(b)) + 1,
            Expr::Binary(op, ..) if op.is_logical() => 1,
            _ => 64,
        }
    }
}
