//! What ranks would send each other, from operands as one process has them, for any number of ranks.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      4 ranks      x: requests    the columns that a rank's rows of A store, to who has them
//!                                        x: elements    what it was asked for
//! ```
//!
//! No rank runs. The kernels run here, one after another, since later ones read what earlier ones compute; who has
//! what, and who needs what, is decided by the same functions as on ranks ([`Work`]), and messages are as long as
//! `wire` makes them.

mod cast;
mod ledger;
mod listed;
mod sums;
mod table;

pub use table::Network;

use crate::binding::Values;
use crate::compiled_kind::CompiledKind;
use crate::dist::grid::Grid;
use crate::dist::placement::{Cut, Placement, Placements, of_operand};
use crate::dist::slicing::{named_axes, slicings};
use crate::dist::tensor::{Distributed, Held, Owners, counted};
use crate::dist::work::{Given, Work};
use crate::kernel::Kernel;
use cast::Cast;
use ledger::Fetches;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tamis_core::cin::Role;
use tamis_core::plan::distribution::may_split;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, TensorId};
use tamis_runtime::Tensor;

/// Which run of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Run {
    /// The first, in which ranks tell each other what they need.
    First,
    /// One after it, with other values of the same patterns.
    Later,
}

/// What ranks would do, and send each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Forecast {
    /// How many ranks.
    pub ranks: usize,
    /// What they send, in order.
    pub steps: Vec<Sent>,
    /// What they compute.
    pub kernels: Vec<Share>,
}

/// What ranks send each other in a step, or in several that are alike.
#[derive(Clone, PartialEq, Debug)]
pub struct Sent {
    /// What for.
    pub what: String,
    /// Whether it is sent in the first run alone, and known in later ones.
    pub once: bool,
    /// Bytes that each rank sends to others.
    pub sent: Vec<u64>,
    /// Bytes that each gets of others.
    pub received: Vec<u64>,
    /// Messages one after another: those of the rank that sends most, or as a tree has levels.
    pub messages: u64,
}

/// How a kernel's work lies on the ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Share {
    /// The name of the result.
    pub name: String,
    /// What each rank has: elements of an operand, or iterations; none where each does everything.
    pub work: Option<Vec<u64>>,
    /// How long one process takes for all of it, on one thread.
    pub seconds: f64,
}

impl Share {
    /// The work of the rank that has most, against an equal share.
    pub fn imbalance(&self) -> Option<f64> {
        let work = self.work.as_ref()?;
        let (most, all) = (*work.iter().max()? as f64, work.iter().sum::<u64>() as f64);
        Some(if all == 0.0 { 1.0 } else { most * work.len() as f64 / all })
    }

    /// About how long the rank takes that has most work.
    pub fn slowest(&self) -> f64 {
        let of_all = self.imbalance().zip(self.work.as_ref());
        of_all.map_or(self.seconds, |(most, work)| self.seconds * most / work.len() as f64)
    }
}

impl Forecast {
    /// How many bytes all ranks send in a run.
    pub fn bytes(&self, run: Run) -> u64 {
        self.steps_of(run).flat_map(|step| &step.sent).sum()
    }

    /// What is sent in a run.
    pub fn steps_of(&self, run: Run) -> impl Iterator<Item = &Sent> {
        self.steps.iter().filter(move |step| run == Run::First || !step.once)
    }
}

