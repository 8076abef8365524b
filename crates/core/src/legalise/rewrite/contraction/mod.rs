//! Contracts products of many factors, a few factors at a time.
//!
//! ```text
//! D(i,l) = A(i,j) * B(j,k) * C(k,l)          forall(i, forall(j, forall(k, forall(l, ..))))
//!
//! t(i,k) = A(i,j) * B(j,k)                   loops over i, j, k
//! D(i,l) = t(i,k) * C(k,l)                   loops over i, k, l
//! ```
//!
//! The rule: the factors over a summed variable are multiplied and summed beforehand if both kernels then have fewer
//! nested loops, if a sparse factor lists coordinates of the variable, and if no remaining sparse factor makes most
//! elements of the temporary unnecessary (as in the sampled product `B(i,j) * C(i,k) * D(j,k)`). Of several variables,
//! the one whose temporary has the lowest order goes first; of these, the one for which the loops of the temporary and
//! of the rest cost the least; with more than three factors, the one with the fewest loop iterations, then the fewest
//! sparse factors.
//!
//! A sampled product is summed beforehand, at the entries of its sampler, if both sides gather rows and these together
//! exceed a cache: one side at a time they fit better.
//!
//! ```text
//! A(i,l) = B(i,j) * C(i,k) * D(j,k) * E(j,l)       t(i,j) = B(i,j) * C(i,k) * D(j,k)
//!                                                  A(i,l) = t(i,j) * E(j,l)
//! ```
//!
//! Full factors are summed beforehand if a sparse factor is known to have so many entries that this takes fewer steps.
//!
//! ```text
//! Z(i,o) = A(i,j) * X(j,f) * W(f,o)          t(j,o) = X(j,f) * W(f,o)         16 columns of W instead of 64 of X
//!                                            Z(i,o) = A(i,j) * t(j,o)
//! ```
//!
//! The same goes for a single factor over variables that no other factor has.
//!
//! ```text
//! R(i,j) = A(i,j) * D(j,l)                   t(j) = D(j,l)                    once, not for each entry of A
//!                                            R(i,j) = A(i,j) * t(j)
//! R(i,j) = x(i) * D(j,l)                     t(j) = D(j,l)                    once, not for each i
//!                                            R(i,j) = x(i) * t(j)
//! ```
//!
//! If more sums share factors than the search considers together ([`crate::legalise::rewrite::factorize`]), some are
//! summed beforehand even if no factor is sparse.
//!
//! A temporary of floats must track empty reductions: its zero would give a NaN with an infinite factor that has no
//! counterpart in the product as written. If its levels would have a position for each coordinate, a mask marks the
//! elements with terms.
//!
//! ```text
//! y(i) = A(i,j) * B(j,k) * x(k)       t(j) = B(j,k) * x(k)         t: bitmap
//!                                     y(i) = A(i,j) * t(j)
//! ```
//!
//! Sums that are factors are split as if all were written as one, whatever the parentheses. None of this happens under
//! a schedule, whose commands name the loops of the statement.

mod candidates;

use candidates::{Candidates, Contraction};

use crate::cin::Kernel;
use crate::format::Format;
use crate::legalise::infer::formats::inferred_storage;
use crate::legalise::order::best_orders;
use crate::legalise::rewrite::factorize::independent::separated;
use crate::legalise::rewrite::factorize::{order_apart, splits_rows};
use crate::legalise::rewrite::semiring::Semiring;
use crate::legalise::{Context, Legaliser, Task};
use crate::level::{BITMAP, DENSE};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// Contractions of up to this many factors are compared by the cost of their loops. With more factors, a contraction
/// leaves three or more, which are contracted in turn; the estimate ignores that.
const MOST_WEIGHED: usize = 3;

/// The largest number of elements of a temporary with a mask, which has a position for each element.
const MOST_MASKED: f64 = (1 << 26) as f64;

