//! Kinds of kernels: assemble, which finds the entries of a result, and compute, which computes the values of an
//! assembled result.
//!
//! ```text
//! forall(i, forall(k, forall(j, C(i,j) += A(i,k) * B(k,j))))            C: csr
//!
//! forall(i, where(forall(j, within(C(i,j), C(i,j) = w(j))),
//!                 sequence(forall(j, within(C(i,j), w(j) = 0)),
//!                          forall(k, forall(j, w(j) += A(i,k) * B(k,j))))))
//! ```
//!
//! A compute kernel has the pattern of its result as one more operand, outside of which there is no work: lattices,
//! searches and parts treat it like other operands. Values that arrive in another order than the pattern's are
//! accumulated in a dense workspace that is initialised at the entries of the pattern, so no list, guard or sort is
//! needed (sparse tensor algebra with workspaces, section 6). Other elements of the workspace are never read.

mod shared_structure;

pub use shared_structure::shared_structure;

use crate::cin::simplify::written;
use crate::cin::{Kernel, KernelKind, Program, Role, Stmt};
use crate::format::{Format, Storage};
use crate::level::{DENSE, LISTED};
use crate::notation::{Access, Expr};
use crate::plan::unreadable;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{IndexVar, TensorId};

/// The program with kernels of a kind. A kernel that cannot compute at the entries of a pattern stays fused, and its
/// caller takes the values that it needs.
pub fn of_kind(mut program: Program, kind: KernelKind) -> Program {
    match kind {
        KernelKind::Fused => {}
        KernelKind::Assemble => {
            for kernel in &mut program.kernels {
                let full = program.tensors[kernel.result].storage.format.is_full();
                // Filling an array alone is not worth parts.
                let mut own = Kernel { kind, ..kernel.clone() };
                own.cut.chunked &= !full;
                own.cut.threaded &= !full;
                *kernel = own;
            }
        }
        KernelKind::Compute => {
            for k in 0..program.kernels.len() {
                if follows(&program, k) {
                    program = computing(&program, k).unwrap_or(program);
                }
            }
        }
    }
    program
}

/// Whether kernel `k` writes the final value of a result, whose entries thus have to be known.
pub fn follows(program: &Program, k: usize) -> bool {
    let role = |kernel: &Kernel| program.tensors[kernel.result].role;
    let own = role(&program.kernels[k]);
    let is_last = program.kernels[k + 1..].iter().all(|later| role(later) != own);
    let full = program.storage(program.kernels[k].result).format.is_full();
    matches!(own, Role::Result(_)) && is_last && !full
}

/// The program with a kernel that computes at the entries of a pattern, if that is possible.
fn computing(program: &Program, k: usize) -> Option<Program> {
    let mut program = program.clone();
    let kernel = program.kernels[k].clone();
    let (lhs, op) = combined(&program, &kernel)?;
    let mut body = kernel.body.clone();
    if let Some(op) = op {
        let adds = |own: Option<ReduceOp>| own.or(kernel.scatter.then_some(op));
        body = at_result(body, kernel.result, &|lhs, own, rhs| Stmt::Assign {
            lhs,
            op: adds(own),
            rhs,
        });
        body = gathered(&mut program, &kernel, body, (&lhs, op));
    }
    let body = at_result(body, kernel.result, &|lhs, op, rhs| {
        let pattern = lhs.clone();
        Stmt::Within { pattern, body: Box::new(Stmt::Assign { lhs, op, rhs }) }
    });
    let body = opened(&mut program, &kernel, body, &lhs);
    let kernel = Kernel { kind: KernelKind::Compute, body, ..kernel };
    if unreadable(&program, &kernel).is_some() {
        return None;
    }
    program.kernels[k] = kernel;
    Some(program)
}

