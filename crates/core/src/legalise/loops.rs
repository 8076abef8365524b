//! The loops of a task: concrete index notation in the chosen order.
//!
//! Reductions whose loops are innermost sum into a register; reductions inside a larger expression
//! get a register each, computed as soon as their variables are bound.

use super::{Legaliser, Task};
use crate::algebra::{BinaryOp, ReduceOp};
use crate::cin::{Kernel, Role, Stmt};
use crate::datatype::{DataType, Scalar};
use crate::format::{Format, Storage};
use crate::ids::{IndexVar, TensorId};
use crate::notation::{Access, Expr};

/// The largest dimension of a result that is gathered in a dense array.
const MOST_GATHERED: u64 = 1 << 26;

/// A statement that computes a register, and after how many of the surrounding loops it can run.
type Producer = (usize, Stmt);

impl Legaliser<'_> {
    /// The kernel of a task; operands to convert become kernels of their own first.
    pub(super) fn kernel(&mut self, task: Task) -> Kernel {
        let is_copy = matches!(task.value, Expr::Access(_));
        let order = self.best_order(&task, is_copy);
        let value = self.convert(task.value.clone(), &order, &task);
        let task = Task { value, ..task };
        let revisited = self.is_revisited(task.value.accesses().into_iter());
        let scatter = revisited || self.is_list_driven(&task);
        let (result, compute) = (task.result, task.compute);
        let workspace = self.has_small_dimensions(&task);
        let body = self.loops(task, &order.vars, scatter);
        Kernel { result, compute, body, scatter, workspace, chunked: self.request.parallel }
    }

    /// The loops of a task in an order. Operands that are walked entry by entry leave no sums for
    /// a register.
    fn loops(&mut self, task: Task, vars: &[IndexVar], scatter: bool) -> Stmt {
        let is_reduced = self.reduced(&task, vars);
        let inner = match scatter {
            true => 0,
            false => self.innermost_reduced(&task, vars, &is_reduced),
        };
        let (op, body) = match task.value {
            Expr::Reduce { op, body, .. } => (Some(op), *body),
            value => (None, value),
        };
        let (outer, trailing) = vars.split_at(vars.len() - inner);
        let mut producers = vec![];
        let body = self.registers(body, vars, task.compute, &mut producers);
        let result = self.access(task.result, &task.vars);
        let outer_op = op.filter(|_| scatter || is_reduced[..outer.len()].contains(&true));
        let Some(op) = op.filter(|_| inner > 0) else {
            return nest(vars, producers, Stmt::Assign { lhs: result, op: outer_op, rhs: body });
        };
        let (outside, body) = match op {
            ReduceOp::Add => self.factored(body, outer),
            _ => (None, body),
        };
        let sum = self.register(Some(op), &body, task.compute);
        let accumulate = Stmt::Assign { lhs: self.access(sum, &[]), op: Some(op), rhs: body };
        let (early, late): (Vec<Producer>, Vec<Producer>) =
            producers.into_iter().partition(|(depth, _)| *depth <= outer.len());
        let late = late.into_iter().map(|(depth, s)| (depth - outer.len(), s)).collect();
        let total = Expr::Access(self.access(sum, &[]));
        let rhs = match outside {
            Some(factors) => product(factors, total),
            None => total,
        };
        let innermost = Stmt::Where {
            consumer: Box::new(Stmt::Assign { lhs: result, op: outer_op, rhs }),
            producer: Box::new(nest(trailing, late, accumulate)),
        };
        nest(outer, early, innermost)
    }

    /// Whether arrays over the dimensions of a result are worth their memory.
    fn has_small_dimensions(&self, task: &Task) -> bool {
        let small = |v: &IndexVar| {
            let var = self.program.derived.alias(*v);
            self.request.dims.get(&var).is_none_or(|&d| d <= MOST_GATHERED)
        };
        task.vars.iter().all(small)
    }

    /// Which loops are over reduced variables.
    pub(super) fn reduced(&self, task: &Task, vars: &[IndexVar]) -> Vec<bool> {
        vars.iter().map(|&v| self.is_reduced(v, task)).collect()
    }

    /// How many of the innermost loops only reduce, with all coordinates of the result known
    /// outside.
    pub(super) fn innermost_reduced(
        &self,
        task: &Task,
        vars: &[IndexVar],
        is_reduced: &[bool],
    ) -> usize {
        let inner = is_reduced.iter().rev().take_while(|&&reduced| reduced).count();
        let known = task.vars.iter().map(|&v| self.depth(v, vars)).max().unwrap_or(0);
        inner.min(vars.len().saturating_sub(known))
    }

    /// The operands in a product that are known in the loops over `vars`, and the rest: the
    /// distributive law takes them out of a sum over further loops.
    fn factored(&self, body: Expr, vars: &[IndexVar]) -> (Option<Expr>, Expr) {
        let Expr::Binary(BinaryOp::Mul, a, b) = body else { return (None, body) };
        // Computed factors may be infinite, and infinity times the sum of nothing is not nothing.
        let is_fixed = |e: &Expr| match e {
            Expr::Access(a) => {
                matches!(self.program.tensors[a.tensor].role, Role::Input(_))
                    && self.level_vars(a).iter().all(|&v| self.depth(v, vars) != usize::MAX)
            }
            _ => false,
        };
        match (is_fixed(&a), is_fixed(&b)) {
            (true, false) => {
                let (more, rest) = self.factored(*b, vars);
                (Some(more.into_iter().fold(*a, product)), rest)
            }
            (false, true) => {
                let (more, rest) = self.factored(*a, vars);
                (Some(more.into_iter().fold(*b, |b, more| product(more, b))), rest)
            }
            (false, false) => {
                let (left, a) = self.factored(*a, vars);
                let (right, b) = self.factored(*b, vars);
                (left.into_iter().chain(right).reduce(product), product(a, b))
            }
            (true, true) => (None, product(*a, *b)),
        }
    }

    /// Replaces each reduction of a value inside loops over `vars` by a register.
    fn registers(
        &mut self,
        e: Expr,
        vars: &[IndexVar],
        compute: DataType,
        producers: &mut Vec<Producer>,
    ) -> Expr {
        let Expr::Reduce { op, vars: reduced, body } = e else {
            return e.map_children(&mut |child| self.registers(child, vars, compute, producers));
        };
        let free = Expr::Reduce { op, vars: reduced.clone(), body: body.clone() }.free_vars();
        let known = |v: &&IndexVar| self.depth(**v, vars) != usize::MAX;
        let depth = free.iter().filter(known).map(|&v| self.depth(v, vars)).max().unwrap_or(0);
        let order = self.inner_order(&reduced, &body);
        let mut within = vec![];
        let loops: Vec<IndexVar> = vars[..depth].iter().chain(&order).copied().collect();
        let body = self.registers(*body, &loops, compute, &mut within);
        let (early, late): (Vec<Producer>, Vec<Producer>) =
            within.into_iter().partition(|(at, _)| *at <= depth);
        let late = late.into_iter().map(|(at, s)| (at - depth, s)).collect();
        let register = self.register(Some(op), &body, compute);
        let assign = Stmt::Assign { lhs: self.access(register, &[]), op: Some(op), rhs: body };
        producers.push((depth, nest(&order, late, assign)));
        producers.extend(early);
        Expr::Access(self.access(register, &[]))
    }

    /// The order of the loops of an inner reduction: the one with the fewest operands against it.
    fn inner_order(&self, reduced: &[IndexVar], body: &Expr) -> Vec<IndexVar> {
        let accesses: Vec<Access> = super::order::distinct(body);
        let against = |order: &Vec<IndexVar>| {
            accesses.iter().filter(|a| self.against_inner(a, order)).count()
        };
        let orders = super::order::topological(reduced, &[]);
        orders.into_iter().min_by_key(against).unwrap_or_else(|| reduced.to_vec())
    }

    /// Whether an access meets the variables of an inner reduction in another order than stored.
    fn against_inner(&self, access: &Access, order: &[IndexVar]) -> bool {
        let places: Vec<usize> = self
            .level_vars(access)
            .iter()
            .filter_map(|v| order.iter().position(|w| w == v))
            .collect();
        places.windows(2).any(|pair| pair[0] > pair[1])
    }

    /// A new register that a reduction starts from its identity.
    fn register(&mut self, op: Option<ReduceOp>, body: &Expr, compute: DataType) -> TensorId {
        let datatype = match op {
            Some(ReduceOp::Or | ReduceOp::And) => self.accumulator(body, compute).part(),
            _ => self.accumulator(body, compute),
        };
        let identity = op.and_then(|op| self.program.identity(op, compute));
        let initial = identity.unwrap_or(Scalar::I64(0)).computed(datatype);
        let storage = Storage::of(Format::in_order([]), datatype);
        self.declare("s", storage, Role::Register(initial), vec![])
    }
}

fn product(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Mul, Box::new(a), Box::new(b))
}

/// The loops around a statement, with each producer where its variables are bound. Producers that
/// come later in the list are computed first where the depth is the same.
fn nest(vars: &[IndexVar], producers: Vec<Producer>, leaf: Stmt) -> Stmt {
    let mut stmt = leaf;
    for depth in (0..=vars.len()).rev() {
        for (_, producer) in producers.iter().filter(|(d, _)| *d == depth) {
            stmt = Stmt::Where { consumer: Box::new(stmt), producer: Box::new(producer.clone()) };
        }
        if depth > 0 {
            stmt = Stmt::Forall { var: vars[depth - 1], body: Box::new(stmt) };
        }
    }
    stmt
}
