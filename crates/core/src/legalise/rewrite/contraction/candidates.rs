//! Which factors of a product are worth multiplying beforehand.

use crate::legalise::Context;
use crate::legalise::rewrite::factorize::{MAX_SUMS, independent};
use crate::legalise::rewrite::semiring::Semiring;
use crate::notation::Access;
use crate::steps::CONTIGUOUS;
use std::cmp::Ordering;
use tamis_ir::ids::IndexVar;

/// The number of bytes of gathered rows that stay in cache.
const CACHE: f64 = (4 << 20) as f64;

/// Summing full factors beforehand has to cost at most this share.
const WORTH: f64 = 0.75;

/// Factors to multiply and sum beforehand.
#[derive(Clone)]
pub(super) struct Contraction {
    /// Flags of the chosen factors.
    pub(super) factors: Vec<bool>,
    /// The variables summed within these factors.
    pub(super) summed: Vec<IndexVar>,
    /// The variables of the temporary.
    pub(super) kept: Vec<IndexVar>,
    /// The trip count of the loops, if all coordinates are visited.
    trips: f64,
    /// The number of chosen factors that list coordinates.
    listing: usize,
    /// Whether no element of the temporary is an empty reduction.
    pub(super) is_whole: bool,
    /// Whether splitting the loops for rows of the result may do as well. For one factor it does if the loops begin with a
    /// variable of the temporary: they compute each of its elements once, in a register. For several full factors it
    /// always does.
    pub(super) is_inside: bool,
}

/// A product with sums, and which of its factors may be multiplied beforehand.
#[derive(Clone, Copy)]
pub(super) struct Candidates<'p> {
    pub(super) cx: &'p Context<'p>,
    pub(super) semiring: Semiring,
    pub(super) factors: &'p [&'p Access],
    /// The summed variables.
    pub(super) summed: &'p [IndexVar],
}

