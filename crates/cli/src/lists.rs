//! Operands as lists of entries, before they are stored: from files and numbers.
//!
//! ```text
//! -i A=A.mtx --ranks 4       four lists, one for each rank
//! ```

use crate::args::TensorArgs;
use crate::dimensions::{dimensions, known};
use crate::failure::{Failure, assignment, invalid};
use crate::generate::{Generator, Shape};
use crate::given::{next, order_of, other_order, twice};
use crate::inputs::standard_format;
use crate::parts::{self, OfRank};
use crate::progress;
use crate::ranks::Ranks;
use crate::streams;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use tamis::notation::Program;
use tamis::{Coordinates, DataType, FormatSpec, IndexWidth, Scalar, Storage, Values};
use tamis_io::{File, FileError, FileFormat, Header, Layout, ReadOptions};

/// The operands of `-i` by name.
pub fn files(
    program: &Program,
    args: &TensorArgs,
    readers: Readers<'_>,
) -> Result<BTreeMap<String, List>, Failure> {
    let mut lists = BTreeMap::new();
    let given = dimensions(program, &args.dimensions)?;
    let mut standard = if streams::is_left() { None } else { Some("the program") };
    for text in &args.inputs {
        let named =
            |option: &[String], n: &str| option.iter().any(|o| o.split('=').next() == Some(n));
        let is_given = |n: &str| named(&args.inputs, n) || named(&args.generators, n);
        let (name, file) = assignment("-i", text, || next(program, is_given))?;
        let order = order_of(program, name)?;
        if tamis_io::is_standard(Path::new(file))
            && let Some(other) = standard.replace(name)
        {
            let reason = format!("{other} is read from standard input already");
            return Err(invalid(&format!("-i {text}"), &reason, "read one of them from a file"));
        }
        let dims = known(program, name, order, &given);
        // It may be said for a result alone.
        let otherwise = standard_format(&args.formats);
        let options = ReadOptions { dims, otherwise, ..ReadOptions::default() };
        let list = read(program, (name, file), order, &options, readers)?;
        if lists.insert(name.to_owned(), list).is_some() {
            return Err(twice("-i", name));
        }
    }
    Ok(lists)
}

/// Who reads files.
#[derive(Clone, Copy)]
pub enum Readers<'r> {
    /// Ranks: each reads a part of a file that can be cut, and the whole of any other.
    Ranks(Ranks<'r>),
    /// A reader that keeps files on disk if they are larger than memory.
    Disk(&'r dyn Disk),
}

/// What keeps files on disk.
pub trait Disk {
    /// What is known of a file that it keeps, the operand of a name and an order; none of one that is read whole.
    fn keep(
        &self,
        name: &str,
        path: &Path,
        order: usize,
        options: &ReadOptions,
    ) -> Result<Option<Kept>, Failure>;
}

/// What is known of a file that is kept on disk.
pub struct Kept {
    /// The dimension of each mode.
    pub dims: Vec<u64>,
    /// How many entries there are.
    pub entries: u64,
    /// The type of their values.
    pub datatype: DataType,
    /// What the file says about itself before its entries.
    pub header: Header,
}

/// Entries before they are stored.
pub enum Listed {
    /// Those of a file that is kept on disk.
    OnDisk { dims: Vec<u64>, entries: u64, datatype: DataType },
    /// All of them.
    Whole(Coordinates),
    /// Those of each rank of this process, and how many all ranks have.
    OfRanks { parts: Vec<Coordinates>, entries: u64 },
}

impl Listed {
    /// The dimension of each mode.
    pub fn dims(&self) -> &[u64] {
        match self {
            Listed::OnDisk { dims, .. } => dims,
            Listed::Whole(list) => list.dims(),
            Listed::OfRanks { parts, .. } => parts[0].dims(),
        }
    }

    /// How many entries there are.
    pub fn entries(&self) -> u64 {
        match self {
            Listed::Whole(list) => list.vals().len() as u64,
            Listed::OfRanks { entries, .. } | Listed::OnDisk { entries, .. } => *entries,
        }
    }

    /// The type of the values.
    pub fn datatype(&self) -> DataType {
        match self {
            Listed::OnDisk { datatype, .. } => *datatype,
            Listed::Whole(list) => list.vals().datatype(),
            Listed::OfRanks { parts, .. } => parts[0].vals().datatype(),
        }
    }

    /// Whether there are integers that a type rounds, or may be in what is still on disk.
    pub fn is_rounded(&self, datatype: DataType) -> bool {
        match self {
            Listed::Whole(list) => is_rounded(list, datatype),
            Listed::OfRanks { parts, .. } => parts.iter().any(|list| is_rounded(list, datatype)),
            Listed::OnDisk { datatype: own, .. } => datatype.is_float() && own.integers().is_some(),
        }
    }

    /// How many values would be stored, where that is known.
    pub fn stored_values(&self, storage: &Storage) -> Option<u64> {
        match self {
            Listed::Whole(list) => tamis::stored_values(list, storage),
            Listed::OfRanks { .. } | Listed::OnDisk { .. } => None,
        }
    }

    /// How many entries the longest row has, where that is known.
    pub fn longest_row(&self, storage: &Storage) -> Option<u64> {
        match self {
            Listed::Whole(list) => list.longest_row(&storage.format),
            Listed::OfRanks { .. } | Listed::OnDisk { .. } => None,
        }
    }
}

/// Whether there are integers that a type rounds.
fn is_rounded(list: &Coordinates, datatype: DataType) -> bool {
    let vals = list.vals();
    let is_rounded = |n: usize| {
        let value = vals.get(n);
        value.integer().is_some_and(|x| value.stored(datatype).as_f64() as i128 != x)
    };
    let are_integers = !vals.datatype().is_float() && vals.datatype() != DataType::Bool;
    datatype.is_float() && are_integers && (0..vals.len()).any(is_rounded)
}

/// That a type rounds integers of something, if it does or may do so.
pub fn rounded(what: impl Display, list: &Listed, datatype: DataType) -> Option<String> {
    let digits = match datatype.part() {
        DataType::Bf16 => 8,
        DataType::F16 => 11,
        DataType::F32 => 24,
        _ => 53,
    };
    let has = if matches!(list, Listed::OnDisk { .. }) { "may have" } else { "has" };
    let told = || format!("{what} {has} integers beyond 2^{digits}, which {datatype} rounds");
    list.is_rounded(datatype).then(told)
}

/// An operand before it is stored.
pub struct List {
    /// The entries.
    pub list: Listed,
    /// The type that it has where nothing else is said.
    pub datatype: DataType,
    /// What it is without a format.
    pub shape: Shape,
    /// The fill value that its file says.
    pub fill: Option<Scalar>,
}

impl List {
    /// Of text without types: floats or complex numbers, though the list may hold integers, to
    /// have them exact.
    fn of_text(list: Listed) -> List {
        let is_complex = list.datatype().is_complex();
        let datatype = if is_complex { DataType::C128 } else { DataType::F64 };
        List { list, datatype, shape: Shape::Sparse, fill: None }
    }

    /// What decides how it is stored.
    pub fn about(&self) -> About<'_> {
        About {
            dims: self.list.dims(),
            entries: self.list.entries(),
            datatype: self.datatype,
            shape: self.shape,
            fill: self.fill,
        }
    }
}

