//! The formats and fill values of results and temporaries, where the user chose none.
//!
//! A result is sparse where the statement has no work without its sparse operands. Modes that only dense operands
//! index stay dense; the outermost level is dense as well unless an operand lists its coordinates, each once, so that
//! `csr` operands give `csr` results. A mode that sparse operands connect with no other mode of the result, but only
//! with a sum over a dense operand, is dense: `csr` times dense is dense, whichever side is which.

use crate::format::{Format, LevelSpec, Storage};
use crate::legalise::Context;
use crate::level::{COMPRESSED, DENSE, LevelKind};
use crate::notation::{Access, Expr};
use std::collections::BTreeSet;
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::{Id, IndexVar, Mode};

/// The largest outermost level, in coordinates, that is dense by default.
pub(in crate::legalise) const DENSE_LIMIT: u64 = 1 << 26;

/// The largest number of elements of modes that are dense because dense operands spread over them.
const SPREAD_LIMIT: u64 = 1 << 30;

/// If the fill value depends on reductions being nonempty, the result is dense, since loops then write any element of
/// it, unless at most this share of its elements is known to have entries.
const FEW: f64 = 0.25;

/// The value where no sparse operand has an entry, if it is a constant.
fn constant_background(cx: &Context<'_>, value: &Expr, compute: DataType) -> Option<Scalar> {
    constant(background(cx, value, compute))
}

/// That constant for a result, for which an empty reduction is no reason to store every element.
fn result_background(cx: &Context<'_>, value: &Expr, compute: DataType) -> Option<Scalar> {
    constant(cx.facts(compute).unless_empty(background(cx, value, compute)))
}

/// The value where no sparse operand has an entry.
fn background(cx: &Context<'_>, value: &Expr, compute: DataType) -> Expr {
    let absent = |a: &Access| !cx.is_full(a);
    cx.facts(compute).expr_without(value, &absent)
}

fn constant(value: Expr) -> Option<Scalar> {
    match value {
        Expr::Literal(c) => Some(c),
        _ => None,
    }
}

/// The fill value of a result, where the user gave none.
pub(in crate::legalise) fn inferred_fill(
    cx: &Context<'_>,
    value: &Expr,
    compute: DataType,
    datatype: DataType,
) -> Scalar {
    fill_of(result_background(cx, value, compute), datatype)
}

/// The fill value for a constant background. It is 0, never -0, also for `-A`: sums that start from the fill value
/// then have the same bits as packed entries.
fn fill_of(background: Option<Scalar>, datatype: DataType) -> Scalar {
    let zero = Scalar::I64(0).computed(datatype);
    let Some(c) = background else { return zero };
    let fill = c.stored(datatype);
    if c.fits(datatype) && !fill.is_zero() { fill } else { zero }
}

/// The storage of a result where the user chose none: `csc` if all sparse operands are `csc`.
pub(in crate::legalise) fn result_storage(
    cx: &Context<'_>,
    value: &Expr,
    vars: &[IndexVar],
    compute: DataType,
    datatype: DataType,
) -> Storage {
    let stored = stored_order(cx, value, vars).unwrap_or_else(|| vars.to_vec());
    let is_few = |_: &Scalar| cx.density(value, compute).is_some_and(|density| density <= FEW);
    let background = constant_background(cx, value, compute)
        .or_else(|| result_background(cx, value, compute).filter(is_few));
    let mut storage = inferred(cx, value, &stored, datatype, background);
    let place = |v: &IndexVar| stored.iter().position(|s| s == v).map(Mode::new);
    let modes: Option<Vec<Mode>> = vars.iter().map(place).collect();
    // Dense arrays are row-major.
    let modes = modes.filter(|_| !storage.format.is_full());
    if let Some(Ok(format)) = modes.map(|modes| storage.format.permuted(&modes)) {
        storage.format = format;
    }
    storage
}

/// An order of a result's variables that suits the levels of all sparse operands, if none of these has the order of
/// its modes.
fn stored_order(cx: &Context<'_>, value: &Expr, vars: &[IndexVar]) -> Option<Vec<IndexVar>> {
    let mut left: BTreeSet<IndexVar> = vars.iter().copied().collect();
    if left.len() < vars.len() {
        return None;
    }
    let mut chains: Vec<Vec<IndexVar>> = vec![];
    for access in value.accesses() {
        let levels = cx.program.levels(access);
        let is_plain = levels.iter().all(|(level, _)| level.stores_mode());
        let chain: Vec<IndexVar> = levels.into_iter().map(|(_, v)| v).collect();
        if cx.is_full(access) || chain.len() < 2 {
            continue;
        }
        if !is_plain || chain == access.indices {
            return None;
        }
        left.extend(chain.iter().copied());
        chains.push(chain);
    }
    // The next variable is the first of the result among those that lead their chains. Variables of no sparse operand
    // come last.
    left.retain(|v| chains.iter().any(|chain| chain.contains(v)));
    let mut order = vec![];
    while !left.is_empty() {
        let is_first = |v: &&IndexVar| {
            let mut own = chains.iter().filter(|chain| chain.contains(v));
            left.contains(v) && own.all(|chain| chain.iter().find(|w| left.contains(w)) == Some(v))
        };
        let next = *vars.iter().find(is_first).or_else(|| left.iter().find(is_first))?;
        left.remove(&next);
        order.push(next);
    }
    order.retain(|v| vars.contains(v));
    let dense = vars.iter().filter(|v| !chains.iter().any(|chain| chain.contains(v)));
    (!chains.is_empty()).then(|| order.into_iter().chain(dense.copied()).collect())
}