impl Candidates<'_> {
    /// The contractions that the rule allows, best first.
    pub(super) fn best_first(self) -> Vec<Contraction> {
        if self.factors.len() < 2 {
            return vec![];
        }
        let of = |&var: &IndexVar| self.over(var).or_else(|| self.sampled(var));
        let mut found: Vec<Contraction> = self.summed.iter().filter_map(of).collect();
        let key = |c: &Contraction| (c.kept.len(), c.trips, c.listing);
        found.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal));
        found
    }

    /// Whether a factor lists coordinates.
    fn lists(&self, factor: &Access) -> bool {
        self.semiring.lists(self.cx, factor)
    }

    /// The factors over a variable, if they are worth multiplying beforehand.
    fn over(&self, var: IndexVar) -> Option<Contraction> {
        let Candidates { cx, factors, summed, .. } = *self;
        let Sides { chosen, before, after } = Sides::of(factors, var);
        let (inner, outer) = (variables(&before), variables(&after));
        let within = within(summed, &inner, &outer);
        let kept = without(&inner, &within);
        let listed = before.iter().any(|a| self.lists(a) && a.indices.contains(&var));
        let samples = |a: &&Access| self.lists(a) && kept.iter().all(|v| a.indices.contains(v));
        let is_sampled = kept.len() > 1 && after.iter().any(samples);
        let long = !cx.request.commands.given && self.is_long(var);
        let is_part = kept.is_empty() || inner.len() < self.beside(var).len();
        let fewer = is_part && !after.is_empty();
        let trips = cx.trips_over(&inner);
        let pays = || match before[..] {
            [] => false,
            // A number is computed once, and threads share the kernel that reads it.
            _ if kept.is_empty() && !cx.request.commands.given => true,
            [only] if !long => self.pays_once((only, &after), &kept),
            _ => listed || long || self.pays_dense((&before, &after), (&within, &kept)),
        };
        let worth = fewer && !is_sampled && pays();
        let is_whole = before.iter().all(|a| !self.lists(a));
        let listing = before.iter().filter(|a| self.lists(a)).count();
        let summed = within;
        let is_dense = after.iter().all(|a| !self.lists(a));
        let is_inside = !long && is_dense && (before.len() == 1 || is_whole);
        let factors = chosen;
        worth.then_some(Contraction { factors, summed, kept, trips, listing, is_whole, is_inside })
    }

    /// Whether full factors are better summed beforehand for all coordinates: better than for the entries of a sparse
    /// factor, or, if all factors are full, better than in one loop nest.
    fn pays_dense(
        &self,
        (before, after): (&[&Access], &[&Access]),
        (summed, kept): (&[IndexVar], &[IndexVar]),
    ) -> bool {
        let cx = self.cx;
        if cx.request.commands.given || before.iter().any(|a| self.lists(a)) {
            return false;
        }
        let Some(sparse) = after.iter().find(|a| self.lists(a)) else {
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

    /// Whether the sums of one factor are better computed once than wherever the other factors need them.
    fn pays_once(&self, (factor, after): (&Access, &[&Access]), kept: &[IndexVar]) -> bool {
        let cx = self.cx;
        let entries = |a: &Access| match self.lists(a) {
            false => Some(cx.trips_over(&a.indices)),
            true => cx.known_entries(a).map(|n| n as f64),
        };
        let Some(own) = entries(factor) else { return false };
        let mut sparse = after.iter().filter(|a| self.lists(a)).peekable();
        let needed = match sparse.peek() {
            None => Some(cx.trips_over(&[kept, &without(&variables(after), kept)].concat())),
            Some(_) => sparse
                .filter_map(|a| Some((entries(a)?, a)))
                .map(|(n, a)| {
                    // Once for each entry, and for each coordinate of variables that the entry does not have.
                    n * cx.trips_over(&without(kept, &a.indices))
                })
                .min_by(f64::total_cmp),
        };
        let Some(needed) = needed else { return false };
        let left = cx.trips_over(kept).max(1.0);
        !cx.request.commands.given && own + left < WORTH * needed * (own / left)
    }

    /// Whether a sum is connected by factors to more sums than the search considers together.
    fn is_long(&self, var: IndexVar) -> bool {
        let factors: Vec<&[IndexVar]> = self.factors.iter().map(|a| &a.indices[..]).collect();
        let groups = independent(&factors, self.summed);
        groups.iter().any(|group| group.contains(&var) && group.len() > MAX_SUMS)
    }

    /// The full factors over a variable and the sparse factor that samples them, if contracting these leaves less to
    /// gather at a time.
    fn sampled(&self, var: IndexVar) -> Option<Contraction> {
        let Candidates { cx, factors, summed, .. } = *self;
        let Sides { mut chosen, before, after } = Sides::of(factors, var);
        let inner = variables(&before);
        let (sparse, others): (Vec<&Access>, Vec<&Access>) =
            after.iter().partition(|a| self.lists(a));
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
        if cx.request.commands.given || !samples || !is_much || before.iter().any(|a| self.lists(a))
        {
            return None;
        }
        let at = factors.iter().position(|a| *a == sampler)?;
        chosen[at] = true;
        let trips = cx.trips_over(&inner);
        // Where the sampler has an entry, the sum has a term.
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

    /// The variables of the loop nest around a given variable. Factors that share no variable with the others, and are
    /// summed to a number, have loops of their own.
    fn beside(&self, var: IndexVar) -> Vec<IndexVar> {
        let Candidates { factors, summed, .. } = *self;
        let mut vars = vec![var];
        for _ in factors {
            let is_kept = |v: &IndexVar| vars.contains(v) || !summed.contains(v);
            let met = |a: &&&Access| a.indices.iter().any(is_kept);
            vars = variables(&factors.iter().filter(met).copied().collect::<Vec<&Access>>());
        }
        vars
    }
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

/// The summed variables that only inner factors have.
fn within(summed: &[IndexVar], inner: &[IndexVar], outer: &[IndexVar]) -> Vec<IndexVar> {
    summed.iter().copied().filter(|v| inner.contains(v) && !outer.contains(v)).collect()
}

fn without(vars: &[IndexVar], others: &[IndexVar]) -> Vec<IndexVar> {
    vars.iter().copied().filter(|v| !others.contains(v)).collect()
}

/// The variables of factors, in order of appearance.
fn variables(factors: &[&Access]) -> Vec<IndexVar> {
    let mut vars = vec![];
    for &var in factors.iter().flat_map(|a| &a.indices) {
        if !vars.contains(&var) {
            vars.push(var);
        }
    }
    vars
}
