//! Random tensors from a text such as `1000x1000:0.01:7` or `dense`.

use crate::failure::{Failure, invalid};
use std::iter;
use std::ops::Range;
use tamis::format::LevelMap;
use tamis::ids::Id;
use tamis::level::DENSE;
use tamis::{
    Buffer, Code, Coordinates, DataType, Diagnostic, Format, LevelData, Scalar, Storage, Tensor,
    Values, budget,
};

/// What to fill a tensor with.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// The dimensions, if given.
    pub dims: Option<Vec<u64>>,
    /// The share of entries, or all.
    pub density: Density,
    /// Where random numbers start.
    pub seed: u64,
}

/// How many entries there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Density {
    /// Every one.
    Full,
    /// This share, from 0 to 1.
    Share(f64),
    /// So many for each coordinate of the first mode, which do not depend on other coordinates.
    PerRow(u64),
}

/// What a tensor is without a format: dense if it was generated so.
#[derive(Clone, Copy, PartialEq)]
pub enum Shape {
    /// Every element has a value.
    Dense,
    /// Some have.
    Sparse,
}

impl Generator {
    /// What the tensor is without a format.
    pub fn shape(&self) -> Shape {
        match self.density {
            Density::Full => Shape::Dense,
            Density::Share(_) | Density::PerRow(_) => Shape::Sparse,
        }
    }

    /// How many entries a tensor of these dimensions gets.
    pub fn entries(&self, dims: &[u64]) -> u64 {
        let size = dims.iter().map(|&d| d as f64).product::<f64>();
        match self.density {
            Density::Full => size as u64,
            Density::Share(share) => (share * size).round() as u64,
            Density::PerRow(_) => self.of_rows(dims, dims.first().copied().unwrap_or(0)),
        }
    }

    /// Reads `[DIMS:]DENSITY[:SEED]`.
    pub fn parse(option: &str, text: &str) -> Result<Generator, Failure> {
        let wrong = |reason: &str| {
            invalid(option, reason, "write -g T=1000x1000:0.01:7, -g T=0.01 or -g T=dense")
        };
        let mut parts: Vec<&str> = text.split(':').collect();
        let is_dims =
            |p: &str| p.split('x').all(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
        let mut dims = None;
        if is_dims(parts[0])
            && (parts[0].contains('x') || parts.get(1).is_some_and(|p| density(p).is_some()))
        {
            let read: Result<Vec<u64>, _> = parts[0].split('x').map(str::parse).collect();
            dims = Some(read.map_err(|_| wrong("a dimension is beyond 2^64"))?);
            parts.remove(0);
        }
        if parts.len() > 1 && dims.is_none() && density(parts[0]).is_none() && !is_dims(parts[0]) {
            return Err(wrong("the dimensions must be whole numbers with x between them"));
        }
        let Some(share) = parts.first() else { return Err(wrong("the density is missing")) };
        let share = density(share)
            .ok_or_else(|| wrong("the density must be dense, from 0 to 1, or as in 5/row"))?;
        let seed = match parts.get(1) {
            Some(seed) => seed.parse().map_err(|_| wrong("the seed must be a whole number"))?,
            None => 0,
        };
        if parts.len() > 2 {
            return Err(wrong("there are too many parts"));
        }
        Ok(Generator { dims, density: share, seed })
    }

    /// Refuses more entries for each row than it has elements.
    pub fn check_rows(&self, option: &str, dims: &[u64]) -> Result<(), Failure> {
        let Density::PerRow(each) = self.density else { return Ok(()) };
        match row_size(dims) {
            row if each > row => {
                let reason = format!("a row has {row} elements, not {each}");
                Err(invalid(option, &reason, &format!("write {row}/row, or fewer")))
            }
            _ => Ok(()),
        }
    }

    /// The entries, of small integers for integer types; refused where memory is too small.
    pub fn fill(
        &self,
        name: &str,
        dims: &[u64],
        datatype: DataType,
    ) -> Result<Coordinates, Diagnostic> {
        if let Density::PerRow(_) = self.density {
            return self.rows(name, dims, datatype, 0..dims.first().copied().unwrap_or(0));
        }
        let help = "choose smaller dimensions or density";
        let size = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).ok_or_else(|| {
            let message = format!("{name} would have more than 2^64 elements to choose from");
            Diagnostic::new(Code::DimensionTooLarge, message).help(help)
        })?;
        let count = self.count(size);
        // The elements, and of those left out if that is less to draw; coordinates, values.
        let drawn = count + if count > size / 2 { size - count } else { 0 };
        let value = if datatype.is_complex() { 16 } else { 8 };
        let bytes = 8.0 * drawn as f64 + (8 * dims.len() + value) as f64 * count as f64;
        budget::check(name, bytes, help)?;
        let list = self.draw(dims, datatype, count, size);
        let (crds, vals) = list.ok_or_else(|| budget::refusal(name, Some(bytes), help))?;
        Coordinates::new(dims.to_vec(), crds, vals)
    }

