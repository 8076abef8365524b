//! Sums of a product that share no factor: each is computed by loops of its own.
//!
//! ```text
//! R(b) = A(b,i) * B(b,j) * C(j,k)       sums over i, and over j and k
//!
//! s = 2 * x(i) * sqrt(y(j))             s = 2 * sum(i, x(i)) * sum(j, sqrt(y(j)))
//! R(i) = x(i) * abs(y(j))               R(i) = x(i) * sum(j, abs(y(j)))
//! ```
//!
//! Loops around each other would take the product of their sizes instead of the sum. Products of tensors
//! are split into loops that share what they can (see [`super`]); here are those that loops cannot split,
//! of other factors than plain tensors too.

use crate::legalise::rewrite::factorize::splits_rows;
use crate::legalise::rewrite::semiring::Semiring;
use crate::legalise::{Context, Task};
use crate::notation::Expr;
use tamis_ir::ids::IndexVar;

/// The product of the sums that share no factor, for a sum of a product that loops do not split. Sums of
/// floats that may have no term stay: a factor that is infinite would make a NaN of their zero.
pub(in crate::legalise) fn separated(cx: &Context<'_>, task: &Task) -> Option<Expr> {
    let (semiring, vars, body) = Semiring::of(&task.value, task.compute)?;
    let mut factors = vec![];
    semiring.factors(body, &mut factors);
    let vars_of: Vec<Vec<IndexVar>> = factors.iter().map(|f| f.free_vars()).collect();
    let vars_of: Vec<&[IndexVar]> = vars_of.iter().map(Vec::as_slice).collect();
    let mut groups = independent(&vars_of, vars);
    let over = |group: &[IndexVar], k: usize| group.iter().any(|v| vars_of[k].contains(v));
    // Of one group, the sum is a number beside factors that vary.
    let is_number = |group: &Vec<IndexVar>| {
        let (own, left): (Vec<usize>, Vec<usize>) =
            (0..factors.len()).partition(|&k| over(group, k));
        let is_own = |k: &usize| vars_of[*k].iter().all(|v| group.contains(v));
        own.iter().all(is_own) && left.iter().any(|&k| !vars_of[k].is_empty())
    };
    let is_separable = groups.len() > 1 || groups.iter().any(is_number);
    if !is_separable || cx.request.commands.given || splits_rows(cx, task) {
        return None;
    }
    let is_whole = |e: &Expr| !semiring.vanishes(cx, e, &|_| true);
    groups.retain(|group| {
        let mut own = (0..factors.len()).filter(|&k| over(group, k)).peekable();
        own.peek().is_some() && (semiring.absorbs() || own.all(|k| is_whole(factors[k])))
    });
    let is_left = |k: &usize| !groups.iter().any(|group| over(group, *k));
    let left: Vec<Expr> = (0..factors.len()).filter(is_left).map(|k| factors[k].clone()).collect();
    let sums = groups.iter().map(|group| {
        let own = (0..factors.len()).filter(|&k| over(group, k)).map(|k| factors[k].clone());
        semiring.summed(group.clone(), own.collect())
    });
    let staying = vars.iter().copied().filter(|v| !groups.iter().any(|g| g.contains(v)));
    let is_used = |v: &IndexVar| vars_of.iter().any(|own| own.contains(v));
    let (staying, counting): (Vec<IndexVar>, Vec<IndexVar>) = staying.partition(is_used);
    let sum = semiring.summed(staying, left.into_iter().chain(sums).collect());
    // For each coordinate of a variable that no factor has, the same sum is added.
    Some(semiring.summed(counting, vec![sum]))
}

/// The summed variables in groups: two are in one group if a factor has both, or if others connect them.
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
