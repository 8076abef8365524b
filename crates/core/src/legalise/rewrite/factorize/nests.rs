//! The cost of nests of a product's loops, and their trip counts.

use super::product::{Factor, Product, diagonals, lists};
use crate::legalise::Context;
use crate::legalise::statistics::FAN_OUT;
use crate::legalise::weights::{SEARCH, STRIDE};
use crate::steps::CONTIGUOUS;
use std::collections::BTreeMap;
use tamis_ir::ids::IndexVar;

/// The cost of summing a vector register to a number.
const JOIN: f64 = 8.0;

/// The properties that nests of a product's loops have in common.
pub(super) struct Nests<'c, 'r> {
    cx: &'c Context<'r>,
    product: &'c Product,
    /// For each loop its trip count, and the cost of an iteration.
    loops: BTreeMap<IndexVar, (f64, f64)>,
    /// The order in which each operand, and the result, is stored.
    stored: Vec<Vec<IndexVar>>,
}

impl<'c, 'r> Nests<'c, 'r> {
    pub(super) fn of(
        cx: &'c Context<'r>,
        product: &'c Product,
        open: &[IndexVar],
    ) -> Nests<'c, 'r> {
        let weight = |v| 1.0 + SEARCH * diagonals(cx, &product.factors, v) as f64;
        let loops = open.iter().map(|&v| (v, (trip_count(cx, product, v), weight(v)))).collect();
        let orders = product.factors.iter().map(|f| match f {
            Factor::Operand(a) => cx.level_vars(a),
            Factor::Part(_, kept, _) => kept.clone(),
        });
        let stored = orders.chain([product.written.clone()]).collect();
        Nests { cx, product, loops, stored }
    }

    /// The cost of a nest of loops: its iterations; contiguous ones are cheap, strided ones are not.
    pub(super) fn cost(&self, order: &[IndexVar]) -> f64 {
        let (mut trips, mut cost) = (self.product.trips, 0.0);
        for var in order {
            let (count, weight) = self.loops[var];
            trips *= count;
            cost += trips * weight;
        }
        let Some(&inner) = order.last() else { return trips };
        let strided = |vars: &&Vec<IndexVar>| vars.contains(&inner) && vars.last() != Some(&inner);
        let strides = self.stored.iter().filter(strided).count();
        let lists = lists(self.cx, &self.product.factors, |v| v == inner);
        match strides {
            // An innermost sum to a number adds up a vector register for each iteration of the loops around.
            0 if !lists && joins(self.product, order) => {
                cost - trips * (1.0 - CONTIGUOUS) + JOIN * trips / self.loops[&inner].0
            }
            0 if !lists => cost - trips * (1.0 - CONTIGUOUS),
            _ => cost + trips * STRIDE * strides as f64,
        }
    }
}

/// Whether the two innermost loops add to the same element.
fn joins(product: &Product, order: &[IndexVar]) -> bool {
    let mut inner = order.iter().rev().take(2);
    order.len() > 1 && inner.all(|v| !product.written.contains(v))
}

/// The trip count of a loop.
pub(super) fn trip_count(cx: &Context<'_>, product: &Product, var: IndexVar) -> f64 {
    let dimension = cx.dimension_of(var);
    let mut least = dimension;
    for factor in &product.factors {
        let Factor::Operand(access) = factor else { continue };
        if !product.semiring.lists(cx, access) {
            continue;
        }
        for (k, (level, v)) in cx.program.levels(access).into_iter().enumerate() {
            if v == var && !level.kind.properties().full {
                let listed = if k == 0 { dimension.powf(0.8) } else { FAN_OUT };
                least = least.min(listed);
            }
        }
    }
    least.max(1.0)
}
