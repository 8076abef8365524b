//! Where a loop is cut, so that parts have about the same work.
//!
//! ```text
//! csr   pos 0 2 2 9 12        stored elements before each row; 2 parts: cut before row 3
//! coo   crd 0 0 2 2 2 3       entries; 2 parts: cut before row 2
//! ```

use super::Part;
use crate::kernel::Call;
use crate::tensor::{Tensor, views};
use tamis_core::cin::{Root, Scale};
use tamis_core::format::LevelSpec;
use tamis_core::level::{DENSE, Header, LevelView};
use tamis_core::plan::{CutBy, Join, Meeting, Partition};
use tamis_ir::ids::{Id, TensorId};

/// The most parts of a kernel: enough to keep any number of threads busy.
const MOST_PARTS: u64 = 256;
/// How many parts each thread gets where all write to one array, so that no bit depends on the cuts: enough for threads to
/// end at about the same time, and few enough for each part to stream through memory.
const PARTS_OF_THREAD: u64 = 16;

/// Where parts begin, but for the first: iterations or positions, ascending.
pub(super) fn cuts(call: &Call<'_>, partition: &Partition) -> Vec<i64> {
    let stored = |id: TensorId| {
        let tensor = call.values[id.index()].as_deref();
        tensor.map(|tensor| tensor.vals().len() as u64)
    };
    if is_small(call, partition, &stored) {
        return vec![];
    }
    let leads = partition.leads.iter().map(|&id| Lead::of(call, id, partition));
    let lead = leads.max_by_key(|lead| lead.work).unwrap_or_else(|| Lead::even(call, partition));
    let parts = count(call, partition, lead.work);
    let mut cuts: Vec<i64> = (1..parts)
        .filter_map(|k| lead.cut(before_part(lead.work, k, parts), partition.cut))
        .map(|at| iteration(call, &partition.scale, at))
        .collect();
    cuts.dedup();
    cuts
}

/// How much work there is before a part, one of so many.
pub(super) fn before_part(work: u128, part: u64, parts: u64) -> u128 {
    let (part, parts) = (u128::from(part), u128::from(parts));
    // The product may leave 128 bits where dimensions do not tell how much is stored.
    work / parts * part + work % parts * part / parts
}

/// The number of parts for an amount of work.
pub(super) fn count(call: &Call<'_>, partition: &Partition, work: u128) -> u64 {
    let work = u64::try_from(work).unwrap_or(u64::MAX);
    let worthwhile = match partition.join {
        Join::Shared { .. } | Join::Overlap { .. } => work / call.grain.max(1),
        // Each part clears what rows are gathered in.
        Join::Concatenate => {
            let least = call.grain.max(width(call, partition) / CLEARED);
            work.saturating_mul(met(call, &partition.meetings)) / least.max(1)
        }
        // Each part has a result of its own, which has to be written and read again, by one thread.
        Join::Combine(_) => {
            let size = call.full_size().unwrap_or(usize::MAX) as u64;
            work / call.grain.max(size.saturating_mul(COMBINED)).max(1)
        }
        // Entries are sorted once more, by one thread.
        Join::Pack { .. }
            if !(call.packs || partition.asked || summed(call, partition) >= SORTED) =>
        {
            0
        }
        // Each part has the elements that its result has whatever its entries are, such as rows.
        Join::Pack { .. } => {
            let least = call.grain.max(1).saturating_mul(PACKED);
            work / least.max(places(call).saturating_mul(call.grain) / PLACES)
        }
    };
    let most = match partition.join {
        Join::Shared { .. } => PARTS_OF_THREAD.saturating_mul(rayon::current_num_threads() as u64),
        _ => MOST_PARTS,
    };
    worthwhile.min(most.min(MOST_PARTS))
}

/// Whether the operands store so few values that one part is enough; false where that is not known at once.
pub(super) fn is_small(
    call: &Call<'_>,
    partition: &Partition,
    stored: &dyn Fn(TensorId) -> Option<u64>,
) -> bool {
    if matches!(partition.join, Join::Concatenate | Join::Pack { .. }) {
        return false;
    }
    let least = call.grain.max(1).saturating_mul(2);
    let is_small = |&id: &TensorId| stored(id).is_some_and(|stored| stored < least);
    let by_positions = matches!(partition.scale.root, Root::Positions(..));
    !by_positions && !partition.leads.is_empty() && partition.leads.iter().all(is_small)
}

