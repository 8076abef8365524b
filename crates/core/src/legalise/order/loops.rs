//! The loops of a task: concrete index notation in the chosen order.
//!
//! A reduction of a whole statement combines into the result; reductions inside a larger
//! expression get a register each, computed as soon as their variables are bound.

use crate::cin::{AssemblyOptions, Choice, CutOptions, Kernel, KernelKind, Stmt};
use crate::legalise::copies::arrays::with_arrays;
use crate::legalise::order::association::associated;
use crate::legalise::order::merge_strategy::{galloping_loops, only_galloping};
use crate::legalise::order::{Order, best_orders, topological};
use crate::legalise::output::scatters;
use crate::legalise::rewrite::factorize::{Distributed, distributed, order_apart};
use crate::legalise::rewrite::hashed_rows::hashed_rows;
use crate::legalise::rewrite::listed_sum::{listed_sum, listing_loops};
use crate::legalise::rewrite::nary_sum::{gather, gathering_loops};
use crate::legalise::rewrite::row_workspaces::{row_loops, summed_rows};
use crate::legalise::{Context, Legaliser, Task};
use crate::notation::{Access, Expr};
use crate::plan::access::{AccessMethod, distinct};
use std::collections::BTreeMap;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// A statement that computes a register, and the number of surrounding loops after which it can run.
type Producer = (usize, Stmt);

impl Legaliser<'_> {
    /// The kernel of a task; kernels that convert operands come first.
    pub(in crate::legalise) fn kernel(&mut self, task: Task) -> Kernel {
        if let Some(sum) = listed_sum(self, &task) {
            let body = listing_loops(self, &task, sum);
            let kernel = kernel_of(self, &task, body);
            // Consecutive loops over terms append to a coordinate buffer.
            let assembly = AssemblyOptions { workspace: false, ..kernel.assembly };
            return Kernel { assembly, ..kernel };
        }
        let is_copy = task.is_copy();
        let orders = best_orders(self, &task, is_copy);
        let mut choices: Vec<Choice> = orders.iter().map(|(cost, o)| o.choice(*cost)).collect();
        let cheapest = || orders.into_iter().next().map(|(_, order)| order);
        let order = order_to_part(self, &task).or_else(cheapest).unwrap_or_default();
        let rows = summed_rows(self, &task, &order.vars);
        let copies = sorts(self, &order);
        let apart = if rows.is_some() || copies { None } else { split_loops(self, &task) };
        let steps = choices.first().map(|choice| choice.cost);
        let rows = match apart {
            Some(_) => None,
            None => rows.or_else(|| hashed_rows(self, &task, &order.vars, steps)),
        };
        let value = match apart {
            Some(_) => task.value.clone(),
            None => self.convert(task.value.clone(), &order, &task),
        };
        let task = Task { value, ..task };
        // With copied operands, a product may become splittable.
        let apart = if rows.is_none() && copies { split_loops(self, &task) } else { apart };
        let mut kernel = kernel_of(self, &task, Stmt::Sequence(vec![]));
        let mut tags = galloping_loops(self, &task, &order.vars);
        let (scatter, body, partial) = if let Some(Distributed { cost, body, partial }) = apart {
            let copied = if copies { order.choice(cost).copied } else { vec![] };
            choices.insert(0, Choice { loops: body.loops(), copied, apart: true, cost });
            let accesses = task.value.accesses();
            let revisits = self.access_methods().revisits_result(accesses.into_iter(), &task.vars);
            (revisits, body, partial)
        } else if let Some(rows) = rows {
            (false, row_loops(self, task, &order.vars, rows), vec![])
        } else if let Some(narrowed) = narrowed_for(self, &task, &order) {
            return self.kernel(narrowed);
        } else if let Some(gather) = gather(self, &task).filter(|g| g.fits(&order.vars)) {
            (false, gathering_loops(self, &task, &order.vars, gather), vec![])
        } else {
            let scatter = scatters(self, &task);
            let task = match scatter || self.request.commands.given || sorts(self, &order) {
                true => task,
                false => self.with_bitmap_copies(task, &order.vars),
            };
            tags = galloping_loops(self, &task, &order.vars);
            (scatter, loops_in_order(self, task, &order.vars, scatter), vec![])
        };
        kernel.body = associated(self, body, kernel.compute);
        let kernel = with_arrays(self, Kernel { scatter, choices, tags, partial, ..kernel });
        only_galloping(&self.program, kernel)
    }
}

