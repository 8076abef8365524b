//! Joins sums of many operands, which legalisation spreads over several statements, into values that commands can
//! name.
//!
//! ```text
//! forall(j, where(A(i,j) = s, sequence(s += B(i,j), s += C(i,j), .., s += F(i,j))))
//! where(forall(j, A(i,j) = w(j)), sequence(forall(j, w(j) = B(i,j)), .., forall(j, w(j) += F(i,j))))
//!
//! forall(j, A(i,j) = B(i,j) + C(i,j) + .. + F(i,j))
//! ```
//!
//! A sum that still has too many cases for one merge after the commands is spread again.

use super::expression::{of_operands, operands};
use super::list::Schedule;
use super::path::{Element, Way};
use super::scheduler::Scheduler;
use crate::cin::{Role, Stmt};
use crate::format::{Format, Storage};
use crate::legalise::MAX_POINTS;
use crate::level::LISTED;
use crate::notation::{Access, Expr};
use std::collections::BTreeSet;
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{IndexVar, TensorId};

/// The largest number of cases in a merge that a schedule may ask for.
const MOST_TAKEN: usize = 1 << 8;

/// How a sum was spread.
pub(super) struct Spread {
    op: ReduceOp,
    /// The register or workspace in which it was accumulated.
    workspace: TensorId,
    /// Whether the workspace is unused now.
    is_free: bool,
}

/// Joins long sums where commands name parts of them; returns how each was spread.
pub(super) fn join(s: &mut Scheduler<'_>, schedule: &Schedule) -> Vec<Spread> {
    let mut found = vec![];
    if schedule.names_values() {
        let body = s.kernel().body.clone();
        s.kernel_mut().body = joined(s, body, &mut found);
    }
    found
}

fn joined(s: &Scheduler<'_>, stmt: Stmt, found: &mut Vec<Spread>) -> Stmt {
    if let Stmt::Where { consumer, producer } = &stmt
        && let Some((whole, spread)) = sum(s, consumer, producer)
    {
        found.push(spread);
        return whole;
    }
    stmt.map_children(&mut |child| joined(s, child, found))
}

/// An assignment for a statement that accumulates terms in a workspace and then reads it.
fn sum(s: &Scheduler<'_>, consumer: &Stmt, producer: &Stmt) -> Option<(Stmt, Spread)> {
    let Stmt::Sequence(parts) = producer else { return None };
    let (vars, Stmt::Assign { lhs, op: outer, rhs: Expr::Access(read) }) = inside(consumer) else {
        return None;
    };
    let workspace = read.tensor;
    let mut over: Option<ReduceOp> = None;
    let mut terms = vec![];
    for (k, part) in parts.iter().enumerate() {
        let (own, Stmt::Assign { lhs, op, rhs }) = inside(part) else { return None };
        let starts = k == 0 && op.is_none();
        if own != vars
            || lhs != read
            || !(starts || op.is_some() && (over.is_none() || over == *op))
        {
            return None;
        }
        over = over.or(*op);
        terms.push(rhs.clone());
    }
    let op = over.filter(|_| s.program.is_local(workspace) && vars.len() == read.indices.len())?;
    let whole =
        Stmt::Assign { lhs: lhs.clone(), op: *outer, rhs: of_operands(op.binary(), terms)? };
    Some((Stmt::forall(&vars, whole), Spread { op, workspace, is_free: true }))
}

/// The loops around a statement, outermost first, and the innermost body.
fn inside(mut stmt: &Stmt) -> (Vec<IndexVar>, &Stmt) {
    let mut vars = vec![];
    while let Stmt::Forall { var, body } = stmt {
        vars.push(*var);
        stmt = body;
    }
    (vars, stmt)
}

/// Spreads sums that still have too many cases for one merge; refuses values with far too many.
pub(super) fn spread(
    s: &mut Scheduler<'_>,
    schedule: &Schedule,
    long: Vec<Spread>,
) -> Result<(), Diagnostic> {
    for mut long in long {
        let body = s.kernel().body.clone();
        s.kernel_mut().body = long.spread(s, body);
        s.declare_uses();
    }
    if !schedule.names_values() || cases_of(s, &s.kernel().body) <= MOST_TAKEN {
        return Ok(());
    }
    let message = "too many operands meet in one loop: each combination of them is a case of code";
    let help = "precompute sums of some of them over the loop, or split the statement";
    let at = s.at.span.clone();
    Err(Diagnostic::new(Code::TooLarge, message).at(s.source, at).help(help))
}

impl Spread {
    fn spread(&mut self, s: &mut Scheduler<'_>, stmt: Stmt) -> Stmt {
        let Stmt::Forall { var, body } = &stmt else {
            return stmt.map_children(&mut |child| self.spread(s, child));
        };
        let way = Way::down(body);
        let is_innermost = way.elements.iter().all(|e| e.var().is_none());
        if let (Stmt::Assign { lhs, op, rhs }, true) = (way.leaf, is_innermost)
            && is_long(s, rhs, self.op)
        {
            if way.elements.is_empty() && self.is_number(s, rhs) {
                let term = |lhs, op, rhs| Stmt::Assign { lhs, op, rhs };
                let body = Box::new(self.added_up(s, None, (lhs, *op, rhs), &term));
                return Stmt::Forall { var: *var, body };
            }
            // Registers are computed where they are read.
            let numbers: Vec<TensorId> = way.elements.iter().flat_map(Element::written).collect();
            let term = |lhs, op, rhs: Expr| {
                let reads = rhs.accesses().iter().any(|a| numbers.contains(&a.tensor));
                let around = if reads { way.elements.clone() } else { vec![] };
                Element::around(around, Stmt::Assign { lhs, op, rhs })
            };
            return self.added_up(s, Some(*var), (lhs, *op, rhs), &term);
        }
        stmt.map_children(&mut |child| self.spread(s, child))
    }

