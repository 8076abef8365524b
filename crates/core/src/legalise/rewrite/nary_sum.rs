//! Sums of many sparse operands in one kernel, accumulated in a workspace or a register.
//!
//! ```text
//! C(i,j) = A(i,j) + B(i,j) + .. + G(i,j)
//!
//! forall(i, where(forall(j, C(i,j) = w(j)),
//!                 sequence(forall(j, w(j) = A(i,j)), forall(j, w(j) += B(i,j)), ..)))
//! ```
//!
//! Three to sixteen ordered operands are merged in one loop instead, and add to a register:
//!
//! ```text
//! forall(i, forall(j, where(C(i,j) = s, sequence(s += A(i,j), s += B(i,j), ..))))
//! ```
//!
//! The cost rule: a merge of n operands has 2^n - 1 cases of code. A register has n terms, each tested at every entry
//! of the result. A workspace has n loops, and at run time a test of the mask per entry and a sort per row. Merges of
//! more cases than [`super::merge_size`] allows are gathered in a workspace if their operands meet in the innermost
//! loop only, otherwise split into temporaries. Under a schedule, merges have cases as long as these are allowed.

use crate::cin::Stmt;
use crate::legalise::rewrite::merge_size::merges_little;
use crate::legalise::{Context, Task};
use crate::level::{DENSE, LISTED};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::ids::{IndexVar, TensorId};

/// From this number of operands on, a register is faster than a case for each combination of operands. Measured with
/// rows of different lengths: up to 1.4 times with three operands, 2.7 with four; two are faster by cases.
const LEAST_ADDED: usize = 3;
/// Merges have at most this many operands, since each operand is tested at every entry of the result.
const MOST_MERGED: usize = 16;

/// The operands of a sum, or of another reduction, and the operator.
pub(in crate::legalise) struct Gather {
    op: ReduceOp,
    terms: Vec<Expr>,
    /// The variable of the loops that merge the operands.
    var: IndexVar,
}

impl Gather {
    /// Whether the innermost loop is the one that merges the operands.
    pub(in crate::legalise) fn fits(&self, loops: &[IndexVar]) -> bool {
        loops.last() == Some(&self.var)
    }

    /// Whether operands add terms only where they have entries.
    fn adds_entries(&self, cx: &Context<'_>, task: &Task) -> bool {
        adds_entries(cx, task, (&self.terms, self.op))
    }
}

/// The operands to gather, if a value has too many to merge and gathering pays.
pub(in crate::legalise) fn gather(cx: &Context<'_>, task: &Task) -> Option<Gather> {
    let is_little = merges_little(cx, &task.value, task.compute);
    if is_little && cx.request.commands.given || cx.access_methods().reads_duplicates(&task.value) {
        return None;
    }
    let (op, terms) = terms(&task.value)?;
    let simple = |e: &Expr| merges_little(cx, e, task.compute) && !reduces(e);
    let var = only_sparse_var(cx, &task.value)?;
    let small = cx.is_small(var);
    let gathers = small && terms.iter().all(simple) && task.vars.contains(&var);
    let gather = Gather { op, terms, var };
    if is_little && (gather.terms.len() < LEAST_ADDED || !merges(cx, task, &gather)) {
        return None;
    }
    // Where fill values count, as in max(A(i,j), ..), every element would be stored.
    let full = cx.program.storage(task.result).format.is_full();
    // Consecutive loops have no common outer loop whose parts could run in parallel.
    let runs = !cx.request.parallel || task.vars.len() > 1 || merges(cx, task, &gather);
    (gathers && runs && (full || gather.adds_entries(cx, task))).then_some(gather)
}

/// Whether the operands are ordered and few, so that one loop merges all of them.
fn merges(cx: &Context<'_>, task: &Task, g: &Gather) -> bool {
    let plain = |a: &&Access| {
        let format = &cx.program.storage(a.tensor).format;
        // A diagonal is searched, and each search doubles the code.
        format.is_plain() && !a.is_sliced() && !a.is_diagonal()
    };
    let lists = |a: &&Access| !cx.program.storage(a.tensor).format.is_full();
    let single = |e: &Expr| {
        let accesses = e.accesses();
        accesses.iter().all(plain) && accesses.iter().filter(|a| lists(a)).count() == 1
    };
    let mut operands: Vec<&Access> = task.value.accesses();
    operands.retain(lists);
    operands.sort_by_key(|a| a.tensor);
    operands.dedup_by_key(|a| a.tensor);
    let distinct = operands.len() == g.terms.len();
    let few = g.terms.len() <= MOST_MERGED;
    few && distinct && g.terms.iter().all(single) && g.adds_entries(cx, task)
}

