//! The order of a task's loops, and which operands to store in another order first.
//!
//! Candidates are the orders in which every operand's levels can be iterated in storage order (the topological orders
//! of the iteration graph). If there is none, all orders are candidates, and operands against the order are searched
//! or converted. Orders against one operand are candidates, too, where every other order visits coordinates that this
//! operand, stored in another order, would list (as in a product of rows and columns), or lists and sorts the entries
//! of the result (as in a product of columns and rows). The cheapest order by [`super::cost`] wins.

pub(super) mod association;
pub(super) mod basis;
mod convert;
pub(super) mod loops;
pub(super) mod merge_strategy;
mod unlisted;

use super::cost::{Estimate, Operands, Shared};
use super::{Context, Task};
use crate::cin::choice::{self, Choice};
use crate::format::{LevelMap, LevelSpec};
use crate::legalise::copies::in_order::{copy_format, copy_order};
use crate::legalise::copies::transpose::transposed_operands;
use crate::legalise::order::basis::bases;
use crate::legalise::order::unlisted::{
    is_alone_beside, is_costly_map, is_merged_again, is_unlisted,
};
use crate::legalise::output::output_order;
use crate::notation::{Access, Expr};
use crate::plan::OutputOrder;
use crate::plan::access::{AccessMethod, distinct};
use std::cell::RefCell;
use std::collections::BTreeSet;
use tamis_ir::ids::IndexVar;

/// The largest number of candidates.
const MAX_CANDIDATES: usize = 150;

/// Up to this number of variables, all of these candidates are weighed.
const FEW_VARS: usize = 8;

/// The number of tasks whose orders are remembered.
const WEIGHED: usize = 4;

/// The largest number of operands of one kernel that are searched.
const MAX_SEARCHED: usize = 2;

/// The loops of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// The variables of the loops, outermost first.
    pub(super) vars: Vec<IndexVar>,
    /// Operands to replace by copies stored in this order.
    pub(super) converted: Vec<Access>,
}

impl Order {
    pub(super) fn choice(&self, cost: f64) -> Choice {
        let copied = self.converted.iter().map(|a| a.tensor).collect();
        Choice { loops: self.vars.clone(), copied, apart: false, cost }
    }
}

/// The cheapest order of a task's loops. `as_stored` avoids conversions and searches where possible: for loops that
/// list the entries of an operand, which alone have positions.
pub(in crate::legalise) fn best_order(cx: &Context<'_>, task: &Task, as_stored: bool) -> Order {
    let best = best_orders(cx, task, as_stored).into_iter().next();
    best.map(|(_, order)| order).unwrap_or_default()
}

/// The cheapest orders of a task's loops, with costs, cheapest first.
pub(in crate::legalise) fn best_orders(cx: &Context<'_>, task: &Task, as_stored: bool) -> Costs {
    let asked = Asked {
        task: task.clone(),
        as_stored,
        program: (cx.program.tensors.len(), cx.program.vars.len()),
        gathering: cx.gathering.len(),
    };
    cx.weighed.or_insert_with(asked, || weighed(cx, task, as_stored))
}

/// The key of remembered orders: the task, and the numbers of tensors and variables. Existing tensors and variables
/// never change; if some are removed, all orders are forgotten.
#[derive(PartialEq)]
struct Asked {
    task: Task,
    as_stored: bool,
    program: (usize, usize),
    gathering: usize,
}

/// The orders of recent tasks.
#[derive(Default)]
pub(super) struct Weighed(RefCell<Vec<(Asked, Costs)>>);

/// Orders with their costs, cheapest first.
type Costs = Vec<(f64, Order)>;

impl Weighed {
    /// The remembered orders, or newly found ones.
    fn or_insert_with(&self, asked: Asked, find: impl FnOnce() -> Costs) -> Costs {
        if let Some((_, orders)) = self.0.borrow().iter().find(|(known, _)| *known == asked) {
            return orders.clone();
        }
        let orders = find();
        let mut last = self.0.borrow_mut();
        last.truncate(WEIGHED - 1);
        last.insert(0, (asked, orders.clone()));
        orders
    }
}

