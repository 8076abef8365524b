//! Operands of a call as tensors of a kernel, and the dimensions that follow.
//!
//! ```text
//! A -> 0, x -> 1        A: 2 x 3, x: 3        i = 2, j = 3
//! ```
//!
//! Names and dimensions are looked up once: later calls compare them with those of the last one. How
//! operands are stored is looked at in each call.

use crate::dims;
use crate::kernel::Kernel;
use crate::operand::{Operand, missing, operand};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tamis_core::cin::Role;
use tamis_core::format::Storage;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_runtime::check_dims;
use tamis_runtime::extent::check_extents;

/// The tensors of a program that have a value, by id: those of usual programs take no allocation.
pub(crate) type Values<'v, T> = SmallVec<[Option<Cow<'v, T>>; 8]>;

/// What the user says of sizes, beside those of operands.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// The dimensions of variables.
    pub(crate) dims: BTreeMap<IndexVar, u64>,
    /// Those of tensors.
    pub(crate) shapes: BTreeMap<TensorId, Vec<u64>>,
}

/// What was found out of the operands of a call.
pub(crate) struct Binding {
    /// The operands in the order of the call: names and dimensions.
    operands: Vec<(String, Vec<u64>)>,
    /// The compiled tensors that they are.
    inputs: Vec<(TensorId, usize)>,
    /// The dimension of each index variable.
    pub(crate) dims: IdVec<IndexVar, u64>,
}

impl Binding {
    /// Whether operands have the names and the dimensions of these.
    fn fits<T: Operand>(&self, operands: &[(&str, &T)]) -> bool {
        let is_same = |((name, dims), (other, value)): (&(String, Vec<u64>), &(&str, &T))| {
            name == other && dims == value.dims()
        };
        self.operands.len() == operands.len() && self.operands.iter().zip(operands).all(is_same)
    }
}

/// An operand is not stored as a kernel has it. Types are told where they are not the same.
fn stored_otherwise(name: &str, own: &Storage, compiled: &Storage) -> Diagnostic {
    let told = |storage: &Storage| {
        let mut spec = storage.to_spec();
        if own.datatype != compiled.datatype {
            spec.datatype = Some(storage.datatype);
        }
        spec.to_string()
    };
    let (own, compiled) = (told(own), told(compiled));
    let message = format!("{name} is stored as {own}, the kernel was compiled for {compiled}");
    let help = format!(
        "compile for it, by Program::operand(\"{name}\", &{}), or convert it",
        name.to_lowercase()
    );
    Diagnostic::new(Code::FormatProperty, message).help(help)
}

impl Kernel {
    /// The tensors of the compiled program that have a value before the first kernel runs, by id, on the host
    /// or on the device, are put into `values`; the dimensions of its index variables follow.
    pub(crate) fn bound<'v, T: Operand>(
        &self,
        operands: &[(&str, &'v T)],
        values: &mut Values<'v, T>,
    ) -> Result<Arc<Binding>, Diagnostic> {
        self.bound_for(operands, values, self.sizes())
    }

    /// The same, where the user gave these sizes beside those of operands.
    pub(crate) fn bound_for<'v, T: Operand>(
        &self,
        operands: &[(&str, &'v T)],
        values: &mut Values<'v, T>,
        sizes: &Sizes,
    ) -> Result<Arc<Binding>, Diagnostic> {
        // What is kept is for the sizes of the kernel.
        let is_usual = std::ptr::eq(sizes, self.sizes());
        let last = self.binding.try_lock().ok().filter(|_| is_usual);
        let last = last.and_then(|last| last.clone());
        let known = last.filter(|binding| binding.fits(operands));
        let inputs = match &known {
            Some(_) => vec![],
            None => self.inputs_of(operands)?,
        };
        let inputs = known.as_ref().map_or(&inputs, |binding| &binding.inputs);
        let program = &self.compiled().program;
        values.resize_with(program.tensors.len(), || None);
        for &(id, place) in inputs {
            let (name, value) = operands[place];
            let storage = &program.tensors[id].storage;
            if !storage.takes(value.storage()) {
                return Err(stored_otherwise(name, value.storage(), storage));
            }
            values[id.index()] = Some(Cow::Borrowed(value));
        }
        match known {
            Some(binding) => Ok(binding),
            None => self.binding_of(operands, inputs.clone(), sizes),
        }
    }

    /// The compiled tensors that operands are: each operand has a tensor, and each tensor one operand.
    fn inputs_of<T>(&self, operands: &[(&str, &T)]) -> Result<Vec<(TensorId, usize)>, Diagnostic> {
        let mut inputs = vec![];
        for (id, tensor) in self.compiled().program.tensors.enumerate() {
            let Role::Input(source) = tensor.role else { continue };
            let name = &self.program().tensors[source].name;
            let place = operands.iter().position(|(n, _)| n == name);
            let place = place.ok_or_else(|| missing(self.program(), source))?;
            inputs.push((id, place));
        }
        check_once(operands.iter().map(|(name, _)| *name))?;
        for (k, (name, _)) in operands.iter().enumerate() {
            operand(self.program(), name)?;
            if !inputs.iter().any(|&(_, place)| place == k) {
                let message =
                    format!("{name} is computed, and was compiled without a value before");
                return Err(Diagnostic::new(Code::UnusedInput, message)
                    .help("leave it out, or compile the kernel with a value for it"));
            }
        }
        Ok(inputs)
    }

    /// The dimensions of all variables for operands, kept for the next call.
    fn binding_of<T: Operand>(
        &self,
        operands: &[(&str, &T)],
        inputs: Vec<(TensorId, usize)>,
        given: &Sizes,
    ) -> Result<Arc<Binding>, Diagnostic> {
        let compiled = &self.compiled().program;
        let mut sizes = given.shapes.clone();
        for &(id, place) in &inputs {
            if let Role::Input(source) = compiled.tensors[id].role {
                sizes.insert(source, operands[place].1.dims().to_vec());
            }
        }
        let known = dims::known(self.program(), sizes, &given.dims)?;
        let all = dims::all(self.program(), &known)?;
        let all = dims::compiled(compiled, &known, all).ok_or_else(|| {
            Diagnostic::new(Code::Internal, "a tensor without dimensions".to_owned())
                .help("please report it with the expression and the formats")
        })?;
        check_dims(&all.iter().copied().collect::<Vec<u64>>())?;
        tamis_core::schedule::check_dimensions(compiled, &|var| all[var])?;
        for kernel in &compiled.kernels {
            check_extents(&compiled.tensors[kernel.result], &all)?;
        }
        let named = |(name, value): &(&str, &T)| ((*name).to_owned(), value.dims().to_vec());
        let operands = operands.iter().map(named).collect();
        let binding = Arc::new(Binding { operands, inputs, dims: all });
        if std::ptr::eq(given, self.sizes())
            && let Ok(mut last) = self.binding.try_lock()
        {
            *last = Some(Arc::clone(&binding));
        }
        Ok(binding)
    }
}

/// Refuses a name that is given twice.
pub(crate) fn check_once<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
) -> Result<(), Diagnostic> {
    for (k, name) in names.clone().enumerate() {
        if names.clone().take(k).any(|other| other == name) {
            return Err(Diagnostic::new(Code::UnusedInput, format!("{name} is given twice"))
                .help("name each tensor once"));
        }
    }
    Ok(())
}