/// The kernel with this body, and with options that follow from the loops.
fn kernel_of(l: &Legaliser<'_>, task: &Task, body: Stmt) -> Kernel {
    let workspace = l.has_small_dimensions(task);
    Kernel {
        result: task.result,
        kind: KernelKind::Fused,
        like: None,
        compute: task.compute,
        body,
        scatter: false,
        assembly: AssemblyOptions { workspace, crowded: is_crowded(l, task), wanted: None },
        choices: vec![],
        cut: CutOptions {
            chunked: l.request.parallel,
            threaded: l.request.threaded,
            ranks: vec![],
        },
        tags: BTreeMap::new(),
        partial: vec![],
        overflow: l.overflow,
    }
}

/// The task with fewer operands to merge, if they would be gathered in another loop than the innermost one.
fn narrowed_for(l: &mut Legaliser<'_>, task: &Task, order: &Order) -> Option<Task> {
    gather(l, task).filter(|gather| !gather.fits(&order.vars))?;
    let narrowed = l.narrowed(task.clone());
    (narrowed.value != task.value).then_some(narrowed)
}

/// Whether an operand is known to have more entries than the result has elements.
fn is_crowded(cx: &Context<'_>, task: &Task) -> bool {
    let most = task.value.accesses().into_iter().filter_map(|a| cx.input_entries(a)).max();
    let sizes: Option<f64> =
        task.vars.iter().map(|v| cx.known_dimension(*v).map(|d| d as f64)).product();
    most.zip(sizes).is_some_and(|(entries, elements)| entries as f64 > elements)
}

/// The loops split, if that is cheaper.
fn split_loops(cx: &mut Context<'_>, task: &Task) -> Option<Distributed> {
    let whole = cx.request.commands.given || gather(cx, task).is_some();
    if whole { None } else { distributed(cx, task) }
}

/// Whether an order needs copies of sparse operands.
fn sorts(cx: &Context<'_>, order: &Order) -> bool {
    order.converted.iter().any(|a| !cx.is_full(a))
}

/// The loops of a task in an order.
pub(in crate::legalise) fn loops_in_order(
    cx: &mut Context<'_>,
    task: Task,
    vars: &[IndexVar],
    scatter: bool,
) -> Stmt {
    let is_reduced = reduced_loops(cx, &task, vars);
    let summed = if scatter { summed_before_listed(cx, &task, vars, &is_reduced) } else { 0 };
    let (vars, inner) = vars.split_at(vars.len() - summed);
    let (op, body) = match task.value {
        Expr::Reduce { op, body, .. } if summed > 0 => {
            (Some(op), Expr::Reduce { op, vars: inner.to_vec(), body })
        }
        Expr::Reduce { op, body, .. } => (Some(op), *body),
        value => (None, value),
    };
    let mut producers = vec![];
    let rhs = registers(cx, body, vars, task.compute, &mut producers);
    let lhs = Access::of(task.result, task.vars.clone());
    let op = op.filter(|_| scatter || is_reduced.contains(&true));
    nest(vars, producers, Stmt::Assign { lhs, op, rhs })
}

/// If the values of a result are listed one by one: how many of the innermost loops a register sums up first. These
/// are the loops over variables that no operand lists; the number of listed values would be the same without them.
fn summed_before_listed(
    cx: &Context<'_>,
    task: &Task,
    vars: &[IndexVar],
    is_reduced: &[bool],
) -> usize {
    let accesses = task.value.accesses();
    let lists =
        |v: &IndexVar| accesses.iter().any(|a| !cx.is_full(a) && cx.level_vars(a).contains(v));
    let inner = innermost_reduced(cx, task, vars, is_reduced);
    let reduces = matches!(task.value, Expr::Reduce { .. });
    let unlisted = vars.iter().rev().take(inner).take_while(|v| !lists(v)).count();
    if reduces { unlisted } else { 0 }
}

