//! Where the time of a call goes: compilation stage by stage, and each kernel and loop: how often it iterates, what
//! it loads and stores, estimated beside counted, how long it takes and how near to the machine's limit it comes.
//!
//! ```text
//! kernel, loop       iterations  estimated  loads  stores   bytes   ~ time  ..
//! y by compute_y          12000      12000  28000    2000  .. 0.021 ms
//! | i                      2000       2000   4000    2000  ..
//! | | j of A              10000      10000  ..
//! ```
//!
//! Times are those of the code that runs; counts come of one more run, in the interpreter, of the code before any
//! pass: its loops are those of the plan, and what passes save is not in them.

mod clock;
mod rows;
mod text;

pub(crate) use clock::Clock;

use crate::backend::Backend;
use crate::binding::Values;
use crate::estimate::KernelEstimate;
use crate::{Kernel, Results};
use rows::loops;
use std::borrow::Cow;
use std::time::Instant;
use tamis_core::cin;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, TensorId};
use tamis_ir::interpret::Counts;
use tamis_runtime::{Tensor, bandwidth, threads};

/// Programs of so many steps and values are counted, which the interpreter does in a second or two.
const COUNTED: f64 = 4e6;

/// Where the time of a call goes. Printed, it is a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The stages of compilation and the seconds that each took: `legalise`, `schedule`, `plan`, `lower`, `passes`;
    /// of machine code in process `vectors`, `cranelift`, `loading`; and `code`, the rest of code generation.
    pub stages: Vec<(&'static str, f64)>,
    /// The runs.
    pub runs: Vec<RunProfile>,
    /// The kernels, in the order in which they ran.
    pub kernels: Vec<KernelProfile>,
    /// The threads that run parts.
    pub threads: usize,
    /// The bytes that memory moves in a second, measured by a triad on these threads.
    pub bandwidth: f64,
    /// Whether iterations, loads and stores were counted: programs of more than some million steps have the
    /// estimated iterations only.
    pub is_counted: bool,
}

/// One run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunProfile {
    /// How long it took.
    pub seconds: f64,
    /// Whose code ran: of [`Backend::Auto`] machine code in process or that of the C compiler.
    pub ran_on: Backend,
    /// How long each kernel took; empty where a device ran them.
    pub kernels: Vec<f64>,
}

/// A kernel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelProfile {
    /// What it was going to take, about.
    pub estimate: KernelEstimate,
    /// The bytes of the tensors that it read and of the one that it computed, each once, if the host ran it.
    pub bytes: Option<u64>,
    /// How many values the tensor that it computed stores, if the host ran it.
    pub values: Option<u64>,
    /// The median of its times, if the host ran it.
    pub seconds: Option<f64>,
    /// What it did, if that was counted.
    pub counts: Option<Counts>,
    /// Its loops, the outermost first.
    pub loops: Vec<LoopProfile>,
}

/// A loop of a kernel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoopProfile {
    /// Its variable: that of the program; of loops that the code has besides, such as over a list of what a row
    /// of the result got, that of the code.
    pub var: String,
    /// Whether it is one of the latter.
    pub is_of_code: bool,
    /// How many loops are around it.
    pub depth: usize,
    /// The tensors whose coordinates it visits; none where it visits every coordinate.
    pub drivers: Vec<String>,
    /// How often it iterates, about, in all iterations of the loops around it.
    pub estimated: Option<f64>,
    /// What it did by itself, without the loops in it, if that was counted.
    pub counts: Option<Counts>,
    /// Its share of the kernel's iterations, loads and stores: about that of the time.
    pub share: Option<f64>,
}

impl KernelProfile {
    /// The bytes that it moved in a second, each tensor once.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let seconds = self.seconds.filter(|&seconds| seconds > 0.0)?;
        Some(self.bytes? as f64 / seconds)
    }
}

impl Profile {
    /// What compilation took.
    pub fn compile_seconds(&self) -> f64 {
        self.stages.iter().map(|(_, seconds)| seconds).sum()
    }

    /// The median of what the runs took.
    pub fn run_seconds(&self) -> f64 {
        median(self.runs.iter().map(|run| run.seconds)).unwrap_or(0.0)
    }
}