/// About how many elements of another operand are read for each entry of the operand that is cut: in a product of matrices,
/// the average length of the rows that its coordinates choose. Estimated by a sample of entries.
pub(super) fn met<'m>(call: &Call<'_>, meetings: impl IntoIterator<Item = &'m Meeting>) -> u64 {
    let averages = meetings.into_iter().filter_map(|meeting| {
        let [lead, met] = [meeting.lead, meeting.met].map(|id| call.values[id.index()].as_deref());
        let lead = Lead::down_to(lead?, meeting.level);
        let met = met.filter(|tensor| !tensor.vals().is_empty())?;
        let met = Lead::down_to(met, met.levels().len() - 1);
        let (view, count) = (lead.views.last()?, u64::try_from(lead.work).unwrap_or(u64::MAX));
        let asked = count.min(ASKED);
        let rows = (0..asked).map(|k| {
            let chosen = view.coordinate((u128::from(k) * lead.work / u128::from(asked)) as u64);
            let row = u64::try_from(chosen).unwrap_or(0).min(met.positions() - 1);
            met.before(row + 1) - met.before(row)
        });
        u64::try_from(rows.sum::<u128>()).ok()?.checked_div(asked)
    });
    averages.max().unwrap_or(1).max(1)
}

/// The size of that sample.
const ASKED: u64 = 256;

/// How many products are summed up for each entry of the result.
fn summed(call: &Call<'_>, partition: &Partition) -> u64 {
    partition.summed.iter().fold(1, |product, &var| product.saturating_mul(call.dims[var]))
}

/// Sorting an entry once more takes as long as this many products.
const SORTED: u64 = 64;

/// The largest dimension of the result beside the one that is cut: the size of the workspace of a row.
fn width(call: &Call<'_>, partition: &Partition) -> u64 {
    let inner = call.target.modes.iter().filter(|var| **var != partition.var);
    inner.map(|&var| call.dims[var]).max().unwrap_or(1)
}

/// This many elements are cleared in the time of one multiplication.
const CLEARED: u64 = 64;

/// The length of the longest row: the most entries below a coordinate of a tensor's first level.
pub fn longest_row(tensor: &Tensor) -> u64 {
    let Some(last) = tensor.levels().len().checked_sub(1) else { return 1 };
    let lead = Lead::down_to(tensor, last);
    let coordinate = |p: u64| lead.views[0].crd.map_or(p as i64, |_| lead.views[0].coordinate(p));
    let (mut longest, mut begin) = (0, 0);
    for p in 1..=lead.positions() {
        if p == lead.positions() || coordinate(p) != coordinate(p - 1) {
            longest = longest.max(lead.before(p) - lead.before(begin));
            begin = p;
        }
    }
    u64::try_from(longest).unwrap_or(u64::MAX)
}

/// The iteration that a coordinate or a position belongs to.
pub(super) fn iteration(call: &Call<'_>, scale: &Scale, at: i64) -> i64 {
    let steps = scale.is_ordered() && !scale.is_plain();
    let (true, Ok(begin)) = (steps, u64::try_from(at)) else { return at };
    scale.iteration(begin, root_size(call, scale), &|v| call.dims[v]) as i64
}

/// How many coordinates or positions iterations were made from.
fn root_size(call: &Call<'_>, scale: &Scale) -> u64 {
    match scale.root {
        Root::Coordinates(var) => call.dims[var],
        Root::Positions(id, level) => {
            let tensor = call.values[id.index()].as_deref();
            let lead = tensor.map(|tensor| Lead::down_to(tensor, level));
            lead.map_or(0, |lead| u64::try_from(lead.work).unwrap_or(u64::MAX))
        }
        Root::Level(id, level) => level_header(call, id, level).size,
    }
}

/// The coordinates of a level of an operand or the result.
fn level_header(call: &Call<'_>, id: TensorId, level: usize) -> Header {
    match call.values[id.index()].as_deref() {
        Some(tensor) => {
            views(&tensor.storage().format, tensor.dims(), tensor.levels())[level].header
        }
        None => call.target.storage.format.headers(&call.shape(), &|_| 1)[level],
    }
}

