//! Operands with duplicates, walked entry by entry.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: coo(nonunique)      a term for each entry of A, including duplicates
//!                                                  of one coordinate
//! ```
//!
//! Duplicates are normally summed before the sum is used. If the kernel anyway adds up products with the operand, each
//! entry may be a term of its own; threads then need not find out which entries are duplicates.

use crate::cin::simplify::Facts;
use crate::cin::{Kernel, Program, Stmt};
use crate::plan::access::{distinct, linear};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::DataType;

/// The program with a kernel that walks its only sparse operand entry by entry, if the operand has duplicates and the
/// kernel sums values that are linear in it.
pub(super) fn by_entries(program: &Program, kernel: usize) -> Option<Program> {
    let own = &program.kernels[kernel];
    let mut at = &own.body;
    while let Stmt::Forall { body, .. } = at {
        at = body;
    }
    let Stmt::Assign { op: Some(ReduceOp::Add), rhs, .. } = at else { return None };
    let mut operands = distinct(rhs);
    operands.retain(|a| !program.storage(a.tensor).format.is_full());
    let [operand] = &operands[..] else { return None };
    let (result, storage) = (program.storage(own.result), program.storage(operand.tensor));
    let facts = Facts { program, compute: own.compute };
    let numbers = storage.datatype != DataType::Bool && result.datatype == own.compute;
    let repeats = storage.format.has_duplicates() && result.format.is_full();
    let decides = facts.without(&own.body, &|access| access == operand).is_none();
    if own.scatter || !numbers || !repeats || !decides || !linear(rhs, operand) {
        return None;
    }
    let mut program = program.clone();
    program.kernels[kernel] = Kernel { scatter: true, ..own.clone() };
    Some(program)
}
