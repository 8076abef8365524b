//! What kernels are compiled and called for: tensors on the host or on the device, by name.

use crate::kernel::{Options, Parts};
use crate::scattered;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use tamis_core::cin;
use tamis_core::format::Storage;
use tamis_core::legalise::{Commands, Request, Statistics};
use tamis_core::notation::{self, Program};
use tamis_ir::datatype::IndexWidth;
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};
use tamis_ir::ids::{IdVec, IndexVar, TensorId};
use tamis_runtime::{Tensor, longest_row};

/// A tensor, wherever it is.
pub(crate) trait Operand: Clone {
    /// The dimension of each mode.
    fn dims(&self) -> &[u64];
    /// How it is stored.
    fn storage(&self) -> &Storage;
    /// How many values are stored.
    fn stored(&self) -> usize;
    /// How many entries the longest row has, if that can be found out.
    fn longest_row(&self) -> Option<u64>;
}

impl Operand for Tensor {
    fn dims(&self) -> &[u64] {
        self.dims()
    }
    fn storage(&self) -> &Storage {
        self.storage()
    }
    fn stored(&self) -> usize {
        self.vals().len()
    }
    fn longest_row(&self) -> Option<u64> {
        Some(longest_row(self))
    }
}

/// What is known of an operand when a program is compiled.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) storage: Storage,
    pub(crate) dims: Option<Vec<u64>>,
    /// How many values it stores.
    pub(crate) entries: Option<u64>,
    /// How many entries its longest row has, where that matters.
    pub(crate) longest: Option<u64>,
}

impl Given {
    /// All that a tensor tells at once.
    pub(crate) fn of(tensor: &impl Operand) -> Given {
        let (dims, entries) = (tensor.dims().to_vec(), tensor.stored() as u64);
        let storage = tensor.storage().clone();
        Given { storage, dims: Some(dims), entries: Some(entries), longest: None }
    }

    /// Only how it is stored.
    pub(crate) fn stored(storage: Storage) -> Given {
        Given { storage, dims: None, entries: None, longest: None }
    }
}

/// The request that the core compiles, where variables and tensors have these dimensions as far as they are known. An
/// operand of which only slices are named has some that no variable has; so have copies of it.
pub(crate) fn request<'p>(
    program: &'p Program,
    operands: &BTreeMap<TensorId, Given>,
    (dims, shapes): (&BTreeMap<IndexVar, u64>, &BTreeMap<TensorId, Vec<u64>>),
    options: &Options,
) -> Result<Request<'p>, Diagnostic> {
    let mut results = BTreeMap::new();
    for (name, spec) in &options.results {
        let id = operand(program, name)?;
        if !program.statements.iter().any(|s| s.result.tensor == id) {
            let message = format!("{name} is given a format, and is not computed");
            return Err(Diagnostic::new(Code::UnusedInput, message)
                .help("convert the tensor that is given for it, or leave the format out"));
        }
        let order = program.tensors[id].order;
        if spec.format.order() != order {
            let message = format!(
                "the format {} has order {}, {name} has order {order}",
                spec.format,
                spec.format.order()
            );
            return Err(Diagnostic::new(Code::FormatOrder, message)
                .help("choose a format with a level per mode"));
        }
        results.insert(id, scattered::written(spec));
    }
    let largest = dims.values().chain(shapes.values().flatten()).copied().max().unwrap_or(0);
    Ok(Request {
        program,
        inputs: operands.iter().map(|(&id, t)| (id, t.storage.clone())).collect(),
        results,
        datatype: options.datatype,
        statistics: Statistics {
            dims: dims.iter().map(|(&v, &d)| (v, rounded(d))).collect(),
            shapes: rounded_shapes(shapes),
            entries: operands
                .iter()
                .filter_map(|(&id, t)| Some((id, rounded(t.entries?))))
                .collect(),
            longest: operands.iter().filter_map(|(&id, t)| Some((id, t.longest?))).collect(),
        },
        width: IndexWidth::for_max(largest),
        strictness: options.strict,
        parallel: !matches!(options.parts, Parts::Whole | Parts::Own),
        threaded: options.parts == Parts::Own,
        commands: Commands {
            given: options.schedule.shapes_loops(),
            apart: options.schedule.begins_apart(),
            whole: false,
        },
        restored: BTreeSet::new(),
    })
}