    /// Whether a register accumulates a long sum: each term has one operand of its own, which is ordered.
    fn is_number(&self, s: &Scheduler<'_>, value: &Expr) -> bool {
        let is_register = matches!(s.program.tensors[self.workspace].role, Role::Register(_));
        let mut seen = BTreeSet::new();
        let mut comes_in_order = |term: &Expr| {
            let listing = term.accesses().into_iter().filter(|a| listing(s, a) > 0);
            let [a] = listing.collect::<Vec<_>>()[..] else { return false };
            let is_plain = s.program.storage(a.tensor).format.is_plain();
            let is_own = !s.program.is_local(a.tensor) && seen.insert(a.tensor);
            is_own && is_plain && !a.is_sliced() && !a.is_diagonal()
        };
        let terms = operands(value, self.op.binary());
        is_register && terms.iter().all(&mut comes_in_order)
    }

    /// The statement for a sum whose terms are accumulated in a register, or in a workspace over a loop.
    fn added_up(
        &mut self,
        s: &mut Scheduler<'_>,
        var: Option<IndexVar>,
        (lhs, op, rhs): (&Access, Option<ReduceOp>, &Expr),
        term: &dyn Fn(Access, Option<ReduceOp>, Expr) -> Stmt,
    ) -> Stmt {
        let vars: Vec<IndexVar> = var.into_iter().collect();
        let at = Access::of(self.workspace_over(s, &vars, rhs), vars.clone());
        let first = Some(self.op).filter(|_| vars.is_empty());
        let terms = operands(rhs, self.op.binary()).into_iter().enumerate().map(|(k, rhs)| {
            let op = if k == 0 { first } else { Some(self.op) };
            Stmt::forall(&vars, term(at.clone(), op, rhs))
        });
        let producer = Box::new(Stmt::Sequence(terms.collect()));
        let value = Stmt::Assign { lhs: lhs.clone(), op, rhs: Expr::Access(at.clone()) };
        Stmt::Where { consumer: Box::new(Stmt::forall(&vars, value)), producer }
    }

    /// The workspace for a sum: its previous one, or a similar one.
    fn workspace_over(
        &mut self,
        s: &mut Scheduler<'_>,
        vars: &[IndexVar],
        value: &Expr,
    ) -> TensorId {
        let own = s.program.tensors[self.workspace].clone();
        if own.storage.format.order() != vars.len() {
            let compute = s.kernel().compute;
            let datatype = s.program.accumulator(value, compute);
            let mut storage = Storage::of(Format::in_order([LISTED]), datatype);
            let identity = s.program.identity(self.op, compute).unwrap_or(Scalar::I64(0));
            storage.fill = identity.computed(compute).stored(datatype);
            storage.crd = s.program.width;
            return s.program.declare("w", storage, Role::Workspace, vars.to_vec());
        }
        match std::mem::replace(&mut self.is_free, false) && own.modes == vars {
            true => self.workspace,
            false => s.program.declare(&own.name, own.storage, own.role, vars.to_vec()),
        }
    }
}

/// Whether the operands of a sum have too many cases for one merge.
fn is_long(s: &Scheduler<'_>, value: &Expr, op: ReduceOp) -> bool {
    operands(value, op.binary()).len() > 1 && cases(s, value) > MAX_POINTS + 1
}

/// Estimated number of cases of a value's operands, including the case without any: operands of a product intersect,
/// others unite.
fn cases(s: &Scheduler<'_>, e: &Expr) -> usize {
    match e {
        Expr::Access(a) => 1 + listing(s, a),
        Expr::Binary(BinaryOp::Mul, a, b) => cases(s, a).max(cases(s, b)),
        e => e.children().into_iter().map(|e| cases(s, e)).fold(1, usize::saturating_mul),
    }
}

/// The largest number of cases in one loop of a statement.
fn cases_of(s: &Scheduler<'_>, stmt: &Stmt) -> usize {
    let Stmt::Forall { body, .. } = stmt else {
        return stmt.children().into_iter().map(|child| cases_of(s, child)).max().unwrap_or(1);
    };
    let here = match &**body {
        // The terms of a sum in a register are tested one after another.
        Stmt::Where { consumer, producer } if sum(s, consumer, producer).is_some() => 1,
        body => meeting(s, body),
    };
    here.max(cases_of(s, body))
}

/// The cases of all values that a loop computes outside of inner loops.
fn meeting(s: &Scheduler<'_>, stmt: &Stmt) -> usize {
    match stmt {
        Stmt::Forall { .. } => 1,
        Stmt::Assign { rhs, .. } => cases(s, rhs),
        _ => stmt.children().iter().map(|child| meeting(s, child)).fold(1, usize::saturating_mul),
    }
}

/// The number of levels of an operand that list coordinates.
fn listing(s: &Scheduler<'_>, a: &Access) -> usize {
    let levels = s.program.storage(a.tensor).format.levels();
    levels.iter().filter(|l| !l.kind.properties().full).count()
}