/// The rows that the positions of a part belong to: the first one, and the one after the last.
pub(super) fn rows(call: &Call<'_>, scale: &Scale, part: Part) -> (u64, u64) {
    let Root::Positions(id, level) = scale.root else { return (0, 0) };
    let Some(tensor) = call.values[id.index()].as_deref() else { return (0, 0) };
    let size = root_size(call, scale);
    let position = |iteration: i64| match u64::try_from(iteration) {
        Ok(iteration) => scale.first(iteration, size, &|v| call.dims[v]),
        Err(_) => 0,
    };
    let (begin, end) = (position(part.begin), position(part.end));
    if begin >= end {
        return (0, 0);
    }
    let lead = Lead::down_to(tensor, level);
    (lead.row(begin), lead.row(end - 1) + 1)
}

/// Clearing and combining one element of a part's result costs as much as computing this many.
const COMBINED: u64 = 4;

/// Listing and packing an entry costs this many times as much as computing it.
const PACKED: u64 = 4;

/// Each part has all elements that the result has without entries, such as rows: it needs `grain` entries for every so many
/// of them.
const PLACES: u64 = 1 << 11;

/// How many elements the result has if it has no entries: one for each coordinate of its full levels.
fn places(call: &Call<'_>) -> u64 {
    let headers = call.target.storage.format.headers(&call.shape(), &|_| 1);
    let full = headers.iter().filter(|header| header.properties.full);
    full.fold(1, |places, header| places.saturating_mul(header.size.max(1)))
}

/// A tensor that is cut, and its levels.
pub(super) struct Lead<'t> {
    levels: &'t [LevelSpec],
    views: Vec<LevelView<'t>>,
    /// Coordinates of the first level where there are no arrays yet.
    header: Header,
    /// Stored elements.
    pub(super) work: u128,
}

