//! The kernels of a program of one kind: their functions, what runs them, and calling them.
//!
//! ```text
//! fused      compute_C(A, B) -> C
//! assemble   assemble_C(A, B) -> C, its values filled
//! compute    compute_C(A, B, the levels of C) -> the values of C
//! ```

use crate::backend::{Backend, NARROW};
use crate::binding::Values;
use crate::kernel::{Options, Parts};
use crate::on_device::Steps;
use crate::operand::Operand;
use crate::tiers::Tiers;
use crate::waste;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tamis_core::cin::terms::{MANY, Sizes, most_terms};
use tamis_core::cin::{self, KernelKind, Overflow, Role};
use tamis_core::kind;
use tamis_core::lower::Lowered;
use tamis_core::pipeline::{self, Compiled};
#[cfg(feature = "dist")]
use tamis_core::plan::{
    distribution::{Distribution, distribution},
    plan,
};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_ir::ir;
use tamis_runtime::Tensor;
use tamis_runtime::interpreted::{Counted, Counting};
use tamis_runtime::kernel::{Call, Executable};
use tamis_runtime::pattern::at_entries;

/// So many stored elements take some tens of microseconds or more.
const WORTHWHILE: u64 = 1 << 14;

/// How kernels are cut, and how many threads run the parts at most.
#[derive(Clone, Copy)]
struct Cut {
    parts: Parts,
    threads: usize,
}

impl Cut {
    fn of(options: &Options) -> Cut {
        Cut { parts: options.parts, threads: options.threads.unwrap_or(usize::MAX) }
    }

    /// So many stored elements are worth a part of their own.
    fn grain(self) -> u64 {
        match self.parts {
            Parts::Whole | Parts::Own => u64::MAX,
            Parts::Worthwhile => WORTHWHILE,
            Parts::OfElements(n) => n,
        }
    }
}

