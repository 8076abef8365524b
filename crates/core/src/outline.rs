//! What a kernel computes before its loops becomes a kernel of its own, so that each has a loop
//! around everything else, of which parts may run at the same time.
//!
//! ```text
//! where(forall(i, R(i) = s * B(i)), forall(j, s += A(j)))
//!
//! forall(j, s += A(j))
//! forall(i, R(i) = s * B(i))
//! ```
//!
//! Registers become tensors of order 0, and workspaces tensors that store what they list.

use crate::cin::simplify::written;
use crate::cin::{Derived, Kernel, Program, Relation, Role, Root, Scale, Stmt};
use crate::format::Format;
use crate::level::{COMPRESSED, DENSE};
use crate::notation::Expr;
use crate::plan::{Rest, plan, unreadable};
use tamis_ir::ids::{IndexVar, TensorId};

/// The program with kernels split where they are to run in parts.
pub fn detached(mut program: Program) -> Program {
    for kernel in std::mem::take(&mut program.kernels) {
        match kernel.cut.chunked {
            true => detach(&mut program, kernel),
            false => program.kernels.push(kernel),
        }
    }
    program
}

/// Adds a kernel, and what it computes outside of its loops before it.
fn detach(program: &mut Program, kernel: Kernel) {
    let Stmt::Where { consumer, producer } = &kernel.body else {
        return program.kernels.push(kernel);
    };
    let tensor = written(producer);
    let before = part(&kernel, tensor, producer);
    let after = part(&kernel, kernel.result, consumer);
    let mut apart = program.clone();
    let stored = stores(&mut apart, tensor, producer);
    // What is hashed takes memory by what it holds, and a list by all that comes.
    let grows = program.storage(tensor).format.grows();
    let listed = || plan(&apart, &before).output.rest() == Some(Rest::CoordinateBuffer);
    let stored = stored && !(grows && listed());
    let readable = |k: &Kernel| unreadable(&apart, k).is_none();
    // An empty sum times infinity is a NaN: whoever reads it has to know that it is empty.
    let numbers = program.storage(tensor).datatype.is_float();
    let stays = kernel.partial.contains(&tensor) && numbers
        || producer.loops().is_empty()
        || copies(consumer, kernel.result, tensor);
    if stays || !stored || !readable(&before) || !readable(&after) {
        return program.kernels.push(kernel);
    }
    *program = apart;
    detach(program, before);
    detach(program, after);
}

/// The part of a kernel that a statement is, with the tags of its loops.
fn part(kernel: &Kernel, result: TensorId, body: &Stmt) -> Kernel {
    let mut part = Kernel { result, body: body.clone(), ..kernel.clone() };
    let loops = part.body.loops();
    part.tags.retain(|var, _| loops.contains(var));
    part.assembly.wanted = kernel.assembly.wanted.filter(|_| result == kernel.result);
    part
}

/// Whether a statement only makes a register the result: a loop around the one is around the other.
fn copies(consumer: &Stmt, result: TensorId, register: TensorId) -> bool {
    matches!(consumer, Stmt::Assign { lhs, op: None, rhs: Expr::Access(read) }
        if lhs.tensor == result && read.tensor == register)
}

/// Makes a local tensor one that kernels share, if there is one of its kind: by the variables that
/// it is written by, where dimensions tell how many values these have.
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

/// What a variable was before the schedule gave it another name.
fn named(derived: &Derived, var: IndexVar) -> IndexVar {
    match derived.relation(var) {
        Some(&Relation::Same { of, .. }) => named(derived, of),
        _ => var,
    }
}
