//! Sums of innermost loops in registers.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))
//!
//! forall(i, where(y(i) = s, forall(j, s += A(i,j) * x(j))))
//! ```
//!
//! Runs after the commands of a schedule, so that these see plain loops. Factors that the inner loops do not change are
//! multiplied with the sum, if the inner loops visit every coordinate. Where a sum may have no term, they stay inside:
//! its 0 times an infinite factor would be a NaN.

use crate::cin::{Program, Role, Stmt};
use crate::format::LevelSpec;
use crate::notation::{Access, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{IndexVar, TensorId};
use tamis_ir::ir::Unit;

/// The program with a register for every reduction whose loops are innermost.
pub(super) fn accumulate(mut program: Program) -> Program {
    for k in 0..program.kernels.len() {
        // Duplicates are walked one by one and added to the result: no element is complete after an inner loop.
        if program.kernels[k].scatter {
            continue;
        }
        let (body, compute) = (program.kernels[k].body.clone(), program.kernels[k].compute);
        let tags = &program.kernels[k].tags;
        let units = tags.iter().filter_map(|(&var, tag)| Some((var, tag.gpu()?))).collect();
        let partial = program.kernels[k].partial.clone();
        let is_outermost = |own: &IndexVar| matches!(&body, Stmt::Forall { var, .. } if var == own);
        let mut shared = tags.iter().filter(|(_, tag)| tag.is_on_threads()).map(|(&var, _)| var);
        let shared = shared.find(|var| !is_outermost(var));
        let mut sums = InnermostSums {
            program: &mut program,
            compute,
            units,
            shared,
            outer: vec![],
            again: 0,
            later: false,
            partial,
        };
        let body = sums.stmt(body);
        program.kernels[k].partial = sums.partial;
        program.kernels[k].body = body;
    }
    program
}

/// A walk down the loops of a kernel to sums that a register can hold.
struct InnermostSums<'p> {
    program: &'p mut Program,
    compute: DataType,
    /// The loops that a GPU runs.
    units: Vec<(IndexVar, Unit)>,
    /// The loop inside of others that threads share.
    shared: Option<IndexVar>,
    /// The loops around.
    outer: Vec<IndexVar>,
    /// How many of them, from the outermost on, are around the initialisation of the tensor that is written.
    again: usize,
    /// Whether an earlier statement of a sequence has written the same tensor.
    later: bool,
    /// Temporaries that are not read where their sums have no term.
    partial: Vec<TensorId>,
}