/// What decides how an operand is stored, beside its format.
pub struct About<'t> {
    pub dims: &'t [u64],
    pub entries: u64,
    pub datatype: DataType,
    pub shape: Shape,
    pub fill: Option<Scalar>,
}

impl About<'_> {
    /// The storage of a tensor of this name in a format, or in the usual one.
    pub fn storage(
        &self,
        name: &str,
        spec: Option<&FormatSpec>,
        dtype: Option<DataType>,
    ) -> Result<Storage, Failure> {
        let order = self.dims.len();
        let spec = match (spec, self.shape) {
            (Some(spec), _) => spec.clone(),
            (None, Shape::Dense) => tamis::format::parse("dense", Some(order))?,
            (None, Shape::Sparse) => {
                let usual = tamis::usual_format(self.dims, self.entries);
                tamis::format::parse(usual, Some(order))?
            }
        };
        let (fill, datatype) = (self.fill.or(spec.fill), spec.datatype.or(dtype));
        let own = FormatSpec { fill, datatype, ..spec.clone() };
        let mut storage = own.storage_of(name, self.datatype)?;
        let asked = spec.storage_of(name, storage.datatype)?.fill;
        if spec.fill.is_some() && !asked.same_value(storage.fill) {
            let reason =
                format!("the file has {} where it has no entry, not {asked}", storage.fill);
            let help = format!("write fill: {}, or no fill value", storage.fill);
            return Err(invalid(&format!("-f {spec}"), &reason, &help));
        }
        let has_maps = spec.format.levels().iter().any(|level| level.insert_edges().is_some());
        // A hash map has less than four times as many buckets as coordinates, or one.
        let positions = match has_maps {
            true => {
                self.dims.iter().fold(self.entries.saturating_mul(4), |n, d| n.saturating_add(*d))
            }
            false => self.entries,
        };
        let largest = self.dims.iter().copied().max().unwrap_or(0).max(positions);
        let width = IndexWidth::for_max(largest);
        storage.pos = spec.pos.unwrap_or(width);
        storage.crd = spec.crd.unwrap_or(width);
        Ok(storage)
    }
}

