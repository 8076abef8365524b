//! Operands: from files, numbers and generators to tensors.

use crate::args::{ReadingArgs, TensorArgs};
use crate::dimensions::{self, Dimensions, dimensions};
use crate::failure::{Failure, assignment, invalid, note, suggested};
use crate::generate::{Density, Generator};
use crate::given::{check_all_given, next, order_of, other_order, twice};
use crate::lists::{About, List, Listed, Readers, files, rounded};
use crate::progress;
use crate::ranks::{Operand, Ranks};
use std::collections::BTreeMap;
use std::path::Path;
use tamis::dist::{Described, Distributed, Placements, agree, format_of};
use tamis::notation::Program;
use tamis::{
    Code, Coordinates, DataType, Diagnostic, Duplicates, FormatSpec, Storage, Strictness, Values,
};
use tamis_io::{File, FileFormat, ReadOptions};

/// The element type of `--dtype`.
pub fn datatype(args: &TensorArgs) -> Result<Option<DataType>, Failure> {
    let Some(name) = args.dtype.as_deref() else { return Ok(None) };
    DataType::parse(name).map(Some).ok_or_else(|| {
        let known: Vec<&str> = DataType::ALL.iter().map(|t| t.name()).collect();
        let help = suggested(name, &known, "use one of");
        invalid(&format!("--dtype {name}"), "the type is unknown", &help)
    })
}

/// What `--strict` says.
pub fn strictness(args: &TensorArgs) -> Strictness {
    if args.strict { Strictness::Ieee } else { Strictness::Sparse }
}

/// Limits the memory that tensors and files take, if an option says so.
pub fn limit_memory(text: Option<&str>) -> Result<(), Failure> {
    let Some(text) = text else { return Ok(()) };
    let size = tamis::size::bytes(text).filter(|&n| n > 0);
    let size = size.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
        invalid(&format!("--memory-limit {text}"), "this is no size", "write it as 500M or 8GiB")
    })?;
    tamis::budget::set_limit(size);
    Ok(())
}

/// The file format that a `--format` without a tensor says: that of what goes through `-`.
pub fn standard_format(texts: &[String]) -> Option<FileFormat> {
    texts.iter().rev().find_map(|text| FileFormat::parse(text))
}

/// Refuses a format of what goes through `-` where nothing does: `NAME=FILE` are inputs and outputs.
pub fn check_standard<'a>(
    formats: &[String],
    mut files: impl Iterator<Item = &'a String>,
) -> Result<(), Failure> {
    let mut given = formats.iter().filter(|text| FileFormat::parse(text).is_some());
    let is_standard = |text: &String| {
        text.split_once('=').is_some_and(|(_, file)| tamis_io::is_stream(Path::new(file.trim())))
    };
    match (given.next(), given.next()) {
        (Some(one), Some(other)) => {
            let reason = format!("{one} is the format of what goes through - already");
            Err(invalid(&format!("--format {other}"), &reason, "give one of them"))
        }
        (Some(format), None) if !files.any(is_standard) => Err(unused_format(format)),
        _ => Ok(()),
    }
}

fn unused_format(text: &str) -> Failure {
    let help = "leave it out: a file's name says its format";
    invalid(&format!("--format {text}"), "nothing goes through -", help)
}

/// The file format of a `--format` that is no format of a tensor, for those of the files that are `-`.
pub fn file_format(text: Option<&str>, files: &[&Path]) -> Result<Option<FileFormat>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let known = FileFormat::NAMED.map(|(name, _)| name);
    let help = || suggested(text, &known, "use one of");
    match FileFormat::parse(text) {
        None => Err(invalid(&format!("--format {text}"), "this is no file format", &help())),
        Some(_) if !files.iter().any(|file| tamis_io::is_stream(file)) => Err(unused_format(text)),
        format => Ok(format),
    }
}