/// The storage of a result or temporary, where the user chose none.
pub(in crate::legalise) fn inferred_storage(
    cx: &Context<'_>,
    value: &Expr,
    vars: &[IndexVar],
    compute: DataType,
    datatype: DataType,
) -> Storage {
    inferred(cx, value, vars, datatype, constant_background(cx, value, compute))
}

/// The inferred storage, with a constant background, where that is known.
fn inferred(
    cx: &Context<'_>,
    value: &Expr,
    vars: &[IndexVar],
    datatype: DataType,
    background: Option<Scalar>,
) -> Storage {
    let sparse = background.is_some();
    // Elements off a diagonal are not stored.
    let repeats = |k: usize, v: IndexVar| vars[..k].contains(&v);
    let constrains = |v: IndexVar| sparse && cx.is_constrained(value, v);
    let kind = |(k, &v): (usize, &IndexVar)| match repeats(k, v) || constrains(v) {
        true => COMPRESSED,
        false => DENSE,
    };
    let mut kinds: Vec<LevelKind> = vars.iter().enumerate().map(kind).collect();
    if let (Some(first), Some(&var)) = (kinds.first_mut(), vars.first())
        && !is_listed(cx, value, var)
        && (cx.known_dimension(var).is_none_or(|d| d <= DENSE_LIMIT)
            || is_passed_over(cx, value, var))
    {
        *first = DENSE;
    }
    if sparse {
        spread(cx, value, vars, &mut kinds);
    }
    let mut storage = Storage::of(Format::in_order(kinds), datatype);
    storage.fill = fill_of(background, datatype);
    storage.pos = cx.request.width;
    storage.crd = cx.request.width;
    storage
}

/// Makes modes dense over which a dense operand spreads, if the size of an array of them is bounded.
fn spread(cx: &Context<'_>, value: &Expr, vars: &[IndexVar], kinds: &mut [LevelKind]) {
    let is_spread = |&v: &IndexVar| !is_listed(cx, value, v) && is_spread(cx, value, vars, v);
    let spread: Vec<bool> = vars.iter().map(is_spread).collect();
    let dim = |v: &IndexVar| cx.known_dimension(*v).unwrap_or(1);
    let is_dense = |m: usize| kinds[m] == DENSE || spread[m];
    let dense = (0..vars.len()).filter(|&m| is_dense(m)).map(|m| dim(&vars[m]));
    if dense.fold(1, u64::saturating_mul) <= SPREAD_LIMIT {
        for (kind, _) in kinds.iter_mut().zip(spread).filter(|(_, spread)| *spread) {
            *kind = DENSE;
        }
    }
}

/// Whether sparse operands connect a variable with no other variable of the result, but with a sum over a dense
/// operand: `j` of `B(i,k) * C(k,j)` where only `C` is sparse, with entries at many `j`.
fn is_spread(cx: &Context<'_>, value: &Expr, vars: &[IndexVar], var: IndexVar) -> bool {
    let (full, sparse): (Vec<_>, Vec<_>) =
        value.accesses().into_iter().partition(|a| cx.is_full(a));
    let mut tied = BTreeSet::from([var]);
    // Each pass over the operands connects at least the next one of a chain.
    for _ in &sparse {
        for a in &sparse {
            if a.indices.iter().any(|v| tied.contains(v)) {
                tied.extend(a.indices.iter().copied());
            }
        }
    }
    let is_kept = |v: &IndexVar| vars.contains(v);
    // With fewer entries than that, most coordinates have none.
    let half = cx.known_dimension(var).map_or(0, |dim| dim / 2);
    let owns = |a: &&Access| a.indices.contains(&var);
    let known = sparse.iter().copied().filter(owns).filter_map(|a| cx.known_entries(a));
    known.min().is_none_or(|entries| entries >= half)
        && tied.iter().filter(|v| is_kept(v)).count() == 1
        && full.iter().any(|a| a.indices.iter().any(|v| tied.contains(v) && !is_kept(v)))
}

/// Whether an operand lists the coordinates of a variable in its outermost level.
fn is_listed(cx: &Context<'_>, value: &Expr, var: IndexVar) -> bool {
    value.accesses().iter().any(|a| {
        let lists = |l: &LevelSpec| !l.kind.properties().full && l.kind.properties().unique;
        cx.program.levels(a).first().is_some_and(|(level, v)| *v == var && lists(level))
    })
}

/// Whether every operand stores a variable in a full level, so that all its coordinates are visited in any case.
fn is_passed_over(cx: &Context<'_>, value: &Expr, var: IndexVar) -> bool {
    value.accesses().iter().all(|a| {
        let levels = cx.program.storage(a.tensor).format.levels();
        let mut uses =
            levels.iter().filter(|l| l.map.modes().iter().any(|m| a.indices[m.index()] == var));
        uses.all(|l| l.kind.properties().full)
    })
}
