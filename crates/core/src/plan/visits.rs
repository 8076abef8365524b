//! The order in which loops reach the coordinates of a result, where the loops are over functions of its modes.
//!
//! ```text
//! S(i,j) in csr      loops i, j             each row in order
//!                    loops j, i             in each row j ascends
//!                    loops i0, j0, i1, j1   in each row first j0 ascends, below it j1
//!                    loops d, i             in each row j = i + d ascends
//! ```
//!
//! With the coordinates of all upper levels fixed, only some of the loops still vary, and the last coordinates have to
//! ascend with these.

use super::{Assembler, Rest};
use crate::cin::Derived;
use crate::format::{Format, LevelMap};
use crate::level::Query;
use tamis_ir::ids::IndexVar;

/// Loops, outermost first.
#[derive(Clone, Copy)]
pub(crate) struct Visits<'l> {
    pub(crate) derived: &'l Derived,
    pub(crate) loops: &'l [IndexVar],
    /// Whether they reach an entry once for each of its duplicates, to sum them.
    pub(crate) repeats: bool,
}

impl Visits<'_> {
    /// Whether the loops reach each combination of coordinates of these levels once, if each loop visits each of its
    /// coordinates once.
    pub(super) fn each_once(self, vars: &[IndexVar]) -> bool {
        // Loops that commands made may visit coordinates repeatedly.
        let plain = |v: &IndexVar| self.derived.relation(*v).is_none();
        !self.repeats
            && self.loops.iter().all(|v| plain(v) && self.derived.follows(*v, vars))
            && vars.iter().all(|v| self.derived.follows(*v, self.loops))
    }

    /// Whether the loops reach each combination of coordinates as often as it is stored: in several slots of a row, or
    /// as duplicates.
    pub(super) fn each_as_stored(self, vars: &[IndexVar]) -> bool {
        let is_slot = |v: IndexVar| matches!(self.derived.map(v), Some(LevelMap::Slot(_)));
        let plain = |v: IndexVar| self.derived.relation(v).is_none();
        let follows = |v: IndexVar| is_slot(v) || self.derived.follows(v, vars);
        self.loops.iter().all(|&v| plain(v) && follows(v))
            && vars.iter().all(|v| self.derived.follows(*v, self.loops))
    }

    /// Whether the coordinates in `last` ascend in lexicographic order while those in `above` are fixed, if the loops
    /// that then vary ascend.
    pub(super) fn ascend(
        self,
        above: &[IndexVar],
        last: &[IndexVar],
        ascends: &dyn Fn(IndexVar) -> bool,
    ) -> bool {
        let varies = |v: &&IndexVar| !self.derived.follows(**v, above);
        let varying: Vec<IndexVar> = self.loops.iter().filter(varies).copied().collect();
        let mut known = above.to_vec();
        let mut rest = &varying[..];
        for &var in last {
            let taken = match rest {
                [v, ..] if self.ascends_with(var, *v, &known) => 1,
                [block, offset, ..] if self.are_blocks_of(var, *block, *offset) => 2,
                _ => return false,
            };
            rest = &rest[taken..];
            known.push(var);
        }
        rest.is_empty() && varying.into_iter().all(ascends)
    }

    /// Whether a coordinate ascends with another one, of which it is a function while the known ones are fixed.
    fn ascends_with(self, var: IndexVar, with: IndexVar, known: &[IndexVar]) -> bool {
        let follows = |v: IndexVar| self.derived.follows(v, known);
        match (self.derived.map(var), self.derived.map(with)) {
            _ if var == with => true,
            (Some(LevelMap::Mod(of, size)), _) if of == with => {
                self.derived.var(LevelMap::Div(of, size)).is_some_and(follows)
            }
            (Some(LevelMap::Diff { plus, minus }), _) if plus == with => follows(minus),
            (_, Some(LevelMap::Diff { plus, minus })) if plus == var => follows(minus),
            _ => false,
        }
    }

    /// Whether two loops are over the blocks of a variable and the offsets in them.
    fn are_blocks_of(self, var: IndexVar, block: IndexVar, offset: IndexVar) -> bool {
        match (self.derived.map(block), self.derived.map(offset)) {
            (Some(LevelMap::Div(of, size)), Some(LevelMap::Mod(same, width))) => {
                (of, size) == (same, width) && of == var
            }
            _ => false,
        }
    }
}

/// The order in which entries arrive, each once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// With ascending last coordinates, while those above are the same.
    Ascending,
    /// In any other order.
    Unordered,
}

/// The order in which loops reach the last of these levels, if they reach each entry once.
pub(super) fn arrival(
    visits: Visits<'_>,
    vars: &[IndexVar],
    (above, last): (&[usize], &[usize]),
    ascends: &dyn Fn(IndexVar) -> bool,
) -> Option<Arrival> {
    let of = |levels: &[usize]| levels.iter().map(|&k| vars[k]).collect::<Vec<_>>();
    let (above, last) = (of(above), of(last));
    let in_order = || visits.ascend(&above, &last, ascends);
    visits.each_once(&[&above[..], &last].concat()).then(|| match in_order() {
        true => Arrival::Ascending,
        false => Arrival::Unordered,
    })
}

/// The order of the last levels' entries below given levels above, if each entry is reached once.
type Arrivals<'f> = &'f dyn Fn(&[usize], &[usize]) -> Option<Arrival>;

/// How a format is assembled in two passes over the loops, of which the first counts entries; `arrival` gives the
/// order of the last levels' entries below given levels above, if each is reached once.
pub(super) fn in_two_passes(format: &Format, arrival: Arrivals<'_>) -> Option<Rest> {
    let levels = format.levels();
    let last = levels.len().checked_sub(1)?;
    let head = format.chain_head(last);
    let above: Vec<usize> = (0..last).filter(|&k| is_placed(format, k)).collect();
    let is_counted = |k: usize| match Assembler::of(format, k) {
        Assembler::Append(append) => append.count().is_some() && head > 0,
        Assembler::Place | Assembler::Insert(_) => false,
    };
    if is_counted(head) && above.len() == head && format.interleaved(head).is_none() {
        let tail: Vec<usize> = (head..=last).collect();
        return arrival(&above, &tail).map(|arrival| match arrival {
            Arrival::Ascending => Rest::CountThenFill,
            Arrival::Unordered => Rest::CountFillSort,
        });
    }
    let Assembler::Insert(insert) = Assembler::of(format, last) else { return None };
    let wide: Vec<usize> = (0..=last).filter(|&k| levels[k].has_width()).collect();
    let [wide] = wide[..] else { return None };
    let others = (0..last).filter(|k| !above.contains(k));
    let is_slot = matches!(levels[wide].map, LevelMap::Slot(_));
    let fits = insert.insert_query() == Query::Children
        && others.eq((wide < last).then_some(wide))
        && is_slot == (wide < last);
    let arrival = fits.then(|| arrival(&above, &[last])).flatten()?;
    // Slots, and positions of hash maps, keep the order of insertion.
    (arrival == Arrival::Ascending).then_some(Rest::CountThenInsert)
}

/// Whether a level has a position for every coordinate, and is no slot.
pub(crate) fn is_placed(format: &Format, k: usize) -> bool {
    let is_slot = matches!(format.levels()[k].map, LevelMap::Slot(_));
    matches!(Assembler::of(format, k), Assembler::Place) && !is_slot
}