impl Legaliser<'_> {
    /// The task with factors replaced by temporaries, as long as the rule allows it.
    pub(in crate::legalise) fn contracted(&mut self, mut task: Task) -> Task {
        // Commands split the loops over all factors.
        if self.request.commands.apart {
            return task;
        }
        if let Some(value) = separated(self, &task) {
            task.value = value;
        }
        if let Some(value) = self.with_plain_factors(&task) {
            task.value = value;
        }
        loop {
            let whole = one_sum(self, &task.value, task.compute);
            let Some((semiring, vars, body)) = Semiring::of(&whole, task.compute) else {
                return task;
            };
            // Schedules name the loops of minima, maxima, `any` and `all` as they are written.
            if semiring.sum != ReduceOp::Add && self.request.commands.given {
                return task;
            }
            let Some(factors) = semiring.tensors(body) else { return task };
            let rules = Candidates { cx: self, semiring, factors: &factors, summed: vars };
            let mut candidates = rules.best_first();
            let product = Product { semiring, factors: &factors, vars };
            product.weigh(self, &mut candidates, &task);
            let mut contracted = None;
            for contraction in &candidates {
                let [factors, _] = product.sides(contraction);
                match self.summed(contraction, factors, &task, semiring) {
                    Summed::Before(temporary) => contracted = Some((contraction, temporary)),
                    Summed::Not => continue,
                    // The remaining candidates cost more than these loops.
                    Summed::ByRows => {}
                }
                break;
            }
            let Some((contraction, temporary)) = contracted else { return task };
            task.value = product.with(contraction, temporary);
        }
    }

    /// The temporary of a contraction; none if its elements are floats that may be empty reductions.
    fn summed(
        &mut self,
        contraction: &Contraction,
        factors: Vec<Expr>,
        task: &Task,
        semiring: Semiring,
    ) -> Summed {
        let outermost = self.storage_order(task).first().copied();
        let is_product = factors.len() > 1;
        let row = outermost.filter(|v| contraction.kept.contains(v));
        let splits = match is_product {
            true => contraction.is_inside && order_apart(self, task).is_some(),
            false => row.is_some() && splits_rows(self, task),
        };
        // If split loops compute each element of the temporary once, it saves nothing.
        if contraction.is_inside && splits && (is_product || row.is_some()) {
            return Summed::Not;
        }
        let Contraction { summed, kept, is_whole, .. } = contraction.clone();
        let body = semiring.product(factors);
        // A workspace for one row of the result replaces a temporary for all rows: see
        // [`crate::legalise::rewrite::factorize`].
        let row = row.filter(|_| is_product || splits);
        let is_row = |v: &IndexVar| {
            Some(*v) == row || self.program.derived.ancestors(*v).iter().any(|of| Some(*of) == row)
        };
        let begins =
            |a: &&Access| self.is_full(a) || self.level_vars(a).first().is_some_and(is_row);
        let is_shared = row.is_some() && body.accesses().iter().all(begins);
        let sum = Expr::Reduce { op: semiring.sum, vars: summed, body: Box::new(body) };
        if is_whole || semiring.absorbs() {
            return Summed::Before(self.temporary("t", None, kept, sum, task.compute));
        }
        let is_by_rows = is_shared && order_apart(self, task).is_some();
        // Each mode is tried as the first one.
        let tries = if is_shared { 1 } else { kept.len().max(1) };
        let temporary = (0..tries).find_map(|first| {
            let mut kept = kept.clone();
            kept.rotate_left(first);
            let masked = match is_by_rows || self.request.commands.given {
                true => None,
                false => masked(self, &sum, &kept, task.compute),
            };
            marked(self, (&sum, semiring.sum), kept, masked, task.compute)
        });
        match temporary {
            Some(temporary) => Summed::Before(temporary),
            None if is_by_rows => Summed::ByRows,
            None => Summed::Not,
        }
    }
}

/// A product, and the variables that are summed.
#[derive(Clone, Copy)]
struct Product<'p> {
    semiring: Semiring,
    factors: &'p [&'p Access],
    vars: &'p [IndexVar],
}

