//! Formats for a list of entries, by what is measured of it.
//!
//! ```text
//! ordered by bytes times the cost of reading one: coo 1.1, bitmap 2, dok and hash 3, others 1
//! format            bytes   of csr   why
//! dia             14.4 MB    0.61    5 diagonals, 100 % full
//! csr             23.6 MB    1.00    5.0 entries in a row, 5 at most
//! ```
//!
//! Bytes are those that packing would take, see [`tamis::footprint`]. Between formats the cost of
//! reading an entry counts too: lists load every coordinate, hash maps pass empty buckets.

use crate::failure::Failure;
use crate::picture;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use tamis::{Coordinates, IndexWidth, Scalar, Storage};

/// Sizes of blocks that are looked at.
const BLOCKS: [u64; 5] = [2, 3, 4, 6, 8];

/// What is measured of entries.
pub struct Measures {
    /// The share of all elements that have an entry.
    pub density: f64,
    /// Entries whose coordinate another one before has.
    duplicates: usize,
    modes: Vec<Mode>,
    matrix: Option<Matrix>,
}

/// Entries by their coordinate in one mode.
struct Mode {
    mean: f64,
    deviation: f64,
    most: u64,
    empty: u64,
    /// How many coordinates have 0, 1, 2 to 3, 4 to 7, .. entries: the least, the most, and how many do.
    histogram: Vec<(u64, u64, u64)>,
}

struct Matrix {
    diagonals: usize,
    /// The share of the elements on those diagonals that are entries.
    diagonals_full: f64,
    /// Per size the number of blocks, and the share of their elements that are entries.
    blocks: Vec<(u64, usize, f64)>,
    symmetric: bool,
}

impl Measures {
    /// Those of a list.
    pub fn of(list: &Coordinates) -> Measures {
        let size = list.dims().iter().map(|&d| d as f64).product::<f64>();
        let places = places(list);
        let density = if size > 0.0 { places as f64 / size } else { 0.0 };
        let duplicates = list.vals().len() - places;
        let modes =
            list.crds().iter().zip(list.dims()).map(|(crds, &d)| Mode::of(crds, d)).collect();
        let matrix = (list.dims().len() == 2).then(|| Matrix::of(list));
        Measures { density, duplicates, modes, matrix }
    }

    /// No less than the bytes that it takes to measure a list.
    pub fn bytes(list: &Coordinates) -> f64 {
        // Indices of entries, those of a mode with their counts, and of blocks beside all pairs.
        const PLACES: f64 = 48.0;
        PLACES * list.vals().len() as f64
    }

    /// Prints them, a line each.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.duplicates > 0 {
            writeln!(out, "duplicates  {}", self.duplicates)?;
        }
        let Some(matrix) = &self.matrix else { return Ok(()) };
        for (name, mode) in ["rows", "columns"].into_iter().zip(&self.modes) {
            writeln!(
                out,
                "{name:<11} {:.2} entries on average, deviation {:.2}, {} at most, {} empty",
                mode.mean, mode.deviation, mode.most, mode.empty
            )?;
        }
        let full = 100.0 * matrix.diagonals_full;
        writeln!(out, "diagonals   {}, {full:.0} % full", matrix.diagonals)?;
        for (size, count, share) in &matrix.blocks {
            writeln!(out, "blocks      {size} x {size}: {count}, {:.0} % full", 100.0 * share)?;
        }
        let pattern = if matrix.symmetric { "symmetric" } else { "unsymmetric" };
        writeln!(out, "symmetry    {pattern} pattern")?;
        Ok(())
    }

    /// Prints how many entries rows have; of a tensor of higher order, the coordinates of each mode.
    pub fn print_histograms(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.modes[..] {
            [] | [_] => Ok(()),
            [rows, _] => picture::histogram("entries per row", &rows.histogram, out),
            modes => modes.iter().enumerate().try_for_each(|(mode, counted)| {
                let title = format!("entries per coordinate of mode {}", mode + 1);
                picture::histogram(&title, &counted.histogram, out)
            }),
        }
    }

    /// The keys that tell them.
    pub fn json(&self) -> Map<String, Value> {
        let modes = self.modes.iter().map(|mode| {
            let bucket = |&(least, most, count): &(u64, u64, u64)| {
                json!({"least": least, "most": most, "count": count})
            };
            json!({"mean": mode.mean, "deviation": mode.deviation, "most": mode.most, "empty": mode.empty,
                   "histogram": mode.histogram.iter().map(bucket).collect::<Vec<_>>()})
        });
        let block = |&(size, count, full): &(u64, usize, f64)| json!({"size": size, "count": count, "full": full});
        let of_matrix = |measured: &dyn Fn(&Matrix) -> Value| self.matrix.as_ref().map(measured);
        let told = [
            ("duplicates", json!(self.duplicates)),
            ("modes", modes.collect()),
            (
                "diagonals",
                json!(of_matrix(&|m| json!({"count": m.diagonals, "full": m.diagonals_full}))),
            ),
            ("blocks", json!(of_matrix(&|m| m.blocks.iter().map(block).collect()))),
            ("symmetric_pattern", json!(of_matrix(&|m| json!(m.symmetric)))),
        ];
        told.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Why a format suits, or does not.
    pub fn reason(&self, format: &str) -> String {
        let rows = |mode: &Mode, name: &str| {
            format!("{:.1} entries in a {name}, {} at most", mode.mean, mode.most)
        };
        let empty = |count: u64, name: &str| match count {
            1 => format!("1 {name} is empty"),
            _ => format!("{count} {name}s are empty"),
        };
        let Some(matrix) = &self.matrix else {
            return format!("{:.2e} of all elements", self.density);
        };
        let block = BLOCKS.iter().position(|b| format == format!("bcsr({b},{b})"));
        match (format, block) {
            ("csr" | "dok" | "ell", _) => rows(&self.modes[0], "row"),
            ("csc", _) => rows(&self.modes[1], "column"),
            ("dcsr", _) => empty(self.modes[0].empty, "row"),
            ("dcsc", _) => empty(self.modes[1].empty, "column"),
            ("dia", _) => {
                let full = 100.0 * matrix.diagonals_full;
                let s = if matrix.diagonals == 1 { "" } else { "s" };
                format!("{} diagonal{s}, {full:.0} % full", matrix.diagonals)
            }
            (_, Some(k)) => format!("blocks {:.0} % full", 100.0 * matrix.blocks[k].2),
            ("coo", _) => "any order of loops over one list".to_owned(),
            _ => format!("{:.2e} of all elements", self.density),
        }
    }
}