/// For each loop, whether its variable is reduced.
pub(in crate::legalise) fn reduced_loops(
    cx: &Context<'_>,
    task: &Task,
    vars: &[IndexVar],
) -> Vec<bool> {
    vars.iter().map(|&v| cx.is_reduced(v, task)).collect()
}

/// The number of innermost loops that only reduce: outside of them all coordinates of the result are known.
pub(in crate::legalise) fn innermost_reduced(
    cx: &Context<'_>,
    task: &Task,
    vars: &[IndexVar],
    is_reduced: &[bool],
) -> usize {
    let inner = is_reduced.iter().rev().take_while(|&&reduced| reduced).count();
    let known = task.vars.iter().map(|&v| cx.depth(v, vars)).max().unwrap_or(0);
    inner.min(vars.len().saturating_sub(known))
}

/// Replaces each reduction of a value within loops over `vars` by a register.
fn registers(
    cx: &mut Context<'_>,
    e: Expr,
    vars: &[IndexVar],
    compute: DataType,
    producers: &mut Vec<Producer>,
) -> Expr {
    let Expr::Reduce { op, vars: reduced, body } = e else {
        return e.map_children(&mut |child| registers(cx, child, vars, compute, producers));
    };
    let free = Expr::Reduce { op, vars: reduced.clone(), body: body.clone() }.free_vars();
    let known = |v: &&IndexVar| cx.follows(**v, vars);
    let depth = free.iter().filter(known).map(|&v| cx.depth(v, vars)).max().unwrap_or(0);
    let order = inner_order(cx, &reduced, &body);
    let mut within = vec![];
    let loops: Vec<IndexVar> = vars[..depth].iter().chain(&order).copied().collect();
    let body = registers(cx, *body, &loops, compute, &mut within);
    let (early, late): (Vec<Producer>, Vec<Producer>) =
        within.into_iter().partition(|(at, _)| *at <= depth);
    let late = late.into_iter().map(|(at, s)| (at - depth, s)).collect();
    let register = cx.program.register(op, &body, compute);
    let assign = Stmt::Assign { lhs: Access::of(register, vec![]), op: Some(op), rhs: body };
    producers.push((depth, nest(&order, late, assign)));
    producers.extend(early);
    Expr::Access(Access::of(register, vec![]))
}

/// The order of the loops of an inner reduction with the fewest operands against it.
fn inner_order(cx: &Context<'_>, reduced: &[IndexVar], body: &Expr) -> Vec<IndexVar> {
    let accesses: Vec<Access> = distinct(body);
    let against =
        |order: &Vec<IndexVar>| accesses.iter().filter(|a| against_inner(cx, a, order)).count();
    let orders = topological(reduced, &[]);
    orders.into_iter().min_by_key(against).unwrap_or_else(|| reduced.to_vec())
}

/// Whether the order of an inner reduction's loops is against the levels of an access.
fn against_inner(cx: &Context<'_>, access: &Access, order: &[IndexVar]) -> bool {
    let places: Vec<usize> =
        cx.level_vars(access).iter().filter_map(|v| order.iter().position(|w| w == v)).collect();
    places.windows(2).any(|pair| pair[0] > pair[1])
}

/// The cheapest loop order for a schedule whose first command splits the statement into several loop nests.
fn order_to_part(cx: &Context<'_>, task: &Task) -> Option<Order> {
    let vars = cx.request.commands.apart.then(|| order_apart(cx, task)).flatten()?;
    let direct = |a: &Access| cx.access_methods().of(a, &vars, task) == AccessMethod::Direct;
    let direct = distinct(&task.value).iter().all(direct);
    direct.then_some(Order { vars, converted: vec![] })
}

/// The loops around a statement, with each producer where its variables are bound. Of producers at the same depth,
/// later ones in the list run first.
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
