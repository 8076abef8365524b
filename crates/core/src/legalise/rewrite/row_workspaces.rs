//! Workspaces for rows of a dense result whose elements are narrower than its sums; a workspace holds one row at a
//! time.
//!
//! ```text
//! C(i,k) = A(i,j) * B(j,k)        C: dense{f32}, sums are f64
//!
//! forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))
//! ```
//!
//! Without the workspace, a temporary as large as the result would hold the sums (tensor algebra compilation with
//! workspaces, section 5).

use crate::cin::Stmt;
use crate::legalise::{Context, Task};
use crate::level::{DENSE, LevelKind};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::IndexVar;

/// The largest number of elements of a workspace, where dimensions are known: it has to stay in cache.
const MOST: u64 = 1 << 16;

/// The rows that a workspace holds, one at a time.
pub(in crate::legalise) struct Rows {
    /// The number of outer loops around the workspace.
    pub(in crate::legalise) outer: usize,
    /// The variables of the workspace, in the order in which the row is written.
    pub(in crate::legalise) row: Vec<IndexVar>,
    /// The level format of each of its modes.
    pub(in crate::legalise) kind: LevelKind,
}

/// The rows of a task, if a workspace should hold them. A longer product may be factored instead; its sums then have
/// to be held by a tensor.
pub(in crate::legalise) fn summed_rows(
    cx: &Context<'_>,
    task: &Task,
    loops: &[IndexVar],
) -> Option<Rows> {
    let Expr::Reduce { vars: reduced, body, .. } = &task.value else { return None };
    let format = &cx.program.storage(task.result).format;
    let is_dense = format.is_full() && format.stores_modes();
    let simple = body.accesses().len() <= 2 && !has_reduction(body);
    let accesses = task.value.accesses();
    let own = |v: &IndexVar| task.vars.contains(v) || reduced.contains(v);
    if holds_sums(cx, task)
        || !is_dense
        || !simple
        || cx.request.commands.given
        || cx.access_methods().reads_duplicates(&task.value)
        || cx.access_methods().is_list_driven(task)
        || accesses.iter().any(|a| a.is_sliced())
        || !loops.iter().all(own)
    {
        return None;
    }
    let outer = loops.iter().take_while(|v| task.vars.contains(v)).count();
    let inner = loops[outer..].iter().copied();
    let row: Vec<IndexVar> = inner.filter(|v| task.vars.contains(v)).collect();
    let known = row.iter().filter_map(|v| cx.known_dimension(*v)).fold(1, u64::saturating_mul);
    (outer > 0 && !row.is_empty() && known <= MOST).then_some(Rows { outer, row, kind: DENSE })
}

/// The loops of a task in an order, with a workspace below the outer ones.
pub(in crate::legalise) fn row_loops(
    cx: &mut Context<'_>,
    task: Task,
    order: &[IndexVar],
    Rows { outer, row, kind }: Rows,
) -> Stmt {
    let Expr::Reduce { op, body, .. } = task.value else { unreachable!("a row has sums") };
    let (outer, inner) = order.split_at(outer);
    let w = cx.workspace(vec![kind; row.len()], &row, op, (&body, task.compute));
    cx.program.tensors[w].storage.crd = cx.program.width;
    let at = || Access::of(w, row.clone());
    let lhs = Access::of(task.result, task.vars.clone());
    let written = Stmt::Assign { lhs, op: None, rhs: Expr::Access(at()) };
    let summed = Stmt::Assign { lhs: at(), op: Some(op), rhs: *body };
    let consumer = Box::new(Stmt::forall(&row, written));
    let producer = Box::new(Stmt::forall(inner, summed));
    Stmt::forall(outer, Stmt::Where { consumer, producer })
}

/// Whether elements of the result can hold intermediate sums.
pub(in crate::legalise) fn holds_sums(cx: &Context<'_>, task: &Task) -> bool {
    let datatype = cx.program.storage(task.result).datatype;
    // A truth value can hold an intermediate result if later terms cannot reverse it.
    let tells = match &task.value {
        Expr::Reduce { op: ReduceOp::Or | ReduceOp::And | ReduceOp::Mul, .. } => true,
        Expr::Reduce { op: ReduceOp::Add, body, .. } => is_nonnegative(cx, body),
        Expr::Reduce { .. } => false,
        _ => true,
    };
    let is_logical = [datatype, task.compute] == [DataType::Bool; 2] && tells;
    is_logical || datatype == cx.program.accumulator(&task.value, task.compute)
}

/// Whether an expression of truth values and coordinates is never negative.
fn is_nonnegative(cx: &Context<'_>, e: &Expr) -> bool {
    use BinaryOp::{Add, Max, Min, Mul};
    match e {
        Expr::Index(_) | Expr::Unary(UnaryOp::Not | UnaryOp::Abs, _) => true,
        Expr::Access(access) => cx.program.storage(access.tensor).datatype == DataType::Bool,
        Expr::Literal(c) => matches!(c, Scalar::Bool(_) | Scalar::I64(0..) | Scalar::U64(_)),
        Expr::Binary(op, ..) if op.is_logical() => true,
        Expr::Binary(Add | Mul | Min | Max, a, b) => is_nonnegative(cx, a) && is_nonnegative(cx, b),
        _ => false,
    }
}

pub(in crate::legalise) fn has_reduction(e: &Expr) -> bool {
    matches!(e, Expr::Reduce { .. }) || e.children().into_iter().any(has_reduction)
}
