//! Programs as tasks that know nothing of each other, for engines of task graphs.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: csr       a task: some rows of A as a matrix of their own, all of x
//!                                        its result: these rows of y
//! ```
//!
//! A rank runs an interval of a loop on tensors that have the dimensions of the whole. A task runs all of the same
//! loop on tensors that are as small as its interval, compiled once for the sizes of the whole: what an iteration
//! computes is the same, unless the program sees where it is.

use super::sliced::{block_of, multiple};
use super::tensor::{of_rows, packed, rows_of, within};
use crate::Kernel;
use crate::binding::Values;
use crate::kernel::Options;
use crate::operand::{Given, Operand, operand};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tamis_core::cin::{self, Role};
use tamis_core::format::Storage;
use tamis_core::notation::{self, Expr};
use tamis_core::plan::distribution::{
    Distribution, Need, Part, Starts, cut_mode, distribution, is_rows,
};
use tamis_core::steps;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{IdVec, IndexVar, TensorId};
use tamis_runtime::{Coordinates, Tensor};

/// An operand that is not there yet.
#[derive(Clone, Debug)]
pub struct Described {
    /// The dimension of each mode.
    pub dims: Vec<u64>,
    /// How it will be stored.
    pub storage: Storage,
    /// How many values it stores, where that is known.
    pub stored: Option<usize>,
}

impl Operand for Described {
    fn dims(&self) -> &[u64] {
        &self.dims
    }
    fn storage(&self) -> &Storage {
        &self.storage
    }
    fn stored(&self) -> usize {
        self.stored.unwrap_or(0)
    }
    fn longest_row(&self) -> Option<u64> {
        None
    }
}

/// A program compiled for operands that tasks load.
#[derive(Debug)]
pub struct Tasks {
    /// Runs on pieces, and on whole operands.
    pub kernel: Kernel,
    /// The dimensions of the last result.
    pub dims: Vec<u64>,
    /// How it is stored.
    pub storage: Storage,
    /// What a task needs, or why one task computes all.
    pub pieces: Result<Pieces, String>,
}

/// What a task needs that computes a part of the last result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pieces {
    /// The variable whose coordinates are cut.
    pub var: String,
    /// How many coordinates it has.
    pub size: u64,
    /// Cuts are at multiples of this.
    pub block: u64,
    /// The mode of the result that is over the variable.
    pub mode: usize,
    /// Per operand the mode of which a task gets a part; none where it gets the whole.
    pub operands: BTreeMap<String, Option<usize>>,
    /// The reads of the program: the operand, and per mode what a part needs.
    pub reads: Vec<(String, Vec<&'static str>)>,
}

