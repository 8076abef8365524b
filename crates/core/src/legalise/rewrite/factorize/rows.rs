//! The numbers that a part sums, kept for all entries of a row.
//!
//! ```text
//! A(i,l) = B(i,j) * C(i,k) * D(j,k) * E(j,l)
//!
//! forall(i, where(forall(p, forall(l, A(i,l) += B(i,j) * E(j,l) * w(p))),
//!                 forall(p, forall(k, w(p) += C(i,k) * D(j,k)))))
//! ```
//!
//! Here `p` counts the entries of B's row `i`, and `j` is the coordinate of each. With one loop over `j` for both
//! sides, a row of A would be read and written for every entry; with two loops it stays in registers, and each side
//! prefetches the rows that it gathers.

use super::product::{Factor, Product, lists};
use crate::cin::Relation;
use crate::legalise::Context;
use crate::legalise::rewrite::semiring::Semiring;
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

/// The operand over whose entries each side of a split may have a loop of its own, for the last shared variable.
/// `rest` adds up rows below it, and only this operand decides which coordinates are visited.
pub(super) fn operand(
    cx: &Context<'_>,
    rest: &Product,
    part: &[Factor],
    shared: &[IndexVar],
) -> Option<Access> {
    let Semiring { times, compute, .. } = rest.semiring;
    let (&var, _) = shared.split_last()?;
    let (_, above) = rest.outer.split_last()?;
    let adds_rows = !above.is_empty() && !rest.open().is_empty() && !rest.written.contains(&var);
    let listed = |factor: &&Factor| lists(cx, std::slice::from_ref(factor), |v| v == var);
    let mut listing = rest.factors.iter().filter(listed);
    let Some(Factor::Operand(access)) = listing.next() else { return None };
    let levels = cx.program.levels(access);
    let level = levels.iter().position(|(_, v)| *v == var)?;
    let (kind, p) = (levels[level].0.kind, levels[level].0.kind.properties());
    let is_row = kind.walks() && !kind.locates() && p.compact && p.ordered && p.unique;
    let is_reached = levels[..level].iter().all(|(_, v)| above.contains(v));
    let is_alone = listing.next().is_none() && !part.iter().any(|factor| listed(&factor));
    // Whether a sum is empty has to be the same for every entry.
    let is_same = !part.iter().any(|factor| {
        let of_entry = factor.vars().contains(&var);
        of_entry && lists(cx, std::slice::from_ref(factor), |v| !rest.outer.contains(&v))
    });
    let fill = cx.program.storage(access.tensor).fill.computed(compute);
    let decides = times.annihilated_left(fill).is_some();
    let is_whole = !access.is_sliced() && !access.is_diagonal();
    (adds_rows && is_whole && is_row && is_reached && is_alone && is_same && decides)
        .then(|| access.clone())
}

/// The variable that counts the entries of a row; it replaces the last shared variable.
pub(in crate::legalise) fn entries(
    cx: &mut Context<'_>,
    access: Access,
    shared: &mut Vec<IndexVar>,
) -> IndexVar {
    let var = shared.pop().expect("a row has a variable");
    let vars = cx.level_vars(&access);
    let level = vars.iter().position(|&v| v == var).expect("the row is over the variable");
    let name = format!("{}pos", cx.program.vars[var]);
    let p = cx.program.variable(&name);
    let above = vars[..level].to_vec();
    let (of, unique) = (vec![var], true);
    let relation = Relation::Position { of, above, within: None, access, level, unique };
    cx.program.derived.relate(p, relation);
    p
}
