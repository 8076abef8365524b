//! What there is to do for a kernel, whichever rank does it: where ranks begin, and what each needs of operands.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      starts: those of A       rank 0 needs: its rows of A; of x what these store
//! ```
//!
//! Nothing is sent here: what the needed entries of an operand store is told by those who can look it up.

use super::coords::Coords;
use super::tensor::{Distributed, Owners, even};
use crate::compiled_kind::CompiledKind;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use tamis_core::cin::{self, Scale};
use tamis_core::lower::{Binding, Lowered};
use tamis_core::plan::Partition;
use tamis_core::plan::distribution::{Distribution, Need, Part, Read, Starts, cut_mode, is_rows};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_runtime::Tensor;
use tamis_runtime::kernel::{Call, Executable};

/// Entries are few if only one in so many coordinates has one.
const FEW: u64 = 4;

/// One kernel of a program, for so many ranks.
#[derive(Clone, Copy)]
pub(super) struct Work<'s> {
    pub(super) kind: &'s CompiledKind,
    /// The number of the kernel.
    pub(super) k: usize,
    pub(super) lowered: &'s Lowered,
    pub(super) dims: &'s IdVec<IndexVar, u64>,
    pub(super) ranks: usize,
}

/// How a kernel is cut into a part for each rank.
pub(super) struct Cut<'s> {
    pub(super) partition: &'s Partition,
    /// The variable whose coordinates are cut, and where the interval of each rank begins.
    pub(super) var: IndexVar,
    /// What iterations of the loop count of these.
    pub(super) scale: &'s Scale,
    pub(super) starts: Vec<u64>,
    pub(super) reads: &'s [Read],
}

pub(super) type Given<'v> = [Option<Cow<'v, Distributed>>];

impl Cut<'_> {
    /// Whether what a read needs on each rank is what that rank has.
    pub(super) fn is_at_hand(&self, read: &Read, value: &Distributed) -> bool {
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

    /// The operands that know the work; none of them where iterations are as much work as each other.
    pub(super) fn leads(&self) -> impl Iterator<Item = Option<TensorId>> {
        let leads = &self.partition.leads;
        leads.iter().map(|&id| Some(id)).chain(leads.is_empty().then_some(None))
    }

    /// Whether the entries of all these are counted by their arrays as if they were there alone.
    pub(super) fn has_counted_leads(&self, values: &Given<'_>) -> bool {
        let is_counted = |tensor: &Distributed| {
            let format = &tensor.storage.format;
            format.is_basic() || tamis_runtime::is_list(format)
        };
        let counted = |id: &TensorId| values[id.index()].as_deref().is_some_and(is_counted);
        self.partition.leads.iter().all(counted)
    }

    /// What a rank needs of an operand, if that is not what it has, given what reads need.
    pub(super) fn needed_of(
        &self,
        id: TensorId,
        value: &Distributed,
        needs: &[Vec<Coords>],
    ) -> Option<Vec<Coords>> {
        let mut own = self.reads.iter().filter(|read| read.access.tensor == id).peekable();
        if own.peek().is_some() && own.all(|read| self.is_at_hand(read, value)) {
            return None;
        }
        let mine = self.reads.iter().zip(needs).filter(|(read, _)| read.access.tensor == id);
        let needed = mine
            .map(|(_, needed)| needed.clone())
            .reduce(|some, others| some.into_iter().zip(others).map(|(a, b)| a.or(b)).collect());
        Some(needed.unwrap_or_else(|| vec![Coords::All; value.dims.len()]))
    }
}

/// Tells which coordinates the needed entries of a read have in a mode: the read and the mode, and what is needed.
pub(super) type Image<'i> =
    dyn Fn((usize, usize), &[Coords]) -> Result<Arc<Coords>, Diagnostic> + 'i;

