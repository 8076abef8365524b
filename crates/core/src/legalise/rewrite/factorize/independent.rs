//! Sums in a product that share no factor: each has loops of its own.
//!
//! ```text
//! R(b) = A(b,i) * B(b,j) * C(j,k)       sums over i, and over j and k
//!
//! s = 2 * x(i) * sqrt(y(j))             s = 2 * sum(i, x(i)) * sum(j, sqrt(y(j)))
//! R(i) = x(i) * abs(y(j))               R(i) = x(i) * sum(j, abs(y(j)))
//! R(i,k) = exp(A(i,j)) * w(k)           t(i) = sum(j, exp(A(i,j)));  R(i,k) = t(i) * w(k)
//! ```
//!
//! Nested loops would take the product of the sums' sizes instead of their sum. Products of plain tensors are split
//! into loops that share what they can (see [`super`]); this module handles the others, also with factors that are not
//! plain tensors.

use crate::legalise::rewrite::factorize::splits_rows;
use crate::legalise::rewrite::semiring::{Semiring, read_forwards};
use crate::legalise::{Context, Legaliser, Task};
use crate::notation::Expr;
use tamis_ir::ids::IndexVar;

/// Storing the sums of some factors has to cost at most this share.
const WORTH: f64 = 0.75;

/// The factors of a product, with their variables.
struct Factors<'e> {
    semiring: Semiring,
    all: Vec<(&'e Expr, Vec<IndexVar>)>,
}

/// The factors over summed variables, and the others.
struct Sides<'f, 'e> {
    own: Vec<&'f (&'e Expr, Vec<IndexVar>)>,
    left: Vec<&'f (&'e Expr, Vec<IndexVar>)>,
}

/// For a sum of a product that loops do not split: the product of the sums that share no factor. A sum of floats that
/// may be empty stays: its zero would give a NaN with an infinite factor.
pub(in crate::legalise) fn separated(l: &mut Legaliser<'_>, task: &Task) -> Option<Expr> {
    let (semiring, vars, body) = Semiring::of(&task.value, task.compute)?;
    let mut factors = vec![];
    semiring.factors(body, &mut factors);
    let all = factors.into_iter().map(|f| (f, f.free_vars())).collect();
    let factors = Factors { semiring, all };
    let vars_of: Vec<&[IndexVar]> = factors.all.iter().map(|(_, vars)| &vars[..]).collect();
    let groups = independent(&vars_of, vars).into_iter();
    let with_kept = |group: Vec<IndexVar>| (factors.stored_once(l, &group), group);
    let mut groups: Vec<(Option<Vec<IndexVar>>, Vec<IndexVar>)> = groups.map(with_kept).collect();
    let is_apart = |(kept, group): &(Option<Vec<IndexVar>>, Vec<IndexVar>)| {
        kept.is_some() || factors.sums_to_number(group)
    };
    let is_separable = groups.len() > 1 || groups.iter().any(is_apart);
    if !is_separable || l.request.commands.given || splits_rows(l, task) {
        return None;
    }
    groups.retain(|(_, group)| factors.has_terms(l, group));
    let is_summed = |v: &IndexVar| groups.iter().any(|(_, group)| group.contains(v));
    let is_left = |vars: &[IndexVar]| !vars.iter().any(is_summed);
    let left = factors.all.iter().filter(|(_, vars)| is_left(vars));
    let mut product: Vec<Expr> = left.map(|(factor, _)| (*factor).clone()).collect();
    for (kept, group) in &groups {
        let own = factors.sides(group).own.into_iter().map(|(factor, _)| (*factor).clone());
        let sum = semiring.summed(group.clone(), own.collect());
        product.push(match kept {
            Some(kept) => l.temporary("t", None, kept.clone(), sum, task.compute),
            None => sum,
        });
    }
    let staying = vars.iter().copied().filter(|v| !is_summed(v));
    let is_used = |v: &IndexVar| factors.all.iter().any(|(_, own)| own.contains(v));
    let (staying, counting): (Vec<IndexVar>, Vec<IndexVar>) = staying.partition(is_used);
    let sum = semiring.summed(staying, product);
    // A variable that no factor has repeats the same sum for each of its coordinates.
    Some(semiring.summed(counting, vec![sum]))
}