fn weighed(cx: &Context<'_>, task: &Task, as_stored: bool) -> Costs {
    let accesses = distinct(&task.value);
    let mut best: Vec<(u8, f64, Order)> = vec![];
    let shared = Shared::of(cx, task, &accesses);
    for basis in bases(cx, task, &accesses) {
        for vars in candidate_orders(cx, task, (&accesses, as_stored), &basis) {
            for order in variants(cx, task, &accesses, vars) {
                let rank = match as_stored {
                    true if !order.converted.is_empty() => 2,
                    true if accesses.iter().any(|a| is_searched(cx, a, &order)) => 1,
                    _ => 0,
                };
                let full = best.get(choice::KEPT - 1).filter(|_| !as_stored);
                let most = full.map_or(f64::INFINITY, |(_, cost, _)| *cost);
                let cost = estimate(cx, task, &order, (&shared, most));
                // Of orders with equal cost, the first is the best.
                let at = best.partition_point(|(own, less, _)| (*own, *less) <= (rank, cost));
                if at < choice::KEPT {
                    best.truncate(choice::KEPT - 1);
                    best.insert(at, (rank, cost, order));
                }
            }
        }
    }
    best.into_iter().map(|(_, cost, order)| (cost, order)).collect()
}

fn candidate_orders(
    cx: &Context<'_>,
    task: &Task,
    (accesses, as_stored): (&[Access], bool),
    basis: &[IndexVar],
) -> Vec<Vec<IndexVar>> {
    let orders = topological(basis, &edges(cx, accesses, basis));
    if orders.is_empty() {
        return orders_of_each(cx, accesses, basis);
    }
    if as_stored || cx.request.commands.given {
        return orders;
    }
    let is_sorted = |order: &Vec<IndexVar>| {
        let written = output_order(cx, task, order, &[]);
        matches!(written, OutputOrder::Listed | OutputOrder::Sorted)
    };
    let listed = orders.iter().all(is_sorted);
    let against = |a: &&Access| listed || passes_by(cx, a, accesses) || is_rest_once(cx, a, task);
    let against = accesses.iter().filter(against);
    let mut found = orders;
    for access in against {
        // With many variables, the total number of orders is limited, and there is one against each operand.
        let all = most_candidates(basis.len());
        let is_much = basis.len() > FEW_VARS && found.len() >= all;
        let most = if is_much { 1 } else { all };
        let others: Vec<Access> = accesses.iter().filter(|a| *a != access).cloned().collect();
        for order in first_topological(basis, &edges(cx, &others, basis), most) {
            if !found.contains(&order) {
                found.push(order);
            }
        }
    }
    found
}

/// The loop orders to weigh if no order suits all operands. If these are too many: the first ones, and one that suits
/// each operand.
fn orders_of_each(cx: &Context<'_>, accesses: &[Access], basis: &[IndexVar]) -> Vec<Vec<IndexVar>> {
    let mut found = topological(basis, &[]);
    if found.len() < most_candidates(basis.len()) {
        return found;
    }
    for access in accesses {
        let edges = edges(cx, std::slice::from_ref(access), basis);
        for order in first_topological(basis, &edges, 1) {
            if !found.contains(&order) {
                found.push(order);
            }
        }
    }
    found
}

/// Whether loops in the order of an operand's levels first visit a variable that no other operand lists, and then a
/// level at which the operand meets others without that variable.
fn passes_by(cx: &Context<'_>, access: &Access, all: &[Access]) -> bool {
    let others = || all.iter().filter(|a| *a != access);
    let lists = |a: &Access, var: IndexVar| {
        let levels = cx.program.levels(a);
        levels.into_iter().any(|(level, v)| v == var && !level.kind.properties().full)
    };
    let mut visited = None;
    cx.program.levels(access).into_iter().any(|(level, var)| {
        let meets = |a: &Access| lists(a, var) && visited.is_some_and(|v| !a.indices.contains(&v));
        let found = !level.kind.properties().full && others().any(meets);
        visited = visited.or(Some(var).filter(|v| !others().any(|a| lists(a, *v))));
        found
    })
}

/// Whether one iteration of a reduced loop can stand for all iterations where an operand has no entry, so that this
/// loop is best innermost.
fn is_rest_once(cx: &Context<'_>, access: &Access, task: &Task) -> bool {
    let Expr::Reduce { op, vars, body } = &task.value else { return false };
    let facts = cx.facts(task.compute);
    let rest = facts.expr_without(body, &|a| a == access);
    let once =
        |&var: &IndexVar| facts.takes_once((var, &BTreeSet::new()), (*op, &task.vars), &rest);
    !cx.access_methods().decides(access, task) && vars.iter().any(once)
}

