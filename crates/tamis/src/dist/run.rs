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
use super::tensor::{Distributed, Held, Owners, even, own, rows_of, within};
use super::wire::{Reader, put};
use crate::binding::Values;
use crate::compiled_kind::CompiledKind;
use crate::kernel::Kernel;
use crate::results::Results;
use std::borrow::Cow;
use std::sync::Arc;
use tamis_core::cin::{self, Scale};
use tamis_core::lower::{Binding, Lowered};
use tamis_core::plan::Partition;
use tamis_core::plan::distribution::{Distribution, Need, Part, Read, Starts, cut_mode, is_rows};
use tamis_dist::{Communicator, phase, same};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_runtime::Tensor;
use tamis_runtime::kernel::Executable;

/// Entries are few if only one in so many coordinates has one.
const FEW: u64 = 4;

impl Kernel {
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
            let cuts =
                operands.iter().map(|(name, t)| format!("{name} {:?} {:?}", t.dims, t.owners));
            let cuts = cuts.collect::<Vec<String>>().join("; ");
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
        let program = &kind.compiled().program;
        values.resize_with(program.tensors.len(), || None);
        let fetcher = Fetcher::new(comm, Some(self.requests()));
        for (k, (lowered, executable)) in kind.loaded().enumerate() {
            let step = Step { comm, fetcher: &fetcher, kind, k, lowered, dims: &binding.dims };
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
    pub(super) kind: &'s CompiledKind,
    pub(super) fetcher: &'s Fetcher<'s>,
    /// The number of the kernel.
    pub(super) k: usize,
    pub(super) lowered: &'s Lowered,
    pub(super) dims: &'s IdVec<IndexVar, u64>,
}

/// How a kernel is cut into a part for each rank.
pub(super) struct Cut<'s> {
    pub(super) partition: &'s Partition,
    /// The variable whose coordinates are cut, and where the interval of each rank begins.
    pub(super) var: IndexVar,
    /// What iterations of the loop count of these.
    pub(super) scale: &'s Scale,
    pub(super) starts: Vec<u64>,
    reads: &'s [Read],
}

pub(super) type Given<'v> = [Option<Cow<'v, Distributed>>];
/// What this rank has of the tensors of a program, by id.
type Local = Vec<Option<Cow<'static, Tensor>>>;

impl Cut<'_> {
    /// Whether what a read needs on each rank is what that rank has.
    fn is_at_hand(&self, read: &Read, value: &Distributed) -> bool {
        let Owners::Intervals { mode, starts } = &value.owners else { return true };
        let needs = read.modes.iter().enumerate();
        let mut own =
            needs.map(|(m, need)| *need == if m == *mode { Need::Part } else { Need::All });
        *starts == self.starts && own.all(|is_own| is_own)
    }

    /// Whether every rank knows all the work that an operand leads to, if each knows all or that of its part.
    pub(super) fn holds_all(&self, lead: Option<TensorId>, values: &Given<'_>) -> Option<bool> {
        let Some(id) = lead else { return Some(true) };
        let value = values[id.index()].as_deref()?;
        let Owners::Intervals { mode, .. } = value.owners else { return Some(true) };
        let reads = self.reads.iter().filter(|read| read.access.tensor == id);
        let needs: Vec<&[Need]> = reads.map(|read| &read.modes[..]).collect();
        let is_all = |needs: &&[Need]| needs.iter().all(|need| *need == Need::All);
        match needs[..] {
            // Dense operands are as much work everywhere, whoever has their values.
            _ if is_rows(&value.storage.format) || needs.is_empty() || needs.iter().any(is_all) => {
                Some(true)
            }
            [only] => {
                let others = only.iter().enumerate().all(|(m, n)| m == mode || *n == Need::All);
                (only[mode] == Need::Part && others).then_some(false)
            }
            _ => None,
        }
    }
}

impl<'s> Step<'s> {
    fn run(
        self,
        executable: &dyn Executable,
        values: &Given<'_>,
    ) -> Result<Distributed, Diagnostic> {
        if self.comm.ranks() == 1 {
            return self.on_every_rank(executable, values);
        }
        match self.kind.distribution(self.k) {
            Distribution::Parts { part, mode } => {
                if let Some(cut) = self.cut(values, part) {
                    let cut = (&cut, *mode);
                    return match part.starts {
                        Starts::OfPositions(of) => self.positions(executable, values, (cut, of)),
                        _ => self.in_parts(executable, values, cut),
                    };
                }
            }
            Distribution::Combined { part, op } => {
                if let Some(cut) = self.cut(values, part)
                    && let Some(result) = self.combined(executable, values, (cut, *op))?
                {
                    return Ok(result);
                }
            }
            Distribution::Everywhere(_) => {}
        }
        self.on_every_rank(executable, values)
    }

