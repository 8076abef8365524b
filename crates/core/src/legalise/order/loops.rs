//! The loops of a task: concrete index notation in the chosen order.
//!
//! A reduction of a whole statement combines into the result; reductions inside a larger
//! expression get a register each, computed as soon as their variables are bound.

use crate::cin::{Choice, Kernel, Kind, Stmt};
use crate::legalise::order::Order;
use crate::legalise::rewrite::factorize::Distributed;
use crate::legalise::{Legaliser, Task};
use crate::notation::{Access, Expr};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// The largest dimension of a result that is gathered in a dense array.
const MOST_GATHERED: u64 = 1 << 26;

/// A statement that computes a register, and after how many of the surrounding loops it can run.
type Producer = (usize, Stmt);

impl Legaliser<'_> {
    /// The kernel of a task; operands to convert become kernels of their own first.
    pub(in crate::legalise) fn kernel(&mut self, task: Task) -> Kernel {
        let is_copy = task.is_copy();
        let orders = self.best_orders(&task, is_copy);
        let mut choices: Vec<Choice> = orders.iter().map(|(cost, o)| o.choice(*cost)).collect();
        let cheapest = || orders.into_iter().next().map(|(_, order)| order);
        let order = self.order_to_part(&task).or_else(cheapest).unwrap_or_default();
        let rows = self.summed_rows(&task, &order);
        let apart = if rows.is_some() { None } else { self.apart(&task, &order) };
        let value = match apart {
            Some(_) => task.value.clone(),
            None => self.convert(task.value.clone(), &order, &task),
        };
        let task = Task { value, ..task };
        let (result, compute) = (task.result, task.compute);
        let mut tags = self.galloping_loops(&task, &order.vars);
        let workspace = self.has_small_dimensions(&task);
        let (scatter, body, partial) = if let Some(Distributed { cost, body, partial }) = apart {
            let loops = body.loops();
            choices.insert(0, Choice { loops, copied: vec![], apart: true, cost });
            (false, body, partial)
        } else if let Some(outer) = rows {
            (false, self.row_loops(task, &order.vars, outer), vec![])
        } else if let Some(gather) = self.gather(&task) {
            if order.vars.last() != Some(&gather.var) {
                let task = self.narrowed(task);
                return self.kernel(task);
            }
            (false, self.gathering_loops(&task, &order.vars, gather), vec![])
        } else {
            let scatter = self.scatters(&task);
            let task = match scatter || self.request.scheduled || self.sorts(&order) {
                true => task,
                false => self.with_bitmap_copies(task, &order.vars),
            };
            tags = self.galloping_loops(&task, &order.vars);
            (scatter, self.loops(task, &order.vars, scatter), vec![])
        };
        let body = self.associated(body, compute);
        Kernel {
            result,
            kind: Kind::Fused,
            like: None,
            compute,
            body,
            scatter,
            workspace,
            choices,
            chunked: self.request.parallel,
            tags,
            assembling: None,
            partial,
            checked: self.checked,
            long_sums: false,
        }
    }

    /// The loops split, where that is cheaper.
    fn apart(&mut self, task: &Task, order: &Order) -> Option<Distributed> {
        let whole = self.request.scheduled || self.sorts(order) || self.scatters(task);
        if whole || self.gather(task).is_some() { None } else { self.distributed(task) }
    }

    /// Whether sparse operands are copied for an order.
    fn sorts(&self, order: &Order) -> bool {
        order.converted.iter().any(|a| !self.is_full(a))
    }

    /// Whether loops reach the positions of the result as entries of operands come.
    fn scatters(&self, task: &Task) -> bool {
        let revisited = self.access_methods().is_revisited(task.value.accesses().into_iter());
        revisited || self.access_methods().is_list_driven(task)
    }

    /// The loops of a task in an order.
    fn loops(&mut self, task: Task, vars: &[IndexVar], scatter: bool) -> Stmt {
        let is_reduced = self.reduced(&task, vars);
        let summed = if scatter { self.summed_before_listed(&task, vars, &is_reduced) } else { 0 };
        let (vars, inner) = vars.split_at(vars.len() - summed);
        let (op, body) = match task.value {
            Expr::Reduce { op, body, .. } if summed > 0 => {
                (Some(op), Expr::Reduce { op, vars: inner.to_vec(), body })
            }
            Expr::Reduce { op, body, .. } => (Some(op), *body),
            value => (None, value),
        };
        let mut producers = vec![];
        let rhs = self.registers(body, vars, task.compute, &mut producers);
        let lhs = self.access(task.result, &task.vars);
        let op = op.filter(|_| scatter || is_reduced.contains(&true));
        nest(vars, producers, Stmt::Assign { lhs, op, rhs })
    }

    /// How many of the innermost loops a register sums up where each value that comes for a result is
    /// listed: those over what no operand lists, so that as many values come without them.
    fn summed_before_listed(&self, task: &Task, vars: &[IndexVar], is_reduced: &[bool]) -> usize {
        let accesses = task.value.accesses();
        let lists = |v: &IndexVar| {
            accesses.iter().any(|a| !self.is_full(a) && self.level_vars(a).contains(v))
        };
        let inner = self.innermost_reduced(task, vars, is_reduced);
        let reduces = matches!(task.value, Expr::Reduce { .. });
        let unlisted = vars.iter().rev().take(inner).take_while(|v| !lists(v)).count();
        if reduces { unlisted } else { 0 }
    }

    /// Whether arrays over the dimensions of a result are worth their memory.
    fn has_small_dimensions(&self, task: &Task) -> bool {
        task.vars.iter().all(|v| self.is_small(*v))
    }

    /// Whether an array over a dimension is worth its memory.
    pub(in crate::legalise) fn is_small(&self, var: IndexVar) -> bool {
        let var = self.program.derived.alias(var);
        self.request.dims.get(&var).is_none_or(|&d| d <= MOST_GATHERED)
    }

    /// Which loops are over reduced variables.
    pub(in crate::legalise) fn reduced(&self, task: &Task, vars: &[IndexVar]) -> Vec<bool> {
        vars.iter().map(|&v| self.is_reduced(v, task)).collect()
    }

    /// How many of the innermost loops only reduce, with all coordinates of the result known
    /// outside.
    pub(in crate::legalise) fn innermost_reduced(
        &self,
        task: &Task,
        vars: &[IndexVar],
        is_reduced: &[bool],
    ) -> usize {
        let inner = is_reduced.iter().rev().take_while(|&&reduced| reduced).count();
        let known = task.vars.iter().map(|&v| self.depth(v, vars)).max().unwrap_or(0);
        inner.min(vars.len().saturating_sub(known))
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
        let known = |v: &&IndexVar| self.follows(**v, vars);
        let depth = free.iter().filter(known).map(|&v| self.depth(v, vars)).max().unwrap_or(0);
        let order = self.inner_order(&reduced, &body);
        let mut within = vec![];
        let loops: Vec<IndexVar> = vars[..depth].iter().chain(&order).copied().collect();
        let body = self.registers(*body, &loops, compute, &mut within);
        let (early, late): (Vec<Producer>, Vec<Producer>) =
            within.into_iter().partition(|(at, _)| *at <= depth);
        let late = late.into_iter().map(|(at, s)| (at - depth, s)).collect();
        let register = self.program.register(op, &body, compute);
        let assign = Stmt::Assign { lhs: self.access(register, &[]), op: Some(op), rhs: body };
        producers.push((depth, nest(&order, late, assign)));
        producers.extend(early);
        Expr::Access(self.access(register, &[]))
    }

    /// The order of the loops of an inner reduction: the one with the fewest operands against it.
    fn inner_order(&self, reduced: &[IndexVar], body: &Expr) -> Vec<IndexVar> {
        let accesses: Vec<Access> = crate::plan::access::distinct(body);
        let against = |order: &Vec<IndexVar>| {
            accesses.iter().filter(|a| self.against_inner(a, order)).count()
        };
        let orders = crate::legalise::order::topological(reduced, &[]);
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
