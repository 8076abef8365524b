//! Products of many factors, a few at a time.
//!
//! ```text
//! D(i,l) = A(i,j) * B(j,k) * C(k,l)          forall(i, forall(j, forall(k, forall(l, ..))))
//!
//! t(i,k) = A(i,j) * B(j,k)                   loops over i, j, k
//! D(i,l) = t(i,k) * C(k,l)                   loops over i, k, l
//! ```
//!
//! The rule: the factors over a variable that is summed are multiplied and summed beforehand if
//! that leaves fewer loops around each other in both kernels, if a sparse factor says which of its
//! coordinates there are, and if no sparse factor that is left says that few elements of the
//! temporary are wanted (as in the sampled product `B(i,j) * C(i,k) * D(j,k)`). Of several
//! variables the one that leaves the temporary of the lowest order goes first, and of these the one
//! with the fewest iterations of loops, then the one with the fewest sparse factors.
//!
//! A sampled product is summed beforehand, at the entries of what samples it, if both sides gather
//! rows and together these are more than a cache holds: one after the other they fit better.
//!
//! ```text
//! A(i,l) = B(i,j) * C(i,k) * D(j,k) * E(j,l)       t(i,j) = B(i,j) * C(i,k) * D(j,k)
//!                                                  A(i,l) = t(i,j) * E(j,l)
//! ```
//!
//! Full factors are summed beforehand where the entries of a sparse one are known to be so many that this takes
//! fewer steps.
//!
//! ```text
//! Z(i,o) = A(i,j) * X(j,f) * W(f,o)          t(j,o) = X(j,f) * W(f,o)         16 columns of W instead of 64 of X
//!                                            Z(i,o) = A(i,j) * t(j,o)
//! ```
//!
//! So is a single factor over variables that no other has, for the same reason.
//!
//! ```text
//! R(i,j) = A(i,j) * D(j,l)                   t(j) = D(j,l)                    once, and not for each entry of A
//!                                            R(i,j) = A(i,j) * t(j)
//! R(i,j) = x(i) * D(j,l)                     t(j) = D(j,l)                    once, and not for each i
//!                                            R(i,j) = x(i) * t(j)
//! ```
//!
//! Products in which more sums share factors than are looked at together
//! ([`crate::legalise::rewrite::factorize`]) have some summed beforehand even if no factor is sparse.
//!
//! A temporary of floats must track empty reductions: its zero would make a NaN of an
//! infinite factor that meets nothing in the product as it is written. Where its levels would have a
//! position for each coordinate, a mask tells.
//!
//! ```text
//! y(i) = A(i,j) * B(j,k) * x(k)       t(j) = B(j,k) * x(k)         t: bitmap
//!                                     y(i) = A(i,j) * t(j)
//! ```
//!
//! Sums that are factors are split as if all had been written as one, whatever the parentheses.
//! Neither happens under a schedule, whose commands name the loops of the statement.

use crate::cin::Kernel;
use crate::format::Format;
use crate::legalise::cost::CONTIGUOUS;
use crate::legalise::infer::formats::inferred_storage;
use crate::legalise::rewrite::factorize::independent::separated;
use crate::legalise::rewrite::factorize::{MAX_SUMS, independent, order_apart, splits_rows};
use crate::legalise::rewrite::semiring::Semiring;
use crate::legalise::{Context, Legaliser, Task};
use crate::level::{BITMAP, DENSE};
use crate::notation::{Access, Expr};
use std::cmp::Ordering;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// Bytes of rows that stay in cache while they are gathered.
const CACHE: f64 = (4 << 20) as f64;

/// Elements of a temporary with a mask: it has a position for those that are empty reductions, too.
const MOST_MASKED: f64 = (1 << 26) as f64;

/// How much cheaper it has to be to sum full factors beforehand.
const WORTH: f64 = 0.75;

/// Factors to multiply beforehand.
struct Contraction {
    /// Which of the factors.
    factors: Vec<bool>,
    /// The variables that are summed with them.
    summed: Vec<IndexVar>,
    /// Those of the temporary.
    kept: Vec<IndexVar>,
    /// The trip count of the loops, all coordinates visited.
    trips: f64,
    /// How many of the factors list coordinates.
    listing: usize,
    /// Whether every element of the temporary is a sum of something.
    is_whole: bool,
    /// Whether splitting the loops for rows of the result may do as well. For one factor it does if the loops begin with a
    /// variable of the temporary: they compute each of its elements once, in a register. For several full factors it
    /// always does.
    is_inside: bool,
}