impl<'t> Lead<'t> {
    /// Iterations that all take the same work.
    pub(super) fn even(call: &Call<'t>, partition: &Partition) -> Lead<'t> {
        let scale = &partition.scale;
        let root = root_size(call, scale);
        // Iterations in the order of the variable that they were split from: that variable is cut.
        let size = match scale.is_ordered() {
            true => root,
            false => scale.count(root, &|v| call.dims[v]),
        };
        let least = match scale.root {
            Root::Level(id, level) => level_header(call, id, level).least,
            Root::Coordinates(_) | Root::Positions(..) => 0,
        };
        let header = Header { properties: DENSE.properties(), least, size };
        let work = call.shape().iter().fold(1u128, |n, &d| n.saturating_mul(u128::from(d)));
        Lead { levels: &[], views: vec![], header, work: work.max(u128::from(size)) }
    }

    pub(super) fn of(call: &Call<'t>, id: TensorId, partition: &Partition) -> Lead<'t> {
        if let Root::Positions(..) = partition.scale.root {
            return Lead {
                work: u128::from(root_size(call, &partition.scale)),
                ..Lead::even(call, partition)
            };
        }
        let tensor: Option<&'t Tensor> = call.values[id.index()].as_deref();
        let Some(tensor) = tensor else {
            let shape = call.shape();
            let header = call.target.storage.format.headers(&shape, &|_| 1)[0];
            let work = shape.iter().fold(1u128, |n, &d| n.saturating_mul(u128::from(d)));
            return Lead { levels: &[], views: vec![], header, work };
        };
        let mut lead = Lead::down_to(tensor, tensor.levels().len() - 1);
        let p = lead.levels[0].kind.properties();
        let listed = lead.views[0].crd.is_some();
        if partition.cut == CutBy::Coordinates && listed && !(p.ordered && p.compact) {
            // Unordered coordinates: positions say nothing about how many entries come before a coordinate.
            lead.levels = &[];
        }
        lead
    }

    /// A tensor down to a level.
    fn down_to(tensor: &'t Tensor, level: usize) -> Lead<'t> {
        let format = &tensor.storage().format;
        let mut views = views(format, tensor.dims(), tensor.levels());
        views.truncate(level + 1);
        let header = views[0].header;
        let levels = &format.levels()[..=level];
        let mut lead = Lead { levels, views, header, work: 0 };
        lead.work = lead.before(lead.positions());
        lead
    }

    /// The coordinate of the first level that a position of the last one belongs to.
    fn row(&self, position: u64) -> u64 {
        let at = self.first(|middle| self.before(middle + 1) <= u128::from(position));
        match self.views[0].crd {
            Some(_) => self.views[0].coordinate(at) as u64,
            None => at,
        }
    }

    /// The first position of the first level for which a condition no longer holds, by bisection.
    fn first(&self, holds: impl Fn(u64) -> bool) -> u64 {
        let (mut lo, mut hi) = (0, self.positions());
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            match holds(middle) {
                true => lo = middle + 1,
                false => hi = middle,
            }
        }
        lo
    }

    /// How many positions the first level has.
    fn positions(&self) -> u64 {
        match self.levels.first() {
            Some(level) => level.kind.positions(&self.views[0], 1),
            None => self.header.size,
        }
    }

    /// The work of the first `positions` positions of the first level.
    fn before(&self, positions: u64) -> u128 {
        if self.levels.is_empty() {
            let all = u128::from(self.header.size.max(1));
            return self.work / all * u128::from(positions);
        }
        let below = self.levels.iter().zip(&self.views).skip(1);
        u128::from(below.fold(positions, |n, (level, view)| level.kind.positions(view, n)))
    }

    /// The first coordinate, or position, before which there is at least this work; none if there is less in all.
    pub(super) fn cut(&self, work: u128, cut: CutBy) -> Option<i64> {
        let lo = self.first(|middle| self.before(middle) < work);
        let is_listed = !self.levels.is_empty() && self.views[0].crd.is_some();
        match cut {
            CutBy::Positions => i64::try_from(lo).ok(),
            CutBy::Segments => self.segment_from(lo).and_then(|lo| i64::try_from(lo).ok()),
            CutBy::Coordinates if !is_listed => Some(lo as i64 + self.header.least),
            CutBy::Coordinates if lo < self.positions() => Some(self.views[0].coordinate(lo)),
            CutBy::Coordinates => None,
        }
    }

    /// The first position, from the given one on, at which a new coordinate begins.
    fn segment_from(&self, position: u64) -> Option<u64> {
        let coordinate = |p: u64| self.views[0].coordinate(p);
        let begins = |&p: &u64| p == 0 || coordinate(p - 1) != coordinate(p);
        (position..self.positions()).find(begins)
    }
}

#[cfg(test)]
mod tests {
    use super::{before_part, longest_row};
    use crate::{Coordinates, Duplicates, Values, pack};
    use tamis_core::format;
    use tamis_ir::datatype::DataType;

    /// Parts begin in order and end with all the work, also where that is as much as dimensions allow.
    #[test]
    fn work_before_parts() {
        for (work, parts) in [(10, 4), (3, 7), (1 << 123, 256), (u128::MAX, 255)] {
            let before: Vec<u128> =
                (0..=parts).map(|part| before_part(work, part, parts)).collect();
            assert!(before.is_sorted(), "{work} in {parts}: {before:?}");
            assert_eq!((before[0], before[parts as usize]), (0, work));
        }
        assert_eq!([0, 1, 2, 3].map(|part| before_part(10, part, 4)), [0, 2, 5, 7]);
    }

    /// Tensors have the longest rows of the lists that they were packed from.
    #[test]
    fn longest_rows() {
        let crds = vec![vec![0, 2, 2, 2, 2, 3], vec![1, 0, 1, 3, 4, 1]];
        let list = Coordinates::trusted(vec![5, 6], crds, Values::F64(vec![1.0; 6]));
        let formats = [("csr", 4), ("coo", 4), ("dcsr", 4), ("csc", 3), ("dcsc", 3)];
        for (name, expected) in formats {
            let storage = format::parse(name, Some(2)).and_then(|f| f.resolve(DataType::F64));
            let storage = storage.unwrap_or_else(|d| panic!("{d}"));
            assert_eq!(list.longest_row(&storage.format), Some(expected), "{name}");
            let tensor = pack(&list, &storage, Duplicates::Sum).unwrap_or_else(|d| panic!("{d}"));
            assert_eq!(longest_row(&tensor), expected, "{name}");
        }
    }
}
