//! Where stored coordinates are in what is picked of an axis.
//!
//! ```text
//! [7, 2, 9]    2 is at 1, 3 nowhere    table 0 0 2 0 0 0 0 1 0 3
//! 8:2:-2       6 is at 1, 5 nowhere
//! ```

use crate::select::Pick;

/// The positions in the result of a coordinate that is stored.
#[inline]
pub(crate) fn places(pick: &Pick, lookup: Option<&Lookup>, c: i64, mut found: impl FnMut(u64)) {
    match (pick, lookup) {
        (_, Some(lookup)) => lookup.each(c as u64, found),
        (Pick::All, _) => found(c as u64),
        (Pick::At(only), _) if c as u64 == *only => found(0),
        (&Pick::Steps { start, step, len }, _) => {
            let place = match step {
                1 => c - start,
                -1 => start - c,
                _ => (c - start) / step,
            };
            if place * step == c - start && (0..len as i64).contains(&place) {
                found(place as u64);
            }
        }
        _ => {}
    }
}

/// Where the coordinates of a list are in it.
pub(crate) enum Lookup {
    /// Of each coordinate of the axis its position and 1 more, or 0: of a short axis, whose coordinates are in
    /// the list once.
    Table(Vec<u32>),
    /// Of others.
    Runs {
        /// The positions, those of lesser coordinates first.
        places: Vec<u64>,
        /// The coordinates in that order.
        sorted: Vec<u64>,
        /// Where the positions of each coordinate of the axis begin, if the axis is short.
        begins: Vec<u32>,
    },
}

impl Lookup {
    /// Of a list of coordinates of an axis, in which so many are to be found.
    pub(crate) fn of(list: &[u64], size: u64, stored: usize) -> Lookup {
        if let Some(table) = table(list, size, stored) {
            return Lookup::Table(table);
        }
        let is_short = is_short(list.len(), size, stored);
        let mut places: Vec<u64> = (0..list.len() as u64).collect();
        if !list.is_sorted() {
            places.sort_by_key(|&place| list[place as usize]);
        }
        let sorted: Vec<u64> = places.iter().map(|&place| list[place as usize]).collect();
        let mut begins = vec![];
        if is_short {
            begins.resize(size as usize + 1, 0u32);
            sorted.iter().for_each(|&c| begins[c as usize + 1] += 1);
            for c in 0..size as usize {
                begins[c + 1] += begins[c];
            }
        }
        Lookup::Runs { places, sorted, begins }
    }

    #[inline]
    fn each(&self, c: u64, mut found: impl FnMut(u64)) {
        match self {
            Lookup::Table(table) => match table.get(c as usize) {
                None | Some(0) => {}
                Some(&place) => found(u64::from(place) - 1),
            },
            Lookup::Runs { places, sorted, begins } => {
                let range = match begins.get(c as usize..).and_then(|begins| begins.get(..2)) {
                    Some(ends) => ends[0] as usize..ends[1] as usize,
                    None => {
                        let begin = sorted.partition_point(|&d| d < c);
                        begin..begin + sorted[begin..].partition_point(|&d| d == c)
                    }
                };
                places[range].iter().for_each(|&place| found(place));
            }
        }
    }
}

/// Whether an axis is short beside so many of its coordinates, and so many in which these are to be found.
pub(crate) fn is_short(listed: usize, size: u64, stored: usize) -> bool {
    size <= 4 * (stored + listed) as u64 && u32::try_from(listed).is_ok_and(|len| len < u32::MAX)
}

/// The positions and 1 more of the coordinates of a list; nothing if one is there twice, or the axis is long.
pub(crate) fn table(list: &[u64], size: u64, stored: usize) -> Option<Vec<u32>> {
    if !is_short(list.len(), size, stored) {
        return None;
    }
    let mut table = vec![0; size as usize];
    for (place, &c) in list.iter().enumerate() {
        let known = &mut table[c as usize];
        if *known != 0 {
            return None;
        }
        *known = place as u32 + 1;
    }
    Some(table)
}