/// The element that a kernel writes, and how it combines values; `None` if values do not start from the fill value.
fn combined(program: &Program, kernel: &Kernel) -> Option<(Access, Option<ReduceOp>)> {
    let mut written = vec![];
    kernel.body.for_each_assign(&mut |lhs, op, _| {
        if lhs.tensor == kernel.result {
            written.push((lhs.clone(), op.or(kernel.scatter.then_some(ReduceOp::Add))));
        }
    });
    let mut ops: Vec<ReduceOp> = written.iter().filter_map(|(_, op)| *op).collect();
    ops.dedup();
    let fill = program.storage(kernel.result).fill.computed(kernel.compute);
    let starts = |op: &ReduceOp| {
        program.identity(*op, kernel.compute).is_some_and(|identity| identity.same_value(fill))
    };
    let (lhs, _) = written.first()?.clone();
    let same = written.iter().all(|(other, _)| *other == lhs);
    (same && ops.len() <= 1 && ops.iter().all(starts)).then_some((lhs, ops.first().copied()))
}

/// The loops, with values that do not arrive in the order of the result's last level accumulated in a dense workspace.
fn gathered(
    program: &mut Program,
    kernel: &Kernel,
    body: Stmt,
    (lhs, op): (&Access, ReduceOp),
) -> Stmt {
    let levels = program.storage(kernel.result).format.levels();
    let plain = levels.last().is_some_and(|l| l.stores_mode());
    let vars = program.level_vars(kernel.result, &lhs.indices);
    // With duplicates in operands, loops reach a row of the result several times.
    let once = kernel.assembly.workspace && !kernel.scatter;
    let Some((&last, above)) = vars.split_last().filter(|_| plain && once) else {
        return body;
    };
    if above.contains(&last) {
        return body;
    }
    let mut gather = |s: &Stmt| {
        let again = first_loop(s).is_some_and(|var| var != last);
        let combines = assignments(s, kernel.result).iter().all(|(op, _)| op.is_some());
        (again && combines).then(|| through_workspace(program, kernel, s, (lhs, last), op))
    };
    below(&body, above, &mut gather).unwrap_or(body)
}

/// The statement, with `f` applied to the part inside of these loops, if they are the outermost ones.
fn below(s: &Stmt, loops: &[IndexVar], f: &mut dyn FnMut(&Stmt) -> Option<Stmt>) -> Option<Stmt> {
    let Some((first, rest)) = loops.split_first() else { return f(s) };
    match s {
        Stmt::Forall { var, body } if var == first => {
            Some(Stmt::Forall { var: *var, body: Box::new(below(body, rest, f)?) })
        }
        Stmt::Where { consumer, producer } => {
            let consumer = Box::new(below(consumer, loops, f)?);
            Some(Stmt::Where { consumer, producer: producer.clone() })
        }
        _ => None,
    }
}

/// The outermost loop around the written element.
fn first_loop(s: &Stmt) -> Option<IndexVar> {
    match s {
        Stmt::Forall { var, .. } => Some(*var),
        Stmt::Where { consumer, .. } => first_loop(consumer),
        Stmt::Sequence(_) | Stmt::Assign { .. } | Stmt::Within { .. } => None,
    }
}

/// The operators and values of assignments to a tensor in a statement.
fn assignments(s: &Stmt, tensor: TensorId) -> Vec<(Option<ReduceOp>, &Expr)> {
    let mut found = vec![];
    s.for_each_assign(&mut |lhs, op, rhs| {
        if lhs.tensor == tensor {
            found.push((op, rhs));
        }
    });
    found
}

/// `where(C = w, s)`, with `w` for `C` in `s`.
fn through_workspace(
    program: &mut Program,
    kernel: &Kernel,
    s: &Stmt,
    (lhs, var): (&Access, IndexVar),
    op: ReduceOp,
) -> Stmt {
    let types = assignments(s, kernel.result);
    let types = types.into_iter().map(|(_, rhs)| program.accumulator(rhs, kernel.compute));
    let datatype = types.reduce(|a, b| if b.is_complex() { b } else { a });
    let mut storage = Storage::of(Format::in_order([LISTED]), datatype.unwrap_or(kernel.compute));
    let identity = program.identity(op, kernel.compute).unwrap_or(storage.fill);
    storage.fill = identity.stored(storage.datatype);
    let w = program.declare("w", storage, Role::Workspace, vec![var]);
    let at = Access::of(w, vec![var]);
    let producer = at_result(s.clone(), kernel.result, &|_, op, rhs| Stmt::Assign {
        lhs: at.clone(),
        op,
        rhs,
    });
    let copy = Stmt::Assign { lhs: lhs.clone(), op: None, rhs: Expr::Access(at.clone()) };
    let consumer = Box::new(Stmt::forall(&[var], copy));
    Stmt::Where { consumer, producer: Box::new(producer) }
}