impl Product<'_> {
    /// The factors that a contraction sums, and the others.
    fn sides(&self, contraction: &Contraction) -> [Vec<Expr>; 2] {
        let side = |chosen: bool| {
            let all = self.factors.iter().zip(&contraction.factors).filter(|(_, c)| **c == chosen);
            all.map(|(factor, _)| Expr::Access((*factor).clone())).collect()
        };
        [side(true), side(false)]
    }

    /// The product in which a temporary stands for the sum of some factors.
    fn with(&self, contraction: &Contraction, temporary: Expr) -> Expr {
        let mut left = self.vars.to_vec();
        left.retain(|v| !contraction.summed.contains(v));
        let [_, mut after] = self.sides(contraction);
        after.insert(0, temporary);
        self.semiring.summed(left, after)
    }

    /// Moves the cheapest contraction to the front, comparing those whose temporary has the lowest order. The cost is
    /// that of the temporary and of the remaining product.
    fn weigh(&self, l: &mut Legaliser<'_>, candidates: &mut [Contraction], task: &Task) {
        let order = |c: &Contraction| c.kept.len();
        let tied = candidates.iter().take_while(|c| order(c) == order(&candidates[0])).count();
        let is_known = |a: &&Access| {
            l.known_entries(a).is_some()
                && a.indices.iter().all(|v| l.known_dimension(*v).is_some())
        };
        let few = self.factors.len() <= MOST_WEIGHED && self.factors.iter().all(is_known);
        if tied < 2 || !few || l.request.commands.given {
            return;
        }
        let (before, [factors, _]) = (l.program.clone(), self.sides(&candidates[0]));
        let first = l.summed(&candidates[0], factors, task, self.semiring);
        l.restore(before);
        // Loops by rows store less than any temporary.
        if matches!(first, Summed::ByRows) {
            return;
        }
        let costs: Vec<f64> = candidates[..tied].iter().map(|c| self.cost(l, c, task)).collect();
        let cheapest = (0..tied).min_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        candidates[..=cheapest.unwrap_or(0)].rotate_right(1);
    }

    /// The cost of a contraction and of the loops for the rest.
    fn cost(&self, l: &mut Legaliser<'_>, contraction: &Contraction, task: &Task) -> f64 {
        let (before, known) = (l.program.clone(), l.program.kernels.len());
        let [factors, _] = self.sides(contraction);
        let temporary = match l.summed(contraction, factors.clone(), task, self.semiring) {
            Summed::Before(temporary) => Some(temporary),
            Summed::ByRows => {
                let sum = self.semiring.summed(contraction.summed.clone(), factors);
                Some(l.temporary("t", None, contraction.kept.clone(), sum, task.compute))
            }
            Summed::Not => None,
        };
        let cost = temporary.map(|temporary| {
            let kernels = l.program.kernels[known..].iter();
            // The cost of separate loops is estimated without the known numbers of entries.
            let whole = |k: &Kernel| k.choices.iter().find(|c| !c.apart).map_or(0.0, |c| c.cost);
            let first: f64 = kernels.map(whole).sum();
            let rest = Task { value: self.with(contraction, temporary), ..task.clone() };
            let orders = best_orders(l, &rest, false);
            first + orders.first().map_or(f64::INFINITY, |(cost, _)| *cost)
        });
        l.restore(before);
        cost.unwrap_or(f64::INFINITY)
    }
}

/// How factors that may be multiplied beforehand are summed.
enum Summed {
    /// In a temporary.
    Before(Expr),
    /// In a workspace for one row of the result at a time.
    ByRows,
    /// Not beforehand: they stay in the product.
    Not,
}

/// Rewrites a sum of a product, some factors of which are sums, as one sum over all factors. Sums without a sparse
/// factor stay: they are over all coordinates, and over a dimension of size 0 they are 0.
pub(in crate::legalise) fn one_sum(cx: &Context<'_>, value: &Expr, compute: DataType) -> Expr {
    let Some((semiring, vars, body)) = Semiring::of(value, compute) else { return value.clone() };
    if cx.request.commands.given {
        return value.clone();
    }
    let (mut vars, mut factors) = (vars.clone(), vec![]);
    let mut open = vec![body];
    while let Some(factor) = open.pop() {
        match factor {
            Expr::Binary(op, a, b) if *op == semiring.times => open.extend([&**b, &**a]),
            Expr::Reduce { op, vars: inner, body }
                if *op == semiring.sum && body.accesses().iter().any(|a| !cx.is_full(a)) =>
            {
                vars.extend(inner);
                open.push(body);
            }
            factor => factors.push(factor.clone()),
        }
    }
    let mut bound = [value.free_vars(), vars.clone()].concat();
    let count = bound.len();
    bound.sort();
    bound.dedup();
    match bound.len() == count {
        true => semiring.summed(vars, factors),
        false => value.clone(),
    }
}