    /// How many entries so many coordinates of the first mode have, of so many each.
    fn of_rows(&self, dims: &[u64], rows: u64) -> u64 {
        let Density::PerRow(each) = self.density else { return 0 };
        rows.saturating_mul(each.min(row_size(dims)))
    }

    /// The entries in a range of rows, by a generator of so many entries per row. The whole tensor has the same
    /// entries in these rows.
    pub fn rows(
        &self,
        name: &str,
        dims: &[u64],
        datatype: DataType,
        rows: Range<u64>,
    ) -> Result<Coordinates, Diagnostic> {
        let help = "choose smaller dimensions or density";
        let Some((_, below)) = dims.split_first() else {
            let message = format!("{name} has no rows to choose entries from");
            return Err(Diagnostic::new(Code::OrderMismatch, message).help("write -g T=dense"));
        };
        let row = below.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).ok_or_else(|| {
            let message = format!("a row of {name} would have more than 2^64 elements");
            Diagnostic::new(Code::DimensionTooLarge, message).help(help)
        })?;
        let all = self.of_rows(dims, rows.end - rows.start);
        let value = if datatype.is_complex() { 16 } else { 8 };
        let bytes = (8 * dims.len() + value) as f64 * all as f64;
        budget::check(name, bytes, help)?;
        let drawn = self.draw_rows(below, datatype, (rows, row), all);
        let (crds, vals) = drawn.ok_or_else(|| budget::refusal(name, Some(bytes), help))?;
        Coordinates::new(dims.to_vec(), crds, vals)
    }

    /// The entries of some rows of so many elements; `None` where memory is too small.
    fn draw_rows(
        &self,
        below: &[u64],
        datatype: DataType,
        (rows, row): (Range<u64>, u64),
        all: u64,
    ) -> Option<(Vec<Vec<u64>>, Values)> {
        let each = all / (rows.end - rows.start).max(1);
        let (mut first, mut places) = (listed(iter::empty(), all)?, listed(iter::empty(), all)?);
        let mut drawn: Vec<Scalar> = listed(iter::empty(), all)?;
        let seed = Random::of_seed(self.seed).next();
        for at in rows {
            let mut random = Random::of_seed(seed ^ at);
            let own = random.places(Density::Share(0.0), each, row)?;
            let own: Vec<u64> = listed(own, each)?;
            drawn.extend(own.iter().map(|_| random.value(datatype)));
            first.extend(own.iter().map(|_| at));
            places.extend(own);
        }
        let mut crds = coordinates(&places, below)?;
        crds.insert(0, first);
        Some((crds, values(drawn.into_iter(), datatype, all)?))
    }

    /// The tensor itself, with the entries of [`Generator::fill`], if it is one array over all modes: a
    /// list of entries would take several times the memory.
    pub fn stored(
        &self,
        name: &str,
        dims: &[u64],
        storage: &Storage,
    ) -> Result<Option<Tensor>, Diagnostic> {
        let size = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        let strides = strides(dims, &storage.format);
        let Some((strides, size)) = strides.zip(size) else { return Ok(None) };
        let Ok(len) = usize::try_from(size) else { return Ok(None) };
        if let Density::PerRow(_) = self.density {
            return Ok(None);
        }
        let (datatype, count) = (storage.datatype, self.count(size));
        let drawn = if count == size { 0 } else { count.min(size - count) };
        let bytes = size as f64 * datatype.size() as f64 + 8.0 * drawn as f64;
        let help = "choose smaller dimensions or density";
        budget::check(name, bytes, help)?;
        let mut random = Random::of_seed(self.seed);
        let places = random.places(self.density, count, size);
        let places = places.ok_or_else(|| budget::refusal(name, Some(bytes), help))?;
        let in_order = strides.iter().all(|(below, _, stride)| below == stride);
        let parts =
            |place: u64| strides.iter().map(move |(below, d, stride)| place / below % d * stride);
        let at = |place| if in_order { place } else { parts(place).sum() };
        let entry = |place| (at(place) as usize, random.value(datatype));
        let vals = Buffer::scattered(len, storage.fill, datatype, places.map(entry))?;
        let levels = vec![LevelData::default(); dims.len()];
        Tensor::try_from_parts(dims.to_vec(), storage.clone(), levels, vals).map(Some)
    }

    /// How many of `size` elements are entries.
    fn count(&self, size: u64) -> u64 {
        match self.density {
            Density::Full => size,
            Density::Share(share) => ((share * size as f64).round() as u64).min(size),
            Density::PerRow(each) => each.min(size),
        }
    }

    /// So many entries of `size`; `None` where memory is too small.
    fn draw(
        &self,
        dims: &[u64],
        datatype: DataType,
        count: u64,
        size: u64,
    ) -> Option<(Vec<Vec<u64>>, Values)> {
        let mut random = Random::of_seed(self.seed);
        let places = listed(random.places(self.density, count, size)?, count)?;
        let drawn = places.iter().map(|_| random.value(datatype));
        let vals = values(drawn, datatype, count)?;
        Some((coordinates(&places, dims)?, vals))
    }
}

