//! What a call is going to take, about, before it runs: steps, values, memory.
//!
//! ```text
//! y(i) = A(i,j) * x(j)     A: csr, 1000 x 1000 with 5000 entries
//!
//! compute_y: 6000 steps, i 1000, j of A 5000; y has 1000 values, 8000 bytes, no workspace
//! ```

use crate::Kernel;
use crate::binding::Values;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tamis_core::cin::Role;
use tamis_core::cin::terms::Sizes;
use tamis_core::lower::{Binding, Lowered};
use tamis_core::steps;
use tamis_ir::algebra::eval;
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId, Var};
use tamis_ir::ir::{Expr, Param, Stmt};
use tamis_runtime::Tensor;

/// What a call is going to take, about: each operand is taken to have as many entries in each row as on average,
/// and operands not to depend on each other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Estimate {
    /// The bytes of all operands.
    pub operand_bytes: u64,
    /// The kernels, in the order in which they run.
    pub kernels: Vec<KernelEstimate>,
}

/// What a kernel is going to take, about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelEstimate {
    /// The name of its function.
    pub name: String,
    /// The tensor that it computes.
    pub result: String,
    /// Whether that is no result of the program.
    pub is_temporary: bool,
    /// Whether threads share its outermost loop.
    pub is_cut: bool,
    /// Iterations of loops and steps of searches.
    pub steps: f64,
    /// How many values the tensor stores.
    pub values: f64,
    /// The bytes of the tensor.
    pub bytes: f64,
    /// The bytes of workspaces whose size follows from dimensions, of each thread.
    pub workspace_bytes: f64,
    /// Its loops, the outermost first.
    pub loops: Vec<LoopEstimate>,
}

/// How often a loop iterates, about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoopEstimate {
    /// Its variable.
    pub var: String,
    /// How many loops are around it.
    pub depth: usize,
    /// The tensors whose coordinates it visits; none where it visits every coordinate.
    pub drivers: Vec<String>,
    /// How often it iterates, in all iterations of the loops around it.
    pub iterations: f64,
    /// The variable as the compiler has it, and that of the loop around it.
    pub(crate) ids: (IndexVar, Option<IndexVar>),
}

impl Estimate {
    /// Iterations of loops and steps of searches of all kernels.
    pub fn steps(&self) -> f64 {
        self.kernels.iter().map(|kernel| kernel.steps).sum()
    }

    /// The bytes of all results, without temporaries.
    pub fn result_bytes(&self) -> f64 {
        let results = self.kernels.iter().filter(|kernel| !kernel.is_temporary);
        results.map(|kernel| kernel.bytes).sum()
    }

    /// The bytes of temporaries, and of the largest workspaces on so many threads.
    pub fn workspace_bytes(&self, threads: usize) -> f64 {
        let temporaries = self.kernels.iter().filter(|kernel| kernel.is_temporary);
        let of_threads = |kernel: &KernelEstimate| {
            let threads = if kernel.is_cut { threads.max(1) } else { 1 };
            kernel.workspace_bytes * threads as f64
        };
        temporaries.map(|kernel| kernel.bytes).sum::<f64>()
            + self.kernels.iter().map(of_threads).fold(0.0, f64::max)
    }

    /// The bytes of operands, results and workspaces on so many threads.
    pub fn bytes(&self, threads: usize) -> f64 {
        self.operand_bytes as f64 + self.result_bytes() + self.workspace_bytes(threads)
    }
}

impl Kernel {
    /// What a call on operands is going to take, about. Nothing is computed.
    ///
    /// ```
    /// use tamis::{Kernel, Options, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let a = Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let x = Tensor::dense(&[3], vec![1.0, 10.0, 100.0])?;
    /// let operands = [("A", &a), ("x", &x)];
    /// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &Options::default())?;
    /// let estimate = kernel.estimate(&operands)?;
    /// assert_eq!((estimate.steps(), estimate.result_bytes()), (5.0, 16.0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn estimate(&self, operands: &[(&str, &Tensor)]) -> Result<Estimate, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        let dims = &binding.dims;
        let program = &self.compiled().program;
        let of = |value: &Cow<'_, Tensor>| value.vals().len() as u64;
        let stored = |id: TensorId| values.get(id.index()).and_then(Option::as_ref).map(of);
        let sizes = Sizes { dimension: &|var| dims[var], stored: &stored };
        let estimates = steps::estimates(program, &sizes);
        let name = |t: TensorId| program.tensors[t].name.clone();
        let all = program.kernels.iter().zip(&self.compiled().functions).zip(estimates);
        let kernels = all.map(|((kernel, lowered), estimate)| KernelEstimate {
            name: lowered.function.name.clone(),
            result: name(kernel.result),
            is_temporary: !matches!(program.tensors[kernel.result].role, Role::Result(_)),
            is_cut: lowered.partition.is_ok(),
            steps: estimate.steps,
            values: estimate.values,
            bytes: estimate.bytes,
            workspace_bytes: workspace_bytes(lowered, dims),
            loops: (estimate.loops.into_iter())
                .map(|l| LoopEstimate {
                    var: program.vars[l.var].clone(),
                    depth: l.depth,
                    drivers: l.drivers.into_iter().map(name).collect(),
                    iterations: l.iterations,
                    ids: (l.var, l.within),
                })
                .collect(),
        });
        let operand_bytes = values.iter().flatten().map(|value| value.bytes() as u64).sum();
        Ok(Estimate { operand_bytes, kernels: kernels.collect() })
    }
}

/// The bytes that a function reserves for arrays of its own, as far as their lengths follow from dimensions.
fn workspace_bytes(lowered: &Lowered, dims: &IdVec<IndexVar, u64>) -> f64 {
    let function = &lowered.function;
    let mut known: BTreeMap<Var, Scalar> = BTreeMap::new();
    for (param, binding) in function.params.iter().zip(&lowered.bindings) {
        if let (Param::Scalar(var), Binding::Dimension(of)) = (param, binding) {
            known.insert(*var, Scalar::I64(dims[*of] as i64));
        }
    }
    let mut lengths = vec![0.0f64; function.arrays.len()];
    for s in &function.body {
        match s {
            Stmt::Assign { var, value } => {
                let value = value_of(value, &known);
                value.map(|value| known.insert(*var, value));
            }
            Stmt::Reserve { array, len } if function.arrays[*array].role.is_own() => {
                let len = value_of(len, &known).map_or(0.0, |len| len.as_f64());
                lengths[array.index()] = lengths[array.index()].max(len);
            }
            _ => {}
        }
    }
    let arrays = function.arrays.iter().zip(lengths);
    arrays.map(|(array, len)| len * array.elem.size() as f64).sum()
}

/// The value of an expression on numbers that are known.
fn value_of(e: &Expr, known: &BTreeMap<Var, Scalar>) -> Option<Scalar> {
    match e {
        Expr::Const(c) => Some(*c),
        Expr::Var(v) => known.get(v).copied(),
        Expr::Binary(op, a, b) => Some(eval::binary(*op, value_of(a, known)?, value_of(b, known)?)),
        Expr::Convert(to, a) => Some(value_of(a, known)?.convert(*to)),
        _ => None,
    }
}
