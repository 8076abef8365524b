//! Results with the same entries as an operand: values are computed at the operand's positions, and the result shares
//! the operand's levels.
//!
//! ```text
//! C(i,j) = A(i,j) * s(i,j)      A, C: csr      C_vals[pA2] = ..; C2_pos, C2_crd are A2_pos, A2_crd
//! y(i,j) = A(i,j,k) * x(k)      A: csf, y: dcsr      y_vals[pA2] = ..
//! ```
//!
//! An operand determines the entries if there is no work without it, no other operand lists entries, and the outermost
//! loops are over its levels. Rows that it lists without an entry stay listed. Assemble kernels, and compute kernels
//! for another pattern, are made from the program without shared structure.

use super::combined;
use crate::cin::simplify::Facts;
use crate::cin::{Kernel, KernelKind, Program, Stmt};
use crate::format::LevelSpec;
use crate::level::Part;
use crate::notation::Access;
use tamis_ir::ids::{IndexVar, TensorId};

/// The program with kernels that compute at the positions of an operand if the result, unless it is in `others`, has
/// the operand's entries; `None` if there are none.
pub fn shared_structure(program: &Program, others: &[TensorId]) -> Option<Program> {
    let mut shared = program.clone();
    for (k, kernel) in program.kernels.iter().enumerate() {
        if !others.contains(&kernel.result) {
            let like = pattern(program, kernel);
            let kind = if like.is_some() { KernelKind::Compute } else { kernel.kind };
            shared.kernels[k] = Kernel { kind, like, ..kernel.clone() };
        }
    }
    shared.kernels.iter().any(|kernel| kernel.like.is_some()).then_some(shared)
}

/// The operand with the same entries as the result of a kernel.
fn pattern(program: &Program, kernel: &Kernel) -> Option<TensorId> {
    let plain = kernel.kind == KernelKind::Fused && !kernel.scatter && kernel.partial.is_empty();
    let (lhs, _) = combined(program, kernel).filter(|(lhs, _)| plain && lhs.slices.is_empty())?;
    let count = program.listed_levels(kernel.result);
    let vars = program.level_vars(kernel.result, &lhs.indices);
    let around = vars[..count].iter().zip(nest(&kernel.body));
    if count == 0 || around.filter(|(var, of_loop)| **var == *of_loop).count() < count {
        return None;
    }
    let reads = kernel.body.reads();
    let mut operands: Vec<&Access> = vec![];
    for access in reads {
        let full = program.storage(access.tensor).format.is_full();
        if !full && !operands.contains(&access) {
            operands.push(access);
        }
    }
    let [operand] = operands[..] else { return None };
    let facts = Facts { program, compute: kernel.compute };
    let decides = facts.without(&kernel.body, &|access| access == operand).is_none();
    let alike = stores_alike(program, (kernel.result, &vars), operand, count);
    (decides && alike).then_some(operand.tensor)
}

/// The variables of the loops around the whole statement.
fn nest(s: &Stmt) -> Vec<IndexVar> {
    let (mut found, mut at) = (vec![], s);
    while let Stmt::Forall { var, body } = at {
        found.push(*var);
        at = body;
    }
    found
}

/// Whether the result can share the first `count` levels of the operand.
fn stores_alike(
    program: &Program,
    (result, vars): (TensorId, &[IndexVar]),
    operand: &Access,
    count: usize,
) -> bool {
    let (own, other) = (program.storage(result), program.storage(operand.tensor));
    let (levels, others) = (own.format.levels(), other.format.levels());
    let walked = |level: &LevelSpec| {
        let p = level.kind.properties();
        let listed = level.kind.walks() && !level.kind.locates() && !p.branchless;
        p.full || listed && p.ordered && p.unique && p.compact
    };
    let same = |(a, b): (&LevelSpec, &LevelSpec)| a.kind == b.kind && walked(a) && b.stores_mode();
    let last = others.get(count - 1);
    // There are as many values as elements of the coordinates array, so nothing has to count them.
    let lists =
        |level: &LevelSpec| level.has(Part::Crd) && other.format.interleaved(count - 1).is_none();
    let of_operand = program.level_vars(operand.tensor, &operand.indices);
    // A(i,j,i) may lack the entries below a row.
    let repeats = |(k, var): (usize, &IndexVar)| of_operand[..k].contains(var);
    !program.is_local(operand.tensor)
        && operand.slices.is_empty()
        && !of_operand.iter().enumerate().any(repeats)
        && (own.pos, own.crd) == (other.pos, other.crd)
        && own.format.stores_modes()
        && last.is_some_and(lists)
        && of_operand[..count] == vars[..count]
        && levels.iter().zip(others).take(count).all(same)
}