/// The format of a workspace of which only the entries of a pattern are read. A dense one sums all other elements as
/// well; if such a sum could overflow and fail, the workspace lists its entries, and only these are added to.
fn workspace(kernel: &Kernel) -> Format {
    Format::in_order([if kernel.overflow.is_checked() { LISTED } else { DENSE }])
}

/// Initialises a workspace at the entries of a pattern.
fn opening(pattern: &Access, at: Access, value: Scalar) -> Stmt {
    let vars = at.indices.clone();
    let first = Stmt::Assign { lhs: at, op: None, rhs: Expr::Literal(value) };
    Stmt::forall(&vars, Stmt::Within { pattern: pattern.clone(), body: Box::new(first) })
}

/// The statement, with `f` applied to each assignment to the result.
fn at_result(
    s: Stmt,
    result: TensorId,
    f: &dyn Fn(Access, Option<ReduceOp>, Expr) -> Stmt,
) -> Stmt {
    match s {
        Stmt::Assign { lhs, op, rhs } if lhs.tensor == result => f(lhs, op, rhs),
        s => s.map_children(&mut |child| at_result(child, result, f)),
    }
}

/// The statement with workspaces that list entries, and are copied to a result, initialised at the entries of the
/// result's pattern instead.
fn opened(program: &mut Program, kernel: &Kernel, s: Stmt, pattern: &Access) -> Stmt {
    match s {
        Stmt::Forall { var, body } => {
            Stmt::Forall { var, body: Box::new(opened(program, kernel, *body, pattern)) }
        }
        Stmt::Where { consumer, producer } => {
            let w = written(&producer);
            let producer = match copied_at(program, &consumer, w, pattern) {
                Some(var) => {
                    let format = &mut program.tensors[w].storage.format;
                    if !format.grows() {
                        *format = workspace(kernel);
                    }
                    opened_first(program, (w, var), *producer, pattern)
                }
                None => *producer,
            };
            let consumer = Box::new(opened(program, kernel, *consumer, pattern));
            Stmt::Where { consumer, producer: Box::new(producer) }
        }
        s => s,
    }
}

/// The variable of a loop that only copies a workspace to the entries of a pattern, where unwritten elements of both
/// have the same value.
fn copied_at(
    program: &Program,
    consumer: &Stmt,
    w: TensorId,
    pattern: &Access,
) -> Option<IndexVar> {
    let (tensor, result) = (&program.tensors[w], program.storage(pattern.tensor));
    let sparse = tensor.storage.format.levels().iter().any(|l| !l.kind.properties().full);
    let Stmt::Forall { var, body } = consumer else { return None };
    let copy = Stmt::Assign {
        lhs: pattern.clone(),
        op: None,
        rhs: Expr::Access(Access::of(w, vec![*var])),
    };
    let copies = Stmt::Within { pattern: pattern.clone(), body: Box::new(copy) } == **body;
    let fill = tensor.storage.fill.stored(result.datatype);
    let opens = tensor.role == Role::Workspace && sparse && fill.same_value(result.fill);
    (opens && copies).then_some(*var)
}

fn opened_first(
    program: &mut Program,
    (w, var): (TensorId, IndexVar),
    producer: Stmt,
    pattern: &Access,
) -> Stmt {
    let at = Access::of(w, vec![var]);
    let mut parts = vec![opening(pattern, at, program.storage(w).fill)];
    match producer {
        Stmt::Sequence(rest) => parts.extend(rest),
        producer => parts.push(producer),
    }
    Stmt::Sequence(parts)
}