impl Kernel {
    /// What so many ranks would send each other, if each had its part of these operands, where they are to lie
    /// or as [`Distributed::split`] cuts them.
    ///
    /// # Errors
    /// Those of [`Kernel::run`].
    ///
    /// ```
    /// use tamis::dist::Placements;
    /// use tamis::{Kernel, Options, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let a = Tensor::csr([2, 3], vec![0, 2, 4], vec![0, 2, 1, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// let x = Tensor::dense(&[3], vec![1.0, 10.0, 100.0])?;
    /// let operands = [("A", &a), ("x", &x)];
    /// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &Options::default())?;
    /// let forecast = kernel.forecast(2, &operands, &Placements::new())?;
    /// // Rank 0 has a row and x(0), and asks for x(2); rank 1 has the rest.
    /// let elements = forecast.steps.iter().find(|step| step.what == "x: elements").unwrap();
    /// assert_eq!(elements.sent, [0, 8]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn forecast(
        &self,
        ranks: usize,
        operands: &[(&str, &Tensor)],
        placements: &Placements,
    ) -> Result<Forecast, Diagnostic> {
        if ranks == 0 {
            let message = "there are no ranks to foretell anything of";
            return Err(Diagnostic::new(Code::InvalidOption, message).help("use at least 1"));
        }
        let line = Grid::line("x", ranks);
        if named_axes(self).len() > 1 || !slicings(self, &line)?.is_empty() {
            let message = "slices of tensors on ranks are not foretold";
            return Err(Diagnostic::new(Code::InvalidOption, message)
                .help("distribute the outermost loop alone"));
        }
        let parts = operands.iter().map(|(name, tensor)| {
            let part = whole(tensor, ranks, placements.get(*name));
            Ok((*name, part.map_err(|told| of_operand(name, told))?))
        });
        let parts = parts.collect::<Result<Vec<(&str, Distributed)>, Diagnostic>>()?;
        let given: Vec<(&str, &Distributed)> = parts.iter().map(|(n, t)| (*n, t)).collect();
        let mut values = Values::new();
        let binding = self.bound(&given, &mut values)?;
        let kind = self.fused().suited(&values, &binding.dims)?;
        let program = &kind.compiled().program;
        values.resize_with(program.tensors.len(), || None);
        let mut cast = Cast::new(ranks);
        cast.ledger.gather("the program", false, |_| 8);
        for (k, (lowered, executable)) in kind.loaded().enumerate() {
            let work = Work { kind, k, lowered, dims: &binding.dims, ranks };
            let result = cast.kernel(work, executable, &values)?;
            let id = program.kernels[k].result;
            values[id.index()] = Some(Cow::Owned(result));
            for temporary in kind.last_reads(k) {
                values[temporary.index()] = None;
            }
        }
        self.gathered(kind, &mut cast, &values)?;
        let Cast { ledger, kernels, .. } = cast;
        Ok(Forecast { ranks, steps: ledger.steps, kernels })
    }

    /// Adds what is sent of results that are converted once they are computed.
    fn gathered(
        &self,
        kind: &CompiledKind,
        cast: &mut Cast,
        values: &Given<'_>,
    ) -> Result<(), Diagnostic> {
        let mut results: BTreeMap<&str, TensorId> = BTreeMap::new();
        for (id, tensor) in kind.compiled().program.tensors.enumerate() {
            if let Role::Result(source) = tensor.role {
                results.insert(&self.program().tensors[source].name, id);
            }
        }
        for (name, id) in results.into_iter().filter(|(name, _)| self.is_scattered(name)) {
            if let Some(value) = values[id.index()].as_deref() {
                let fetches = Fetches::unremembered(cast.ledger.ranks);
                cast.fetch_all(&fetches, (id, name), value)?;
                cast.ledger.add(fetches);
            }
        }
        Ok(())
    }
}

/// A tensor of which all parts are here, cut as it is to be, or as [`Distributed::split`] cuts it.
fn whole(
    tensor: &Tensor,
    ranks: usize,
    placement: Option<&Placement>,
) -> Result<Distributed, Diagnostic> {
    let (dims, storage) = (tensor.dims().to_vec(), tensor.storage().clone());
    let cut = match placement {
        Some(placement) => placement.on_line(ranks, &storage)?,
        None if may_split(&storage.format) => Cut::Nonzeros,
        None => Cut::Replicated,
    };
    let counts =
        |mode: usize| Ok(counted(&tensor.to_coordinates()?.crds()[mode], tensor.dims()[mode]));
    let starts = cut.starts((&dims, &storage), ranks, counts)?;
    let Some((mode, starts)) = starts.filter(|_| ranks > 1) else {
        return Ok(Distributed::everyone(tensor.clone()));
    };
    let owners = (Owners::Intervals { mode, starts }, 0);
    let stored = tensor.vals().len();
    Ok(Distributed::new((dims, storage), stored, owners, Held::Whole(tensor.clone())))
}