impl<'e> Factors<'e> {
    fn sides(&self, group: &[IndexVar]) -> Sides<'_, 'e> {
        let is_own = |(_, vars): &&(&Expr, Vec<IndexVar>)| group.iter().any(|v| vars.contains(v));
        let (own, left) = self.all.iter().partition(is_own);
        Sides { own, left }
    }

    /// Whether the sum over a group is a number, while other factors vary.
    fn sums_to_number(&self, group: &[IndexVar]) -> bool {
        let Sides { own, left } = self.sides(group);
        let is_inside = |vars: &[IndexVar]| vars.iter().all(|v| group.contains(v));
        own.iter().all(|(_, vars)| is_inside(vars)) && left.iter().any(|(_, vars)| !vars.is_empty())
    }

    /// Whether the sum over a group is never empty, or the value of an empty sum annihilates any product of its type.
    fn has_terms(&self, cx: &Context<'_>, group: &[IndexVar]) -> bool {
        let own = self.sides(group).own;
        let is_whole = |e: &Expr| !self.semiring.vanishes(cx, e, &|_| true);
        !own.is_empty() && (self.semiring.absorbs() || own.iter().all(|(e, _)| is_whole(e)))
    }

    /// The variables of a temporary for the sum over a group whose factors are not all plain tensors, if the other
    /// factors would repeat the sum many times.
    fn stored_once(&self, cx: &Context<'_>, group: &[IndexVar]) -> Option<Vec<IndexVar>> {
        let Sides { own, left } = self.sides(group);
        let variables = |side: &[&(&Expr, Vec<IndexVar>)]| -> Vec<IndexVar> {
            let mut vars: Vec<IndexVar> = side.iter().flat_map(|(_, vars)| vars.clone()).collect();
            vars.sort();
            vars.dedup();
            vars
        };
        let mut kept = variables(&own);
        kept.retain(|v| !group.contains(v));
        let is_composite = own.iter().any(|(factor, _)| read_forwards(factor).is_none());
        if kept.is_empty() || !is_composite || !self.has_terms(cx, group) {
            return None;
        }
        let around = [&kept[..], &without(&variables(&left), &kept)].concat();
        let mut needed = cx.trips_over(&around);
        let tensors = left.iter().filter_map(|(factor, _)| read_forwards(factor));
        for listed in tensors.filter(|a| self.semiring.lists(cx, a)) {
            let entries = cx.known_entries(listed)? as f64;
            needed = needed.min(entries * cx.trips_over(&without(&around, &listed.indices)));
        }
        let each = cx.trips_over(group);
        (cx.trips_over(&kept) * each + needed < WORTH * needed * each).then_some(kept)
    }
}

fn without(vars: &[IndexVar], others: &[IndexVar]) -> Vec<IndexVar> {
    vars.iter().copied().filter(|v| !others.contains(v)).collect()
}

/// The summed variables in groups, connected by common factors.
pub(in crate::legalise) fn independent(
    factors: &[&[IndexVar]],
    sums: &[IndexVar],
) -> Vec<Vec<IndexVar>> {
    let mut groups: Vec<Vec<IndexVar>> = sums.iter().map(|&v| vec![v]).collect();
    for factor in factors {
        let is_met = |group: &Vec<IndexVar>| group.iter().any(|v| factor.contains(v));
        let first = groups.iter().position(is_met);
        let (met, mut others): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_met);
        if let Some(first) = first {
            others.insert(first, met.concat());
        }
        groups = others;
    }
    groups
}