/// How many elements each coordinate of the first mode has.
fn row_size(dims: &[u64]) -> u64 {
    dims.iter().skip(1).fold(1, |n, &d| n.saturating_mul(d))
}

/// So many values of a type in a list; `None` where memory is too small.
fn values(drawn: impl Iterator<Item = Scalar>, datatype: DataType, count: u64) -> Option<Values> {
    Some(match datatype.is_complex() {
        true => {
            let parts = drawn.map(|z| z.parts().map(Scalar::as_f64));
            Values::C128(listed(parts, count)?)
        }
        false => Values::F64(listed(drawn.map(Scalar::as_f64), count)?),
    })
}

/// So many items in an array; `None` where memory is too small.
fn listed<T>(items: impl Iterator<Item = T>, count: u64) -> Option<Vec<T>> {
    let mut all = vec![];
    all.try_reserve_exact(usize::try_from(count).ok()?).ok()?;
    all.extend(items);
    Some(all)
}

/// Elements, numbered with the last mode first, as coordinates.
fn coordinates(places: &[u64], dims: &[u64]) -> Option<Vec<Vec<u64>>> {
    let mut below = 1u64;
    let mut crds = vec![];
    for &d in dims.iter().rev() {
        crds.push(listed(places.iter().map(|&p| p / below % d), places.len() as u64)?);
        below = below.wrapping_mul(d);
    }
    crds.reverse();
    Some(crds)
}

/// Of each mode, how many elements the modes behind it have, its size, and the stride of its coordinates in a
/// format that is one array over all modes.
fn strides(dims: &[u64], format: &Format) -> Option<Vec<(u64, u64, u64)>> {
    let mut strides = vec![(1, 1, 1); dims.len()];
    let mut below = 1u64;
    for (mode, &d) in dims.iter().enumerate().rev() {
        (strides[mode].0, strides[mode].1) = (below, d);
        below = below.wrapping_mul(d);
    }
    let mut stride = 1u64;
    for level in format.levels().iter().rev() {
        let LevelMap::Mode(mode) = level.map else { return None };
        if level.kind != DENSE {
            return None;
        }
        strides[mode.index()].2 = stride;
        stride = stride.wrapping_mul(dims[mode.index()]);
    }
    Some(strides)
}

