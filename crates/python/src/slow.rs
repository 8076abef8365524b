//! A word before it is slow, as `tamis.PerformanceWarning`.
//!
//! ```text
//! tamis.evaluate("N(i,j) = A(i,j) / d(i)", A=A, d=d, strict=True)
//!     PerformanceWarning: warning[dense-result]: N stores 9e8 values, its operands 130000: ..
//! ```
//!
//! Each call warns; Python's default filter shows a warning once for each line of the caller.

use crate::failure::{CLASSES, in_python, raised};
use crate::stored::rounded;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tamis::{Diagnostic, Kernel, Tensor};

/// For so many sizes of operands it is kept what is slow.
const KEPT: usize = 8;

/// Dimensions of operands, and how many values they have about.
type Sizes = Vec<u64>;

/// Kernels of fewer steps end before anybody presses Ctrl-C.
const SOON: f64 = 2e7;

/// What is slow about a kernel for operands of the sizes of its last calls, the latest last.
#[derive(Default)]
pub(crate) struct Slow(Mutex<VecDeque<(Sizes, Arc<Forecast>)>>);

/// What is known of a call before it runs.
pub(crate) struct Forecast {
    warnings: Vec<Diagnostic>,
    /// About how many steps it takes, once somebody asked.
    steps: OnceLock<f64>,
}

impl Forecast {
    /// Whether the call is about to end soon.
    pub(crate) fn ends_soon(&self, kernel: &Kernel, operands: &[(&str, &Tensor)]) -> bool {
        let estimate = || kernel.estimate(operands).map_or(f64::INFINITY, |found| found.steps());
        *self.steps.get_or_init(estimate) < SOON
    }
}

impl Slow {
    /// Warns of what is slow about a call; what is known of it.
    pub(crate) fn warn(
        &self,
        py: Python<'_>,
        kernel: &Kernel,
        operands: &[(&str, &Tensor)],
    ) -> PyResult<Arc<Forecast>> {
        let found = self.found(kernel, operands).map_err(|d| raised(py, &d))?;
        for warning in &found.warnings {
            let text = in_python(warning).to_string();
            py.import(CLASSES)?.call_method1("warn", (text,))?;
        }
        Ok(found)
    }

    fn found(
        &self,
        kernel: &Kernel,
        operands: &[(&str, &Tensor)],
    ) -> Result<Arc<Forecast>, Diagnostic> {
        let mut sizes = Sizes::with_capacity(3 * operands.len());
        for (_, tensor) in operands {
            sizes.extend(tensor.dims());
            sizes.push(rounded(tensor.vals().len() as u64));
        }
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = known().iter().find(|(of, _)| *of == sizes) {
            return Ok(Arc::clone(found));
        }
        let warnings = kernel.warnings(operands)?;
        let found = Arc::new(Forecast { warnings, steps: OnceLock::new() });
        let mut known = known();
        if known.len() == KEPT {
            known.pop_front();
        }
        known.push_back((sizes, Arc::clone(&found)));
        Ok(found)
    }
}