/// The only variable at which operands are sparse, if there is exactly one.
fn only_sparse_var(cx: &Context<'_>, value: &Expr) -> Option<IndexVar> {
    let mut found: Vec<IndexVar> = vec![];
    for access in value.accesses() {
        for (level, var) in cx.program.levels(access) {
            if !level.kind.properties().full && !found.contains(&var) {
                found.push(var);
            }
        }
    }
    found.pop().filter(|_| found.is_empty())
}

/// The loops of a task; the innermost ones add one operand each to a workspace.
pub(in crate::legalise) fn gathering_loops(
    cx: &mut Context<'_>,
    task: &Task,
    vars: &[IndexVar],
    g: Gather,
) -> Stmt {
    if merges(cx, task, &g) {
        return merging_loops(cx, task, vars, g);
    }
    let w = gathered(cx, task, &g);
    let at = |tensor| Access::of(tensor, vec![g.var]);
    let each = |leaf| Stmt::forall(&[g.var], leaf);
    let parts = g.terms.into_iter().enumerate().map(|(k, rhs)| {
        let op = (k > 0).then_some(g.op);
        each(Stmt::Assign { lhs: at(w), op, rhs })
    });
    let producer = Stmt::Sequence(parts.collect());
    let lhs = Access::of(task.result, task.vars.clone());
    let consumer = each(Stmt::Assign { lhs, op: None, rhs: Expr::Access(at(w)) });
    let (consumer, producer) = (Box::new(consumer), Box::new(producer));
    Stmt::forall(&vars[..vars.len() - 1], Stmt::Where { consumer, producer })
}

/// The loops of a task; the innermost one merges the operands, which add to a register.
fn merging_loops(cx: &mut Context<'_>, task: &Task, vars: &[IndexVar], g: Gather) -> Stmt {
    let register = cx.program.register(g.op, &task.value, task.compute);
    let lhs = Access::of(register, vec![]);
    let each = |rhs| Stmt::Assign { lhs: lhs.clone(), op: Some(g.op), rhs };
    let producer = Box::new(Stmt::Sequence(g.terms.into_iter().map(each).collect()));
    let rhs = Expr::Access(lhs.clone());
    let lhs = Access::of(task.result, task.vars.clone());
    let consumer = Box::new(Stmt::Assign { lhs, op: None, rhs });
    Stmt::forall(vars, Stmt::Where { consumer, producer })
}

/// Whether terms count only where their operands have entries: elsewhere the result has the operator's identity.
pub(super) fn adds_entries(
    cx: &Context<'_>,
    task: &Task,
    (terms, op): (&[Expr], ReduceOp),
) -> bool {
    let facts = cx.facts(task.compute);
    let fill = cx.program.storage(task.result).fill.computed(task.compute);
    let identity = cx.program.identity(op, task.compute).filter(|id| id.same_value(fill));
    let sparse = |a: &Access| !cx.program.storage(a.tensor).format.is_full();
    terms.iter().all(|e| match facts.expr_without(e, &sparse) {
        Expr::Literal(c) => identity.is_some_and(|id| id.same_value(c)),
        _ => false,
    })
}

/// The workspace: listed, or dense if every element is written.
fn gathered(cx: &mut Context<'_>, task: &Task, g: &Gather) -> TensorId {
    let kind = if g.adds_entries(cx, task) { LISTED } else { DENSE };
    let w = cx.workspace(vec![kind], &[g.var], g.op, (&task.value, task.compute));
    cx.program.tensors[w].storage.crd = cx.program.width;
    w
}

pub(super) fn reduces(e: &Expr) -> bool {
    matches!(e, Expr::Reduce { .. }) || e.children().into_iter().any(reduces)
}

/// The operands of a sum, or of another chain of an operator, and the operator.
pub(super) fn terms(value: &Expr) -> Option<(ReduceOp, Vec<Expr>)> {
    let Expr::Binary(op, ..) = value else { return None };
    let op = match op {
        BinaryOp::Add | BinaryOp::Sub => ReduceOp::Add,
        BinaryOp::Min => ReduceOp::Min,
        BinaryOp::Max => ReduceOp::Max,
        _ => return None,
    };
    let mut terms = vec![];
    flatten(value, op, &mut terms);
    Some((op, terms))
}

/// Collects the operands of a chain; subtracted operands are negated.
fn flatten(e: &Expr, op: ReduceOp, into: &mut Vec<Expr>) {
    match e {
        Expr::Binary(o, a, b) if *o == op.binary() => {
            flatten(a, op, into);
            flatten(b, op, into);
        }
        Expr::Binary(BinaryOp::Sub, a, b) if op == ReduceOp::Add => {
            flatten(a, op, into);
            let mut negative = vec![];
            flatten(b, op, &mut negative);
            let negated = |e| Expr::Unary(UnaryOp::Neg, Box::new(e));
            into.extend(negative.into_iter().map(negated));
        }
        e => into.push(e.clone()),
    }
}
