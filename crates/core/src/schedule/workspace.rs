//! The workspaces that `precompute` makes, and their kinds.
//!
//! | kind   | holds                                    | emptied at the cost of |
//! |--------|------------------------------------------|------------------------|
//! | dense  | every element                            | its size               |
//! | listed | every element, a mask, a list of those written | what was written |
//! | bitmap | every element and a mask of those written | its size, in bytes    |
//! | hashed | those written, in all modes              | what was written       |
//!
//! If the kind is left open, a workspace is dense if its producer writes every element, or if most elements are
//! expected to be written. Otherwise it is listed, or hashed if it is known to be so large that a dense one would not
//! be worth its memory, or the time to clear it (section 4.4).

use super::command::WorkspaceKind;
use super::scheduler::Scheduler;
use crate::cin::Role;
use crate::cin::simplify::Facts;
use crate::format::{Format, LevelSpec, Storage};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{IndexVar, TensorId};

/// The largest number of elements of a workspace that is listed by default ..
const MOST_LISTED: u64 = 1 << 26;
/// .. and of one with several modes, which is cleared mode by mode. Measured: hashing breaks even at about this
/// number.
const MOST_IN_MODES: u64 = 1 << 16;

/// The index of the kind among the arguments.
const KIND: usize = 4;

/// A new workspace for a part of a value over some loops below `shared` ones; `own` are the variables of its modes. If
/// the part is summed, `over` is the operator.
pub(super) fn declare(
    s: &mut Scheduler<'_>,
    arg: usize,
    name: &str,
    kind: Option<WorkspaceKind>,
    (part, vars, own): (&Expr, &[IndexVar], &[IndexVar]),
    shared: &[IndexVar],
    over: Option<ReduceOp>,
) -> Result<TensorId, Diagnostic> {
    if s.program.tensors.iter().any(|t| t.name == name) {
        let message = format!("{name} is the name of another tensor");
        let help = "give the workspace a new name, or that of the result".to_owned();
        return Err(s.refuse(arg, message, help));
    }
    let compute = s.kernel().compute;
    if vars.is_empty() {
        return number(s, name, kind, (part, over));
    }
    let facts = Facts { program: &s.program, compute };
    // Where no sparse operand has an entry, the value equals that of unwritten elements.
    let any_sparse = |a: &Access| !s.program.storage(a.tensor).format.is_full();
    let nothing = match (over, facts.expr_without(part, &any_sparse)) {
        (Some(op), Expr::Literal(c)) => s.program.identity(op, compute).filter(|i| i.same_value(c)),
        (None, Expr::Literal(c)) => Some(c),
        _ => None,
    };
    let mut others = s.kernel().body.loops();
    others.retain(|v| !vars.contains(v));
    // Elements differ in whether they have a value.
    let has_sparse = part.accesses().into_iter().any(|a| {
        let levels = s.program.levels(a);
        let without = |v: IndexVar, given: &[IndexVar]| !s.program.derived.follows(v, given);
        let lists = |(l, v): &(LevelSpec, _)| !l.kind.properties().full && without(*v, shared);
        levels.iter().any(|(_, v)| without(*v, &others)) && levels.iter().any(lists)
    });
    let counted = vars.iter().find(|v| s.program.derived.position(**v).is_some());
    let lists = kind.is_some_and(|kind| kind != WorkspaceKind::Dense);
    if let (Some(&var), true) = (counted, lists) {
        let var = s.name(var);
        let message = format!("{var} counts positions, each of which has an element");
        let help = "leave the kind of the workspace open, or make it dense".to_owned();
        return Err(s.refuse(arg, message, help));
    }
    let kind = kind.unwrap_or(match nothing.is_some() && has_sparse && counted.is_none() {
        true if is_large(s, vars, shared) => WorkspaceKind::Hashed,
        true => WorkspaceKind::Listed,
        false => WorkspaceKind::Dense,
    });
    let format = Format::in_order(kind.levels(vars.len()));
    let mut storage = Storage::of(format, s.program.accumulator(part, compute));
    let identity = over.and_then(|op| s.program.identity(op, compute));
    let fill = identity.or(nothing).unwrap_or(Scalar::I64(0));
    storage.fill = fill.computed(compute).stored(storage.datatype);
    storage.crd = s.program.width;
    Ok(s.program.declare(name, storage, Role::Workspace, own.to_vec()))
}

/// Whether a workspace over some loops below shared ones is known to be so large that it is hashed. Without shared
/// loops it is computed once, perhaps by a kernel of its own.
fn is_large(s: &Scheduler<'_>, vars: &[IndexVar], shared: &[IndexVar]) -> bool {
    let derived = &s.program.derived;
    let dimension = |v: IndexVar| s.sizes.dims.get(&v).copied().unwrap_or(1);
    let sizes = vars.iter().map(|&v| derived.size(v, &dimension).unwrap_or(1));
    let most = match (vars, shared) {
        (_, []) if s.kernel().cut.chunked => u64::MAX,
        (_, []) | ([_], _) => MOST_LISTED,
        _ => MOST_IN_MODES,
    };
    sizes.fold(1, u64::saturating_mul) > most
}

/// A part over no loop: a number in a register.
fn number(
    s: &mut Scheduler<'_>,
    name: &str,
    kind: Option<WorkspaceKind>,
    (part, over): (&Expr, Option<ReduceOp>),
) -> Result<TensorId, Diagnostic> {
    if let Some(kind) = kind {
        let message = format!("{name} is a number, which cannot be {}", kind.name());
        let help = "leave the kind out, or name loops over which the part is computed";
        return Err(s.refuse(KIND, message, help.to_owned()));
    }
    let compute = s.kernel().compute;
    let register = s.program.register(over.unwrap_or(ReduceOp::Add), part, compute);
    // Where no sparse operand has an entry, the value equals the register's initial value.
    let any_sparse = |a: &Access| !s.program.storage(a.tensor).format.is_full();
    let nothing = Facts { program: &s.program, compute }.expr_without(part, &any_sparse);
    let declared = &mut s.program.tensors[register];
    if let (None, Expr::Literal(c)) = (over, nothing) {
        let c = c.computed(declared.storage.datatype);
        declared.storage.fill = c.stored(declared.storage.datatype);
        declared.role = Role::Register(c);
    }
    declared.name = name.to_owned();
    Ok(register)
}