/// Reads the file of a command that has one.
pub fn file(path: &Path, args: &ReadingArgs, options: &ReadOptions) -> Result<File, Failure> {
    limit_memory(args.memory_limit.as_deref())?;
    let Some(text) = &args.dimensions else { return Ok(progress::read(path, options)?) };
    let dims = dimensions::of_file(text)?;
    let file = progress::read(path, &ReadOptions { dims: dims.clone(), ..options.clone() })?;
    dimensions::check_file(text, &dims, file.coordinates.dims())?;
    Ok(file)
}

/// The formats of `-f`, by tensor.
pub fn formats(
    program: &Program,
    texts: &[String],
) -> Result<BTreeMap<String, FormatSpec>, Failure> {
    let mut specs = BTreeMap::new();
    for text in texts.iter().filter(|text| FileFormat::parse(text).is_none()) {
        let (name, format) = assignment("-f", text, || next(program, |n| specs.contains_key(n)))?;
        let order = order_of(program, name)?;
        let format = format_of(format);
        let spec = tamis::format::parse(format, Some(order))?;
        if specs.insert(name.to_owned(), spec).is_some() {
            return Err(twice("-f", name));
        }
    }
    Ok(specs)
}

/// Where the tensors of `-f` lie on ranks, by name.
pub fn placements(program: &Program, texts: &[String]) -> Result<Placements, Failure> {
    let mut formats: Vec<(&str, &str)> = vec![];
    for text in texts.iter().filter(|text| FileFormat::parse(text).is_none()) {
        let known = |n: &str| formats.iter().any(|(other, _)| *other == n);
        let format = assignment("-f", text, || next(program, known))?;
        formats.push(format);
    }
    Ok(tamis::dist::placements(program, formats)?)
}

/// Every operand as a tensor.
pub fn operands(
    program: &Program,
    args: &TensorArgs,
    formats: &BTreeMap<String, FormatSpec>,
    dtype: Option<DataType>,
    readers: Readers<'_>,
) -> Result<Vec<(String, Operand)>, Failure> {
    let mut lists = files(program, args, readers)?;
    let sizes = sizes(program, args, &lists)?;
    let mut operands = BTreeMap::new();
    for text in &args.generators {
        let Generated { name, dims, generator } = generated(program, text, &sizes)?;
        let _generating = progress::stage(format!("generating {name}"));
        let given = formats.get(&name);
        let datatype = given.and_then(|s| s.datatype).or(dtype).unwrap_or(DataType::F64);
        let (entries, shape) = (generator.entries(&dims), generator.shape());
        let about = About { dims: &dims, entries, datatype, shape, fill: None };
        let storage = about.storage(&name, given, dtype)?;
        // What takes long to generate is refused before; of the rest the entries tell which format
        // takes least.
        if about.entries > MANY_ENTRIES {
            check_room(&name, &dims, &storage)?;
        }
        let stored = generator.stored(&name, &dims, &storage)?;
        let known = match stored {
            Some(tensor) => operands.insert(name.clone(), Operand::Whole(tensor)).is_some(),
            None => {
                let list = match of_ranks(&generator, (&name, &dims), datatype, readers)? {
                    Some(list) => list,
                    None => Listed::Whole(generator.fill(&name, &dims, datatype)?),
                };
                let datatype = list.datatype();
                let list = List { datatype, shape, list, fill: None };
                lists.insert(name.clone(), list).is_some()
            }
        };
        if known || (operands.contains_key(&name) && lists.contains_key(&name)) {
            return Err(twice("-g", &name));
        }
    }
    check_all_given(program, &lists.keys().chain(operands.keys()).map(String::as_str).collect())?;
    for (name, list) in lists {
        let storage = list.about().storage(&name, formats.get(&name), dtype)?;
        if let Some(rounded) = rounded(&name, &list.list, storage.datatype) {
            let own = list.list.datatype();
            match tamis::format::fill_value(storage.fill, own) {
                Ok(_) => note(&format!("{rounded}: --dtype {own} keeps them")),
                Err(_) => note(&format!("{rounded}, as its fill value {} asks for", storage.fill)),
            }
        }
        let _packing = progress::stage(format!("packing {name}"));
        let operand = stored(&name, list.list, storage, readers)?;
        operands.insert(name, operand);
    }
    Ok(operands.into_iter().collect())
}