impl Legaliser<'_> {
    /// The task with factors replaced by temporaries as long as the rule holds.
    pub(in crate::legalise) fn contracted(&mut self, mut task: Task) -> Task {
        // Commands split the loops of all factors.
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
            let contracted =
                candidates(self, semiring, &factors, vars).into_iter().find_map(|contraction| {
                    let (mut before, mut after) = (vec![], vec![]);
                    for (factor, chosen) in factors.iter().zip(&contraction.factors) {
                        let side = if *chosen { &mut before } else { &mut after };
                        side.push(Expr::Access((*factor).clone()));
                    }
                    let mut left = vars.clone();
                    left.retain(|v| !contraction.summed.contains(v));
                    after.insert(0, self.summed(contraction, before, &task, semiring)?);
                    Some(semiring.summed(left, after))
                });
            let Some(value) = contracted else { return task };
            task.value = value;
        }
    }

    /// The temporary of a contraction, unless its elements are of floats and may be empty reductions.
    fn summed(
        &mut self,
        contraction: Contraction,
        factors: Vec<Expr>,
        task: &Task,
        semiring: Semiring,
    ) -> Option<Expr> {
        let Contraction { summed, kept, is_whole, is_inside, .. } = contraction;
        let outermost = self.storage_order(task).first().copied();
        let is_product = factors.len() > 1;
        let splits = match is_product {
            true => is_inside && order_apart(self, task).is_some(),
            false => splits_rows(self, task),
        };
        if is_inside && splits && (is_product || outermost.is_some_and(|v| kept.contains(&v))) {
            return None;
        }
        let is_apart = is_product || splits;
        let body = semiring.product(factors);
        // Rows of the result need no temporary for the rows of all: see [`crate::legalise::rewrite::factorize`].
        let row = outermost.filter(|v| is_apart && kept.contains(v));
        let is_row = |v: &IndexVar| {
            Some(*v) == row || self.program.derived.ancestors(*v).iter().any(|of| Some(*of) == row)
        };
        let begins =
            |a: &&Access| self.is_full(a) || self.level_vars(a).first().is_some_and(is_row);
        let is_shared = row.is_some() && body.accesses().iter().all(begins);
        let sum = Expr::Reduce { op: semiring.sum, vars: summed, body: Box::new(body) };
        let is_known = is_whole || semiring.absorbs();
        // Empty reductions must be told by the levels of the temporary. Each mode is tried as the first.
        let turns = if is_known || is_shared { 1 } else { kept.len().max(1) };
        (0..turns).find_map(|first| {
            let before = self.program.clone();
            let mut kept = kept.clone();
            kept.rotate_left(first);
            let masked = match is_known || is_shared || self.request.commands.given {
                true => None,
                false => masked(self, &sum, &kept, task.compute),
            };
            let temporary = self.temporary("t", masked, kept, sum.clone(), task.compute);
            let Expr::Access(Access { tensor, .. }) = temporary else { return None };
            let own = self.program.kernels.iter().rfind(|kernel| kernel.result == tensor);
            if is_known || own.is_some_and(|kernel| lists_sums(self, kernel, semiring.sum)) {
                return Some(temporary);
            }
            self.restore(before);
            None
        })
    }
}

/// A sum of a product whose factors may be sums as one sum of all factors. Sums without a sparse
/// factor stay: they are over all coordinates, and of a dimension of size 0 they are zeros.
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

/// Levels of a temporary that would otherwise have a position for each element, with a mask of its
/// first variable: sparse factors tell where there is something to sum, and those have no other.
fn masked(cx: &Context<'_>, sum: &Expr, kept: &[IndexVar], compute: DataType) -> Option<Format> {
    let storage = inferred_storage(cx, sum, kept, compute, compute);
    let is_small = cx.trips_over(kept) <= MOST_MASKED;
    let is_full = storage.format.is_full() && cx.is_constrained(sum, *kept.first()?);
    let kind = |k| if k == 0 { BITMAP } else { DENSE };
    (is_full && is_small).then(|| Format::in_order((0..kept.len()).map(kind)))
}

/// Whether a kernel stores an element only where something was added to it. Sums that the innermost
/// loops complete are stored whether they had terms or not where the last level has a position for each
/// (`schedule::accumulate`).
fn lists_sums(cx: &Context<'_>, kernel: &Kernel, sum: ReduceOp) -> bool {
    let levels = cx.program.storage(kernel.result).format.levels();
    let is_masked = levels.first().is_some_and(|level| level.kind == BITMAP);
    let lists = levels.last().is_some_and(|level| !level.kind.properties().full);
    let innermost = kernel.body.loops().last().copied();
    let mut adds = true;
    kernel.body.for_each_assign(&mut |lhs, op, _| {
        let scatters = innermost.is_some_and(|v| lhs.indices.contains(&v));
        let is_known = scatters || lists;
        adds &= lhs.tensor == kernel.result && op == Some(sum) && is_known;
    });
    adds && (is_masked || lists)
}

