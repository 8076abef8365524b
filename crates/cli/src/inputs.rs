//! Operands: from files, numbers and generators to tensors.

use crate::args::TensorArgs;
use crate::dimensions::{Dimensions, dimensions, known};
use crate::failure::{Failure, assignment, invalid, suggested};
use crate::generate::{Generator, Shape};
use crate::given::{check_all_given, next, order_of, other_order, twice};
use crate::progress;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tamis::dist::{Placement, Placements};
use tamis::notation::Program;
use tamis::{
    Code, Coordinates, DataType, Diagnostic, Duplicates, FormatSpec, IndexWidth, Scalar, Storage,
    Strictness, Tensor, Values,
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
        invalid(&format!("--memory-limit {text}"), "this is no size", "write it as 500M or 8G")
    })?;
    tamis::budget::set_limit(size);
    Ok(())
}

/// The file format that a `--format` without a tensor says: that of what goes through `-`.
pub fn standard_format(texts: &[String]) -> Option<FileFormat> {
    texts.iter().rev().find_map(|text| FileFormat::parse(text))
}

/// The file format of a `--format` that is no format of a tensor.
pub fn file_format(text: Option<&str>) -> Result<Option<FileFormat>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let known = FileFormat::NAMED.map(|(name, _)| name);
    let help = || suggested(text, &known, "use one of");
    let format = FileFormat::parse(text);
    format
        .map(Some)
        .ok_or_else(|| invalid(&format!("--format {text}"), "this is no file format", &help()))
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
        let format = Placement::behind(format)?.format;
        let spec = tamis::format::parse(format, Some(order))?;
        if specs.insert(name.to_owned(), spec).is_some() {
            return Err(twice("-f", name));
        }
    }
    Ok(specs)
}

/// Where the operands of `-f` lie on ranks, by name, and the grids that are named there.
pub fn placements(
    program: &Program,
    texts: &[String],
) -> Result<(Placements, BTreeSet<String>), Failure> {
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
) -> Result<Vec<(String, Tensor)>, Failure> {
    let mut lists = files(program, args)?;
    let sizes = sizes(program, args, &lists)?;
    let mut operands = BTreeMap::new();
    for text in &args.generators {
        let Generated { name, dims, generator } = generated(program, text, &sizes)?;
        let _generating = progress::stage(format!("generating {name}"));
        let given = formats.get(&name);
        let datatype = given.and_then(|s| s.datatype).or(dtype).unwrap_or(DataType::F64);
        let (entries, shape) = (generator.entries(&dims), generator.shape());
        let about = About { dims: &dims, entries, datatype, shape, fill: None };
        let storage = about.storage(given, dtype)?;
        // What takes long to generate is refused before; of the rest the entries tell which format
        // takes least.
        if about.entries > MANY_ENTRIES {
            check_room(&name, &dims, &storage)?;
        }
        let stored = generator.stored(&name, &dims, &storage)?;
        let known = match stored {
            Some(tensor) => operands.insert(name.clone(), tensor).is_some(),
            None => {
                let list = generator.fill(&name, &dims, datatype)?;
                let list = List { datatype: list.vals().datatype(), shape, list, fill: None };
                lists.insert(name.clone(), list).is_some()
            }
        };
        if known || (operands.contains_key(&name) && lists.contains_key(&name)) {
            return Err(twice("-g", &name));
        }
    }
    check_all_given(program, &lists.keys().chain(operands.keys()).map(String::as_str).collect())?;
    for (name, list) in lists {
        let storage = list.about().storage(formats.get(&name), dtype)?;
        let _packing = progress::stage(format!("packing {name}"));
        let tensor = tamis::pack(&list.list, &storage, Duplicates::Sum)
            .map_err(|d| of_operand(d, &name, &list.list, &storage))?;
        operands.insert(name, tensor);
    }
    Ok(operands.into_iter().collect())
}

/// From so many entries on an operand takes seconds to generate.
const MANY_ENTRIES: u64 = 1 << 22;

/// Refuses an operand of which no entries, stored so, already take too much memory, before any are generated.
fn check_room(name: &str, dims: &[u64], storage: &Storage) -> Result<(), Diagnostic> {
    let none = Coordinates::new(dims.to_vec(), vec![vec![]; dims.len()], Values::F64(vec![]))?;
    let least = tamis::footprint(&none, storage).unwrap_or(0);
    let help = format!("store {name} in a format that takes less, or work on a smaller part");
    tamis::budget::check(name, least as f64, &help)
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
    /// How many entries they have, by name.
    pub entries: BTreeMap<String, u64>,
    /// How many entries the longest row has of those of files, by name.
    pub longest: BTreeMap<String, u64>,
}

