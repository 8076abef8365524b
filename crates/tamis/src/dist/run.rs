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
use super::grid::Grid;
use super::sliced::{Slice, Slices};
use super::slicing::{Slicing, slicings};
use super::tensor::{Distributed, Held, Owners, even, own, rows_of, within};
use super::wire::{Reader, put};
use super::work::{Cut, Given, Work};
use crate::binding::{Sizes, Values};
use crate::kernel::{Kernel, Options};
use crate::results::Results;
use std::borrow::Cow;
use std::sync::Arc;
use tamis_core::notation;
use tamis_core::plan::distribution::{Distribution, Starts, cut_mode, is_rows};
use tamis_core::steps;
use tamis_dist::{Communicator, grouped, phase, same};
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
        self.run_on_grid(comm, &Grid::line("x", comm.ranks()), operands)
    }

    /// The same on ranks in a grid, along whose axes a schedule has them share loops.
    ///
    /// # Errors
    /// Those of [`Kernel::run_distributed`]; when ranks cannot share a loop, or share none along an axis.
    ///
    /// ```
    /// use tamis::dist::{self, Distributed, Grid, Placements};
    /// use tamis::{Kernel, Options, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let a = Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let b = Tensor::dense(&[3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let schedule = tamis::schedule::parse("distribute(i, io, ii, x); distribute(k, ko, ki, y)")?;
    /// let grid = Grid::of(Some("x=2,y=2"), &schedule, &Placements::new(), 4)?;
    /// let (options, operands) = (Options { schedule, ..Options::default() }, [("A", &a), ("B", &b)]);
    /// let kernel = Kernel::compile("C(i,k) = A(i,j) * B(j,k)", &operands, &options)?;
    /// let ranks = dist::on_threads(4, |comm| {
    ///     let (a, b) = (Distributed::split(comm, &a)?, Distributed::split(comm, &b)?);
    ///     let results = kernel.run_on_grid(comm, &grid, &[("A", &a), ("B", &b)])?;
    ///     Ok((results["C"].held(), results["C"].gather(comm)?))
    /// });
    /// for c in ranks {
    ///     let (held, c) = c?;
    ///     assert_eq!((held, c.values::<f64>()?), (1, &[11.0, 14.0, 9.0, 12.0][..]));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn run_on_grid(
        &self,
        comm: &dyn Communicator,
        grid: &Grid,
        operands: &[(&str, &Distributed)],
    ) -> Result<Results<Distributed>, Diagnostic> {
        phase(comm, || {
            grid.check(comm.ranks())?;
            operands.iter().try_for_each(|(_, operand)| operand.check_on(comm))?;
            let cut = |(name, t): &(&str, &Distributed)| {
                format!("{name} {:?} {:?} {}", t.dims, t.owners, t.stored)
            };
            let cuts = operands.iter().map(cut).collect::<Vec<String>>().join("; ");
            let text = format!("{}\n{cuts}", self.fused().text());
            same(comm, "the program, its schedule and where operands are cut", text.as_bytes())?;
            let slicings = slicings(self, grid)?;
            if !slicings.is_empty() {
                // Slices may fit where the whole does not.
                self.bound(operands, &mut Values::new())?;
            }
            self.on_slices((comm, 0), (grid, slicings), self.sizes(), operands)
        })
    }

    /// Runs the program in each group of ranks on slices of operands, where ranks share loops beside the one that is
    /// cut. The group that these ranks are has a number.
    fn on_slices(
        &self,
        (comm, group): (&dyn Communicator, usize),
        (grid, slicings): (&Grid, &[Slicing]),
        sizes: &Sizes,
        operands: &[(&str, &Distributed)],
    ) -> Result<Results<Distributed>, Diagnostic> {
        let Some((slicing, others)) = slicings.split_first() else {
            let lined = operands.iter().map(|(name, operand)| Ok((*name, operand.lined(comm)?)));
            let lined = lined.collect::<Result<Vec<(&str, Cow<'_, Distributed>)>, Diagnostic>>()?;
            let lined: Vec<(&str, &Distributed)> = lined.iter().map(|(n, t)| (*n, &**t)).collect();
            return self.in_phase((comm, group), sizes, &lined);
        };
        // Any one name stands for the only axis.
        let axis = grid.axis(&slicing.axis).unwrap_or(0);
        let dims = operands.iter().map(|(name, operand)| (*name, &operand.dims[..]));
        let dimension = slicing.dimension(self, dims, sizes)?;
        let starts = even(dimension, slicing.block, grid.size(axis));
        let slices_of = |name: &str| {
            let mode = slicing.mode(name);
            Slices::along(grid, axis, mode.map(|mode| (mode, starts.clone())))
        };
        let slices = operands.iter().map(|(n, t)| Ok((*n, t.slice(comm, &slices_of(n))?)));
        let slices = slices.collect::<Result<Vec<(&str, Slice<'_>)>, Diagnostic>>()?;
        let place = grid.place(comm.rank(), axis);
        let group = group * grid.size(axis) + place;
        let slice = own(&starts, place);
        let sizes = slicing.sizes_of_slice(self, sizes, slice.end - slice.start);
        let results = grouped(comm, place as u64, |own| {
            let parts = slices.iter().map(|(name, slice)| Ok((*name, slice.part(own)?)));
            let parts = parts.collect::<Result<Vec<(&str, Cow<'_, Distributed>)>, Diagnostic>>()?;
            let parts: Vec<(&str, &Distributed)> = parts.iter().map(|(n, t)| (*n, &**t)).collect();
            self.on_slices((own, group), (&grid.without(axis), others), &sizes, &parts)
        })?;
        let whole = results.into_iter().map(|(name, part)| {
            let slices = slices_of(&name);
            Ok((name, Distributed::of_slices(comm, slices, part)?))
        });
        Ok(Results::new(whole.collect::<Result<_, Diagnostic>>()?))
    }

    fn in_phase(
        &self,
        (comm, group): (&dyn Communicator, usize),
        sizes: &Sizes,
        operands: &[(&str, &Distributed)],
    ) -> Result<Results<Distributed>, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound_for(operands, &mut values, sizes)?;
        let kind = self.fused().suited(&values, &binding.dims)?;
        if kind.steps().is_some() {
            let message = "kernels on a device do not run on several ranks";
            let others = [Setting::BackendJit, Setting::BackendC, Setting::BackendInterpreter];
            return Err(Diagnostic::new(Code::UnsupportedBackend, message)
                .help_by("choose another backend for ranks: {}, {} or {}", others));
        }
        let program = &kind.compiled().program;
        values.resize_with(program.tensors.len(), || None);
        let fetcher = Fetcher::new(comm, Some(self.requests())).of_group(group);
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
            Held::Whole(_) | Held::Slice(_) => unreachable!("a rank keeps its interval"),
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
