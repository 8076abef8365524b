//! Loops that ranks share beside the one that is cut: each group of ranks runs the whole program on slices of tensors.
//!
//! ```text
//! C(i,k) = A(i,j) * B(j,k)      distribute(i, io, ii, x); distribute(k, ko, ki, y)
//!                               along y: a slice of k of B and of C, all of A;  along x: parts of i
//! ```
//!
//! What a coordinate of the variable has does not depend on others, so results have the bits of one process. (DISTAL,
//! section 3: a distributed loop over a grid of several dimensions.)

use super::grid::Grid;
use super::sliced::{block_of, multiple};
use super::tasks::sees;
use crate::Kernel;
use crate::binding::Sizes;
use std::collections::{BTreeMap, BTreeSet};
use tamis_core::cin::{self, Relation, Role};
use tamis_core::notation::{Access, Program};
use tamis_core::plan::distribution::{Asked, origin};
use tamis_core::plan::{Join, plan};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{IdVec, IndexVar, TensorId};

/// A variable of which each group along an axis has a slice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Slicing {
    pub(super) var: String,
    pub(super) axis: String,
    /// Slices begin at multiples of this.
    pub(super) block: u64,
    /// The mode of each operand and result that is over the variable; none where a group has all.
    pub(super) modes: BTreeMap<String, Option<usize>>,
}

/// The variables of which ranks have slices, by the schedule of a kernel.
///
/// # Errors
/// When a program would see that it runs on slices, or the axes of the grid are not those that the schedule names.
pub(super) fn slicings<'k>(kernel: &'k Kernel, grid: &Grid) -> Result<&'k [Slicing], Diagnostic> {
    let found = kernel.slicings(of_schedule)?;
    let named = named_axes(kernel);
    let axes: BTreeSet<&str> = (0..grid.dimensions()).map(|axis| grid.name(axis)).collect();
    // Any one name stands for the one axis.
    if named.is_empty() || named == axes || (axes.len(), named.len()) == (1, 1) {
        return Ok(found);
    }
    let message = match axes.difference(&named).next() {
        Some(axis) if named.len() < axes.len() => {
            format!("the schedule shares no loop along {axis}")
        }
        _ => "the schedule shares loops along other axes".to_owned(),
    };
    let message = format!("a grid {grid}: {message}");
    let help = "distribute a loop along each axis of the grid, and along no others";
    Err(Diagnostic::new(Code::InvalidOption, message).help(help))
}

fn of_schedule(kernel: &Kernel) -> Result<Vec<Slicing>, Diagnostic> {
    let program = &kernel.compiled().program;
    let mut found: Vec<Slicing> = vec![];
    for own in program.kernels.iter().filter(|own| !own.cut.ranks.is_empty()) {
        // Which loop is cut does not depend on whether this process cuts it.
        let mut own = own.clone();
        own.cut.chunked = true;
        for ranks in Asked::of(program, &own, &plan(program, &own)).sliced {
            let var = program.derived.alias(origin(program, ranks.inner));
            let slicing = slicing(kernel, var, &ranks.axis).map_err(|why| {
                let message =
                    format!("ranks cannot share the loop over {}: {why}", program.vars[var]);
                Diagnostic::new(Code::UnsupportedSchedule, message)
                    .help("leave out distribute for this loop: ranks then share what they can")
            })?;
            // A statement may have become several kernels, which share the loop alike.
            match found.iter().find(|other| other.axis == slicing.axis) {
                None => found.push(slicing),
                Some(other) if *other == slicing => {}
                Some(other) => {
                    let message = format!(
                        "ranks share loops over {} and {} along one axis",
                        other.var, slicing.var
                    );
                    return Err(Diagnostic::new(Code::UnsupportedSchedule, message)
                        .help("distribute one of them"));
                }
            }
        }
    }
    Ok(found)
}

/// The axes along which a schedule has ranks share loops.
pub(super) fn named_axes(kernel: &Kernel) -> BTreeSet<&str> {
    let ranks = kernel.compiled().program.kernels.iter().flat_map(|own| &own.cut.ranks);
    ranks.map(|ranks| ranks.axis.as_str()).collect()
}