/// A temporary for a sum, in a given or the usual format, if its levels mark which elements have terms.
fn marked(
    l: &mut Legaliser<'_>,
    (sum, op): (&Expr, ReduceOp),
    kept: Vec<IndexVar>,
    format: Option<Format>,
    compute: DataType,
) -> Option<Expr> {
    let usual = || inferred_storage(l, sum, &kept, compute, compute).format;
    if !marks_elements(format.as_ref().unwrap_or(&usual())) {
        return None;
    }
    let before = l.program.clone();
    let temporary = l.temporary("t", format, kept, sum.clone(), compute);
    let Expr::Access(Access { tensor, .. }) = temporary else { return None };
    let own = l.program.kernels.iter().rfind(|kernel| kernel.result == tensor);
    if own.is_some_and(|kernel| lists_sums(l, kernel, op)) {
        return Some(temporary);
    }
    l.restore(before);
    None
}

/// Levels with a mask over the first variable, for a temporary that would otherwise have a position for each element.
/// Sparse factors determine which elements have terms; no others are marked.
fn masked(cx: &Context<'_>, sum: &Expr, kept: &[IndexVar], compute: DataType) -> Option<Format> {
    let storage = inferred_storage(cx, sum, kept, compute, compute);
    let is_small = cx.trips_over(kept) <= MOST_MASKED;
    let is_full = storage.format.is_full() && cx.is_constrained(sum, *kept.first()?);
    let kind = |k| if k == 0 { BITMAP } else { DENSE };
    (is_full && is_small).then(|| Format::in_order((0..kept.len()).map(kind)))
}

/// Whether a kernel stores an element only where a term was added to it. A sum that the innermost loops complete is
/// stored in any case if the last level has a position for each element (`schedule::accumulate`).
fn lists_sums(cx: &Context<'_>, kernel: &Kernel, sum: ReduceOp) -> bool {
    let format = &cx.program.storage(kernel.result).format;
    let lists = lists_last(format);
    let innermost = kernel.body.loops().last().copied();
    let of = |tensor| cx.program.kernels.iter().rfind(|kernel| kernel.result == tensor);
    let is_hashed =
        |tensor| cx.program.is_workspace(tensor) && lists_last(&cx.program.storage(tensor).format);
    let mut adds = true;
    kernel.body.for_each_assign(&mut |lhs, op, rhs| {
        let scatters = innermost.is_some_and(|v| lhs.indices.contains(&v));
        let is_result = lhs.tensor == kernel.result;
        adds &= match (op, rhs) {
            // The entries of the other tensor become those of this one.
            (None, Expr::Access(a)) => {
                let lists =
                    is_hashed(a.tensor) || of(a.tensor).is_some_and(|k| lists_sums(cx, k, sum));
                is_result && lists
            }
            _ if op != Some(sum) => false,
            _ if is_result => scatters || lists,
            _ => scatters && is_hashed(lhs.tensor),
        };
    });
    adds && marks_elements(format)
}

/// Whether a tensor in this format marks its elements, by a mask or by a list of coordinates.
fn marks_elements(format: &Format) -> bool {
    format.levels().first().is_some_and(|level| level.kind == BITMAP) || lists_last(format)
}

/// Whether the last level does not have a position for each coordinate.
fn lists_last(format: &Format) -> bool {
    format.levels().last().is_some_and(|level| !level.kind.properties().full)
}

/// Whether the rule allows any contraction.
pub(in crate::legalise) fn is_contracted(
    cx: &Context<'_>,
    semiring: Semiring,
    factors: &[&Access],
    summed: &[IndexVar],
) -> bool {
    !Candidates { cx, semiring, factors, summed }.best_first().is_empty()
}