/// What each rank of this process generates, where rows do not depend on others.
fn of_ranks(
    generator: &Generator,
    (name, dims): (&str, &[u64]),
    datatype: DataType,
    readers: Readers<'_>,
) -> Result<Option<Listed>, Diagnostic> {
    let Readers::Ranks(ranks) = readers else { return Ok(None) };
    if !ranks.are_several() || !matches!(generator.density, Density::PerRow(_)) {
        return Ok(None);
    }
    let rows = dims.first().copied().unwrap_or(0);
    let parts = ranks.each(|comm, _| {
        let begin = |rank: usize| (u128::from(rows) * rank as u128 / comm.ranks() as u128) as u64;
        let own = begin(comm.rank())..begin(comm.rank() + 1);
        agree(comm, generator.rows(name, dims, datatype, own))
    })?;
    Ok(Some(Listed::OfRanks { parts, entries: generator.entries(dims) }))
}

/// Entries stored as an operand.
fn stored(
    name: &str,
    list: Listed,
    storage: Storage,
    readers: Readers<'_>,
) -> Result<Operand, Diagnostic> {
    match list {
        Listed::Whole(list) => tamis::pack(&list, &storage, Duplicates::Sum)
            .map(Operand::Whole)
            .map_err(|d| of_operand(d, name, &list, &storage)),
        Listed::OfRanks { parts, .. } => {
            let ranks = match readers {
                Readers::Ranks(ranks) => ranks,
                Readers::Disk(_) => Ranks::One,
            };
            ranks
                .each(|comm, rank| Distributed::from_entries(comm, &parts[rank], &storage))
                .map(Operand::OfRanks)
                .map_err(|d| Diagnostic { message: format!("{name}: {}", d.message), ..d })
        }
        Listed::OnDisk { dims, entries, .. } => {
            let stored = Some(entries as usize);
            Ok(Operand::OnDisk(Described { dims, storage, stored }))
        }
    }
}

/// From so many entries on an operand takes seconds to generate.
const MANY_ENTRIES: u64 = 1 << 22;

/// Refuses an operand of which no entries, stored so, already take too much memory, before any are generated.
fn check_room(name: &str, dims: &[u64], storage: &Storage) -> Result<(), Diagnostic> {
    let least = tamis::footprint(&no_entries(dims)?, storage).unwrap_or(0);
    let help = format!("store {name} in a format that takes less, or work on a smaller part");
    tamis::budget::check(name, least as f64, &help)
}

fn no_entries(dims: &[u64]) -> Result<Coordinates, Diagnostic> {
    Coordinates::new(dims.to_vec(), vec![vec![]; dims.len()], Values::F64(vec![]))
}

/// What packing says, of an operand; where it is too large, with the format that takes least.
fn of_operand(
    mut told: Diagnostic,
    name: &str,
    list: &Coordinates,
    storage: &Storage,
) -> Diagnostic {
    told.message = format!("{name}: {}", told.message);
    let order = list.dims().len();
    let sparse: &[&'static str] = match order {
        _ if told.code != Code::OutOfMemory => &[],
        0 => &[],
        1 => &["sparse"],
        2 => &["csr", "dcsr"],
        _ => &["csf"],
    };
    let bytes = |name: &&'static str| {
        let spec = tamis::format::parse(name, Some(order)).ok()?;
        let storage = Storage { format: spec.format, ..storage.clone() };
        Some((tamis::footprint(list, &storage)?, *name))
    };
    let least = sparse.iter().filter_map(bytes).min();
    match least.zip(tamis::footprint(list, storage)) {
        Some(((bytes, format), all)) if bytes < all => {
            let size = bytes as f64 / 1e6;
            told.help(format!("store it as {format}, which takes {size:.1} MB: -f {name}={format}"))
        }
        _ => told,
    }
}

