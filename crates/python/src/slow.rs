//! A word before it is slow, as `tamis.PerformanceWarning`.
//!
//! ```text
//! tamis.evaluate("N(i,j) = A(i,j) / d(i)", A=A, d=d, strict=True)
//!     PerformanceWarning: warning[dense-result]: N stores 9e8 values of 1e5: ..
//! ```
//!
//! Each call warns; Python's default filter shows a warning once for each line of the caller.

use crate::failure::{CLASSES, in_python, raised};
use crate::stored::rounded;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use tamis::{Diagnostic, Kernel, Tensor};

/// What is slow about a kernel for operands of about the sizes of its last call.
#[derive(Default)]
pub(crate) struct Slow(Mutex<Option<(Vec<u64>, Vec<Diagnostic>)>>);

impl Slow {
    /// Warns of what is slow about a call.
    pub(crate) fn warn(
        &self,
        py: Python<'_>,
        kernel: &Kernel,
        operands: &[(&str, &Tensor)],
    ) -> PyResult<()> {
        let sizes = |(_, x): &(&str, &Tensor)| rounded(x.vals().len() as u64);
        let sizes: Vec<u64> = operands.iter().map(sizes).collect();
        let last = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last().as_ref().filter(|(of, _)| *of == sizes).map(|(_, found)| found.clone());
        let found = match known {
            Some(found) => found,
            None => {
                let found = kernel.warnings(operands).map_err(|d| raised(py, &d))?;
                *last() = Some((sizes, found.clone()));
                found
            }
        };
        for warning in found {
            let text = in_python(&warning).to_string();
            py.import(CLASSES)?.call_method1("warn", (text,))?;
        }
        Ok(())
    }
}
