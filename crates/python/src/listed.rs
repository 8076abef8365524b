//! What keys select of lists of coordinates: of a list in order the entries are found by searches as
//! far as keys name one position after the other, of others each is looked at.
//!
//! ```text
//! T[2:4] of coo    crd 0 2 2 3 5          the entries 1..4
//!                  crd 7 0 2 1 3          crd 0 0 1, crd 0 2 1
//! ```

use crate::lookup::{Lookup, places};
use crate::select::{Pick, Selected, append, broken, mode, positions};
use std::cmp::Ordering;
use std::ops::Range;
use tamis::format::{Format, LevelSpec};
use tamis::ids::{Id, Mode};
use tamis::{Buffer, Diagnostic, IndexWidth, LevelData, Tensor};

/// Whether a format is a list with an array of coordinates for each mode.
pub(crate) fn is_known(format: &Format) -> bool {
    let is_apart = |level: &LevelSpec| !level.kind.properties().interleaved;
    tamis::is_list(format) && format.levels().iter().all(is_apart)
}

/// So many entries are looked at in the time that a search for one takes.
const SEARCH: usize = 32;

/// The coordinates of a level.
#[derive(Clone, Copy)]
enum Column<'t> {
    Narrow(&'t [i32]),
    Wide(&'t [i64]),
}

impl Column<'_> {
    fn of(data: &LevelData) -> Option<Column<'_>> {
        let crd = data.crd.as_ref()?;
        crd.as_slice().map(Column::Narrow).or_else(|| crd.as_slice().map(Column::Wide))
    }

    fn len(self) -> usize {
        match self {
            Column::Narrow(crd) => crd.len(),
            Column::Wide(crd) => crd.len(),
        }
    }

    fn get(self, at: usize) -> i64 {
        match self {
            Column::Narrow(crd) => i64::from(crd[at]),
            Column::Wide(crd) => crd[at],
        }
    }

    /// Of entries in order of this column those whose coordinates are from one on below another.
    fn between(self, within: &Range<usize>, low: i64, high: i64) -> Range<usize> {
        let place = |c: i64| {
            within.start
                + match self {
                    Column::Narrow(crd) => {
                        crd[within.clone()].partition_point(|&d| i64::from(d) < c)
                    }
                    Column::Wide(crd) => crd[within.clone()].partition_point(|&d| d < c),
                }
        };
        let begin = place(low);
        begin..place(high).max(begin)
    }
}

/// Entries that are selected.
struct Found {
    /// Where they are in the list.
    at: Vec<usize>,
    /// Their positions in the result, for each level looked at.
    columns: Vec<Vec<i64>>,
}

/// What picks select of a list.
pub(crate) fn arrays(tensor: &Tensor, picks: &[Pick]) -> Result<Selected, Diagnostic> {
    let levels = tensor.storage().format.levels();
    let columns: Option<Vec<Column<'_>>> = tensor.levels().iter().map(Column::of).collect();
    let columns = columns.ok_or_else(broken)?;
    let own: Vec<&Pick> = levels.iter().map(|level| &picks[mode(level)]).collect();
    let at = searched(whole(tensor, &columns)?, levels, &columns, &own);
    let mut found = Found { at, columns: vec![] };
    for (k, &column) in columns.iter().enumerate() {
        let size = tensor.dims()[mode(&levels[k])];
        found = found.kept(column, size, own[k])?;
    }
    if levels[0].kind.properties().ordered && !own.iter().all(|pick| pick.ascends()) {
        found.sort();
    }
    put_together(tensor, picks, found)
}