/// Whether the rule allows any contraction.
pub(in crate::legalise) fn is_contracted(
    cx: &Context<'_>,
    semiring: Semiring,
    factors: &[&Access],
    summed: &[IndexVar],
) -> bool {
    !candidates(cx, semiring, factors, summed).is_empty()
}

/// What the rule allows, best first.
fn candidates(
    cx: &Context<'_>,
    semiring: Semiring,
    factors: &[&Access],
    summed: &[IndexVar],
) -> Vec<Contraction> {
    if factors.len() < 2 {
        return vec![];
    }
    let over = |&v: &IndexVar| {
        over(cx, semiring, factors, summed, v).or_else(|| sampled(cx, semiring, factors, summed, v))
    };
    let mut candidates: Vec<Contraction> = summed.iter().filter_map(over).collect();
    let key = |c: &Contraction| (c.kept.len(), c.trips, c.listing);
    candidates.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal));
    candidates
}

/// The factors over a variable, if they are worth multiplying beforehand.
fn over(
    cx: &Context<'_>,
    semiring: Semiring,
    factors: &[&Access],
    summed: &[IndexVar],
    var: IndexVar,
) -> Option<Contraction> {
    let Sides { chosen, before, after } = Sides::of(factors, var);
    let (inner, outer) = (variables(&before), variables(&after));
    let within = within(summed, &inner, &outer);
    let kept = without(&inner, &within);
    let listed = before.iter().any(|a| semiring.lists(cx, a) && a.indices.contains(&var));
    let samples = |a: &&Access| semiring.lists(cx, a) && kept.iter().all(|v| a.indices.contains(v));
    let is_sampled = kept.len() > 1 && after.iter().any(samples);
    let long = !cx.request.commands.given && is_long(factors, summed, var);
    let is_part = kept.is_empty() || inner.len() < beside(factors, summed, var).len();
    let fewer = is_part && !after.is_empty();
    let trips = cx.trips_over(&inner);
    let pays = || match before[..] {
        [] => false,
        // A number is computed once, and what reads it is cut for threads.
        _ if kept.is_empty() && !cx.request.commands.given => true,
        [only] if !long => pays_once(cx, semiring, (only, &after), &kept),
        _ => listed || long || pays_dense(cx, semiring, (&before, &after), (&within, &kept)),
    };
    let worth = fewer && !is_sampled && pays();
    let is_whole = before.iter().all(|a| !semiring.lists(cx, a));
    let listing = before.iter().filter(|a| semiring.lists(cx, a)).count();
    let summed = within;
    let is_dense = after.iter().all(|a| !semiring.lists(cx, a));
    let is_inside = !long && is_dense && (before.len() == 1 || is_whole);
    let factors = chosen;
    worth.then_some(Contraction { factors, summed, kept, trips, listing, is_whole, is_inside })
}

/// Whether full factors are better summed for all coordinates beforehand: better than for the entries of a sparse
/// factor, or, if all factors are full, better than in one nest of loops.
fn pays_dense(
    cx: &Context<'_>,
    semiring: Semiring,
    (before, after): (&[&Access], &[&Access]),
    (summed, kept): (&[IndexVar], &[IndexVar]),
) -> bool {
    if cx.request.commands.given || before.iter().any(|a| semiring.lists(cx, a)) {
        return false;
    }
    let Some(sparse) = after.iter().find(|a| semiring.lists(cx, a)) else {
        let trips = |vars: &[IndexVar], after: &[&Access]| {
            cx.trips_over(&[vars, &without(&variables(after), vars)].concat())
        };
        let inner = variables(before);
        return trips(&inner, &[]) + trips(kept, after) < WORTH * trips(&inner, after);
    };
    let Some(entries) = cx.known_entries(sparse).map(|n| n as f64) else { return false };
    let apart = |vars: &[IndexVar]| cx.trips_over(&without(vars, &sparse.indices));
    let inner = variables(before);
    let first = CONTIGUOUS * cx.trips_over(&inner) + entries * apart(kept);
    let left = [without(&sparse.indices, &inner), without(&inner, &sparse.indices)].concat();
    let last = entries * apart(summed) + CONTIGUOUS * cx.trips_over(&left);
    first < WORTH * last
}