    pub(super) fn program(self) -> &'s cin::Program {
        &self.kind.compiled().program
    }

    pub(super) fn kernel(self) -> &'s cin::Kernel {
        &self.program().kernels[self.k]
    }

    /// The outermost loop in a part for each rank; none where a rank would begin inside of an iteration.
    fn cut(self, values: &Given<'_>, part: &'s Part) -> Option<Cut<'s>> {
        let partition = self.lowered.partition.as_ref().ok()?;
        let starts = self.starts(values, part)?;
        let Part { var, scale, reads, .. } = part;
        Some(Cut { partition, var: *var, scale, starts, reads })
    }

    /// Where ranks begin. Without a schedule: as an operand that is cut by the same variable is cut, the sparse one with most entries unless
    /// these are few for so many coordinates, else the largest dense one.
    fn starts(self, values: &Given<'_>, part: &Part) -> Option<Vec<u64>> {
        let Part { var, scale, reads, .. } = part;
        let (var, dimension) = (*var, self.dims[part.var]);
        match part.starts {
            Starts::OfOperands => {}
            Starts::Even => {
                return self.aligned((scale, var), even(dimension, 1, self.comm.ranks()));
            }
            Starts::OfPositions(of) => {
                return match &values[of.index()].as_deref()?.owners {
                    Owners::Intervals { starts, .. } => Some(starts.clone()),
                    Owners::Everyone => None,
                };
            }
        }
        let cut_alike = reads.iter().filter_map(|read| {
            let value = values[read.access.tensor.index()].as_deref()?;
            let Owners::Intervals { mode, starts } = &value.owners else { return None };
            let leads = !is_rows(&value.storage.format) && value.stored as u64 >= dimension / FEW;
            (read.modes[*mode] == Need::Part).then_some(((leads, value.stored), starts))
        });
        let starts = match cut_alike.max_by_key(|(weight, _)| *weight) {
            Some((_, starts)) => starts.clone(),
            None => even(dimension, 1, self.comm.ranks()),
        };
        self.aligned((scale, var), starts)
    }

    /// The same, at the first coordinates of iterations; none where a rank would begin inside of one.
    fn aligned(self, (scale, var): (&Scale, IndexVar), starts: Vec<u64>) -> Option<Vec<u64>> {
        let aligned = |&start: &u64| match start < self.dims[var] {
            true => self.begin_of(scale, var, start),
            false => Some(start),
        };
        starts.iter().map(aligned).collect()
    }

    /// The first coordinate of the iteration that one belongs to; none where other coordinates of that iteration
    /// lie before it, as where a fused loop is split.
    pub(super) fn begin_of(self, scale: &Scale, var: IndexVar, at: u64) -> Option<u64> {
        if scale.is_plain() {
            return Some(at);
        }
        let (dimension, size) = (self.dims[var], |v: IndexVar| self.dims[v]);
        let iteration = |at: u64| scale.iteration(at, dimension, &size);
        let own = iteration(at);
        let first = scale.first(own, dimension, &size);
        let begins = first == 0 || (iteration(first) == own && iteration(first - 1) < own);
        begins.then_some(first)
    }

    /// Runs the kernel with all elements of its operands.
    fn on_every_rank(
        self,
        executable: &dyn Executable,
        values: &Given<'_>,
    ) -> Result<Distributed, Diagnostic> {
        let mut local = vec![None; values.len()];
        for id in self.operands() {
            if let Some(value) = &values[id.index()] {
                let all = vec![Coords::All; value.dims.len()];
                let whole = self.fetcher.tensor(value, &all)?;
                local[id.index()] = Some(Cow::Owned(whole));
            }
        }
        let call =
            self.kind.call(self.kernel().result, self.lowered, executable, &local, self.dims);
        Ok(Distributed::everyone(call.run()?))
    }

    /// The tensors that the kernel takes.
    fn operands(self) -> Vec<TensorId> {
        let mut found = vec![];
        let of_binding = self.lowered.bindings.iter().filter_map(Binding::tensor);
        for id in of_binding.chain(self.lowered.like.map(|like| like.operand)) {
            if id != self.kernel().result && !found.contains(&id) {
                found.push(id);
            }
        }
        found
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
        let size = |v: IndexVar| self.dims[v];
        let dimension = self.dims[cut.var];
        let iteration = |at: u64| cut.scale.iteration(at, dimension, &size) as i64;
        let (begin, end) = (interval.start, interval.end);
        let call =
            self.kind.call(self.kernel().result, self.lowered, executable, &local, self.dims);
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
        Ok(Distributed::new((dims, storage), stored, owners, part))
    }

    /// What this rank needs of each operand.
    pub(super) fn operands_of_part(
        self,
        values: &Given<'_>,
        cut: &Cut<'_>,
    ) -> Result<Local, Diagnostic> {
        let mut known: Vec<Option<Vec<Coords>>> = vec![None; cut.reads.len()];
        while known.iter().any(Option::is_none) {
            let ready = |k: &usize| {
                known[*k].is_none()
                    && cut.reads[*k].modes.iter().all(|need| match need {
                        Need::Image(of) => of.iter().all(|(read, _)| known[*read].is_some()),
                        Need::All | Need::Part => true,
                    })
            };
            let next = (0..cut.reads.len()).find(ready);
            // Images of each other: one of them is read as a whole.
            let k = next.or_else(|| known.iter().position(Option::is_none)).expect("one is left");
            let needed = match next {
                Some(k) => self.needed(values, cut, &known, k)?,
                None => vec![Coords::All; cut.reads[k].modes.len()],
            };
            known[k] = Some(needed);
        }
        let mut local = vec![None; values.len()];
        for id in self.operands() {
            let Some(value) = &values[id.index()] else { continue };
            let mut own = cut.reads.iter().filter(|read| read.access.tensor == id).peekable();
            if own.peek().is_some() && own.all(|read| cut.is_at_hand(read, value)) {
                local[id.index()] = Some(Cow::Owned(value.own(self.comm.rank())?));
                continue;
            }
            let mine = cut.reads.iter().zip(&known).filter(|(read, _)| read.access.tensor == id);
            let needed = mine.filter_map(|(_, needed)| needed.clone()).reduce(|some, others| {
                some.into_iter().zip(others).map(|(a, b)| a.or(b)).collect()
            });
            let needed = needed.unwrap_or_else(|| vec![Coords::All; value.dims.len()]);
            local[id.index()] = Some(Cow::Owned(self.fetcher.tensor(value, &needed)?));
        }
        Ok(local)
    }

    /// The coordinates that a read needs, once those are known of which it needs the image.
    fn needed(
        self,
        values: &Given<'_>,
        cut: &Cut<'_>,
        known: &[Option<Vec<Coords>>],
        k: usize,
    ) -> Result<Vec<Coords>, Diagnostic> {
        let interval = own(&cut.starts, self.comm.rank());
        let mut coords = vec![];
        for (m, need) in cut.reads[k].modes.iter().enumerate() {
            coords.push(match need {
                Need::All => Coords::All,
                Need::Part => Coords::Some(interval.clone(), vec![]),
                Need::Image(of) => {
                    let access = &cut.reads[k].access;
                    let var = self.program().derived.alias(access.indices[m]);
                    let mut all = Coords::none();
                    for (read, mode) in of {
                        let image = self.image(values, cut, (*read, *mode), known)?;
                        all = all.or(Coords::clone(&image));
                    }
                    let value = values[access.tensor.index()].as_deref();
                    let bytes = value.map_or(1, |value| value.bytes_at(m));
                    all.or_all(self.dims[var], bytes)
                }
            });
        }
        Ok(coords)
    }

    /// The coordinates that the needed entries of a read store in a mode.
    fn image(
        self,
        values: &Given<'_>,
        cut: &Cut<'_>,
        (read, mode): (usize, usize),
        known: &[Option<Vec<Coords>>],
    ) -> Result<Arc<Coords>, Diagnostic> {
        let id = cut.reads[read].access.tensor;
        let value = values[id.index()].as_deref().expect("operands are computed first");
        if cut.is_at_hand(&cut.reads[read], value) {
            return value.image(mode);
        }
        let needed = known[read].as_deref().expect("images are of known reads");
        let list = match self.fetcher.elements(value, needed)? {
            Fetched::Entries(list) => list,
            Fetched::Tensor(tensor) => tensor.to_coordinates()?,
        };
        let (_, mut crds, _) = list.into_parts();
        Ok(Arc::new(Coords::of(crds.swap_remove(mode))))
    }
}