impl Tasks {
    /// Compiles a program for operands that are not there yet.
    ///
    /// # Errors
    /// Those of [`Kernel::compile`].
    ///
    /// ```
    /// use tamis::dist::{Described, Tasks};
    /// use tamis::{DataType, Options, format};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let described = |format, dims: &[u64]| {
    ///     let storage = format::parse(format, Some(dims.len()))?.resolve(DataType::F64)?;
    ///     Ok::<_, tamis::Diagnostic>(Described { dims: dims.to_vec(), storage, stored: None })
    /// };
    /// let (a, x) = (described("csr", &[1000, 50])?, described("dense", &[50])?);
    /// let program = tamis::notation::parse("y(i) = A(i,j) * x(j)")?;
    /// let tasks = Tasks::compile(program, &[("A", a), ("x", x)], &Options::default())?;
    /// let pieces = tasks.pieces.expect("rows are cut");
    /// assert_eq!((pieces.var.as_str(), pieces.size, pieces.mode), ("i", 1000, 0));
    /// assert_eq!(pieces.operands["A"], Some(0));
    /// assert_eq!(pieces.operands["x"], None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn compile(
        program: notation::Program,
        operands: &[(&str, Described)],
        options: &Options,
    ) -> Result<Tasks, Diagnostic> {
        let mut inputs = BTreeMap::new();
        for (name, described) in operands {
            let entries = described.stored.map(|n| n as u64);
            let given = Given { entries, ..Given::of(described) };
            inputs.insert(operand(&program, name)?, given);
        }
        let kernel = Kernel::of_inputs(program, &inputs, options)?;
        let mut values = Values::new();
        let named: Vec<(&str, &Described)> = operands.iter().map(|(n, d)| (*n, d)).collect();
        let binding = kernel.bound(&named, &mut values)?;
        let compiled = &kernel.compiled().program;
        let Some(last) = compiled.kernels.last() else {
            return Err(Diagnostic::new(Code::Syntax, "the program computes nothing")
                .help("write a statement"));
        };
        let target = &compiled.tensors[last.result];
        let dims = target.modes.iter().map(|&var| binding.dims[var]).collect();
        let storage = target.storage.clone();
        let pieces = pieces(&kernel, &binding.dims);
        Ok(Tasks { dims, storage, pieces, kernel })
    }

    /// What is going to be slow, as [`Kernel::warnings`] has it.
    ///
    /// # Errors
    /// When the operands are not those of the kernel.
    pub fn warnings(&self, operands: &[(&str, Described)]) -> Result<Vec<Diagnostic>, Diagnostic> {
        let operands: Vec<(&str, &Described)> = operands.iter().map(|(n, d)| (*n, d)).collect();
        self.kernel.warned(&operands, steps::FLOOR)
    }
}

/// An interval of a mode of a tensor, as a tensor of its own.
///
/// # Errors
/// When it does not fit in memory.
///
/// ```
/// let x = tamis::Tensor::dense(&[4, 2], (0..8).map(f64::from).collect())?;
/// let rows = tamis::dist::piece(&x, 0, 1..3)?;
/// assert_eq!((rows.dims(), rows.values::<f64>()?), (&[2, 2][..], &[2.0, 3.0, 4.0, 5.0][..]));
/// # Ok::<(), tamis::Diagnostic>(())
/// ```
pub fn piece(tensor: &Tensor, mode: usize, interval: Range<u64>) -> Result<Tensor, Diagnostic> {
    let storage = tensor.storage();
    let mut dims = tensor.dims().to_vec();
    dims[mode] = interval.end - interval.start;
    if is_rows(&storage.format) && cut_mode(&storage.format).0 == mode {
        let rows = rows_of(tensor, interval);
        return of_rows(&dims, storage, [(0, rows.as_bytes())].into_iter());
    }
    let list = within(&tensor.to_coordinates()?, mode, interval.clone())?;
    let (_, mut crds, vals) = list.into_parts();
    crds[mode].iter_mut().for_each(|at| *at -= interval.start);
    packed(&Coordinates::new(dims, crds, vals)?, storage)
}

/// What each task needs, or why there is one.
fn pieces(kernel: &Kernel, dims: &IdVec<IndexVar, u64>) -> Result<Pieces, String> {
    let program = &kernel.compiled().program;
    let [only] = &program.kernels[..] else {
        return Err(format!("the program has {} kernels", program.kernels.len()));
    };
    let plan = tamis_core::plan::plan(program, only);
    let (part, mode) = in_parts(distribution(program, only, &plan))?;
    if !part.scale.is_plain() {
        return Err("its outermost loop is over blocks of coordinates".to_owned());
    }
    let var = program.vars[part.var].clone();
    if kernel.gives_size(&var) {
        return Err(format!("the size of {var}, or a shape, is given beside the operands"));
    }
    if let Some(why) = sees(kernel, &var) {
        return Err(why);
    }
    let mut block = block_of(&program.tensors[only.result].storage, mode).ok_or_else(|| {
        let format = &program.tensors[only.result].storage.format;
        format!("results in the format {format} are not put together from pieces")
    })?;
    let mut operands = BTreeMap::new();
    for (id, tensor) in program.tensors.enumerate() {
        let Role::Input(source) = tensor.role else { continue };
        let cut = cut_of(program, &part, id)?;
        if let Some(mode) = cut {
            let own = block_of(&tensor.storage, mode).ok_or_else(|| {
                format!("{} is stored as {}, which is not cut", tensor.name, tensor.storage.format)
            })?;
            block = multiple(block, own);
        }
        operands.insert(kernel.program().tensors[source].name.clone(), cut);
    }
    let name = |id: TensorId| match program.tensors[id].role {
        Role::Input(source) => kernel.program().tensors[source].name.clone(),
        _ => program.tensors[id].name.clone(),
    };
    let words = |need: &Need| match need {
        Need::All => "all",
        Need::Part => "part",
        Need::Image(_) => "image",
    };
    let reads = part.reads.iter();
    let reads = reads.map(|r| (name(r.access.tensor), r.modes.iter().map(words).collect()));
    let (reads, size) = (reads.collect(), dims[part.var]);
    match operands.values().any(Option::is_some) {
        true => Ok(Pieces { var, size, block, mode, operands, reads }),
        false => Err(format!("no operand has a mode over {var}")),
    }
}