fn density(text: &str) -> Option<Density> {
    if text == "dense" {
        return Some(Density::Full);
    }
    if let Some(each) = text.strip_suffix("/row") {
        return Some(Density::PerRow(each.parse().ok()?));
    }
    let share: f64 = text.parse().ok()?;
    (0.0..=1.0).contains(&share).then_some(Density::Share(share))
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// Seeds are mixed, since the states of one are steps of a fixed size: neighbours would give
    /// the same numbers, one step apart.
    fn of_seed(seed: u64) -> Random {
        Random(Random(seed).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A value of a type: of integers a small one.
    fn value(&mut self, datatype: DataType) -> Scalar {
        match datatype {
            _ if datatype.is_complex() => Scalar::C128([self.unit(), self.unit()]),
            DataType::Bool => Scalar::I64(1),
            _ if datatype.is_float() => Scalar::F64(self.unit()),
            _ => Scalar::I64((1 + self.next() % 9) as i64),
        }
    }

    /// Which of `size` elements have an entry, ascending; `None` where memory is too small. Of more than half,
    /// those without one are drawn.
    fn places(
        &mut self,
        density: Density,
        count: u64,
        size: u64,
    ) -> Option<Box<dyn Iterator<Item = u64>>> {
        if density == Density::Full {
            return Some(Box::new(0..size));
        }
        if count <= size / 2 {
            return Some(Box::new(self.distinct(count, size)?.into_iter()));
        }
        let mut left_out = self.distinct(size - count, size)?.into_iter().peekable();
        Some(Box::new((0..size).filter(move |p| left_out.next_if_eq(p).is_none())))
    }

    /// So many different numbers below `size`, at most half of them, ascending (drawn again where they
    /// meet); `None` where memory is too small.
    fn distinct(&mut self, count: u64, size: u64) -> Option<Vec<u64>> {
        let mut chosen = listed(std::iter::empty(), count)?;
        while (chosen.len() as u64) < count {
            let missing = count - chosen.len() as u64;
            chosen.extend((0..missing).map(|_| self.next() % size));
            chosen.sort_unstable();
            chosen.dedup();
        }
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neighbouring seeds share no more elements than chance has it.
    #[test]
    fn seeds_are_independent() {
        let places = |seed| Random::of_seed(seed).distinct(1000, 1_000_000).expect("room");
        for seed in 0..20 {
            let (a, b) = (places(seed), places(seed + 1));
            let shared = a.iter().filter(|p| b.binary_search(p).is_ok()).count();
            assert!(shared < 20, "{shared} elements of seeds {seed} and {}", seed + 1);
        }
    }

    /// Rows are drawn alike, with others or without.
    #[test]
    fn rows_do_not_depend_on_others() {
        for density in ["0/row", "3/row", "7/row", "90/row"] {
            let Ok(generator) = Generator::parse("-g", &format!("20x4x2:{density}:9")) else {
                panic!("{density} is read")
            };
            let dims = [20, 4, 2];
            let rows = |rows| generator.rows("A", &dims, DataType::F64, rows).expect("room");
            let all = rows(0..20);
            assert_eq!(all.vals().len() as u64, generator.entries(&dims));
            let mut at = 0;
            for part in [rows(0..1), rows(1..9), rows(9..9), rows(9..20)] {
                let end = at + part.vals().len();
                for (crds, own) in all.crds().iter().zip(part.crds()) {
                    assert_eq!(crds[at..end], own[..]);
                }
                let [Values::F64(all), Values::F64(own)] = [all.vals(), part.vals()] else {
                    panic!("floats were asked for")
                };
                assert_eq!(all[at..end], own[..]);
                at = end;
            }
            assert_eq!(at, all.vals().len());
        }
    }

    #[test]
    fn parts_are_told_apart() {
        let read = |text| Generator::parse("-g", text).ok();
        let of = |dims: Option<&[u64]>, density, seed| {
            Some(Generator { dims: dims.map(<[u64]>::to_vec), density, seed })
        };
        assert_eq!(read("dense"), of(None, Density::Full, 0));
        assert_eq!(read("0.5:3"), of(None, Density::Share(0.5), 3));
        assert_eq!(read("10x20:0.1:7"), of(Some(&[10, 20]), Density::Share(0.1), 7));
        assert_eq!(read("10:dense"), of(Some(&[10]), Density::Full, 0));
        assert_eq!(read("10x20:5/row:7"), of(Some(&[10, 20]), Density::PerRow(5), 7));
        assert_eq!(read("10x20:-1/row"), None);
        assert_eq!(read("10x20"), None);
        assert_eq!(read("2.0"), None);
        let Err(Failure::Diagnostic(told)) = Generator::parse("-g", "3X3:0.1") else { panic!() };
        assert_eq!(told.message, "-g: the dimensions must be whole numbers with x between them");
    }
}