/// Whoever is told that a kernel ended.
pub(crate) type Observer<'o> = &'o mut dyn FnMut(usize, &[Option<Cow<'_, Tensor>>]);

/// The kernels of one kind.
pub(crate) struct CompiledKind {
    compiled: Compiled,
    pub(crate) kind: KernelKind,
    executables: Vec<Box<dyn Executable>>,
    /// The temporaries that each kernel is the last to read.
    last_reads: Vec<Vec<TensorId>>,
    /// What runs them instead, of a device.
    device: Option<Steps>,
    /// The second tier; of `auto` only.
    tiers: Option<Arc<Tiers>>,
    backend: Backend,
    /// How kernels are cut.
    cut: Cut,
    /// The kernels for sums of very many terms, once they are needed.
    long: OnceLock<Result<Box<CompiledKind>, Diagnostic>>,
    /// How each runs on several ranks, once that is needed.
    #[cfg(feature = "dist")]
    distributions: OnceLock<Vec<Distribution>>,
    /// The kernels as text, once that is needed.
    #[cfg(feature = "dist")]
    text: OnceLock<String>,
}

impl CompiledKind {
    /// Kernels of a kind on the backend of the options.
    pub(crate) fn load(
        compiled: Compiled,
        kind: KernelKind,
        options: &Options,
    ) -> Result<CompiledKind, Diagnostic> {
        CompiledKind::of(compiled, kind, options.backend, Cut::of(options))
    }

    fn of(
        mut compiled: Compiled,
        kind: KernelKind,
        backend: Backend,
        cut: Cut,
    ) -> Result<CompiledKind, Diagnostic> {
        let (mut executables, mut device) = (vec![], None);
        if backend == Backend::Cuda {
            device = Some(Steps::load(&functions(&compiled.functions))?);
        } else if let Some(suited) = backend.load_suited(&functions(&compiled.functions))? {
            executables = suited;
        } else {
            compiled.functions = pipeline::functions(&compiled.program, NARROW);
            executables = backend.load(&functions(&compiled.functions))?;
        }
        let tiers = Tiers::of(backend);
        let (long, last_reads) = (OnceLock::new(), compiled.program.last_reads());
        Ok(CompiledKind {
            compiled,
            kind,
            executables,
            last_reads,
            device,
            tiers,
            backend,
            cut,
            long,
            #[cfg(feature = "dist")]
            distributions: OnceLock::new(),
            #[cfg(feature = "dist")]
            text: OnceLock::new(),
        })
    }

    /// The same program in kernels of another kind.
    pub(crate) fn of_kind(&self, kind: KernelKind) -> Result<CompiledKind, Diagnostic> {
        let compiled = pipeline::of_kind(&self.compiled, kind, self.backend.target());
        CompiledKind::of(compiled, kind, self.backend, self.cut)
    }

    pub(crate) fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Runs the kernels one after another, given the tensors that have a value before by id, and
    /// patterns of results, or what results are written into, in their slots. The backend whose code ran.
    pub(crate) fn run(
        &self,
        values: &mut Values<'_, Tensor>,
        dims: &IdVec<IndexVar, u64>,
    ) -> Result<Backend, Diagnostic> {
        self.run_observed(values, dims, &mut |_, _| ())
    }

    /// The same; `ended` is told of each kernel that runs on the host, by its number, with all values that there
    /// are behind it.
    pub(crate) fn run_observed(
        &self,
        values: &mut Values<'_, Tensor>,
        dims: &IdVec<IndexVar, u64>,
        ended: Observer<'_>,
    ) -> Result<Backend, Diagnostic> {
        self.suited(values, dims)?.run_all(values, dims, ended)
    }

    /// The kernels that are right for operands of these sizes: sums of very many terms need more tests
    /// for integer overflow.
    pub(crate) fn suited<T: Operand>(
        &self,
        values: &[Option<Cow<'_, T>>],
        dims: &IdVec<IndexVar, u64>,
    ) -> Result<&CompiledKind, Diagnostic> {
        let program = &self.compiled.program;
        // Small operands have no such sums, whatever is computed.
        let values_in_all = values.iter().flatten().map(|v| v.stored() as u64).sum::<u64>();
        let all = dims.iter().fold(values_in_all + 1, |n, &d| n.saturating_mul(d.max(1)));
        if all < MANY {
            return Ok(self);
        }
        let stored = |id: TensorId| {
            let is_input = matches!(program.tensors[id].role, Role::Input(_));
            let value = values.get(id.index()).filter(|_| is_input)?;
            value.as_ref().map(|value| value.stored() as u64)
        };
        let sizes = Sizes { dimension: &|var| dims[var], stored: &stored };
        let is_long = |kernel: &cin::Kernel| {
            let tests = kernel.overflow == Overflow::Checked && kernel.kind != KernelKind::Assemble;
            tests && most_terms(program, kernel, &sizes) >= MANY
        };
        if !program.kernels.iter().any(is_long) {
            return Ok(self);
        }
        let long = self.long.get_or_init(|| {
            let compiled = pipeline::with_long_sums(&self.compiled, self.backend.target());
            CompiledKind::of(compiled, self.kind, self.backend, self.cut).map(Box::new)
        });
        long.as_deref().map_err(Clone::clone)
    }

    fn run_all(
        &self,
        values: &mut Values<'_, Tensor>,
        dims: &IdVec<IndexVar, u64>,
        ended: Observer<'_>,
    ) -> Result<Backend, Diagnostic> {
        let program = &self.compiled.program;
        values.resize(program.tensors.len(), None);
        if let Some(steps) = &self.device {
            let owned = values.drain(..).map(|value| value.map(Cow::into_owned)).collect();
            let results = steps.run(self, owned, dims)?;
            *values = results.into_iter().map(|value| value.map(Cow::Owned)).collect();
            return Ok(self.backend);
        }
        let begun = self.tiers.as_ref().map(|tiers| (tiers, tiers.begin(&self.compiled, values)));
        let second = begun.as_ref().and_then(|(_, (_, second))| *second);
        let start = Instant::now();
        self.run_on(second.unwrap_or(&self.executables), self.cut, (values, dims), ended)?;
        if let Some((tiers, (begun, _))) = begun {
            tiers.timed(begun, start.elapsed());
        }
        Ok(second.map_or(self.backend.at_first(), |_| Backend::C))
    }

    /// Runs the kernels by what was made of their functions, whose parameters no target changes.
    fn run_on(
        &self,
        executables: &[Box<dyn Executable>],
        cut: Cut,
        (values, dims): (&mut Values<'_, Tensor>, &IdVec<IndexVar, u64>),
        ended: Observer<'_>,
    ) -> Result<(), Diagnostic> {
        let program = &self.compiled.program;
        let functions = self.compiled.functions.iter().zip(executables);
        for (k, (lowered, executable)) in functions.enumerate() {
            let kernel = &program.kernels[k];
            let place = kernel.result.index();
            let follows = self.kind == KernelKind::Compute && kind::follows(program, k);
            let taken_over = match follows && kernel.kind == KernelKind::Fused {
                true => values[place].take(),
                false => None,
            };
            let call = self.call(kernel.result, lowered, executable.as_ref(), &[], dims);
            let call = Call { grain: cut.grain(), ..call };
            let done = refuse_waste(program, kernel, values)
                .and_then(|()| Call { follows, ..call }.run_into(values));
            if let Some(pattern) = taken_over {
                let at = |value: &Cow<'_, Tensor>| at_entries(value, &pattern);
                let kept = done.and_then(|()| values[place].as_ref().map(at).transpose());
                // A caller that computes into a tensor has its entries still after an error.
                values[place] = Some(match kept {
                    Ok(Some(value)) => Cow::Owned(value),
                    Ok(None) => pattern,
                    Err(failure) => {
                        values[place] = Some(pattern);
                        return Err(failure);
                    }
                });
            } else {
                done?;
            }
            ended(k, values);
            for temporary in &self.last_reads[k] {
                values[temporary.index()] = None;
            }
        }
        Ok(())
    }

    /// Interprets the kernels on operands, each as a whole and before any pass, so that its loops are those of the
    /// plan; what each function did, unless one takes more iterations than the limit.
    pub(crate) fn count(
        &self,
        values: &mut Values<'_, Tensor>,
        dims: &IdVec<IndexVar, u64>,
        limit: u64,
    ) -> Result<Option<Vec<(ir::Function, Counted)>>, Diagnostic> {
        let own = self.suited(values, dims)?;
        let program = &own.compiled.program;
        let function = |kernel| pipeline::lowered(program, kernel).function;
        let counting = |kernel| Arc::new(Counting::new(function(kernel), limit));
        let counting: Vec<Arc<Counting>> = program.kernels.iter().map(counting).collect();
        let boxed = |one: &Arc<Counting>| Box::new(Arc::clone(one)) as Box<dyn Executable>;
        let executables: Vec<_> = counting.iter().map(boxed).collect();
        let whole = Cut { parts: Parts::Whole, ..own.cut };
        values.resize(program.tensors.len(), None);
        let done = own.run_on(&executables, whole, (values, dims), &mut |_, _| ());
        let counted: Vec<_> =
            counting.iter().map(|one| (one.function().clone(), one.counted())).collect();
        match counted.iter().any(|(_, counted)| counted.is_cut_off) {
            true => Ok(None),
            false => done.map(|()| Some(counted)),
        }
    }

    /// What code generation took, by its steps.
    pub(crate) fn generation(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        self.executables.iter().flat_map(|executable| executable.generation().iter().copied())
    }

    /// A call of one of the kernels on the host.
    pub(crate) fn call<'c>(
        &'c self,
        id: TensorId,
        lowered: &'c Lowered,
        executable: &'c dyn Executable,
        values: &'c [Option<Cow<'c, Tensor>>],
        dims: &'c IdVec<IndexVar, u64>,
    ) -> Call<'c> {
        Call {
            target: &self.compiled.program.tensors[id],
            id,
            lowered,
            executable,
            values,
            dims,
            pack: crate::pack,
            threads: self.cut.threads,
            grain: self.cut.grain(),
            follows: false,
            packs: matches!(self.cut.parts, Parts::OfElements(_)),
        }
    }

    /// The functions of the kernels, and what runs them on the host.
    #[cfg(feature = "dist")]
    pub(crate) fn loaded(&self) -> impl Iterator<Item = (&Lowered, &dyn Executable)> {
        let executables = self.executables.iter().map(|executable| &**executable);
        self.compiled.functions.iter().zip(executables)
    }

    /// How a kernel runs on several ranks.
    #[cfg(feature = "dist")]
    pub(crate) fn distribution(&self, k: usize) -> &Distribution {
        let program = &self.compiled.program;
        let of = |kernel| distribution(program, kernel, &plan(program, kernel));
        &self.distributions.get_or_init(|| program.kernels.iter().map(of).collect())[k]
    }

    /// The kernels as text: what decides their code.
    #[cfg(feature = "dist")]
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| cin::text::print(&self.compiled.program))
    }

    /// The backend whose code these run.
    #[cfg(feature = "dist")]
    pub(crate) fn backend(&self) -> Backend {
        self.backend.at_first()
    }

    /// The temporaries that a kernel is the last to read.
    #[cfg(feature = "dist")]
    pub(crate) fn last_reads(&self, k: usize) -> &[TensorId] {
        &self.last_reads[k]
    }

    /// What runs the kernels on a device, if one does.
    pub(crate) fn steps(&self) -> Option<&Steps> {
        self.device.as_ref()
    }
}

/// Refuses a copy of an operand in a format that would take far more memory than its entries need.
fn refuse_waste(
    program: &cin::Program,
    kernel: &cin::Kernel,
    values: &[Option<Cow<'_, Tensor>>],
) -> Result<(), Diagnostic> {
    if kernel.has_pattern() {
        return Ok(());
    }
    waste::refuse_copy(program, kernel, &|id| Ok(values[id.index()].as_deref().cloned()))
}

fn functions(lowered: &[Lowered]) -> Vec<&ir::Function> {
    lowered.iter().map(|l| &l.function).collect()
}