impl Mode {
    fn of(crds: &[u64], dimension: u64) -> Mode {
        let mut sorted = crds.to_vec();
        sorted.sort_unstable();
        let counts: Vec<u64> = sorted.chunk_by(|a, b| a == b).map(|run| run.len() as u64).collect();
        let (size, entries) = (dimension.max(1) as f64, crds.len() as f64);
        let squares: f64 = counts.iter().map(|&n| (n as f64).powi(2)).sum();
        let mean = entries / size;
        let empty = dimension - counts.len() as u64;
        Mode {
            histogram: histogram(&counts, empty),
            mean,
            deviation: (squares / size - mean * mean).max(0.0).sqrt(),
            most: counts.iter().copied().max().unwrap_or(0),
            empty,
        }
    }
}

/// How many of some counts, beside so many zeros, are 0, 1, 2 to 3, 4 to 7, ..
fn histogram(counts: &[u64], zeros: u64) -> Vec<(u64, u64, u64)> {
    let mut buckets = BTreeMap::from([((0, 0), zeros)]);
    for count in counts {
        let least = 1_u64 << count.ilog2();
        *buckets.entry((least, 2 * least - 1)).or_default() += 1;
    }
    let filled = buckets.into_iter().filter(|(_, count)| *count > 0);
    filled.map(|((least, most), count)| (least, most, count)).collect()
}

impl Matrix {
    fn of(list: &Coordinates) -> Matrix {
        let (rows, columns) = (list.dims()[0], list.dims()[1]);
        let pairs = || list.crds()[0].iter().copied().zip(list.crds()[1].iter().copied());
        let entries = distinct(pairs().collect());
        let diagonals = distinct(pairs().map(|(r, c)| c as i64 - r as i64).collect());
        let length = |d: &i64| match *d {
            d if d < 0 => columns.min(rows - d.unsigned_abs()),
            d => rows.min(columns - d as u64),
        };
        let places: f64 = diagonals.iter().map(|d| length(d) as f64).sum();
        let blocks = BLOCKS.iter().map(|&b| {
            let blocks = distinct(pairs().map(|(r, c)| (r / b, c / b)).collect()).len();
            (b, blocks, share(entries.len(), blocks as f64 * (b * b) as f64))
        });
        let mirrored = |&(r, c): &(u64, u64)| entries.binary_search(&(c, r)).is_ok();
        Matrix {
            diagonals: diagonals.len(),
            diagonals_full: share(entries.len(), places),
            blocks: blocks.collect(),
            symmetric: rows == columns && entries.iter().all(mirrored),
        }
    }
}

/// How many different coordinates the entries have.
fn places(list: &Coordinates) -> usize {
    let mut order: Vec<usize> = (0..list.vals().len()).collect();
    let at = |n: usize| list.crds().iter().map(move |crds| crds[n]);
    order.sort_unstable_by(|&a, &b| at(a).cmp(at(b)));
    order.chunk_by(|&a, &b| at(a).eq(at(b))).count()
}

fn distinct<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all.dedup();
    all
}

fn share(entries: usize, places: f64) -> f64 {
    if places > 0.0 { entries as f64 / places } else { 0.0 }
}

/// A format with what it costs.
pub struct Candidate {
    /// Its name.
    pub format: String,
    /// What it takes.
    pub bytes: u64,
    /// The bytes, weighed by what reading them costs.
    cost: f64,
}