/// How many entries the longest row of an operand has, where schedules are chosen by that.
pub(crate) fn longest(tensor: &impl Operand, options: &Options) -> Option<u64> {
    let chosen = options.backend.target().gpu && options.schedule.is_empty();
    chosen.then(|| tensor.longest_row().map(rounded)).flatten()
}

/// The dimensions of tensors as choices of the compiler see them.
pub(crate) fn rounded_shapes(
    shapes: &BTreeMap<TensorId, Vec<u64>>,
) -> BTreeMap<TensorId, Vec<u64>> {
    shapes.iter().map(|(&id, dims)| (id, dims.iter().map(|&d| rounded(d)).collect())).collect()
}

/// A dimension as choices of the compiler see it: kernels are shared by tensors of like size.
pub(crate) fn rounded(dimension: u64) -> u64 {
    dimension.checked_next_power_of_two().unwrap_or(u64::MAX)
}

/// Refuses a pattern that is not stored as its result is.
pub(crate) fn check_pattern(
    name: &str,
    pattern: &impl Operand,
    target: &cin::Tensor,
    dims: &IdVec<IndexVar, u64>,
) -> Result<(), Diagnostic> {
    if pattern.storage() != &target.storage {
        return Err(other_pattern(name, pattern.storage(), &target.storage));
    }
    let shape: Vec<u64> = target.modes.iter().map(|&var| dims[var]).collect();
    if pattern.dims() != shape {
        let own = pattern.dims();
        let message = format!("the pattern of {name} has dimensions {own:?}, {name} has {shape:?}");
        return Err(Diagnostic::new(Code::DimensionMismatch, message)
            .help("assemble the pattern for operands of these dimensions"));
    }
    Ok(())
}

pub(crate) fn other_pattern(name: &str, own: &dyn Display, wanted: &dyn Display) -> Diagnostic {
    let message = format!("the pattern of {name} is stored as {own}, {name} as {wanted}");
    Diagnostic::new(Code::FormatProperty, message)
        .help("compile the kernel for the format of the pattern, or convert the pattern")
}

/// Refuses a call without a value for a tensor, where the program reads it first.
pub(crate) fn missing(program: &Program, tensor: TensorId) -> Diagnostic {
    let name = &program.tensors[tensor].name;
    let told = Diagnostic::new(Code::MissingInput, format!("{name} has no value"));
    let mut uses = program.statements.iter().flat_map(|s| {
        let reads = s.value.accesses();
        reads.into_iter().chain([&s.result])
    });
    let told = match uses.find(|access| access.tensor == tensor) {
        Some(access) => told.at(&program.source, access.span.clone()),
        None => told,
    };
    match notation::constant(name) {
        Some(help) => told.help(help),
        None => told.help_by("give it one: {}", [Setting::Value(name.clone())]),
    }
}

/// The tensor of this name.
pub(crate) fn operand(program: &Program, name: &str) -> Result<TensorId, Diagnostic> {
    program.tensor(name).ok_or_else(|| {
        let names: Vec<&str> = program.tensors.iter().map(|t| t.name.as_str()).collect();
        Diagnostic::new(Code::UnknownTensor, format!("the expression has no tensor named {name}"))
            .help(format!("its tensors are {}", names.join(", ")))
    })
}

/// The index variable of this name.
pub(crate) fn variable(program: &Program, name: &str) -> Result<IndexVar, Diagnostic> {
    program.var(name).ok_or_else(|| {
        let names: Vec<&str> = program.vars.iter().map(|v| v.name.as_str()).collect();
        Diagnostic::new(
            Code::UnknownVariable,
            format!("the expression has no index variable named {name}"),
        )
        .help(format!("its index variables are {}", names.join(", ")))
    })
}
