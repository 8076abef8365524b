//! A compiled program as one self-contained function: the kernels run one after another, with temporaries in local
//! arrays.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      fn compute_y(A_dim1, A_dim2, A2_pos[], A2_crd[], A_vals[], x_dim1, x_vals[],
//!                                        y_sizes[], y_vals[])
//! ```
//!
//! The function derives the dimensions of index variables from those of operands, refuses operands that disagree,
//! allocates results whose size follows from dimensions, and returns the lengths of the results' arrays. Callers need
//! neither the runtime nor the compiler: [`c`] and [`rust`] write it as a library.

pub mod c;
mod dims;
mod lengths;
mod merge;
pub mod rust;

use crate::cin::{self, Role};
use crate::format::Storage;
use crate::level::Part;
use crate::notation;
use crate::pipeline::Compiled;
use dims::Dims;
use lengths::parts;
use merge::Merger;
use std::collections::{BTreeMap, BTreeSet};
use tamis_ir::backend;
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};
use tamis_ir::ids::{Id, IndexVar, Level, Mode, TensorId};
use tamis_ir::ir::{Function, Status, Stmt};

/// A program as one function.
#[derive(Clone, Debug)]
pub struct Standalone {
    /// The program in index notation.
    pub source: String,
    /// The code.
    pub function: Function,
    /// The meaning of each parameter of the function.
    pub parameters: Vec<Parameter>,
    /// The operands.
    pub operands: Vec<Signature>,
    /// The results.
    pub results: Vec<Signature>,
    /// The names of index variables whose dimension the caller passes.
    pub sizes: Vec<String>,
}

impl Standalone {
    /// The operands that the function does not use.
    fn unused(&self) -> impl Iterator<Item = &Signature> {
        let is_used = |k: usize| {
            let of_operand = |parameter: &Parameter| matches!(parameter, Parameter::Dimension(of, _) | Parameter::Operand(of, _) if *of == k);
            self.parameters.iter().any(of_operand)
        };
        let unused = self.operands.iter().enumerate().filter(move |(k, _)| !is_used(*k));
        unused.map(|(_, operand)| operand)
    }

    /// How a call may fail.
    pub fn failures(&self) -> BTreeSet<Status> {
        let mut found = BTreeSet::new();
        failures(&self.function.body, &mut found);
        found
    }
}

fn failures(block: &[Stmt], found: &mut BTreeSet<Status>) {
    for s in block {
        match s {
            Stmt::Fail(status) => found.extend([*status]),
            Stmt::Reserve { .. } | Stmt::Sort { .. } => found.extend([Status::OutOfMemory]),
            _ => {}
        }
        s.blocks().for_each(|block| failures(block, found));
    }
}

/// The meaning of a parameter of the function. Operands, results and sizes have the numbers of [`Standalone`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// A dimension of an operand.
    Dimension(usize, Mode),
    /// The dimension of an index variable.
    Size(usize),
    /// An array of an operand.
    Operand(usize, Piece),
    /// An array of a result.
    Result(usize, Piece),
    /// The array that receives the dimensions of a result, followed by the lengths of its arrays.
    Sizes(usize),
}

/// An array of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Piece {
    /// One of a level.
    Level(Level, Part),
    /// The values.
    Vals,
}

impl Piece {
    /// The name: `pos2`, `crd2`, `vals`.
    pub fn name(self) -> String {
        match self {
            Piece::Level(level, part) => format!("{}{}", part.name(), level.index() + 1),
            Piece::Vals => "vals".to_owned(),
        }
    }

    /// The type of its elements; complex values are two each.
    pub fn elem(self, storage: &Storage) -> DataType {
        match self {
            Piece::Level(_, Part::Pos) => storage.pos.datatype(),
            Piece::Level(_, Part::Crd) => storage.crd.datatype(),
            Piece::Level(_, Part::Width) => DataType::I64,
            Piece::Level(_, Part::Mask) => DataType::Bool,
            Piece::Vals => storage.datatype.part(),
        }
    }
}

/// An operand or result of the function.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The name in the notation; with `_before` behind it for an operand that is also a result.
    pub name: String,
    /// A unique name in C and in Rust.
    pub ident: String,
    /// How it is stored.
    pub storage: Storage,
    /// Its arrays, levels first.
    pub arrays: Vec<Piece>,
    /// The tensor.
    id: TensorId,
}

