//! The order of a task's loops, and which operands to store in another order beforehand.
//!
//! Candidates are the orders in which every operand's levels can be iterated in storage order
//! (the topological orders of the iteration graph); when there is none, all orders, where operands
//! against the order are either searched or converted. The cheapest by [`super::cost`] wins.

use super::cost::{Estimate, Operands};
use super::{Legaliser, Task};
use crate::format::Format;
use crate::ids::{Id, IndexVar};
use crate::level::COMPRESSED;
use crate::notation::{Access, Expr};

/// How many orders are looked at, at most.
const MAX_CANDIDATES: usize = 150;

/// How many operands of one kernel may be searched.
const MAX_SEARCHED: usize = 2;

/// The loops of a task.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// Outermost first.
    pub(super) vars: Vec<IndexVar>,
    /// Operands to replace by copies stored in this order.
    pub(super) converted: Vec<Access>,
}

impl Legaliser<'_> {
    /// The cheapest order of a task's loops; `as_stored` rules conversions out.
    pub(super) fn best_order(&self, task: &Task, as_stored: bool) -> Order {
        let mut vars = self.storage_order(task);
        if let Expr::Reduce { vars: reduced, .. } = &task.value {
            vars.extend(reduced);
        }
        let accesses = distinct(&task.value);
        let edges = self.edges(&accesses, &vars);
        let mut orders = topological(&vars, &edges);
        if orders.is_empty() {
            orders = topological(&vars, &[]);
        }
        let mut best: Option<(f64, Order)> = None;
        for vars in orders {
            for order in self.variants(&accesses, vars, as_stored) {
                let cost = self.estimate(task, &order);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, order));
                }
            }
        }
        best.map_or(Order { vars, converted: vec![] }, |(_, order)| order)
    }

    /// An order with operands against it searched, and with them converted.
    fn variants(&self, accesses: &[Access], vars: Vec<IndexVar>, as_stored: bool) -> Vec<Order> {
        let against: Vec<Access> =
            accesses.iter().filter(|a| self.is_against(a, &vars)).cloned().collect();
        let searched = Order { vars: vars.clone(), converted: vec![] };
        if as_stored || against.is_empty() {
            return vec![searched];
        }
        let converted = Order { vars, converted: against };
        // A search doubles the code where the operand may be absent.
        if converted.converted.len() > MAX_SEARCHED {
            vec![converted]
        } else {
            vec![searched, converted]
        }
    }

    fn estimate(&self, task: &Task, order: &Order) -> f64 {
        let operands = Operands {
            legaliser: self,
            task,
            converted: order
                .converted
                .iter()
                .map(|a| (a.clone(), copy_order(a, &order.vars)))
                .collect(),
        };
        Estimate::of(&operands, &order.vars)
    }

    /// Whether an operand's levels are met in another order than they are stored.
    pub(super) fn is_against(&self, access: &Access, vars: &[IndexVar]) -> bool {
        let place = |v: IndexVar| vars.iter().position(|&w| w == v).unwrap_or(vars.len());
        let mut latest = 0;
        self.program.storage(access.tensor).format.levels().iter().any(|level| {
            let at = place(access.indices[level.mode.index()]);
            let against = !level.kind.properties().full && at < latest;
            latest = latest.max(at);
            against
        })
    }

    /// The iteration graph: a level that must be iterated comes after the levels above it.
    fn edges(&self, accesses: &[Access], vars: &[IndexVar]) -> Vec<(IndexVar, IndexVar)> {
        let mut edges = vec![];
        for access in accesses {
            let levels = self.program.storage(access.tensor).format.levels();
            for (k, level) in levels.iter().enumerate() {
                if level.kind.properties().full {
                    continue;
                }
                let to = access.indices[level.mode.index()];
                for above in &levels[..k] {
                    let from = access.indices[above.mode.index()];
                    if from != to && vars.contains(&from) && vars.contains(&to) {
                        edges.push((from, to));
                    }
                }
            }
        }
        edges
    }

    /// Replaces operands by copies whose levels are in loop order.
    pub(super) fn convert(&mut self, value: Expr, order: &Order, task: &Task) -> Expr {
        order.converted.iter().fold(value, |value, access| {
            let vars = copy_order(access, &order.vars);
            let format = Format::in_order(vars.iter().map(|_| COMPRESSED));
            let name = format!("{}_sorted", self.program.tensors[access.tensor].name);
            let operand = Expr::Access(access.clone());
            let copy = self.temporary(&name, Some(format), vars, operand, task.compute);
            replace(value, access, &copy)
        })
    }
}

/// The variables of an access in loop order, each once; those of inner reductions last.
fn copy_order(access: &Access, vars: &[IndexVar]) -> Vec<IndexVar> {
    let mut order: Vec<IndexVar> =
        vars.iter().copied().filter(|v| access.indices.contains(v)).collect();
    for &v in &access.indices {
        if !order.contains(&v) {
            order.push(v);
        }
    }
    order
}

fn replace(e: Expr, access: &Access, copy: &Expr) -> Expr {
    match e {
        Expr::Access(a) if a == *access => copy.clone(),
        _ => e.map_children(&mut |child| replace(child, access, copy)),
    }
}

/// Each access of a value once.
pub(super) fn distinct(value: &Expr) -> Vec<Access> {
    let mut found: Vec<Access> = vec![];
    for access in value.accesses() {
        if !found.contains(access) {
            found.push(access.clone());
        }
    }
    found
}

/// Orders that respect the edges, those nearest to the given one first.
pub(super) fn topological(vars: &[IndexVar], edges: &[(IndexVar, IndexVar)]) -> Vec<Vec<IndexVar>> {
    let mut found = vec![];
    extend(vars, edges, &mut vec![], &mut found);
    found
}

fn extend(
    vars: &[IndexVar],
    edges: &[(IndexVar, IndexVar)],
    chosen: &mut Vec<IndexVar>,
    found: &mut Vec<Vec<IndexVar>>,
) {
    if chosen.len() == vars.len() {
        found.push(chosen.clone());
        return;
    }
    for &v in vars {
        let ready = edges.iter().all(|(from, to)| *to != v || chosen.contains(from));
        if ready && !chosen.contains(&v) && found.len() < MAX_CANDIDATES {
            chosen.push(v);
            extend(vars, edges, chosen, found);
            chosen.pop();
        }
    }
}
