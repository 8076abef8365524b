//! The order in which loops reach the elements of a result, which decides how its levels are written.

use super::output::{Assembler, Rest};
use super::visits::{Arrival, Visits, arrival, in_two_passes, is_placed};
use crate::format::Format;
use tamis_ir::ids::IndexVar;

/// The order in which loops reach the elements of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OutputOrder {
    /// In the order of its levels, or the result is dense.
    InOrder,
    /// In another order: elements have positions, or each row is accumulated or sorted.
    Gathered,
    /// In another order: the loops run twice, to count coordinates, and to write or insert them.
    Counted,
    /// As `Counted`, and then each row is sorted.
    Sorted,
    /// In another order: entries go into a coordinate buffer, which is sorted.
    Listed,
}

impl OutputOrder {
    /// The order in which loops reach the elements of a result with this format and these level variables; `ascends`
    /// tells which loops visit their coordinates in order.
    pub(crate) fn of(
        visits: Visits<'_>,
        format: &Format,
        vars: &[IndexVar],
        ascends: &dyn Fn(IndexVar) -> bool,
    ) -> OutputOrder {
        let agree = visits.loops.iter().zip(vars).take_while(|(a, b)| a == b && ascends(**a));
        let agree = agree.count();
        let full = |k: &usize| format.levels()[*k].kind.properties().full;
        let Some(last) = (0..vars.len()).rfind(|k| !full(k)) else { return OutputOrder::InOrder };
        if format.is_placed() {
            return if agree > last { OutputOrder::InOrder } else { OutputOrder::Gathered };
        }
        let inserts = |k| matches!(Assembler::of(format, k), Assembler::Insert(_));
        let in_order = if (0..vars.len()).any(inserts) { 0 } else { agree };
        let arrival =
            |above: &[usize], last: &[usize]| arrival(visits, vars, (above, last), ascends);
        let visits = Arrivals {
            arrival,
            are_added: visits.repeats,
            as_stored: visits.each_as_stored(vars),
            fit_workspace: true,
            may_sort: true,
        };
        match assembly(format, in_order, visits).1 {
            Rest::Block => OutputOrder::InOrder,
            Rest::AppendThenSort
            | Rest::AppendSortCombine
            | Rest::Accumulator
            | Rest::PositionAccumulator => OutputOrder::Gathered,
            Rest::CountThenFill | Rest::CountThenInsert => OutputOrder::Counted,
            Rest::CountFillSort => OutputOrder::Sorted,
            Rest::CoordinateBuffer => OutputOrder::Listed,
        }
    }
}

/// The order and the number of times in which loops reach the elements of a result.
pub(super) struct Arrivals<F> {
    /// The order of the last levels' entries below given levels above, if each entry is reached once.
    pub(super) arrival: F,
    /// Whether duplicates arrive one by one, to be summed.
    pub(super) are_added: bool,
    /// Whether entries arrive as often as an operand stores them, and are combined in the type of the result.
    pub(super) as_stored: bool,
    /// Whether a dense array over any level fits in memory.
    pub(super) fit_workspace: bool,
    /// Whether rows can be sorted in place.
    pub(super) may_sort: bool,
}

/// The number of leading levels that are written in order, and how the others are written, where the loops visit
/// `in_order` leading levels in order.
pub(super) fn assembly<F: Fn(&[usize], &[usize]) -> Option<Arrival>>(
    format: &Format,
    in_order: usize,
    visits: Arrivals<F>,
) -> (usize, Rest) {
    let levels = format.levels().len();
    let assembler = |k| Assembler::of(format, k);
    let last = (0..levels).rposition(|k| !matches!(assembler(k), Assembler::Place)).unwrap_or(0);
    if in_order > last {
        return (last + 1, Rest::Block);
    }
    // All levels of a chain are written together.
    let first = format.chain_head(in_order);
    if !visits.fit_workspace {
        return (first, Rest::CoordinateBuffer);
    }
    let appends = matches!(assembler(first), Assembler::Append(_));
    let is_list = appends && !format.chain_goes_on(first);
    if is_list && first + 1 == levels {
        let above: Vec<usize> = (0..first).collect();
        let rest = match first > 0 && visits.may_sort {
            true if (visits.arrival)(&above, &[first]).is_some() => Rest::AppendThenSort,
            true if visits.are_added && visits.as_stored => Rest::AppendSortCombine,
            _ => Rest::Accumulator,
        };
        return (first, rest);
    }
    let mut below = first + 1..levels;
    if is_list && below.all(|k| is_placed(format, k)) && !visits.are_added {
        return (first, Rest::PositionAccumulator);
    }
    let in_two_passes = (first == 0).then(|| in_two_passes(format, &visits.arrival)).flatten();
    (first, in_two_passes.unwrap_or(Rest::CoordinateBuffer))
}
