//! The part of a kernel before its loops becomes a kernel of its own, so that each of the two has a single outermost
//! loop, whose parts may run in parallel.
//!
//! ```text
//! where(forall(i, R(i) = s * B(i)), forall(j, s += A(j)))
//!
//! forall(j, s += A(j))
//! forall(i, R(i) = s * B(i))
//! ```
//!
//! Registers become tensors of order 0, and workspaces tensors that store the entries of the workspace.

use crate::cin::simplify::written;
use crate::cin::{Derived, Kernel, Program, Relation, Role, Root, Scale, Stmt};
use crate::format::Format;
use crate::level::{COMPRESSED, DENSE};
use crate::notation::Expr;
use crate::plan::{Rest, plan, unreadable};
use tamis_ir::ids::{IndexVar, TensorId};

/// The program with kernels split where they may run in parts.
pub fn outlined(mut program: Program) -> Program {
    for kernel in std::mem::take(&mut program.kernels) {
        match kernel.cut.chunked {
            true => outline(&mut program, kernel),
            false => program.kernels.push(kernel),
        }
    }
    program
}

/// Adds a kernel, preceded by kernels for its producers around all loops.
fn outline(program: &mut Program, kernel: Kernel) {
    let Stmt::Where { consumer, producer } = &kernel.body else {
        return program.kernels.push(kernel);
    };
    let tensor = written(producer);
    let before = part(&kernel, tensor, producer);
    let after = part(&kernel, kernel.result, consumer);
    let mut apart = program.clone();
    let stored = stores(&mut apart, tensor, producer);
    // A hashed workspace has memory only for its entries, a coordinate buffer for all values written to it.
    let grows = program.storage(tensor).format.grows();
    let listed = || plan(&apart, &before).output.rest() == Some(Rest::CoordinateBuffer);
    let stored = stored && !(grows && listed());
    let readable = |k: &Kernel| unreadable(&apart, k).is_none();
    // The 0 of an empty sum, times infinity, is a NaN: the reader has to know that the sum is empty.
    let numbers = program.storage(tensor).datatype.is_float();
    let stays = kernel.partial.contains(&tensor) && numbers
        || producer.loops().is_empty()
        || copies(consumer, kernel.result, tensor);
    if stays || !stored || !readable(&before) || !readable(&after) {
        return program.kernels.push(kernel);
    }
    *program = apart;
    outline(program, before);
    outline(program, after);
}

/// A kernel for a statement that is a part of another kernel, with the tags of its loops.
fn part(kernel: &Kernel, result: TensorId, body: &Stmt) -> Kernel {
    let mut part = Kernel { result, body: body.clone(), ..kernel.clone() };
    let loops = part.body.loops();
    part.tags.retain(|var, _| loops.contains(var));
    part.assembly.wanted = kernel.assembly.wanted.filter(|_| result == kernel.result);
    part
}

/// Whether a statement only copies a register to the result: both then have the same outermost loop.
fn copies(consumer: &Stmt, result: TensorId, register: TensorId) -> bool {
    matches!(consumer, Stmt::Assign { lhs, op: None, rhs: Expr::Access(read) }
        if lhs.tensor == result && read.tensor == register)
}

/// Makes a local tensor one that kernels share, if it can be stored: over the variables of its writes, if dimensions
/// determine its size.
fn stores(program: &mut Program, tensor: TensorId, producer: &Stmt) -> bool {
    let derived = &program.derived;
    let sized = |v: &IndexVar| {
        matches!(Scale::of(derived, *v), Some(Scale { root: Root::Coordinates(_), .. }))
    };
    let mut modes: Vec<Vec<IndexVar>> = vec![];
    producer.for_each_assign(&mut |lhs, _, _| {
        if lhs.tensor == tensor && !modes.contains(&lhs.indices) {
            modes.push(lhs.indices.clone());
        }
    });
    let [modes] = &modes[..] else { return false };
    let modes: Vec<IndexVar> = modes.iter().map(|&v| named(derived, v)).collect();
    let sized = modes.iter().all(sized);
    let local = &mut program.tensors[tensor];
    local.modes = modes;
    match local.role {
        Role::Register(initial) => local.storage.fill = initial,
        Role::Workspace => {
            let modes = local.storage.format.stores_modes();
            let levels = local.storage.format.levels().iter();
            let kinds = levels.map(|l| if l.kind.properties().full { DENSE } else { COMPRESSED });
            if !sized || !modes {
                return false;
            }
            local.storage.format = Format::in_order(kinds.collect::<Vec<_>>());
        }
        _ => return false,
    }
    local.role = Role::Temporary;
    true
}

/// The variable that another one renames by a schedule.
fn named(derived: &Derived, var: IndexVar) -> IndexVar {
    match derived.relation(var) {
        Some(&Relation::Same { of, .. }) => named(derived, of),
        _ => var,
    }
}
