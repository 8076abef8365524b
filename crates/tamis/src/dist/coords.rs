//! Sets of coordinates of one mode, as ranks ask each other for them.

use std::ops::Range;

/// So many coordinates are named by a byte, where most are.
const NAMES_OF_A_BYTE: u128 = 6;

/// Coordinates of one mode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Coords {
    /// Any.
    All,
    /// Those of an interval, and some beside it.
    Some(Range<u64>, Vec<u64>),
}

impl Coords {
    /// None.
    pub(super) fn none() -> Coords {
        Coords::Some(0..0, vec![])
    }

    /// The coordinates of a list, which may repeat them.
    pub(super) fn of(mut list: Vec<u64>) -> Coords {
        if !list.is_sorted() {
            list.sort_unstable();
        }
        list.dedup();
        Coords::Some(0..0, list)
    }

    /// The same, or all of a mode of this size where to name them takes more bytes than to send the others, too,
    /// of so many bytes each.
    pub(super) fn or_all(self, size: u64, bytes: usize) -> Coords {
        let Coords::Some(interval, list) = &self else { return Coords::All };
        let known = (interval.end - interval.start).saturating_add(list.len() as u64);
        let others = u128::from(size.saturating_sub(known));
        match others * bytes as u128 * NAMES_OF_A_BYTE < list.len() as u128 {
            true => Coords::All,
            false => self,
        }
    }

    /// Those of one or of the other; some more where intervals lie apart.
    pub(super) fn or(self, other: Coords) -> Coords {
        let (Coords::Some(one, some), Coords::Some(two, others)) = (self, other) else {
            return Coords::All;
        };
        let interval = match (one.is_empty(), two.is_empty()) {
            (true, _) => two,
            (_, true) => one,
            _ => one.start.min(two.start)..one.end.max(two.end),
        };
        let mut list = [some, others].concat();
        list.sort_unstable();
        list.dedup();
        list.retain(|at| !interval.contains(at));
        Coords::Some(interval, list)
    }

    /// The coordinates of the set that lie in an interval; `None` if there are none.
    pub(super) fn within(&self, wanted: Range<u64>) -> Option<Coords> {
        let found = match self {
            Coords::All => Coords::Some(wanted, vec![]),
            Coords::Some(interval, list) => {
                let [from, to] =
                    [wanted.start, wanted.end].map(|at| list.partition_point(|&c| c < at));
                let interval = wanted.start.max(interval.start)..wanted.end.min(interval.end);
                let interval = if interval.is_empty() { 0..0 } else { interval };
                Coords::Some(interval, list[from..to.max(from)].to_vec())
            }
        };
        let is_empty = matches!(&found, Coords::Some(interval, list) if interval.is_empty() && list.is_empty());
        (!is_empty).then_some(found)
    }

    /// Whether a coordinate is among them.
    pub(super) fn has(&self, at: u64) -> bool {
        match self {
            Coords::All => true,
            Coords::Some(interval, list) => {
                interval.contains(&at) || list.binary_search(&at).is_ok()
            }
        }
    }

    /// The intervals that they are in a part of the mode, ascending, none of which touches the next.
    pub(super) fn intervals(&self, part: Range<u64>) -> Vec<Range<u64>> {
        let Some(Coords::Some(interval, list)) = self.within(part) else { return vec![] };
        let mut found: Vec<Range<u64>> = vec![];
        let mut all: Vec<Range<u64>> = list.into_iter().map(|at| at..at + 1).collect();
        if !interval.is_empty() {
            all.insert(all.partition_point(|one| one.start < interval.start), interval);
        }
        for one in all {
            match found.last_mut() {
                Some(last) if last.end == one.start => last.end = one.end,
                _ => found.push(one),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Coords;

    #[test]
    fn an_interval_and_a_list_are_not_listed() {
        let part = Coords::Some(0..1 << 60, vec![]);
        let both = part.or(Coords::of(vec![5, 3, 1 << 61, 5]));
        assert_eq!(both, Coords::Some(0..1 << 60, vec![1 << 61]));
        assert!(both.has(1 << 59) && both.has(1 << 61) && !both.has(1 << 60));
        assert_eq!(both.within(3..9), Some(Coords::Some(3..9, vec![])));
        assert_eq!(both.within((1 << 61) + 1..1 << 62), None);
    }

    #[test]
    fn intervals_join_what_touches() {
        let some = Coords::Some(4..6, vec![1, 2, 3, 8, 9, 12]);
        assert_eq!(some.intervals(2..12), [2..6, 8..10]);
        assert_eq!(Coords::All.intervals(3..5), vec![3..5; 1]);
        assert!(Coords::none().intervals(0..9).is_empty());
    }

    #[test]
    fn naming_most_takes_longer_than_sending_all() {
        let most = Coords::of((0..95).collect());
        assert_eq!(most.clone().or_all(100, 1), Coords::All);
        assert_eq!(most.clone().or_all(100, 8), most);
    }
}
