//! The functions that programs compile to, before and after each pass, and runs of them.

use crate::case::Case;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tamis::unstable::pipeline;
use tamis::{Backend, Diagnostic, Kernel, Scalar, Tensor};
use tamis_core::cin::Program;
use tamis_core::lower::Lowered;
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_ir::interpret::Counts;
use tamis_ir::ir::Function;
use tamis_ir::transform::Target;
use tamis_runtime::interpreted::{Counting, Interpreted};
use tamis_runtime::kernel::{Call, Executable};

/// A case on its way through the compiler.
pub struct Functions {
    program: Program,
    compiled: Vec<Lowered>,
    /// The tensors that are known so far, by id.
    values: Vec<Option<Cow<'static, Tensor>>>,
    dims: IdVec<IndexVar, u64>,
}

/// What a run of a function gave and did, if it did not fail.
pub struct Run {
    /// The result.
    pub tensor: Tensor,
    /// The work.
    pub counts: Counts,
}

impl Functions {
    /// The program of a case with its operands.
    pub fn of(case: &Case) -> Result<Functions, Diagnostic> {
        let tensors: BTreeMap<&str, Tensor> = case
            .operands
            .iter()
            .map(|o| Ok((o.name.as_str(), o.tensor()?)))
            .collect::<Result<_, Diagnostic>>()?;
        let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (*n, t)).collect();
        let options = case.options(Backend::Interpreter)?;
        let kernel = Kernel::compile(&case.text, &operands, &options)?;
        let program = kernel.compiled().program.clone();
        let compiled = kernel.compiled().functions.clone();
        let (values, dims) = kernel.bind(&operands)?;
        let own = |value: Option<Cow<'_, Tensor>>| value.map(|v| Cow::Owned(v.into_owned()));
        let values = values.into_iter().map(own).collect();
        Ok(Functions { program, compiled, values, dims })
    }

    /// The kernels.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// A tensor that is known so far.
    pub fn value(&self, tensor: TensorId) -> Option<&Tensor> {
        self.values.get(tensor.index())?.as_deref()
    }

    /// One function per kernel, as the interpreter runs it.
    pub fn compiled(&self) -> &[Lowered] {
        &self.compiled
    }

    /// The tensors that are known so far.
    pub fn values(&self) -> impl Iterator<Item = &Tensor> {
        self.values.iter().flatten().map(|value| &**value)
    }

    /// One function per kernel, as lowered.
    pub fn lowered(&self) -> Vec<Lowered> {
        let kernels = self.program.kernels.iter();
        kernels.map(|kernel| pipeline::lowered(&self.program, kernel)).collect()
    }

    /// Every function, as lowered and as a target has it.
    pub fn all(&self, target: Target) -> Vec<Function> {
        let functions = self.lowered().into_iter().chain(self.transformed(target));
        functions.map(|lowered| lowered.function).collect()
    }

    /// One function per kernel, as a target has it.
    pub fn transformed(&self, target: Target) -> Vec<Lowered> {
        pipeline::functions(&self.program, target)
    }

    /// Interprets the function of a kernel, on the results of those before it.
    pub fn run(&self, kernel: usize, lowered: &Lowered) -> Result<Run, Diagnostic> {
        let interpreted = Interpreted::new(lowered.function.clone());
        let tensor = self.call(kernel, lowered, &interpreted)?;
        let counts = interpreted.last().and_then(Result::ok).unwrap_or_default();
        Ok(Run { tensor, counts })
    }

    /// Interprets the function of a kernel for at most so many iterations; more are an error.
    pub fn run_within(
        &self,
        kernel: usize,
        lowered: &Lowered,
        iterations: u64,
    ) -> Result<Tensor, Diagnostic> {
        self.call(kernel, lowered, &Arc::new(Counting::new(lowered.function.clone(), iterations)))
    }

    /// Calls what was made of the function of a kernel.
    pub fn call(
        &self,
        kernel: usize,
        lowered: &Lowered,
        executable: &dyn Executable,
    ) -> Result<Tensor, Diagnostic> {
        let id = self.program.kernels[kernel].result;
        let call = Call {
            target: &self.program.tensors[id],
            id,
            lowered,
            executable,
            values: &self.values,
            dims: &self.dims,
            pack: tamis::pack,
            threads: usize::MAX,
            grain: u64::MAX,
            follows: self.values[id.index()].is_some(),
            packs: false,
        };
        call.run()
    }

    /// Takes a tensor out that no kernel reads any more.
    pub fn forget(&mut self, tensor: TensorId) -> Option<Tensor> {
        self.values[tensor.index()].take().map(Cow::into_owned)
    }

    /// Takes the result of a kernel over for those behind it.
    pub fn keep(&mut self, kernel: usize, result: Tensor) {
        self.values[self.program.kernels[kernel].result.index()] = Some(Cow::Owned(result));
    }
}

/// Every element of a tensor's arrays to the bit.
pub fn bits(tensor: &Tensor) -> Vec<Vec<Scalar>> {
    let levels = tensor.levels().iter().flat_map(|l| [&l.pos, &l.crd, &l.mask]).flatten();
    let all = |b: &tamis::Buffer| (0..b.len()).map(|k| b.get(k)).collect();
    levels.chain([tensor.vals()]).map(all).collect()
}