/// Where the entries of a list are.
fn whole(tensor: &Tensor, columns: &[Column<'_>]) -> Result<Range<usize>, Diagnostic> {
    let pos = tensor.levels().first().and_then(|level| level.pos.as_ref()).ok_or_else(broken)?;
    let most = columns.iter().map(|column| column.len()).chain([tensor.vals().len()]).min();
    match (pos.len(), most) {
        (2, Some(most)) if 0 <= pos.index(0) && pos.index(0) <= pos.index(1) => {
            let within = pos.index(0) as usize..pos.index(1) as usize;
            if within.end <= most { Ok(within) } else { Err(broken()) }
        }
        _ => Err(broken()),
    }
}

/// The entries of a list that searches leave, if it is in order.
fn searched(
    mut within: Range<usize>,
    levels: &[LevelSpec],
    columns: &[Column<'_>],
    picks: &[&Pick],
) -> Vec<usize> {
    if !levels[0].kind.properties().ordered {
        return within.collect();
    }
    if let Pick::List(list) = picks[0]
        && list.len() * SEARCH < within.len()
    {
        let mut wanted: Vec<i64> = list.iter().map(|&c| c as i64).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let rows = wanted.iter().map(|&c| columns[0].between(&within, c, c + 1));
        return rows.flatten().collect();
    }
    for (column, pick) in columns.iter().zip(picks) {
        let Some((start, len)) = pick.row() else { break };
        within = column.between(&within, start, start.saturating_add_unsigned(len));
        if len != 1 {
            break;
        }
    }
    within.collect()
}

impl Found {
    /// Those that are picked of a level, each as often as it is, with their positions.
    fn kept(mut self, column: Column<'_>, size: u64, pick: &Pick) -> Result<Found, Diagnostic> {
        let mut coordinates: Vec<i64> = self.at.iter().map(|&at| column.get(at)).collect();
        if coordinates.iter().any(|&c| c < 0 || c as u64 >= size) {
            return Err(broken());
        }
        let (start, len) = pick.row().unwrap_or((0, if let Pick::All = pick { size } else { 0 }));
        let all = start..start.saturating_add_unsigned(len);
        if coordinates.iter().all(|c| all.contains(c)) {
            coordinates.iter_mut().for_each(|c| *c -= start);
            self.columns.push(coordinates);
            return Ok(self);
        }
        let lookup = match pick {
            Pick::List(list) => Some(Lookup::of(list, size, self.at.len())),
            _ => None,
        };
        let (mut which, mut made) = (vec![], vec![]);
        for (n, &c) in coordinates.iter().enumerate() {
            places(pick, lookup.as_ref(), c, |place| {
                which.push(n);
                made.push(place as i64);
            });
        }
        if !which.iter().copied().eq(0..self.at.len()) {
            self.reorder(&which);
        }
        self.columns.push(made);
        Ok(self)
    }

    /// These of the entries, in this order.
    fn reorder(&mut self, which: &[usize]) {
        self.at = which.iter().map(|&n| self.at[n]).collect();
        for column in &mut self.columns {
            *column = which.iter().map(|&n| column[n]).collect();
        }
    }

    /// Puts entries in the order of their positions. Often rows move as wholes.
    fn sort(&mut self) {
        let all = (0..self.columns.len()).rev();
        for k in std::iter::once(0).chain(all) {
            let by = |a: usize, b: usize| {
                let sides = self.columns.iter().map(|column| column[a].cmp(&column[b]));
                sides.fold(Ordering::Equal, Ordering::then)
            };
            if (1..self.at.len()).all(|n| by(n - 1, n).is_le()) {
                return;
            }
            self.reorder(&ascending(&self.columns[k]));
        }
    }
}

/// The order in which numbers ascend, equal ones stably; those that are not large are counted.
fn ascending(numbers: &[i64]) -> Vec<usize> {
    let largest = numbers.iter().copied().max().unwrap_or(0) as usize;
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    if largest / 4 > numbers.len() {
        order.sort_by_key(|&n| numbers[n]);
        return order;
    }
    let mut begins = vec![0usize; largest + 2];
    numbers.iter().for_each(|&c| begins[c as usize + 1] += 1);
    for c in 0..=largest {
        begins[c + 1] += begins[c];
    }
    for (n, &c) in numbers.iter().enumerate() {
        order[begins[c as usize]] = n;
        begins[c as usize] += 1;
    }
    order
}

/// The list of what was found, without the levels of single coordinates.
fn put_together(tensor: &Tensor, picks: &[Pick], mut found: Found) -> Result<Selected, Diagnostic> {
    let levels = tensor.storage().format.levels();
    let stays = |level: &LevelSpec| !matches!(picks[mode(level)], Pick::At(_));
    let mut kept: Vec<usize> = (0..levels.len()).filter(|&k| stays(&levels[k])).collect();
    if kept.is_empty() {
        kept.push(levels.len() - 1);
    }
    let mut modes: Vec<usize> = kept.iter().map(|&k| mode(&levels[k])).collect();
    modes.sort_unstable();
    let place = |m: Mode| modes.iter().position(|&mode| mode == m.index()).map_or(m, Mode::new);
    let (last, first) = (levels[levels.len() - 1], levels[0]);
    let specs = kept.iter().enumerate().map(|(n, &k)| {
        let rest = levels[levels.len() - kept.len() + n].kind;
        let kind = match n {
            // Alone, it repeats only what the whole list does.
            0 if kept.len() == 1 && last.kind.properties().unique => first.kind.unique(),
            0 => first.kind,
            _ => rest,
        };
        LevelSpec { map: levels[k].map.map(place), kind }
    });
    let mut storage = tensor.storage().clone();
    storage.format = Format::new(specs.collect(), modes.len()).expect("levels of a list");
    let dims = modes.iter().map(|&mode| picks[mode].len(tensor.dims()[mode])).collect();
    let stored = found.at.len();
    storage.pos = storage.pos.max(IndexWidth::for_max(stored as u64));
    let mut levels: Vec<LevelData> = kept
        .iter()
        .map(|&k| LevelData {
            crd: Some(coordinates(std::mem::take(&mut found.columns[k]), storage.crd)),
            ..LevelData::default()
        })
        .collect();
    levels[0].pos = Some(positions(vec![0, stored as i64], storage.pos));
    let mut ranges = vec![];
    found.at.iter().for_each(|&at| append(&mut ranges, at..at + 1));
    let vals = tensor.vals().gathered(&ranges)?;
    Ok(Selected { dims, storage, levels, vals })
}

pub(crate) fn coordinates(column: Vec<i64>, width: IndexWidth) -> Buffer {
    match width {
        IndexWidth::I32 => Buffer::from_vec(column.into_iter().map(|c| c as i32).collect()),
        IndexWidth::I64 => Buffer::from_vec(column),
    }
}
