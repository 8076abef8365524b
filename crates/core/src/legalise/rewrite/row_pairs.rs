//! Merges rows of several operands two at a time, where that costs less.
//!
//! ```text
//! A(i,j) = B(i,j) * C(i,j) + D(i,j)        B, C, D: csr
//!
//! forall(i, forall(j, t(i,j) = B(i,j) * C(i,j)))
//! forall(i, forall(j, A(i,j) = t(i,j) + D(i,j)))
//! ```
//!
//! The cost rule: a merge of two operands has no unpredictable branch for each coordinate. A merge of more operands
//! has several, and took 1.2 to 2.5 times as long, unless two operands that are needed everywhere lead it, as `D` and
//! `E` in `(B(i,j) + C(i,j)) * D(i,j) * E(i,j)`. A part is not worth computing whole if an operand with far fewer
//! entries decides where it is needed. In sums, temporaries are nearly as large as the result: with a few operands
//! that pays if rows are known to be long; with many, a register or a workspace is better, see [`super::nary_sum`].

use super::row_workspaces::has_reduction;
use super::temporaries::replaced;
use crate::legalise::order::merge_strategy::SKEWED;
use crate::legalise::rewrite::merge_size::points;
use crate::legalise::{Context, Legaliser};
use crate::notation::{Access, Expr};
use crate::plan::access::distinct;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// A separately merged part walks at most this many times the entries of an operand that decides where the part is
/// needed.
const FEW_DECIDED: u64 = 4;
/// From this number of entries on, a merge of summed rows takes longer than its start.
const LONG_ROW: f64 = 5.0;
/// At most this many summed operands are merged two at a time, since each merge walks all entries of the earlier ones.
const MOST_JOINED: u32 = 6;

impl Legaliser<'_> {
    /// A value that merges at least three rows, with two of them merged into a temporary, where that costs less.
    pub(super) fn merged_in_pairs(
        &mut self,
        value: Expr,
        order: &[IndexVar],
        compute: DataType,
    ) -> Expr {
        let mut value = value;
        while mixes_rows(self, &value, compute) {
            let mut path = vec![];
            path_to_pair(self, &value, &mut path);
            // If two operands are not worth it, a larger term may be, in which another operand decides.
            let within = path.into_iter().skip(1).rev();
            let mut parts = within.filter(|part| is_worth_all(self, part, &value, compute));
            let Some(pair) = parts.next().cloned() else { break };
            let free = pair.free_vars();
            let vars = order.iter().copied().filter(|v| free.contains(v)).collect();
            let temporary = self.temporary("t", None, vars, pair.clone(), compute);
            value = replaced(value, &pair, &temporary);
        }
        value
    }
}

/// Whether three operands or more, each with one sparse level over the same variables, intersect and unite in one
/// loop, or unite in long rows.
fn mixes_rows(cx: &Context<'_>, value: &Expr, compute: DataType) -> bool {
    let accesses = value.accesses();
    let listing: Vec<&&Access> = accesses.iter().filter(|a| !cx.is_full(a)).collect();
    let is_row = |a: &&&Access| {
        let format = &cx.program.storage(a.tensor).format;
        let full = format.levels().iter().filter(|l| l.kind.properties().full).count();
        let same = cx.level_vars(a) == cx.level_vars(listing[0]);
        format.is_plain() && !a.is_sliced() && full + 1 == format.levels().len() && same
    };
    let count = listing.len() as u32;
    if cx.request.commands.given || !(3..usize::BITS).contains(&count) || has_reduction(value) {
        return false;
    }
    if !listing.iter().all(is_row) || is_led(cx, value, compute) {
        return false;
    }
    match points(cx, value, compute) {
        0 => false,
        1 => are_rows_of(cx, &listing, 1.0),
        points if points < (1 << count) - 1 => true,
        _ => count <= MOST_JOINED && are_rows_of(cx, &listing, LONG_ROW),
    }
}

/// Whether operands that are needed everywhere lead the merge ([`crate::plan::Merge::Led`]), and it is best left
/// whole: two leaders seldom meet, so the others are hardly read; a leader with a single follower needs no temporary.
/// Where the rest of the value has far fewer entries than the leaders, or one leader than another, two at a time are
/// better.
fn is_led(cx: &Context<'_>, value: &Expr, compute: DataType) -> bool {
    let mut operands = distinct(value);
    operands.retain(|a| !cx.is_full(a));
    let mut leaders = operands.clone();
    leaders.retain(|a| is_needed(cx, value, a, compute));
    let density = |e: &Expr| cx.density(e, compute);
    let led: Option<Vec<f64>> = leaders.iter().map(|a| density(&Expr::Access(a.clone()))).collect();
    let (Some(all), Some(led)) = (density(value), led) else { return leaders.len() > 1 };
    let fewest = led.iter().copied().fold(f64::INFINITY, f64::min);
    let most = led.iter().copied().fold(0.0, f64::max);
    let followed =
        if leaders.len() < operands.len() { all / led.iter().product::<f64>() } else { 1.0 };
    let is_even = followed * FEW_DECIDED as f64 >= fewest && most < SKEWED * fewest;
    is_even && (leaders.len() > 1 || leaders.len() == 1 && operands.len() == 2)
}

/// Whether the value is gone where an operand has no entry.
fn is_needed(cx: &Context<'_>, value: &Expr, operand: &Access, compute: DataType) -> bool {
    matches!(cx.facts(compute).expr_without(value, &|a| a == operand), Expr::Literal(_))
}

/// Whether rows of operands are known to have at least this many entries; of temporaries nothing is known.
fn are_rows_of(cx: &Context<'_>, rows: &[&&Access], least: f64) -> bool {
    let length = |a: &&&Access| cx.fan_out(a, *cx.level_vars(a).last()?);
    let mut lengths = rows.iter().filter_map(length).peekable();
    lengths.peek().is_some() && lengths.all(|length| length >= least)
}

/// Whether a part is worth computing whole: no operand with far fewer entries decides where it is needed.
fn is_worth_all(cx: &Context<'_>, part: &Expr, value: &Expr, compute: DataType) -> bool {
    let own = part.accesses();
    let walked: Option<u64> = own.iter().map(|a| cx.known_entries(a)).sum();
    let mut around = Some(value).filter(|e| *e != part);
    while let Some(e) = around {
        let accesses = e.accesses();
        let is_needed = |e: &Expr, a: &Access| is_needed(cx, e, a, compute);
        let decides = |a: &&&Access| {
            !cx.is_full(a) && is_needed(e, a) && !(own.contains(a) && is_needed(part, a))
        };
        // Temporaries may have few entries.
        let is_few = |a: &&Access| match (walked, cx.input_entries(a)) {
            (Some(walked), Some(needed)) => walked > needed.saturating_mul(FEW_DECIDED),
            _ => true,
        };
        if accesses.iter().filter(decides).any(is_few) {
            return false;
        }
        let inside = e.children().into_iter().filter(|child| *child != part);
        let holds = |e: &&Expr| own.iter().all(|a| e.accesses().contains(a));
        around = inside.into_iter().find(holds);
    }
    true
}

/// The path from a value down to the first of its largest parts with two operands that list coordinates.
fn path_to_pair<'e>(cx: &Context<'_>, e: &'e Expr, path: &mut Vec<&'e Expr>) {
    path.push(e);
    if cx.listing(e) <= 2 {
        return;
    }
    let many = |child: &&Expr| cx.listing(child) >= 2;
    match e.children().into_iter().find(many) {
        Some(child) => path_to_pair(cx, child, path),
        None => path.clear(),
    }
}
