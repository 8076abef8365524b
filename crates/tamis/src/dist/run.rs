//! Kernels whose outermost loop is run in parts, one on each rank.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      4 ranks      rank r runs the rows that it has of A: it gets the elements of x that
//!                                        these name, and has the rows of y afterwards
//! ```
//!
//! Where a loop is cut does not change what any of its iterations computes, so results have the bits of one
//! process. Arrays that are summed over the loop are combined in `combine`; other kernels run on every rank with all
//! of their operands.

use super::coords::Coords;
use super::fetch::{Fetched, Fetcher};
use super::tensor::{Distributed, Held, Owners, own, rows_of, within};
use super::wire::{Reader, put};
use super::work::{Cut, Given, Work};
use crate::binding::Values;
use crate::kernel::{Kernel, Options};
use crate::results::Results;
use std::borrow::Cow;
use std::sync::Arc;
use tamis_core::notation;
use tamis_core::plan::distribution::{Distribution, Starts, cut_mode, is_rows};
use tamis_core::steps;
use tamis_dist::{Communicator, phase, same};
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};
use tamis_ir::ids::{Id, IndexVar};
use tamis_runtime::Tensor;
use tamis_runtime::kernel::Executable;

impl Kernel {
    /// Compiles a program for operands of which each rank holds a part; every rank compiles the same.
    ///
    /// # Errors
    /// Those of [`Kernel::compile`].
    pub fn of_distributed(
        program: notation::Program,
        operands: &[(&str, &Distributed)],
        options: &Options,
    ) -> Result<Kernel, Diagnostic> {
        Kernel::of_operands(program, operands, options)
    }

    /// What is going to be slow, as [`Kernel::warnings`] has it.
    ///
    /// # Errors
    /// When the operands are not those of the kernel.
    pub fn warnings_of_distributed(
        &self,
        operands: &[(&str, &Distributed)],
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        self.warned(operands, steps::FLOOR)
    }

    /// Computes the results on all ranks together: each calls this with its parts of the same operands, and has
    /// its parts of the results afterwards. They have the bits that one process computes.
    ///
    /// # Errors
    /// Those of [`Kernel::run`], and those of sending and receiving; every rank gets the same.
    ///
    /// ```
    /// use tamis::dist::{self, Distributed};
    /// use tamis::{Kernel, Options, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let a = Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let x = Tensor::dense(&[3], vec![1.0, 10.0, 100.0])?;
    /// let operands = [("A", &a), ("x", &x)];
    /// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &Options::default())?;
    /// let ranks = dist::on_threads(2, |comm| {
    ///     let (a, x) = (Distributed::split(comm, &a)?, Distributed::split(comm, &x)?);
    ///     let results = kernel.run_distributed(comm, &[("A", &a), ("x", &x)])?;
    ///     results["y"].gather(comm)
    /// });
    /// for y in ranks {
    ///     assert_eq!(y?.values::<f64>()?, [201.0, 30.0]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn run_distributed(
        &self,
        comm: &dyn Communicator,
        operands: &[(&str, &Distributed)],
    ) -> Result<Results<Distributed>, Diagnostic> {
        phase(comm, || {
            operands.iter().try_for_each(|(_, operand)| operand.check_on(comm))?;
            let cut = |(name, t): &(&str, &Distributed)| {
                format!("{name} {:?} {:?} {}", t.dims, t.owners, t.stored)
            };
            let cuts = operands.iter().map(cut).collect::<Vec<String>>().join("; ");
            let text = format!("{}\n{cuts}", self.fused().text());
            same(comm, "the program, its schedule and where operands are cut", text.as_bytes())?;
            self.in_phase(comm, operands)
        })
    }

    fn in_phase(
        &self,
        comm: &dyn Communicator,
        operands: &[(&str, &Distributed)],
    ) -> Result<Results<Distributed>, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        let kind = self.fused().suited(&values, &binding.dims)?;
        if kind.steps().is_some() {
            let message = "kernels on a device do not run on several ranks";
            let others = [Setting::BackendJit, Setting::BackendC, Setting::BackendInterpreter];
            return Err(Diagnostic::new(Code::UnsupportedBackend, message)
                .help_by("choose another backend for ranks: {}, {} or {}", others));
        }
        let program = &kind.compiled().program;
        values.resize_with(program.tensors.len(), || None);
        let fetcher = Fetcher::new(comm, Some(self.requests()));
        for (k, (lowered, executable)) in kind.loaded().enumerate() {
            let work = Work { kind, k, lowered, dims: &binding.dims, ranks: comm.ranks() };
            let step = Step { comm, fetcher: &fetcher, work };
            let result = step.run(executable, &values)?;
            values[program.kernels[k].result.index()] = Some(Cow::Owned(result));
            for temporary in kind.last_reads(k) {
                values[temporary.index()] = None;
            }
        }
        self.note(kind.backend());
        let mut results = self.named(values);
        for (name, result) in results.iter_mut() {
            if self.is_scattered(name) {
                let whole = result.gather(comm)?;
                let whole = self.scattered(name, &whole)?.unwrap_or(whole);
                *result = Distributed::everyone(whole);
            }
        }
        Ok(results)
    }
}

/// One kernel of a program.
#[derive(Clone, Copy)]
pub(super) struct Step<'s> {
    pub(super) comm: &'s dyn Communicator,
    pub(super) fetcher: &'s Fetcher<'s>,
    pub(super) work: Work<'s>,
}

/// What this rank has of the tensors of a program, by id.
type Local = Vec<Option<Cow<'static, Tensor>>>;