/// The variants of an order: operands against it searched or converted, and strided dense operands transposed.
fn variants(cx: &Context<'_>, task: &Task, accesses: &[Access], vars: Vec<IndexVar>) -> Vec<Order> {
    let methods = cx.access_methods();
    let way = |a: &Access| match methods.of(a, &vars, task) {
        // In the loops of a schedule, one iteration may not be able to stand for all coordinates without an entry.
        _ if cx.request.commands.given && methods.is_alone(a) && !methods.decides(a, task) => {
            AccessMethod::Copied
        }
        way => way,
    };
    let ways: Vec<AccessMethod> = accesses.iter().map(way).collect();
    let those = |chosen: &dyn Fn(AccessMethod) -> bool| -> Vec<Access> {
        let picked = accesses.iter().zip(&ways).filter(|(_, way)| chosen(**way));
        picked.map(|(a, _)| a.clone()).collect()
    };
    let needed = those(&|way| way == AccessMethod::Copied);
    let against = those(&|way| way != AccessMethod::Direct);
    let searched = against.len() - needed.len();
    let is_unlisted = |a: &Access| is_unlisted(cx, a, &vars, task) || is_alone_beside(cx, a, task);
    let with = |those: &[Access], is: &dyn Fn(&Access) -> bool| -> Vec<Access> {
        let more = accesses.iter().filter(|a| !those.contains(a) && is(a));
        those.iter().chain(more).cloned().collect()
    };
    let listed = with(&against, &is_unlisted);
    let more = listed.len() > against.len();
    let merged = accesses.iter().filter(|a| is_merged_again(cx, a, &vars, accesses));
    let mut located = listed.clone();
    located.extend(merged.filter(|a| !listed.contains(a)).cloned());
    let by_rows = located.len() > listed.len() && !cx.request.commands.given;
    let copied = |converted: Vec<Access>| Order { vars: vars.clone(), converted };
    let copied_anyway = if searched > MAX_SEARCHED { &against } else { &needed };
    let other_alone = by_another_alone(cx, task, (accesses, copied_anyway), &vars);
    // A search doubles the code if the operand may lack the entry.
    let bases = match searched {
        1..=MAX_SEARCHED => vec![needed, against],
        _ => vec![against],
    };
    let mut variants: Vec<Order> = bases.iter().cloned().map(copied).collect();
    let is_costly = |a: &Access| is_costly_map(cx, a, &vars, task);
    let costly = bases.iter().chain([&listed]).map(|those| (those, with(those, &is_costly)));
    let costly = costly.filter(|(those, all)| all.len() > those.len());
    variants.extend(costly.map(|(_, all)| copied(all)));
    variants.extend(more.then(|| copied(listed)));
    variants.extend(by_rows.then(|| copied(located)));
    variants.extend(other_alone.into_iter().map(copied));
    // Loops over slots are only for the operand that has these slots.
    variants.retain(|order| {
        let mut owners = order.vars.iter().filter_map(|v| cx.program.derived.slots(*v));
        !owners.any(|(tensor, _)| order.converted.iter().any(|a| a.tensor == tensor))
    });
    let transposed = transposed_operands(cx, task, &vars);
    if !transposed.is_empty() {
        let with = |order: &Order| {
            let converted = order.converted.iter().chain(&transposed).cloned();
            Order { vars: order.vars.clone(), converted: converted.collect() }
        };
        let more: Vec<Order> = variants.iter().map(with).collect();
        variants.extend(more);
    }
    variants
}

/// Of several operands that must be walked alone, the first stays as it is stored. For each of the others, the
/// operands to copy if that one stays instead.
fn by_another_alone(
    cx: &Context<'_>,
    task: &Task,
    (accesses, needed): (&[Access], &[Access]),
    vars: &[IndexVar],
) -> Vec<Vec<Access>> {
    let methods = cx.access_methods();
    let alone: Vec<&Access> = accesses.iter().filter(|a| methods.is_alone(a)).collect();
    if alone.len() < 2 || cx.request.commands.given {
        return vec![];
    }
    let is_left =
        |a: &&&Access| needed.contains(a) && methods.of_one(a, vars, task) != AccessMethod::Copied;
    let copied = |left: &&Access| {
        let others = accesses.iter().filter(|a| a != left);
        others.filter(|a| needed.contains(a) || alone.contains(a)).cloned().collect()
    };
    alone.iter().filter(is_left).map(copied).collect()
}

/// Whether some level of an operand is neither walked by the loops of an order nor located.
fn is_searched(cx: &Context<'_>, access: &Access, order: &Order) -> bool {
    let levels = cx.program.storage(access.tensor).format.levels();
    let mut walked = 0;
    let searched = |(level, var): (&LevelSpec, IndexVar)| {
        let at = order.vars.iter().position(|&v| v == var).unwrap_or(0);
        let passed = walked;
        walked = passed.max(at);
        !level.kind.locates() && (!order.vars.contains(&var) || at < passed)
    };
    !order.converted.contains(access) && levels.iter().zip(cx.level_vars(access)).any(searched)
}

