//! Sums of many operands, which legalisation spreads over statements, as the values that commands name.
//!
//! ```text
//! forall(j, where(A(i,j) = s, sequence(s += B(i,j), s += C(i,j), .., s += F(i,j))))
//! where(forall(j, A(i,j) = w(j)), sequence(forall(j, w(j) = B(i,j)), .., forall(j, w(j) += F(i,j))))
//!
//! forall(j, A(i,j) = B(i,j) + C(i,j) + .. + F(i,j))
//! ```
//!
//! What commands leave of them is spread again where it still has too many cases for one merge.

use super::expression::{of_operands, operands};
use super::list::Schedule;
use super::scheduler::Scheduler;
use crate::cin::{Role, Stmt};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::ids::{IndexVar, TensorId};

/// The most cases of a merge, as legalisation has it: all combinations of four operands.
const MOST_CASES: usize = 15;

/// How sums were spread.
pub(super) struct Spread {
    op: ReduceOp,
    /// What they added up in: a number, or elements of a loop's variable.
    workspace: TensorId,
    /// Whether nothing is added up there now.
    is_free: bool,
}

/// Makes long sums values where commands name parts of them, and says how they were spread.
pub(super) fn join(s: &mut Scheduler<'_>, schedule: &Schedule) -> Option<Spread> {
    let mut found = None;
    if schedule.names_values() {
        let body = s.kernel().body.clone();
        s.kernel_mut().body = joined(s, body, &mut found);
    }
    found
}

fn joined(s: &Scheduler<'_>, stmt: Stmt, found: &mut Option<Spread>) -> Stmt {
    if let Stmt::Where { consumer, producer } = &stmt
        && let Some((whole, spread)) = sum(s, consumer, producer)
    {
        *found = Some(spread);
        return whole;
    }
    stmt.map_children(&mut |child| joined(s, child, found))
}

/// What adds up terms in a workspace and takes its value, as one assignment.
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

/// The loops around a statement, outermost first, and what is inside them all.
fn inside(mut stmt: &Stmt) -> (Vec<IndexVar>, &Stmt) {
    let mut vars = vec![];
    while let Stmt::Forall { var, body } = stmt {
        vars.push(*var);
        stmt = body;
    }
    (vars, stmt)
}

/// Spreads sums that still have too many cases for one merge.
pub(super) fn spread(s: &mut Scheduler<'_>, long: Option<Spread>) {
    let Some(mut long) = long else { return };
    let body = s.kernel().body.clone();
    s.kernel_mut().body = long.spread(s, body);
    s.declare_uses();
}

impl Spread {
    fn spread(&mut self, s: &mut Scheduler<'_>, stmt: Stmt) -> Stmt {
        let is_number = matches!(s.program.tensors[self.workspace].role, Role::Register(_));
        match stmt {
            Stmt::Assign { lhs, op, rhs } if is_number && is_long(s, &rhs, self.op) => {
                self.added_up(s, vec![], (lhs, op, rhs))
            }
            Stmt::Forall { var, body } => match *body {
                Stmt::Assign { lhs, op, rhs } if !is_number && is_long(s, &rhs, self.op) => {
                    self.added_up(s, vec![var], (lhs, op, rhs))
                }
                body => Stmt::Forall { var, body: Box::new(self.spread(s, body)) },
            },
            stmt => stmt.map_children(&mut |child| self.spread(s, child)),
        }
    }

    /// An assignment of a sum whose terms are added up in a workspace over some loops.
    fn added_up(
        &mut self,
        s: &mut Scheduler<'_>,
        vars: Vec<IndexVar>,
        (lhs, op, rhs): (Access, Option<ReduceOp>, Expr),
    ) -> Stmt {
        let own = s.program.tensors[self.workspace].clone();
        let w = match std::mem::replace(&mut self.is_free, false) && own.modes == vars {
            true => self.workspace,
            false => s.program.declare(&own.name, own.storage, own.role, vars.clone()),
        };
        let at = Access::of(w, vars.clone());
        let first = Some(self.op).filter(|_| vars.is_empty());
        let terms = operands(&rhs, self.op.binary()).into_iter().enumerate().map(|(k, rhs)| {
            let op = if k == 0 { first } else { Some(self.op) };
            Stmt::forall(&vars, Stmt::Assign { lhs: at.clone(), op, rhs })
        });
        let producer = Box::new(Stmt::Sequence(terms.collect()));
        let value = Stmt::Assign { lhs, op, rhs: Expr::Access(at.clone()) };
        Stmt::Where { consumer: Box::new(Stmt::forall(&vars, value)), producer }
    }
}

/// Whether the operands of a sum have too many cases for one merge.
fn is_long(s: &Scheduler<'_>, value: &Expr, op: ReduceOp) -> bool {
    let listing = |a: &Access| {
        let levels = s.program.storage(a.tensor).format.levels();
        levels.iter().filter(|l| !l.kind.properties().full).count()
    };
    let cases = |e: &Expr| 1 + e.accesses().into_iter().map(listing).sum::<usize>();
    let all = operands(value, op.binary()).iter().map(cases).fold(1, usize::saturating_mul);
    all > MOST_CASES + 1
}