/// Whether a program writes a tensor of a name.
pub fn is_result(program: &Program, name: &str) -> bool {
    program.tensor(name).is_some_and(|id| program.results().contains(&id))
}

/// What is known of operands of files and generators before they are stored.
pub struct Known {
    /// How they would be stored, by name, and results as the user wants them.
    pub formats: BTreeMap<String, FormatSpec>,
    /// How values are stored that results have before, by name.
    pub earlier: BTreeMap<String, FormatSpec>,
    /// The dimensions that are known with them.
    pub dimensions: Dimensions,
    /// How many values they store, by name.
    pub values: BTreeMap<String, u64>,
    /// How many entries the longest row has of those of files, by name.
    pub longest: BTreeMap<String, u64>,
}

/// What is known of operands. Nothing is packed, and nothing large generated.
pub fn storages(
    program: &Program,
    args: &TensorArgs,
    formats: &BTreeMap<String, FormatSpec>,
    dtype: Option<DataType>,
) -> Result<Known, Failure> {
    let lists = files(program, args, Readers::Ranks(Ranks::One))?;
    let sizes = sizes(program, args, &lists)?;
    let dimensions = dimensions(program, &args.dimensions)?;
    let mut known = Known {
        formats: formats.clone(),
        earlier: BTreeMap::new(),
        dimensions,
        values: BTreeMap::new(),
        longest: BTreeMap::new(),
    };
    for (name, list) in &lists {
        let storage = list.about().storage(name, formats.get(name), dtype)?;
        let values = list.list.stored_values(&storage);
        known.values.insert(name.clone(), values.unwrap_or(list.about().entries));
        let longest = list.list.longest_row(&storage);
        known.longest.extend(longest.map(|n| (name.clone(), n)));
        let stored = if is_result(program, name) { &mut known.earlier } else { &mut known.formats };
        stored.insert(name.clone(), spec(storage));
        known.dimensions.tensors.insert(name.clone(), list.list.dims().to_vec());
    }
    for text in &args.generators {
        let Generated { name, dims, generator } = generated(program, text, &sizes)?;
        if lists.contains_key(&name) {
            return Err(twice("-g", &name));
        }
        let entries = generator.entries(&dims);
        let datatype = DataType::F64;
        let about = About { dims: &dims, entries, datatype, shape: generator.shape(), fill: None };
        let stored =
            if is_result(program, &name) { &mut known.earlier } else { &mut known.formats };
        let storage = about.storage(&name, formats.get(&name), dtype)?;
        // Padding of other formats is not counted where there are many entries, which take long to generate.
        let counted = match is_padded(&storage) {
            true if storage.format.is_full() => no_entries(&dims).ok(),
            true if entries <= MANY_ENTRIES => generator.fill(&name, &dims, datatype).ok(),
            _ => None,
        };
        let values = counted.and_then(|list| tamis::stored_values(&list, &storage));
        known.values.insert(name.clone(), values.unwrap_or(entries));
        stored.insert(name.clone(), spec(storage));
        known.dimensions.tensors.insert(name, dims);
    }
    Ok(known)
}

/// Whether a tensor may store more values than it has entries.
fn is_padded(storage: &Storage) -> bool {
    let levels = storage.format.levels();
    let mapped = !storage.format.stores_modes();
    let is_compact = levels.last().is_none_or(|level| {
        let properties = level.kind.properties();
        properties.compact && !properties.full
    });
    mapped || !is_compact
}

/// A storage as the format that says all of it.
fn spec(storage: Storage) -> FormatSpec {
    FormatSpec {
        format: storage.format,
        datatype: Some(storage.datatype),
        fill: Some(storage.fill),
        pos: Some(storage.pos),
        crd: Some(storage.crd),
    }
}

/// An operand of `-g`.
struct Generated {
    name: String,
    dims: Vec<u64>,
    generator: Generator,
}