fn estimate(cx: &Context<'_>, task: &Task, order: &Order, (shared, most): (&Shared, f64)) -> f64 {
    let copy = |a: &Access| {
        let vars = copy_order(cx, a, &order.vars);
        let format = copy_format(cx, a, &vars);
        (a.clone(), vars, format)
    };
    let converted = order.converted.iter().map(copy).collect();
    Estimate::of(&Operands::of((cx, task), converted, shared), &order.vars, most)
}

/// The iteration graph: a walked level comes after the levels above it, and so does an offset in a block, since a loop
/// over blocks inside it would stride over all other offsets.
pub(in crate::legalise) fn edges(
    cx: &Context<'_>,
    accesses: &[Access],
    vars: &[IndexVar],
) -> Vec<(IndexVar, IndexVar)> {
    let mut edges = vec![];
    let format = |a: &Access| &cx.program.storage(a.tensor).format;
    let is_free = |a: &Access| format(a).is_full() && format(a).stores_modes();
    for access in accesses.iter().filter(|a| !is_free(a)) {
        let levels = cx.program.levels(access);
        for (k, &(level, to)) in levels.iter().enumerate() {
            if !vars.contains(&to) {
                continue;
            }
            let full = level.kind.properties().full;
            for &(above, from) in &levels[..k] {
                let needed = !full || is_block_of(above.map, level.map);
                if needed && from != to && vars.contains(&from) {
                    edges.push((from, to));
                }
            }
        }
    }
    edges
}

/// Whether a level stores the blocks to the offsets of another level.
fn is_block_of(block: LevelMap, place: LevelMap) -> bool {
    let LevelMap::Mod(mode, size) = place else { return false };
    block == LevelMap::Div(mode, size)
}

/// The orders that respect the edges, those nearest to the given one first; none if edges form a cycle. With many
/// variables only the first ones are made.
pub(super) fn topological(vars: &[IndexVar], edges: &[(IndexVar, IndexVar)]) -> Vec<Vec<IndexVar>> {
    first_topological(vars, edges, most_candidates(vars.len()))
}

/// The first `most` orders that respect the edges.
fn first_topological(
    vars: &[IndexVar],
    edges: &[(IndexVar, IndexVar)],
    most: usize,
) -> Vec<Vec<IndexVar>> {
    let before = |v: &IndexVar| -> Vec<IndexVar> {
        edges.iter().filter(|(_, to)| to == v).map(|(from, _)| *from).collect()
    };
    let before: Vec<Vec<IndexVar>> = vars.iter().map(before).collect();
    // If these choices complete an order, there is no cycle, and any other choices complete one, too.
    let mut chosen: Vec<IndexVar> = vec![];
    loop {
        let next = ready(vars, &before, &chosen).next();
        match next {
            Some(v) => chosen.push(v),
            None => break,
        }
    }
    let mut found = vec![];
    if chosen.len() == vars.len() {
        extend((vars, &before), &mut vec![], (&mut found, most));
    }
    found
}

/// The possible next variables of an order: those whose predecessors are all chosen.
fn ready<'v>(
    vars: &'v [IndexVar],
    before: &'v [Vec<IndexVar>],
    chosen: &'v [IndexVar],
) -> impl Iterator<Item = IndexVar> + 'v {
    let is_ready = |before: &[IndexVar]| before.iter().all(|from| chosen.contains(from));
    let open = vars.iter().zip(before).filter(|(v, _)| !chosen.contains(v));
    open.filter(move |(_, before)| is_ready(before)).map(|(v, _)| *v)
}

/// How many orders of this number of variables are weighed: the more variables, the fewer orders, since each takes
/// longer.
fn most_candidates(vars: usize) -> usize {
    (MAX_CANDIDATES * FEW_VARS / vars.max(FEW_VARS)).max(1)
}

fn extend(
    (vars, before): (&[IndexVar], &[Vec<IndexVar>]),
    chosen: &mut Vec<IndexVar>,
    (found, most): (&mut Vec<Vec<IndexVar>>, usize),
) {
    if chosen.len() == vars.len() {
        found.push(chosen.clone());
        return;
    }
    let choices: Vec<IndexVar> = ready(vars, before, chosen).collect();
    for v in choices {
        if found.len() < most {
            chosen.push(v);
            extend((vars, before), chosen, (found, most));
            chosen.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::topological;
    use tamis_ir::ids::{Id, IndexVar};

    #[test]
    fn a_cycle_beside_many_variables_has_no_order() {
        let vars: Vec<IndexVar> = (0..40).map(IndexVar::new).collect();
        let cycle = [(vars[38], vars[39]), (vars[39], vars[38])];
        assert!(topological(&vars, &cycle).is_empty());
        let orders = topological(&vars, &cycle[1..]);
        assert_eq!(orders[0][38..], [vars[39], vars[38]]);
    }
}