/// What is known of operands. Nothing is generated or packed.
pub fn storages(
    program: &Program,
    args: &TensorArgs,
    formats: &BTreeMap<String, FormatSpec>,
    dtype: Option<DataType>,
) -> Result<Known, Failure> {
    let lists = files(program, args)?;
    let sizes = sizes(program, args, &lists)?;
    let dimensions = dimensions(program, &args.dimensions)?;
    let mut known = Known {
        formats: formats.clone(),
        earlier: BTreeMap::new(),
        dimensions,
        entries: BTreeMap::new(),
        longest: BTreeMap::new(),
    };
    for (name, list) in &lists {
        known.entries.insert(name.clone(), list.about().entries);
        let storage = list.about().storage(formats.get(name), dtype)?;
        let longest = list.list.longest_row(&storage.format);
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
        known.entries.insert(name.clone(), entries);
        let datatype = DataType::F64;
        let about = About { dims: &dims, entries, datatype, shape: generator.shape(), fill: None };
        let stored =
            if is_result(program, &name) { &mut known.earlier } else { &mut known.formats };
        stored.insert(name.clone(), spec(about.storage(formats.get(&name), dtype)?));
        known.dimensions.tensors.insert(name, dims);
    }
    Ok(known)
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

/// An operand before it is stored.
struct List {
    list: Coordinates,
    /// The type that it has where nothing else is said.
    datatype: DataType,
    shape: Shape,
    /// The fill value that its file says.
    fill: Option<Scalar>,
}

impl List {
    /// Of text without types: floats or complex numbers, though the list may hold integers, to
    /// have them exact.
    fn of_text(list: Coordinates) -> List {
        let is_complex = list.vals().datatype().is_complex();
        let datatype = if is_complex { DataType::C128 } else { DataType::F64 };
        List { list, datatype, shape: Shape::Sparse, fill: None }
    }

    fn about(&self) -> About<'_> {
        About {
            dims: self.list.dims(),
            entries: self.list.vals().len() as u64,
            datatype: self.datatype,
            shape: self.shape,
            fill: self.fill,
        }
    }
}

/// The operands of `-i` by name.
fn files(program: &Program, args: &TensorArgs) -> Result<BTreeMap<String, List>, Failure> {
    let mut lists = BTreeMap::new();
    let given = dimensions(program, &args.dimensions)?;
    let mut standard: Option<&str> = None;
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
        let list = read(program, name, file, order, &options)?;
        if lists.insert(name.to_owned(), list).is_some() {
            return Err(twice("-i", name));
        }
    }
    Ok(lists)
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
        return Err(other_order(program, name, order, given, dims.len()));
    }
    Ok(Generated { name: name.to_owned(), dims, generator })
}

/// What decides how an operand is stored, beside its format.
struct About<'t> {
    dims: &'t [u64],
    entries: u64,
    datatype: DataType,
    shape: Shape,
    fill: Option<Scalar>,
}

impl About<'_> {
    /// The storage of a format, or of the usual one.
    fn storage(
        &self,
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
        let spec = FormatSpec { fill: spec.fill.or(self.fill), ..spec };
        let mut storage = spec.resolve(dtype.unwrap_or(self.datatype))?;
        let largest = self.dims.iter().copied().max().unwrap_or(0).max(self.entries);
        let width = IndexWidth::for_max(largest);
        storage.pos = spec.pos.unwrap_or(width);
        storage.crd = spec.crd.unwrap_or(width);
        Ok(storage)
    }
}

/// A file, or a number for a scalar.
fn read(
    program: &Program,
    name: &str,
    file: &str,
    order: usize,
    options: &ReadOptions,
) -> Result<List, Failure> {
    if order == 0
        && let Some(value) = Scalar::parse(file)
    {
        let vals = match value {
            Scalar::C128(z) => Values::C128(vec![z]),
            Scalar::I64(x) => Values::I64(vec![x]),
            Scalar::U64(x) => Values::U64(vec![x]),
            real => Values::F64(vec![real.as_f64()]),
        };
        return Ok(List::of_text(Coordinates::new(vec![], vec![], vals)?));
    }
    let File { coordinates: list, header } = progress::read(Path::new(file), options)?;
    let (mut dims, mut crds, vals) = list.into_parts();
    // Matrix files hold vectors as n x 1 and scalars as 1 x 1.
    while dims.len() > order && dims.last() == Some(&1) {
        dims.pop();
        crds.pop();
    }
    if dims.len() > order && dims.first() == Some(&1) {
        dims.remove(0);
        crds.remove(0);
    }
    if dims.len() != order {
        let given = format!("{file} holds a tensor of order {}", dims.len());
        return Err(other_order(program, name, order, given, dims.len()));
    }
    let list = Coordinates::new(dims, crds, vals)?;
    let list = match header.format {
        FileFormat::Frostt => List::of_text(list),
        _ => List { datatype: list.vals().datatype(), list, shape: Shape::Sparse, fill: None },
    };
    Ok(List { fill: header.fill, ..list })
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
    for statement in &program.statements {
        let mut accesses = statement.value.accesses();
        accesses.push(&statement.result);
        for access in accesses.into_iter().filter(|a| program.tensors[a.tensor].name == name) {
            let sizes = access.indices.iter().map(|&v| sizes.vars.get(&program.vars[v].name));
            let dims: Option<Vec<u64>> = sizes.map(Option::<&u64>::copied).collect();
            if let (Some(dims), false) = (dims, access.is_sliced()) {
                return Ok(dims);
            }
        }
    }
    let message = format!("nothing fixes the dimensions of {name}");
    Err(Diagnostic::new(Code::DimensionUnknown, message)
        .help(format!("give them: -g {name}=DIMS:DENSITY, or -d VAR=SIZE"))
        .into())
}