fn generated(program: &Program, text: &str, sizes: &Dimensions) -> Result<Generated, Failure> {
    let (name, what) = assignment("-g", text, || next(program, |n| sizes.tensors.contains_key(n)))?;
    let order = order_of(program, name)?;
    let generator = Generator::parse(&format!("-g {text}"), what)?;
    let dims = match generator.dims.clone() {
        Some(dims) => dims,
        None => inferred(program, name, sizes)?,
    };
    if dims.len() != order {
        let given = format!("-g gives {} dimensions", dims.len());
        let sizes = match order {
            1 => "1 size".to_owned(),
            n => format!("{n} sizes"),
        };
        return match other_order(program, name, order, given, dims.len()) {
            Failure::Diagnostic(told) if order > 0 => {
                let help = told.help.clone().unwrap_or_default();
                Err(told.help(format!("{help}, or give {sizes} by -g")).into())
            }
            told => Err(told),
        };
    }
    generator.check_rows(&format!("-g {text}"), &dims)?;
    Ok(Generated { name: name.to_owned(), dims, generator })
}

/// Dimensions by files, explicit generators and `-d`.
fn sizes(
    program: &Program,
    args: &TensorArgs,
    lists: &BTreeMap<String, List>,
) -> Result<Dimensions, Failure> {
    let mut known: BTreeMap<String, Vec<u64>> =
        lists.iter().map(|(name, list)| (name.clone(), list.list.dims().to_vec())).collect();
    for text in &args.generators {
        let (name, what) = assignment("-g", text, || next(program, |n| known.contains_key(n)))?;
        if let Some(dims) = Generator::parse(&format!("-g {text}"), what)?.dims {
            known.insert(name.to_owned(), dims);
        }
    }
    let Dimensions { mut vars, tensors } = dimensions(program, &args.dimensions)?;
    for (name, dims) in tensors {
        known.entry(name).or_insert(dims);
    }
    for statement in &program.statements {
        let mut accesses = statement.value.accesses();
        accesses.push(&statement.result);
        for access in accesses {
            let Some(dims) = known.get(&program.tensors[access.tensor].name) else { continue };
            for (mode, (&var, &d)) in access.indices.iter().zip(dims).enumerate() {
                let count = access.slicing(mode).map_or(Ok(d), |s| s.slice().len(d));
                vars.entry(program.vars[var].name.clone()).or_insert(count.unwrap_or(d));
            }
        }
    }
    Ok(Dimensions { vars, tensors: known })
}

/// The dimensions of a tensor from its index variables; those of a sliced mode do not follow.
fn inferred(program: &Program, name: &str, sizes: &Dimensions) -> Result<Vec<u64>, Failure> {
    if let Some(dims) = sizes.tensors.get(name) {
        return Ok(dims.clone());
    }
    let mut unknown = None;
    for statement in &program.statements {
        let mut accesses = statement.value.accesses();
        accesses.push(&statement.result);
        for access in accesses.into_iter().filter(|a| program.tensors[a.tensor].name == name) {
            let names = access.indices.iter().map(|&v| &program.vars[v].name);
            let dims: Option<Vec<u64>> =
                names.clone().map(|var| sizes.vars.get(var).copied()).collect();
            if let (Some(dims), false) = (dims, access.is_sliced()) {
                return Ok(dims);
            }
            let first = names.clone().find(|&var| !sizes.vars.contains_key(var));
            unknown = unknown.or(Some((access, first)));
        }
    }
    let (what, option) = match unknown {
        Some((access, Some(var))) if !access.is_sliced() => {
            (format!("dimension of {var}, an index of {name}"), format!("-d {var}=SIZE"))
        }
        _ => {
            let order = unknown.map_or(1, |(access, _)| access.indices.len());
            (
                format!("dimensions of {name}"),
                format!("-d {name}={}", vec!["SIZE"; order].join("x")),
            )
        }
    };
    let told = Diagnostic::new(Code::DimensionUnknown, format!("nothing fixes the {what}"));
    let span = unknown.map_or(0..0, |(access, _)| access.span.clone());
    let help = format!("give it by {option}, or all: -g {name}=DIMS:DENSITY");
    Err(told.at(&program.source, span).help(help).into())
}