/// What groups have of each tensor, or why a program is not run on slices of a variable.
fn slicing(kernel: &Kernel, var: IndexVar, axis: &str) -> Result<Slicing, String> {
    let program = &kernel.compiled().program;
    let name = program.vars[var].clone();
    let mut class = Class::of(program, var);
    class.add_unread(kernel.program(), program)?;
    if let Some(why) = class.names(program).into_iter().find_map(|name| sees(kernel, name)) {
        return Err(why);
    }
    let bounded = |(_, relation): (IndexVar, &Relation)| match relation {
        Relation::Same { of, bound: Some(_) } => class.has(program, *of).is_some(),
        _ => false,
    };
    if program.derived.relations().any(bounded) {
        return Err("a bound is for all of it".to_owned());
    }
    program.kernels.iter().try_for_each(|own| class.check(program, own))?;
    let (mut block, mut modes) = (1, BTreeMap::new());
    for (id, tensor) in program.tensors.enumerate().filter(|(id, _)| !program.is_local(*id)) {
        let mode = class.modes[id];
        if let Some(mode) = mode {
            let own = block_of(&tensor.storage, mode).ok_or_else(|| {
                format!("{} is stored as {}, which is not cut", tensor.name, tensor.storage.format)
            })?;
            block = multiple(block, own);
        }
        if let Role::Input(source) | Role::Result(source) = tensor.role {
            let name = kernel.program().tensors[source].name.clone();
            if modes.insert(name, mode).is_some_and(|other| other != mode) {
                let name = &tensor.name;
                return Err(format!("{name} has a value before, in which it is another mode"));
            }
        }
    }
    Ok(Slicing { var: name, axis: axis.to_owned(), block, modes })
}

impl Slicing {
    /// The dimension of the variable, given those of operands and what the user gave beside them.
    pub(super) fn dimension<'o>(
        &self,
        kernel: &Kernel,
        operands: impl Iterator<Item = (&'o str, &'o [u64])>,
        sizes: &Sizes,
    ) -> Result<u64, Diagnostic> {
        let own = |(name, dims): (&str, &[u64])| Some(dims[self.mode(name)?]);
        let given = || sizes.dims.iter().find(|(var, _)| self.is_over(kernel.program(), **var));
        let found = { operands }.find_map(own).or_else(|| given().map(|(_, size)| *size));
        found.ok_or_else(|| {
            let message = format!("no operand has a mode over {}", self.var);
            Diagnostic::new(Code::UnsupportedSchedule, message)
                .help("distribute a loop over a mode of an operand")
        })
    }

    /// What the user gave, for a slice of so many coordinates.
    pub(super) fn sizes_of_slice(&self, kernel: &Kernel, sizes: &Sizes, size: u64) -> Sizes {
        let (program, mut sizes) = (kernel.program(), sizes.clone());
        let own = sizes.dims.iter_mut().filter(|(var, _)| self.is_over(program, **var));
        own.for_each(|(_, dimension)| *dimension = size);
        for (id, shape) in &mut sizes.shapes {
            if let Some(mode) = self.mode(&program.tensors[*id].name) {
                shape[mode] = size;
            }
        }
        sizes
    }

    /// The mode of a tensor that is over the variable.
    pub(super) fn mode(&self, name: &str) -> Option<usize> {
        self.modes.get(name).copied().flatten()
    }

    /// Whether a variable is the one, or the index of a mode that is over it.
    fn is_over(&self, program: &Program, var: IndexVar) -> bool {
        let accesses = program.statements.iter().flat_map(|statement| {
            statement.value.accesses().into_iter().chain([&statement.result])
        });
        let over = |access: &Access| {
            let mode = self.mode(&program.tensors[access.tensor].name);
            mode.is_some_and(|mode| access.indices[mode] == var)
        };
        program.vars[var].name == self.var || { accesses }.any(over)
    }
}

/// Why a tensor is not sliced that is read with these indices.
fn check_read(name: &str, over: usize, is_sliced: bool) -> Result<(), String> {
    match over {
        0 => Ok(()),
        1 if is_sliced => Err(format!("{name} is read in slices there")),
        1 => Ok(()),
        _ => Err(format!("{name} has it in several modes")),
    }
}

/// Whether the parts of a kernel's outermost loop add up numbers whose sums depend on where parts begin: slices are less
/// work, of which one process makes other parts.
fn adds_parts(program: &cin::Program, kernel: &cin::Kernel) -> bool {
    let op = match plan(program, kernel).parts.map(|partition| partition.join) {
        Ok(Join::Combine(op) | Join::Overlap { op, .. } | Join::Pack { op: Some(op), .. }) => op,
        _ => return false,
    };
    let is_exact = matches!(op, ReduceOp::Min | ReduceOp::Max | ReduceOp::Or | ReduceOp::And);
    !is_exact && kernel.compute.integers().is_none()
}