/// The formats for a list that take less than 2^64 bytes, best first; none where they cannot be compared.
pub fn candidates(list: &Coordinates) -> Result<Vec<Candidate>, Failure> {
    let mut candidates = vec![];
    for format in formats(list.dims().len()) {
        let storage = storage(list, &format, None)?;
        if let Some(bytes) = tamis::footprint(list, &storage).filter(|&bytes| bytes < u64::MAX) {
            let cost = bytes as f64 * weight(&format);
            candidates.push(Candidate { format, bytes, cost });
        }
    }
    candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    Ok(candidates)
}

/// Prints the formats for a list, best first.
pub fn print(list: &Coordinates, measures: &Measures, out: &mut dyn Write) -> Result<(), Failure> {
    let candidates = candidates(list)?;
    if candidates.is_empty() {
        writeln!(out)?;
        writeln!(out, "formats are not compared: a coordinate takes more than 128 bits")?;
        return Ok(());
    }
    let usual = candidates.iter().find(|c| ["csr", "csf", "sparse"].contains(&c.format.as_str()));
    let usual = usual.unwrap_or(&candidates[0]);
    let (name, bytes) = (&usual.format, usual.bytes.max(1) as f64);
    writeln!(out)?;
    writeln!(out, "{ORDER}")?;
    writeln!(out, "{:<14} {:>12} {:>10}   why", "format", "bytes", format!("of {name}"))?;
    for c in &candidates {
        let (of, reason) = (c.bytes as f64 / bytes, measures.reason(&c.format));
        writeln!(out, "{:<14} {:>12} {of:>10.2}   {reason}", c.format, size(c.bytes))?;
    }
    Ok(())
}

fn formats(order: usize) -> Vec<String> {
    let names: &[&str] = match order {
        0 => &["dense"],
        1 => &["sparse", "dense", "bitmap", "hash"],
        2 => &["csr", "csc", "dcsr", "dcsc", "coo", "dense", "bitmap", "dia", "ell", "dok"],
        _ => &["csf", "coo", "coo-dense", "dense", "bitmap"],
    };
    let blocks = BLOCKS.iter().filter(|_| order == 2).map(|b| format!("bcsr({b},{b})"));
    names.iter().map(|&name| name.to_owned()).chain(blocks).collect()
}

/// By what formats are ordered, in words: see [`weight`].
const ORDER: &str =
    "ordered by bytes times the cost of reading one: coo 1.1, bitmap 2, dok and hash 3, others 1";

/// What reading a byte of a format costs: 1 where a loop runs over it from one end to the other.
fn weight(format: &str) -> f64 {
    match format {
        "coo" => 1.1,
        "bitmap" => 2.0,
        "dok" | "hash" => 3.0,
        _ => 1.0,
    }
}

/// A storage of the file's values, as wide as they need, with the fill value that the file says.
pub fn storage(list: &Coordinates, format: &str, fill: Option<Scalar>) -> Result<Storage, Failure> {
    let mut spec = tamis::format::parse(format, Some(list.dims().len()))?;
    spec.fill = spec.fill.or(fill);
    let mut storage = spec.resolve(list.vals().datatype())?;
    let largest = list.dims().iter().copied().max().unwrap_or(0).max(list.vals().len() as u64);
    storage.pos = spec.pos.unwrap_or(IndexWidth::for_max(largest));
    storage.crd = spec.crd.unwrap_or(IndexWidth::for_max(largest));
    Ok(storage)
}

/// `5.969 ms`, `27.460 s`
pub fn duration(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.3} ms", 1e3 * seconds) } else { format!("{seconds:.3} s") }
}

/// `14.4 MB`
pub fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    while amount >= 1000.0 && unit + 1 < units.len() {
        (amount, unit) = (amount / 1000.0, unit + 1);
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{amount:.1} {}", units[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::Values;

    #[test]
    fn long_times_are_seconds() {
        assert_eq!(duration(0.005_969_4), "5.969 ms");
        assert_eq!(duration(0.999), "999.000 ms");
        assert_eq!(duration(27.460_223), "27.460 s");
        let aligned = [27.460_223, 0.25].map(|t| format!("{:>12}", duration(t)));
        assert_eq!(aligned, ["    27.460 s", "  250.000 ms"]);
    }

    #[test]
    fn coordinates_are_counted_by_their_entries() {
        let crds = vec![vec![0, 2, 2, 2, 4], vec![1, 0, 4, 5, 6]];
        let list = Coordinates::new(vec![5, 9], crds, Values::F64(vec![1.0; 5])).expect("a list");
        let mut out = vec![];
        Measures::of(&list).print_histograms(&mut out).expect("a vector takes all");
        let text = String::from_utf8(out).expect("text");
        let counts = text.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>());
        let counts: Vec<_> = counts.map(|words| words[..words.len() - 1].join(" ")).collect();
        assert_eq!(counts, ["0 2", "1 2", "2 to 3 1"]);
    }
}