impl InnermostSums<'_> {
    fn stmt(&mut self, s: Stmt) -> Stmt {
        match s {
            Stmt::Forall { var, body } => {
                let sum = self.reduction(&body, vec![var]).filter(|_| self.sums_over(var));
                if let Some(op) = sum {
                    return self.in_register(var, *body, op);
                }
                self.outer.push(var);
                let body = Box::new(self.stmt(*body));
                self.outer.pop();
                Stmt::Forall { var, body }
            }
            Stmt::Where { consumer, producer } => {
                let consumer = Box::new(self.stmt(*consumer));
                let again = std::mem::replace(&mut self.again, self.outer.len());
                let later = std::mem::replace(&mut self.later, false);
                let producer = Box::new(self.stmt(*producer));
                (self.again, self.later) = (again, later);
                Stmt::Where { consumer, producer }
            }
            // Later statements add to what earlier ones wrote.
            Stmt::Sequence(parts) => {
                let before = self.later;
                let mut done = vec![];
                for part in parts {
                    self.later = before || !done.is_empty();
                    done.push(self.stmt(part));
                }
                self.later = before;
                Stmt::Sequence(done)
            }
            // Patterns are added later, around assignments.
            Stmt::Assign { .. } | Stmt::Within { .. } => s,
        }
    }

    /// The operator, if a loop over `vars` and all within it do nothing but combine values for one
    /// element, which is known outside.
    fn reduction(&self, body: &Stmt, mut vars: Vec<IndexVar>) -> Option<ReduceOp> {
        match body {
            Stmt::Forall { var, .. } if !self.sums_over(*var) => None,
            Stmt::Forall { var, body } => {
                vars.push(*var);
                self.reduction(body, vars)
            }
            Stmt::Where { consumer, .. } => self.reduction(consumer, vars),
            Stmt::Sequence(_) | Stmt::Within { .. } => None,
            Stmt::Assign { lhs, op, .. } => {
                let derived = &self.program.derived;
                let known = |v: &IndexVar| derived.follows(*v, &self.outer);
                let register = matches!(self.program.tensors[lhs.tensor].role, Role::Register(_));
                let sums = !register
                    && lhs.indices.iter().all(known)
                    && vars.iter().all(|&v| self.is_reduced(v, lhs));
                op.filter(|_| sums)
            }
        }
    }

    /// Whether a register may hold the sum over a loop. Blocks and warps of a GPU add to memory, and so do threads that share
    /// an inner loop.
    fn sums_over(&self, var: IndexVar) -> bool {
        let unit = self.units.iter().find(|(v, _)| *v == var);
        self.shared != Some(var) && unit.is_none_or(|(_, unit)| *unit == Unit::Thread)
    }

    /// Whether a loop is over a reduced variable: the coordinates that are written do not tell it.
    fn is_reduced(&self, var: IndexVar, lhs: &Access) -> bool {
        !self.program.derived.follows(var, &lhs.indices)
    }

    /// The loop with its sum in a register.
    fn in_register(&mut self, var: IndexVar, body: Stmt, op: ReduceOp) -> Stmt {
        let (lhs, rhs) = leaf(&body);
        let (lhs, rhs) = (lhs.clone(), rhs.clone());
        let all = rhs.clone();
        let (factors, rhs) = match op {
            ReduceOp::Add => self.factors(rhs),
            _ => (None, rhs),
        };
        let sum = Access::of(self.program.register(op, &rhs, self.compute), vec![]);
        let partial = self.program.may_be_nothing(&rhs, &self.partial);
        if partial && (self.knows_nothing(lhs.tensor, op) || self.leaves_out(&lhs, op, &all)) {
            self.partial.push(sum.tensor);
        }
        let accumulate = Stmt::Assign { lhs: sum.clone(), op: Some(op), rhs };
        let producer = Stmt::Forall { var, body: Box::new(with_leaf(body, accumulate)) };
        let total = match factors {
            Some(factors) => product(factors, Expr::Access(sum)),
            None => Expr::Access(sum),
        };
        let anew = &self.outer[self.again..];
        let again = self.later
            || anew.iter().any(|&v| self.is_reduced(v, &lhs))
            || anew.iter().any(|&v| self.passes_over(v)) && !self.starts_at_identity(&lhs, op);
        let consumer = Stmt::Assign { lhs, op: again.then_some(op), rhs: total };
        Stmt::Where { consumer: Box::new(consumer), producer: Box::new(producer) }
    }

    /// Whether a loop over positions may skip coordinates.
    fn passes_over(&self, var: IndexVar) -> bool {
        self.program.derived.position(var).is_some()
    }

    /// Whether the fill value is the identity of the reduction, so that elements that no loop visits are right.
    fn starts_at_identity(&self, lhs: &Access, op: ReduceOp) -> bool {
        let fill = self.program.storage(lhs.tensor).fill.computed(self.compute);
        self.program.identity(op, self.compute).is_some_and(|id| id.same_value(fill))
    }

    /// Whether a temporary must track which sums have a term: the 0 of an empty sum times infinity, and the infinity of an
    /// empty minimum plus minus infinity, are NaN.
    fn knows_nothing(&self, tensor: TensorId, op: ReduceOp) -> bool {
        let declared = &self.program.tensors[tensor];
        let lists = declared.storage.format.levels().last().is_some_and(|level| {
            let temporary = matches!(declared.role, Role::Workspace | Role::Temporary);
            temporary && !level.kind.properties().full
        });
        let same = self.starts_at_identity(&Access::of(tensor, vec![]), op);
        let exact = self.compute.integers().is_some();
        let matters = matches!(op, ReduceOp::Add | ReduceOp::Min | ReduceOp::Max);
        !exact && matters && same && (lists || self.partial.contains(&tensor))
    }

    /// Whether a result or a temporary stores no empty reductions: it lists coordinates that no operand lists. An operand
    /// does if its levels down to the last listed mode tell all coordinates, and the loops outside know those above.
    fn leaves_out(&self, lhs: &Access, op: ReduceOp, rhs: &Expr) -> bool {
        let is_listed = |level: &LevelSpec| !level.kind.properties().full;
        let levels = self.program.levels(lhs);
        let last = levels.iter().rposition(|(level, _)| is_listed(level));
        let told = |last: usize| levels[..=last].iter().map(|(_, v)| *v);
        let lists = |access: &&Access, last: usize| {
            let own = self.program.levels(access);
            let at = own.iter().position(|(l, v)| *v == levels[last].1 && is_listed(l));
            let derived = &self.program.derived;
            at.is_some_and(|at| {
                let vars: Vec<IndexVar> = own[..=at].iter().map(|(_, v)| *v).collect();
                vars[..at].iter().all(|v| derived.follows(*v, &self.outer))
                    && told(last).all(|v| derived.follows(v, &vars))
            })
        };
        // Results are copied from temporaries with all entries that these list.
        matches!(self.program.tensors[lhs.tensor].role, Role::Result(_) | Role::Temporary)
            && self.starts_at_identity(lhs, op)
            && last.is_some_and(|last| !rhs.accesses().iter().any(|a| lists(a, last)))
    }

    /// The factors that the inner loops do not change, and the rest, if it is never an empty
    /// reduction.
    fn factors(&self, body: Expr) -> (Option<Expr>, Expr) {
        let full = |a: &Access| self.program.storage(a.tensor).format.is_full();
        let (factors, rest) = self.factored(body.clone());
        let exact = self.compute.integers().is_some();
        match exact || rest.accesses().into_iter().all(full) {
            true => (factors, rest),
            false => (None, body),
        }
    }

    /// The operands in a product that are known outside, and the rest: the distributive law takes
    /// them out of a sum over further loops.
    fn factored(&self, body: Expr) -> (Option<Expr>, Expr) {
        let Expr::Binary(BinaryOp::Mul, a, b) = body else { return (None, body) };
        // Computed factors may be infinite, and infinity times an empty sum is a NaN.
        let known = |&v: &IndexVar| self.program.derived.follows(v, &self.outer);
        let is_fixed = |e: &Expr| match e {
            Expr::Access(a) => {
                matches!(self.program.tensors[a.tensor].role, Role::Input(_))
                    && self.program.level_vars(a.tensor, &a.indices).iter().all(known)
            }
            _ => false,
        };
        match (is_fixed(&a), is_fixed(&b)) {
            (true, false) => {
                let (more, rest) = self.factored(*b);
                (Some(more.into_iter().fold(*a, product)), rest)
            }
            (false, true) => {
                let (more, rest) = self.factored(*a);
                (Some(more.into_iter().fold(*b, |b, more| product(more, b))), rest)
            }
            (false, false) => {
                let (left, a) = self.factored(*a);
                let (right, b) = self.factored(*b);
                (left.into_iter().chain(right).reduce(product), product(a, b))
            }
            (true, true) => (None, product(*a, *b)),
        }
    }
}

/// The assignment in loops.
fn leaf(s: &Stmt) -> (&Access, &Expr) {
    match s {
        Stmt::Sequence(_) => unreachable!("a reduction has one part"),
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } => leaf(body),
        Stmt::Where { consumer, .. } => leaf(consumer),
        Stmt::Assign { lhs, rhs, .. } => (lhs, rhs),
    }
}

/// The loops with another assignment in them.
fn with_leaf(s: Stmt, new: Stmt) -> Stmt {
    match s {
        Stmt::Forall { var, body } => Stmt::Forall { var, body: Box::new(with_leaf(*body, new)) },
        Stmt::Where { consumer, producer } => {
            Stmt::Where { consumer: Box::new(with_leaf(*consumer, new)), producer }
        }
        Stmt::Sequence(_) | Stmt::Assign { .. } | Stmt::Within { .. } => new,
    }
}

fn product(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Mul, Box::new(a), Box::new(b))
}