/// Variables that are over the same mode of some tensor, one after another.
struct Class {
    vars: BTreeSet<IndexVar>,
    /// The mode of each tensor that is over one of them.
    modes: IdVec<TensorId, Option<usize>>,
}

impl Class {
    fn of(program: &cin::Program, var: IndexVar) -> Class {
        let modes = program.tensors.iter().map(|_| None).collect();
        let mut class = Class { vars: BTreeSet::from([var]), modes };
        let reads = program.kernels.iter().flat_map(|own| own.body.reads());
        let uses = reads.map(|read| (read.tensor, &read.indices[..]));
        let results = program.kernels.iter().map(|own| own.result);
        let uses: Vec<(TensorId, &[IndexVar])> =
            uses.chain(results.map(|id| (id, &program.tensors[id].modes[..]))).collect();
        while uses.iter().any(|&(id, indices)| class.grows(program, id, indices)) {}
        class
    }

    /// Adds modes of operands that the notation reads and no kernel does.
    fn add_unread(&mut self, source: &Program, program: &cin::Program) -> Result<(), String> {
        let names = self.names(program);
        let over = |v: &IndexVar| names.contains(source.vars[*v].name.as_str());
        let reads = source.statements.iter().flat_map(|statement| statement.value.accesses());
        let reads: Vec<(TensorId, &Access)> = reads
            .filter_map(|read| {
                let of = |role: &Role| matches!(role, Role::Input(of) if *of == read.tensor);
                let own = program.tensors.enumerate().find(|(_, tensor)| of(&tensor.role));
                own.map(|(id, _)| (id, read))
            })
            .collect();
        for (id, read) in &reads {
            self.modes[*id] = self.modes[*id].or(read.indices.iter().position(over));
        }
        for (id, read) in reads {
            let Some(mode) = self.modes[id] else { continue };
            let others = read.indices.iter().enumerate().filter(|(m, v)| over(v) || *m == mode);
            let name = &program.tensors[id].name;
            check_read(name, others.count(), read.is_sliced())?;
            if !over(&read.indices[mode]) {
                return Err(format!("{name} is read as a whole, too"));
            }
        }
        Ok(())
    }

    /// What these are called.
    fn names<'p>(&self, program: &'p cin::Program) -> BTreeSet<&'p str> {
        self.vars.iter().map(|v| program.vars[*v].as_str()).collect()
    }

    /// Requires that a kernel computes each coordinate by itself.
    fn check(&self, program: &cin::Program, kernel: &cin::Kernel) -> Result<(), String> {
        let of = |indices: &[IndexVar]| -> Vec<IndexVar> {
            indices.iter().filter_map(|&index| self.has(program, index)).collect()
        };
        let mut vars: BTreeSet<IndexVar> = BTreeSet::new();
        for read in kernel.body.reads().into_iter().filter(|read| !program.is_local(read.tensor)) {
            let over = of(&read.indices);
            check_read(&program.tensors[read.tensor].name, over.len(), read.is_sliced())?;
            vars.extend(over);
        }
        let result = &program.tensors[kernel.result];
        let told = of(&result.modes);
        if told.len() > 1 || vars.iter().any(|own| told != [*own]) {
            return Err(format!("{} sums over it, or has it in several modes", result.name));
        }
        match !told.is_empty() && adds_parts(program, kernel) {
            true => Err(format!(
                "parts of the loop that is cut are added up in {}, in an order that depends on the whole",
                result.name
            )),
            false => Ok(()),
        }
    }

    /// Adds what a use of a tensor adds, if it does.
    fn grows(&mut self, program: &cin::Program, id: TensorId, indices: &[IndexVar]) -> bool {
        let known = (self.vars.len(), self.modes[id]);
        let mode = indices.iter().position(|&index| self.has(program, index).is_some());
        self.modes[id] = self.modes[id].or(mode);
        if let Some(mode) = self.modes[id] {
            self.vars.insert(program.derived.alias(origin(program, indices[mode])));
        }
        known != (self.vars.len(), self.modes[id])
    }

    /// The variable of an index, if it is one of these.
    fn has(&self, program: &cin::Program, index: IndexVar) -> Option<IndexVar> {
        let var = program.derived.alias(origin(program, index));
        self.vars.contains(&var).then_some(var)
    }
}
