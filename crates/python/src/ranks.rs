//! Programs on several processes, by a communicator that mpi4py has.
//!
//! ```text
//! run_on_ranks(kernel, comm.handle, A=A, x=x)     on every rank, with the whole of the same operands
//! ```

use crate::failure::{detached, guarded, raised};
use crate::kernel::Kernel;
use crate::result::returned;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use tamis::dist::{self, Communicator, Distributed, Grid, Mpi, Placements, format_of, phase, same};
use tamis::{Code, Diagnostic};

/// A format, without what stands behind it and `@`.
#[pyfunction]
pub(crate) fn bare_format(text: &str) -> &str {
    format_of(text)
}

/// Tells the other ranks of a communicator, which compute a program, that this one has failed.
#[pyfunction]
pub(crate) fn fail_on_ranks(py: Python<'_>, handle: usize, reason: &str) -> PyResult<()> {
    let fail = || {
        // SAFETY: mpi4py's handles are communicators of the library that it has loaded.
        let mpi = unsafe { Mpi::from_handle(handle) }?;
        let failed = Diagnostic::new(Code::InvalidOption, reason);
        let outcome: Result<(), Diagnostic> = phase(&mpi, || Err(failed));
        Ok(mpi.end(outcome, |_| ()).is_ok())
    };
    detached(py, fail).map(drop)
}

/// Computes the last result on all ranks of a communicator together: each runs its part, and has the whole
/// afterwards. An error of one rank is raised on all. What stands behind the formats of operands and `@` says where
/// they lie; `grid` names the ranks, as in `x=4`.
#[pyfunction]
#[pyo3(signature = (kernel, handle, formats, grid, /, **operands))]
pub(crate) fn run_on_ranks<'py>(
    py: Python<'py>,
    kernel: &Bound<'py, Kernel>,
    handle: usize,
    formats: BTreeMap<String, String>,
    grid: Option<String>,
    operands: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let kernel = kernel.get();
    let mut own = None;
    // The others learn of a rank that could not read its operands.
    let given = kernel.owned_operands(py, operands).map_err(|error| {
        let told = Diagnostic::new(Code::InvalidTensor, error.value(py).to_string());
        own = Some(error);
        told
    });
    let run = || {
        // SAFETY: mpi4py's handles are communicators of the library that it has loaded.
        let mpi = unsafe { Mpi::from_handle(handle) }?;
        let outcome = phase(&mpi, || {
            let (program, options) = kernel.source();
            let text = format!("{}\n{options:?}", program.source);
            let placed = formats.iter().map(|(name, text)| (name.as_str(), text.as_str()));
            let text = format!("{text}\n{formats:?} {grid:?}");
            same(&mpi, "the program and its options", text.as_bytes())?;
            let placements = dist::placements(program, placed)?;
            let grid = Grid::of(grid.as_deref(), &options.schedule, &placements, mpi.ranks())?;
            let (named, owner) = given?;
            let named: Vec<(&str, &tamis::Tensor)> =
                named.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
            let form = kernel.form(&named)?;
            let parts = lying(&mpi, &grid, &named, &placements)?;
            let parts: Vec<(&str, &Distributed)> =
                parts.iter().map(|(name, part)| (name.as_str(), part)).collect();
            let results = form.kernel.run_on_grid(&mpi, &grid, &parts)?;
            let mut whole = dist::gathered(&mpi, &results)?;
            let last = whole.pop().ok_or_else(|| {
                Diagnostic::new(Code::Syntax, "the program computes nothing")
                    .help("write a statement")
            })?;
            Ok((last.1, owner))
        });
        mpi.end(outcome, |_| ())
    };
    let outcome = detached(py, || Ok(run()))?;
    let (last, owner) = match (outcome, own) {
        (Ok(done), _) => done,
        (Err(_), Some(error)) => return Err(error),
        (Err(told), None) => return Err(raised(py, &told)),
    };
    guarded(py, || returned(py, last, owner))
}

/// Operands where they are to lie.
fn lying(
    mpi: &Mpi,
    grid: &Grid,
    named: &[(&str, &tamis::Tensor)],
    placements: &Placements,
) -> Result<Vec<(String, Distributed)>, Diagnostic> {
    let lying = |(name, tensor): &(&str, &tamis::Tensor)| {
        let split = Distributed::split(mpi, tensor)?;
        Ok(((*name).to_owned(), split.placed_as(mpi, grid, (name, placements))?))
    };
    named.iter().map(lying).collect()
}