/// Whether the sums of one factor are better computed once than wherever the others need them.
fn pays_once(
    cx: &Context<'_>,
    semiring: Semiring,
    (factor, after): (&Access, &[&Access]),
    kept: &[IndexVar],
) -> bool {
    let entries = |a: &Access| match semiring.lists(cx, a) {
        false => Some(cx.trips_over(&a.indices)),
        true => cx.known_entries(a).map(|n| n as f64),
    };
    let Some(own) = entries(factor) else { return false };
    let mut sparse = after.iter().filter(|a| semiring.lists(cx, a)).peekable();
    let needed = match sparse.peek() {
        None => Some(cx.trips_over(&[kept, &without(&variables(after), kept)].concat())),
        Some(_) => sparse
            .filter_map(|a| Some((entries(a)?, a)))
            .map(|(n, a)| {
                // Once for each entry, and for each coordinate that it does not tell.
                n * cx.trips_over(&without(kept, &a.indices))
            })
            .min_by(f64::total_cmp),
    };
    let Some(needed) = needed else { return false };
    let left = cx.trips_over(kept).max(1.0);
    !cx.request.commands.given && own + left < WORTH * needed * (own / left)
}

/// Whether a sum shares factors with more sums than are looked at together.
fn is_long(factors: &[&Access], summed: &[IndexVar], var: IndexVar) -> bool {
    let factors: Vec<&[IndexVar]> = factors.iter().map(|a| &a.indices[..]).collect();
    let groups = independent(&factors, summed);
    groups.iter().any(|group| group.contains(&var) && group.len() > MAX_SUMS)
}

/// The full factors over a variable and the sparse one that samples them, if this leaves less to
/// gather at a time.
fn sampled(
    cx: &Context<'_>,
    semiring: Semiring,
    factors: &[&Access],
    summed: &[IndexVar],
    var: IndexVar,
) -> Option<Contraction> {
    let Sides { mut chosen, before, after } = Sides::of(factors, var);
    let inner = variables(&before);
    let (sparse, others): (Vec<&Access>, Vec<&Access>) =
        after.iter().partition(|a| semiring.lists(cx, a));
    let &[sampler] = &sparse[..] else { return None };
    let outer = variables(&after);
    let within = within(summed, &inner, &outer);
    let kept = without(&inner, &within);
    let &row = cx.level_vars(sampler).first()?;
    let samples = kept.len() > 1
        && kept.len() == sampler.indices.len()
        && kept.iter().all(|v| sampler.indices.contains(v))
        && cx.program.storage(sampler.tensor).format.is_plain();
    let gathers = |side: &[&Access]| -> f64 {
        let rows = side.iter().filter(|a| !a.indices.contains(&row));
        rows.map(|a| cx.bytes(a)).sum()
    };
    let (x, y) = (gathers(&before), gathers(&others));
    let is_much = x + y > CACHE && x.min(y) > (x + y) / 4.0;
    if cx.request.commands.given
        || !samples
        || !is_much
        || before.iter().any(|a| semiring.lists(cx, a))
    {
        return None;
    }
    let at = factors.iter().position(|a| *a == sampler)?;
    chosen[at] = true;
    let trips = cx.trips_over(&inner);
    // Where the sampler has an entry there is something to sum.
    let summed = within;
    Some(Contraction {
        factors: chosen,
        summed,
        kept,
        trips,
        listing: 1,
        is_whole: true,
        is_inside: false,
    })
}

/// The factors over a variable, and the others.
struct Sides<'f> {
    chosen: Vec<bool>,
    before: Vec<&'f Access>,
    after: Vec<&'f Access>,
}

impl<'f> Sides<'f> {
    fn of(factors: &[&'f Access], var: IndexVar) -> Sides<'f> {
        let (before, after) = factors.iter().copied().partition(|a| a.indices.contains(&var));
        let chosen = factors.iter().map(|a| a.indices.contains(&var)).collect();
        Sides { chosen, before, after }
    }
}

/// The sums that only the inner factors are over.
fn within(summed: &[IndexVar], inner: &[IndexVar], outer: &[IndexVar]) -> Vec<IndexVar> {
    summed.iter().copied().filter(|v| inner.contains(v) && !outer.contains(v)).collect()
}

fn without(vars: &[IndexVar], others: &[IndexVar]) -> Vec<IndexVar> {
    vars.iter().copied().filter(|v| !others.contains(v)).collect()
}

/// The variables of one nest of loops that contains a given variable. Factors that share no variable with the others,
/// and are summed to a number, have loops of their own.
fn beside(factors: &[&Access], summed: &[IndexVar], var: IndexVar) -> Vec<IndexVar> {
    let mut vars = vec![var];
    for _ in factors {
        let is_kept = |v: &IndexVar| vars.contains(v) || !summed.contains(v);
        let met = |a: &&&Access| a.indices.iter().any(is_kept);
        vars = variables(&factors.iter().filter(met).copied().collect::<Vec<&Access>>());
    }
    vars
}

/// The variables of factors, in the order in which they come.
fn variables(factors: &[&Access]) -> Vec<IndexVar> {
    let mut vars = vec![];
    for &var in factors.iter().flat_map(|a| &a.indices) {
        if !vars.contains(&var) {
            vars.push(var);
        }
    }
    vars
}