impl Kernel {
    /// Runs the kernel so many times, and once more in the interpreter if that does not take long: the results of the
    /// last run, and where its time went.
    ///
    /// ```
    /// use tamis::{Kernel, Options, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let a = Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let x = Tensor::dense(&[3], vec![1.0, 10.0, 100.0])?;
    /// let operands = [("A", &a), ("x", &x)];
    /// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &Options::default())?;
    /// let (results, profile) = kernel.profile(&operands, 3)?;
    /// assert_eq!(results["y"].values::<f64>()?, [201.0, 30.0]);
    /// let loops = &profile.kernels[0].loops;
    /// let iterations = loops.iter().map(|l| (&l.var[..], l.counts.map(|c| c.iterations)));
    /// assert_eq!(iterations.collect::<Vec<_>>(), [("i", Some(2)), ("j", Some(3))]);
    /// println!("{profile}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn profile(
        &self,
        operands: &[(&str, &Tensor)],
        runs: usize,
    ) -> Result<(Results, Profile), Diagnostic> {
        let estimate = self.estimate(operands)?;
        let (mut sizes, mut timed) = (vec![], vec![]);
        let mut results = Results::default();
        for _ in 0..runs.max(1) {
            drop(std::mem::take(&mut results));
            let (values, run) = self.timed(operands, &mut sizes)?;
            results = self.formatted(values)?;
            timed.push(run);
        }
        let work = estimate.steps() + estimate.kernels.iter().map(|k| k.values).sum::<f64>();
        let stored = operands.iter().map(|(_, t)| t.vals().len()).sum::<usize>() as f64;
        let is_on_host = timed.iter().all(|run| !run.kernels.is_empty());
        let may_be_counted = is_on_host && work + stored <= COUNTED;
        let counted = if may_be_counted { self.counted(operands)? } else { None };
        let functions = self.compiled().functions.iter();
        let kernels = estimate.kernels.into_iter().zip(functions).enumerate();
        let kernels = kernels.map(|(k, (estimate, lowered))| {
            let counted = counted.as_ref().map(|all| &all[k]);
            let (bytes, values) = sizes.get(k).copied().unzip();
            KernelProfile {
                loops: loops(&estimate, &lowered.loops, &self.compiled().program, counted),
                counts: counted.map(|(_, counted)| counted.counts),
                seconds: median(timed.iter().filter_map(|run| run.kernels.get(k).copied())),
                bytes,
                values,
                estimate,
            }
        });
        let profile = Profile {
            stages: self.stages().to_vec(),
            kernels: kernels.collect(),
            runs: timed,
            threads: threads::count(),
            bandwidth: bandwidth::triad(),
            is_counted: counted.is_some(),
        };
        Ok((results, profile))
    }

    /// One run with the time of each kernel; `sizes` become the bytes that each kernel reads and writes, and how many
    /// values it stores.
    fn timed<'v>(
        &self,
        operands: &[(&str, &'v Tensor)],
        sizes: &mut Vec<(u64, u64)>,
    ) -> Result<(Values<'v, Tensor>, RunProfile), Diagnostic> {
        sizes.clear();
        let start = Instant::now();
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        let program = &self.compiled().program;
        let mut kernels = vec![];
        let mut last = Instant::now();
        let ran_on = self.fused().run_observed(&mut values, &binding.dims, &mut |k, values| {
            kernels.push(last.elapsed().as_secs_f64());
            sizes.push(size(&program.kernels[k], values));
            last = Instant::now();
        })?;
        self.note(ran_on);
        Ok((values, RunProfile { seconds: start.elapsed().as_secs_f64(), ran_on, kernels }))
    }

    /// What each function does; none if that takes too many iterations after all.
    fn counted(&self, operands: &[(&str, &Tensor)]) -> Result<Option<rows::All>, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        self.fused().count(&mut values, &binding.dims, COUNTED as u64)
    }
}

/// The bytes of the tensors that a kernel reads and of the one that it computes, and the values of that.
fn size(kernel: &cin::Kernel, values: &[Option<Cow<'_, Tensor>>]) -> (u64, u64) {
    let mut tensors: Vec<TensorId> = kernel.body.reads().iter().map(|read| read.tensor).collect();
    tensors.push(kernel.result);
    tensors.sort_unstable();
    tensors.dedup();
    let of = |id: &TensorId| values.get(id.index())?.as_ref();
    let bytes = tensors.iter().filter_map(of).map(|value| value.bytes() as u64).sum();
    (bytes, of(&kernel.result).map_or(0, |value| value.vals().len() as u64))
}

/// The middle one of some times.
fn median(times: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = times.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