/// A file, or a number for a scalar.
fn read(
    program: &Program,
    (name, file): (&str, &str),
    order: usize,
    options: &ReadOptions,
    readers: Readers<'_>,
) -> Result<List, Failure> {
    if order == 0
        && let Some(value) = Scalar::parse(file)
    {
        if value.is_beyond(file) {
            let reason = "the number is beyond 1.8e308, the largest";
            return Err(invalid(&format!("-i {name}={file}"), reason, "write inf, or scale it"));
        }
        let vals = match value {
            Scalar::C128(z) => Values::C128(vec![z]),
            Scalar::I64(x) => Values::I64(vec![x]),
            Scalar::U64(x) => Values::U64(vec![x]),
            real => Values::F64(vec![real.as_f64()]),
        };
        return Ok(List::of_text(Listed::Whole(Coordinates::new(vec![], vec![], vals)?)));
    }
    check_named(program, (name, file), order)?;
    let shaped = |list: Coordinates| {
        let (dims, crds, vals) = of_order(list, order);
        match dims.len() == order {
            true => Ok(Coordinates::new(dims, crds, vals)?),
            false => Err(of_other_order(program, (name, Path::new(file)), order, dims.len())),
        }
    };
    let path = Path::new(file);
    let (ranks, disk) = match readers {
        Readers::Ranks(ranks) => (ranks, None),
        Readers::Disk(disk) => (Ranks::One, Some(disk)),
    };
    let kept = disk.map(|disk| disk.keep(name, path, order, options)).transpose()?.flatten();
    let (list, header) = match (kept, read_in_parts(path, options, ranks)?) {
        (Some(Kept { dims, entries, datatype, header }), _) => {
            (Listed::OnDisk { dims, entries, datatype }, header)
        }
        (None, Some((parts, entries, header))) => {
            let parts = parts.into_iter().map(shaped).collect::<Result<_, Failure>>()?;
            (Listed::OfRanks { parts, entries }, header)
        }
        (None, None) => {
            let File { coordinates, header } = streams::read(path, options)?;
            (Listed::Whole(shaped(coordinates)?), header)
        }
    };
    let list = match header.format {
        FileFormat::Frostt => List::of_text(list),
        _ => {
            let shape = if header.layout == Layout::Array { Shape::Dense } else { Shape::Sparse };
            List { datatype: list.datatype(), list, shape, fill: None }
        }
    };
    Ok(List { fill: header.fill, ..list })
}

/// Refuses what is likely meant otherwise than as the name of a file.
fn check_named(program: &Program, (name, file): (&str, &str), order: usize) -> Result<(), Failure> {
    let path = Path::new(file);
    if tamis_io::is_standard(path) || FileFormat::of(path).is_some() || path.exists() {
        return Ok(());
    }
    let option = format!("-i {name}={file}");
    match order {
        0 => {
            let reason = "this is no number, and no file";
            Err(invalid(&option, reason, "write a number, such as 0.5, 1e-3 or 2j"))
        }
        _ if Scalar::parse(file).is_some() => {
            let given = format!("{file} is a number, which has none");
            Err(other_order(program, name, order, given, 0))
        }
        _ if Generator::parse(&option, file).is_ok() => {
            Err(invalid(&option, "this is no file", &format!("write -g {name}={file}")))
        }
        _ => Ok(()),
    }
}

/// The failure that a file holds a tensor of another order than the expression has indices of it.
pub fn of_other_order(
    program: &Program,
    (name, path): (&str, &Path),
    order: usize,
    own: usize,
) -> Failure {
    let given = format!("{} holds a tensor of order {own}", path.display());
    other_order(program, name, order, given, own)
}

/// Whether a list of these dimensions may be an operand of this order.
pub fn squeezed(dims: &[u64], order: usize) -> bool {
    let none = Coordinates::new(dims.to_vec(), vec![vec![]; dims.len()], Values::F64(vec![]));
    none.is_ok_and(|none| of_order(none, order).0.len() == order)
}

/// The lists of the ranks of this process, how many entries all ranks have, and what the file says; none where each
/// rank reads all of the file.
fn read_in_parts(
    path: &Path,
    options: &ReadOptions,
    ranks: Ranks<'_>,
) -> Result<Option<(Vec<Coordinates>, u64, Header)>, Failure> {
    if !ranks.are_several() {
        return Ok(None);
    }
    let _reading = progress::stage(format!("reading {}", path.display()));
    let read = ranks.each(|comm, _| parts::read(comm, path, options))?;
    let read = read.into_iter().collect::<Result<Option<Vec<OfRank>>, FileError>>()?;
    Ok(read.and_then(|read| {
        let (entries, header) = read.first().map(|one| (one.entries, one.header.clone()))?;
        Some((read.into_iter().map(|one| one.list).collect(), entries, header))
    }))
}

/// The parts of a list without modes of a single coordinate that an operand of this order does not have: matrix
/// files hold vectors as n x 1 and scalars as 1 x 1.
fn of_order(list: Coordinates, order: usize) -> (Vec<u64>, Vec<Vec<u64>>, Values) {
    let (mut dims, mut crds, vals) = list.into_parts();
    while dims.len() > order && dims.last() == Some(&1) {
        dims.pop();
        crds.pop();
    }
    if dims.len() > order && dims.first() == Some(&1) {
        dims.remove(0);
        crds.remove(0);
    }
    (dims, crds, vals)
}