/// The part of the loop that a task runs, and the mode of the result that it has a part of.
fn in_parts(distribution: Distribution) -> Result<(Part, usize), String> {
    let why = match distribution {
        Distribution::Parts { part: Part { starts: Starts::OfPositions(_), .. }, .. } => {
            "its outermost loop is over positions"
        }
        Distribution::Parts { part, mode } => return Ok((part, mode)),
        Distribution::Combined { .. } => {
            "what parts of its outermost loop add up would have to be combined"
        }
        Distribution::Everywhere(why) => why,
    };
    Err(why.to_owned())
}

/// Why a program sees that its part of a variable is not the whole; none if it does not.
pub(super) fn sees(kernel: &Kernel, var: &str) -> Option<String> {
    let program = kernel.program();
    for statement in &program.statements {
        let over = |v: &&IndexVar| program.vars[**v].name == var;
        if statement.result.indices.iter().filter(over).count() > 1 {
            return Some(format!("its result has {var} in more than one mode"));
        }
        if statement.accumulate.is_some() || statement.result.is_sliced() {
            let why = "a statement changes what its result had before, or writes a slice";
            return Some(why.to_owned());
        }
        let mut seen = false;
        statement.value.walk(&mut |e| match e {
            Expr::Index(at) => seen |= program.vars[*at].name == var,
            Expr::Choose { .. } => seen = true,
            _ => {}
        });
        if seen {
            return Some(format!("it uses {var} as a value"));
        }
        let name = &program.tensors[statement.result.tensor].name;
        if kernel.is_scattered(name) {
            return Some(format!("{name} is converted after it is computed"));
        }
    }
    None
}

/// The mode by which an operand is cut; none if tasks need the whole of it.
fn cut_of(program: &cin::Program, part: &Part, id: TensorId) -> Result<Option<usize>, String> {
    let name = &program.tensors[id].name;
    let reads = part.reads.iter().filter(|read| read.access.tensor == id);
    let mut found: BTreeSet<Option<usize>> = BTreeSet::new();
    for read in reads {
        let over = |v: IndexVar| v == part.var;
        let indices = read.access.indices.iter().enumerate();
        let modes: Vec<usize> = indices.filter(|&(_, &v)| over(v)).map(|(m, _)| m).collect();
        match modes[..] {
            [] => found.insert(None),
            [mode] if read.modes[mode] == Need::Part => found.insert(Some(mode)),
            _ => {
                let var = &program.vars[part.var];
                return Err(format!("parts of {name} by {var} would not be whole tensors"));
            }
        };
    }
    match found.len() {
        0 => Ok(None),
        1 => Ok(found.pop_first().flatten()),
        _ => {
            let reason = format!("{name} is read in parts and as a whole");
            Err(format!("{reason}: give it a second name where it is read as a whole"))
        }
    }
}
