//! Where the time of a program goes, as plain Python values and as a table.
//!
//! ```text
//! profiled(kernel, 3, A=A, x=x)      the last result, {"stages": {"plan": 4.1e-05, ..}, "kernels": [..], ..}, the table
//! ```

use crate::failure::{guarded, interruptible, raised, refused};
use crate::kernel::Kernel;
use crate::result::returned;
use crate::threads::on_threads;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tamis::{Code, Counts, KernelProfile, LoopProfile, Profile};

/// The last result of a kernel, where the time of so many runs went, and that as a table.
type Profiled<'py> = (Bound<'py, PyAny>, Bound<'py, PyDict>, String);

/// Runs a kernel so many times and tells where its time goes.
#[pyfunction]
#[pyo3(signature = (kernel, runs, /, **operands))]
pub(crate) fn profiled<'py>(
    py: Python<'py>,
    kernel: &Bound<'py, Kernel>,
    runs: usize,
    operands: Option<&Bound<'py, PyDict>>,
) -> PyResult<Profiled<'py>> {
    guarded(py, || {
        let (named, owner) = kernel.get().owned_operands(py, operands)?;
        let own = kernel.clone().unbind();
        let work = move || {
            let named: Vec<(&str, &tamis::Tensor)> =
                named.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
            let form = own.get().form(&named)?;
            on_threads(usize::MAX, || form.kernel.profile(&named, runs))
        };
        let (mut results, profile) = interruptible(py, work)?.map_err(|d| raised(py, &d))?;
        let Some((_, last)) = results.pop() else {
            let message = "the program computes nothing".to_owned();
            return Err(refused(py, Code::Syntax, message, "write a statement"));
        };
        Ok((returned(py, last, owner)?, told(py, &profile)?, profile.to_string()))
    })
}

fn told<'py>(py: Python<'py>, profile: &Profile) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let stages = PyDict::new(py);
    profile.stages.iter().try_for_each(|(stage, seconds)| stages.set_item(stage, seconds))?;
    dict.set_item("stages", stages)?;
    dict.set_item("run_seconds", profile.runs.iter().map(|r| r.seconds).collect::<Vec<_>>())?;
    let ran_on = profile.runs.iter().map(|run| run.ran_on.name());
    dict.set_item("ran_on", ran_on.collect::<Vec<_>>())?;
    dict.set_item("threads", profile.threads)?;
    dict.set_item("bandwidth", profile.bandwidth)?;
    dict.set_item("counted", profile.is_counted)?;
    let kernels = PyList::empty(py);
    profile.kernels.iter().try_for_each(|one| kernels.append(kernel(py, one, profile)?))?;
    dict.set_item("kernels", kernels)?;
    Ok(dict)
}

fn kernel<'py>(
    py: Python<'py>,
    kernel: &KernelProfile,
    profile: &Profile,
) -> PyResult<Bound<'py, PyDict>> {
    let speed = kernel.bytes_per_second();
    let dict = PyDict::new(py);
    dict.set_item("name", &kernel.estimate.name)?;
    dict.set_item("result", &kernel.estimate.result)?;
    dict.set_item("seconds", kernel.seconds)?;
    dict.set_item("bytes", kernel.bytes)?;
    dict.set_item("bytes_per_second", speed)?;
    dict.set_item("share_of_limit", speed.map(|speed| speed / profile.bandwidth))?;
    dict.set_item("values", kernel.values)?;
    dict.set_item("estimated_values", kernel.estimate.values)?;
    dict.set_item("estimated_iterations", kernel.estimate.steps)?;
    counts(&dict, kernel.counts)?;
    dict.set_item("workspace_bytes", kernel.counts.map(|counts| counts.bytes))?;
    let loops = PyList::empty(py);
    kernel.loops.iter().try_for_each(|one| loops.append(of_loop(py, one)?))?;
    dict.set_item("loops", loops)?;
    Ok(dict)
}

fn of_loop<'py>(py: Python<'py>, one: &LoopProfile) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("variable", &one.var)?;
    dict.set_item("of_code", one.is_of_code)?;
    dict.set_item("depth", one.depth)?;
    dict.set_item("drivers", &one.drivers)?;
    dict.set_item("estimated_iterations", one.estimated)?;
    counts(&dict, one.counts)?;
    dict.set_item("share", one.share)?;
    Ok(dict)
}

fn counts(dict: &Bound<'_, PyDict>, counts: Option<Counts>) -> PyResult<()> {
    dict.set_item("iterations", counts.map(|counts| counts.iterations))?;
    dict.set_item("loads", counts.map(|counts| counts.loads))?;
    dict.set_item("stores", counts.map(|counts| counts.stores))?;
    dict.set_item("bytes_moved", counts.map(|counts| counts.moved))
}