impl Signature {
    fn of(id: TensorId, tensor: &cin::Tensor, name: String) -> Signature {
        let arrays = pieces(&tensor.storage);
        Signature { name, ident: String::new(), storage: tensor.storage.clone(), arrays, id }
    }

    /// The number of modes.
    pub fn order(&self) -> usize {
        self.storage.format.order()
    }

    /// How many numbers make up a value.
    pub fn parts(&self) -> usize {
        parts(&self.storage) as usize
    }
}

/// The arrays of a storage.
fn pieces(storage: &Storage) -> Vec<Piece> {
    let format = &storage.format;
    let mut all = vec![];
    for (k, level) in format.levels().iter().enumerate() {
        // A chain that interleaves its coordinates has one array, that of its first level.
        let own = format.interleaved(k).is_none_or(|(head, _)| head == k);
        let has = |part: &Part| level.has(*part) && (own || *part != Part::Crd);
        all.extend(Part::ALL.into_iter().filter(has).map(|p| Piece::Level(Level::new(k), p)));
    }
    all.push(Piece::Vals);
    all
}

/// Dimensions that are fixed beside those of operands.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The dimensions of index variables.
    pub vars: BTreeMap<IndexVar, u64>,
    /// The dimensions of results of which slices are written.
    pub tensors: BTreeMap<TensorId, Vec<u64>>,
}

/// The kernels of a program as one function `compute_NAME`.
///
/// # Errors
///
/// If the dimensions of a result do not follow.
pub fn standalone(
    name: &str,
    program: &notation::Program,
    compiled: &Compiled,
    given: &Given,
) -> Result<Standalone, Diagnostic> {
    let tensors = &compiled.program.tensors;
    let mut results: Vec<Signature> = vec![];
    for kernel in &compiled.program.kernels {
        let Role::Result(source) = tensors[kernel.result].role else { continue };
        let name = program.tensors[source].name.clone();
        results.retain(|other| other.name != name);
        results.push(Signature::of(kernel.result, &tensors[kernel.result], name));
    }
    let mut operands = vec![];
    for (id, tensor) in tensors.enumerate() {
        let Role::Input(source) = tensor.role else { continue };
        let mut name = program.tensors[source].name.clone();
        if results.iter().any(|result| result.name == name) {
            name.push_str("_before");
        }
        operands.push(Signature::of(id, tensor, name));
    }
    let mut taken = BTreeSet::from([name.to_owned()]);
    for tensor in operands.iter_mut().chain(&mut results) {
        tensor.ident = identifier(&tensor.name, &mut taken);
    }
    let mut merger = Merger::new(format!("compute_{name}"), compiled, operands, results);
    let operands = merger.operand_dims();
    let (dims, checks) = Dims::of(program, given, operands, &mut |name| merger.size(name))?;
    merger.body.extend(checks);
    merger.body.extend(dims.promises(&compiled.program));
    merger.run(dims);
    // A lone CR must not be part of a comment.
    Ok(merger.finished(program.source.replace('\r', "")))
}

/// A name for a tensor that is unique in C and in Rust, and in the surrounding texts.
fn identifier(name: &str, taken: &mut BTreeSet<String>) -> String {
    const OWN: [&str; 6] = ["sizes_", "vals_", "free_", "compute_", "operand_", "result_"];
    let is_own = OWN.iter().any(|start| name.starts_with(start))
        || name.ends_with("_size")
        || ["status", "code", "std", "dims"].contains(&name);
    let mut name = if is_own { format!("t_{name}") } else { name.to_owned() };
    loop {
        // C owns no escaped name, with or without another `_`.
        let escaped = backend::rust::identifier(&backend::c::identifier(&name));
        if taken.insert(escaped.clone()) {
            return escaped;
        }
        name.push('_');
    }
}

/// The diagnostic for a result whose dimensions do not follow.
fn unknown(program: &notation::Program, result: &notation::Access) -> Diagnostic {
    let name = &program.tensors[result.tensor].name;
    let message = format!("nothing fixes the dimensions of {name}, of which a slice is written");
    Diagnostic::new(Code::DimensionUnknown, message)
        .at(&program.source, result.span.clone())
        .help_by("give its dimensions: {}", [Setting::Shape(name.clone(), result.indices.len())])
}