impl Step<'_> {
    fn run(
        self,
        executable: &dyn Executable,
        values: &Given<'_>,
    ) -> Result<Distributed, Diagnostic> {
        if self.comm.ranks() == 1 {
            return self.on_every_rank(executable, values);
        }
        match self.work.distribution() {
            Distribution::Parts { part, mode } => {
                if let Some(cut) = self.work.cut(values, part) {
                    let cut = (&cut, *mode);
                    return match part.starts {
                        Starts::OfPositions(of) => self.positions(executable, values, (cut, of)),
                        _ => self.in_parts(executable, values, cut),
                    };
                }
            }
            Distribution::Combined { part, op } => {
                if let Some(cut) = self.work.cut(values, part)
                    && let Some(result) = self.combined(executable, values, (cut, *op))?
                {
                    return Ok(result);
                }
            }
            Distribution::Everywhere(_) => {}
        }
        self.on_every_rank(executable, values)
    }

    /// Runs the kernel with all elements of its operands.
    fn on_every_rank(
        self,
        executable: &dyn Executable,
        values: &Given<'_>,
    ) -> Result<Distributed, Diagnostic> {
        let mut local = vec![None; values.len()];
        for id in self.work.operands() {
            if let Some(value) = &values[id.index()] {
                let all = vec![Coords::All; value.dims.len()];
                let whole = self.fetcher.tensor(value, &all)?;
                local[id.index()] = Some(Cow::Owned(whole));
            }
        }
        let call = self.work.call(executable, &local);
        Ok(Distributed::everyone(call.run()?))
    }

    /// Runs the part of this rank.
    fn in_parts(
        self,
        executable: &dyn Executable,
        values: &Given<'_>,
        (cut, mode): (&Cut<'_>, usize),
    ) -> Result<Distributed, Diagnostic> {
        let local = self.operands_of_part(values, cut)?;
        let interval = own(&cut.starts, self.comm.rank());
        let size = |v: IndexVar| self.work.dims[v];
        let dimension = self.work.dims[cut.var];
        let iteration = |at: u64| cut.scale.iteration(at, dimension, &size) as i64;
        let (begin, end) = (interval.start, interval.end);
        let call = self.work.call(executable, &local);
        let part = match interval.is_empty() {
            // Nothing is computed, but a result without entries is made.
            true => call.run_part(iteration(begin), iteration(begin)),
            false => {
                let first = if begin == 0 { i64::MIN } else { iteration(begin) };
                let last = if end == dimension { i64::MAX } else { iteration(end) };
                call.run_part(first, last)
            }
        };
        self.kept(part?, (cut, mode))
    }

    /// The elements that this rank computed.
    pub(super) fn kept(
        self,
        part: Tensor,
        (cut, mode): (&Cut<'_>, usize),
    ) -> Result<Distributed, Diagnostic> {
        let (dims, storage) = (part.dims().to_vec(), part.storage().clone());
        let interval = own(&cut.starts, self.comm.rank());
        let (outermost, _) = cut_mode(&storage.format);
        let kept = match is_rows(&storage.format) && outermost == mode {
            true => Ok(Held::Rows(rows_of(&part, interval))),
            false => part
                .to_coordinates()
                .and_then(|list| within(&list, mode, interval))
                .map(Held::Entries),
        };
        let part = kept?;
        let held = match &part {
            Held::Rows(values) => values.len(),
            Held::Entries(list) => list.vals().len(),
            Held::Whole(_) => unreachable!("a rank keeps its interval"),
        };
        let mut bytes = vec![];
        put(&mut bytes, held as u64);
        let held = self.comm.all_gather(&bytes)?;
        let stored = held.iter().map(|bytes| Reader(bytes).number() as usize).sum();
        let owners = Owners::Intervals { mode, starts: cut.starts.clone() };
        let owners = (owners, self.comm.rank());
        Ok(Distributed::new((dims, storage), stored, owners, part))
    }

    /// What this rank needs of each operand.
    pub(super) fn operands_of_part(
        self,
        values: &Given<'_>,
        cut: &Cut<'_>,
    ) -> Result<Local, Diagnostic> {
        let interval = own(&cut.starts, self.comm.rank());
        let image = |(read, mode): (usize, usize), needed: &[Coords]| {
            self.image(values, cut, (read, mode), needed)
        };
        let needs = self.work.needs(values, cut, interval, &image)?;
        let mut local = vec![None; values.len()];
        for id in self.work.operands() {
            let Some(value) = &values[id.index()] else { continue };
            let tensor = match cut.needed_of(id, value, &needs) {
                None => value.own(self.comm.rank())?,
                Some(needed) => self.fetcher.tensor(value, &needed)?,
            };
            local[id.index()] = Some(Cow::Owned(tensor));
        }
        Ok(local)
    }

    /// The coordinates that the needed entries of a read store in a mode.
    fn image(
        self,
        values: &Given<'_>,
        cut: &Cut<'_>,
        (read, mode): (usize, usize),
        needed: &[Coords],
    ) -> Result<Arc<Coords>, Diagnostic> {
        let id = cut.reads[read].access.tensor;
        let value = values[id.index()].as_deref().expect("operands are computed first");
        if cut.is_at_hand(&cut.reads[read], value) {
            return value.image(mode);
        }
        let list = match self.fetcher.elements(value, needed)? {
            Fetched::Entries(list) => list,
            Fetched::Tensor(tensor) => tensor.to_coordinates()?,
        };
        let (_, mut crds, _) = list.into_parts();
        Ok(Arc::new(Coords::of(crds.swap_remove(mode))))
    }
}