impl<'s> Work<'s> {
    pub(super) fn program(self) -> &'s cin::Program {
        &self.kind.compiled().program
    }

    pub(super) fn kernel(self) -> &'s cin::Kernel {
        &self.program().kernels[self.k]
    }

    /// The outermost loop in a part for each rank; none where a rank would begin inside of an iteration.
    pub(super) fn cut(self, values: &Given<'_>, part: &'s Part) -> Option<Cut<'s>> {
        let partition = self.lowered.partition.as_ref().ok()?;
        let starts = self.starts(values, part)?;
        let Part { var, scale, reads, .. } = part;
        Some(Cut { partition, var: *var, scale, starts, reads })
    }

    /// Where ranks begin. Without a schedule: as an operand that is cut by the same variable is cut, the sparse
    /// one with most entries unless these are few for so many coordinates, else the largest dense one.
    fn starts(self, values: &Given<'_>, part: &Part) -> Option<Vec<u64>> {
        let Part { var, scale, reads, .. } = part;
        let (var, dimension) = (*var, self.dims[part.var]);
        match part.starts {
            Starts::OfOperands => {}
            Starts::Even => {
                return self.aligned((scale, var), even(dimension, 1, self.ranks));
            }
            Starts::OfPositions(of) => {
                // Positions of whole rows: of the operand's first level.
                let value = values[of.index()].as_deref()?;
                return match &value.owners {
                    Owners::Intervals { mode, starts }
                        if *mode == cut_mode(&value.storage.format).0 =>
                    {
                        Some(starts.clone())
                    }
                    _ => None,
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
            None => even(dimension, 1, self.ranks),
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

    /// The tensors that the kernel takes.
    pub(super) fn operands(self) -> Vec<TensorId> {
        let mut found = vec![];
        let of_binding = self.lowered.bindings.iter().filter_map(Binding::tensor);
        for id in of_binding.chain(self.lowered.like.map(|like| like.operand)) {
            if id != self.kernel().result && !found.contains(&id) {
                found.push(id);
            }
        }
        found
    }

    /// How the kernel runs on several ranks.
    pub(super) fn distribution(self) -> &'s Distribution {
        self.kind.distribution(self.k)
    }

    /// A call of the kernel with these operands.
    pub(super) fn call<'c>(
        self,
        executable: &'c dyn Executable,
        values: &'c [Option<Cow<'c, Tensor>>],
    ) -> Call<'c>
    where
        's: 'c,
    {
        self.kind.call(self.kernel().result, self.lowered, executable, values, self.dims)
    }

    /// What the part of a rank needs, per read and mode.
    pub(super) fn needs(
        self,
        values: &Given<'_>,
        cut: &Cut<'_>,
        interval: Range<u64>,
        image: &Image<'_>,
    ) -> Result<Vec<Vec<Coords>>, Diagnostic> {
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
                Some(k) => {
                    let image = |(read, mode): (usize, usize)| {
                        image(
                            (read, mode),
                            known[read].as_deref().expect("images are of known reads"),
                        )
                    };
                    self.needed(values, &cut.reads[k], interval.clone(), &image)?
                }
                None => vec![Coords::All; cut.reads[k].modes.len()],
            };
            known[k] = Some(needed);
        }
        Ok(known.into_iter().flatten().collect())
    }

    /// The coordinates that a read needs, once those are known of which it needs the image.
    fn needed(
        self,
        values: &Given<'_>,
        read: &Read,
        interval: Range<u64>,
        image: &dyn Fn((usize, usize)) -> Result<Arc<Coords>, Diagnostic>,
    ) -> Result<Vec<Coords>, Diagnostic> {
        let mut coords = vec![];
        for (m, need) in read.modes.iter().enumerate() {
            coords.push(match need {
                Need::All => Coords::All,
                Need::Part => Coords::Some(interval.clone(), vec![]),
                Need::Image(of) => {
                    let var = self.program().derived.alias(read.access.indices[m]);
                    let mut all = Coords::none();
                    for &of in of {
                        all = all.or(Coords::clone(&*image(of)?));
                    }
                    let value = values[read.access.tensor.index()].as_deref();
                    let bytes = value.map_or(1, |value| value.bytes_at(m));
                    all.or_all(self.dims[var], bytes)
                }
            });
        }
        Ok(coords)
    }
}
