//! Whether code depends on the order of SciPy's coordinates: where it does not, they need not be looked at in each call.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      the same code for csr and csr(nonordered, nonunique): only ranges are checked
//! C(i,j) = A(i,j) + B(i,j)  merges need the order: it is checked
//! ```

use crate::operand::Owner;
use crate::operands::{Named, Operands, borrowed};
use crate::sparse::{in_checked_order, is_loose, loosened};
use pyo3::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering as Memory};
use tamis::notation::Program;
use tamis::{Backend, Options, Tensor};

/// After so many calls on operands of so many values it is found out: one compilation takes as long as many checks.
const CALLS_BEFORE: u32 = 8;
const LEAST_VALUES: usize = 1 << 15;

/// Whether the code of a kernel ignores the order of SciPy's coordinates, once that is found out.
#[derive(Default)]
pub(crate) struct Ordering {
    ignored: OnceLock<bool>,
    calls: AtomicU32,
}

impl Ordering {
    /// Whether the code is known to ignore the order.
    pub(crate) fn is_ignored(&self) -> bool {
        self.ignored.get() == Some(&true)
    }

    /// Counts a call, and says whether it is the one after which to find out.
    pub(crate) fn count(&self, operands: &Operands<'_>) -> bool {
        let is_large = |t: &Tensor| t.dims().len() == 2 && t.vals().len() >= LEAST_VALUES;
        operands.owner != Owner::Dense
            && operands.named.iter().any(|(_, tensor)| is_large(tensor))
            && self.ignored.get().is_none()
            && self.calls.fetch_add(1, Memory::Relaxed) + 1 == CALLS_BEFORE
    }

    /// Finds out whether the code of a kernel is that for matrices in any order: what is compiled for these takes any.
    pub(crate) fn find_out(
        &self,
        kernel: &tamis::Kernel,
        (program, options): (&Program, &Options),
        named: &Named<'_>,
    ) -> bool {
        let loose: Vec<Option<Tensor>> = named.iter().map(|(_, tensor)| loosened(tensor)).collect();
        // Sums of integers may be computed again by other code, where they leave the type.
        let is_real = named.iter().all(|(_, tensor)| {
            let datatype = tensor.storage().datatype;
            datatype.is_float() || datatype.is_complex()
        });
        let may_be =
            loose.iter().any(Option::is_some) && is_real && options.backend != Backend::Cuda;
        let ignores = || {
            let both = named.iter().zip(loose);
            let named: Named<'_> = both
                .map(|((name, tensor), loose)| (*name, loose.unwrap_or_else(|| tensor.clone())))
                .collect();
            tamis::Kernel::of_program(program.clone(), &borrowed(&named), options)
                .is_ok_and(|made| made.compiled().functions == kernel.compiled().functions)
        };
        let ignored = may_be && ignores();
        *self.ignored.get_or_init(|| ignored)
    }
}

/// Looks at the order of the operands of which nobody did.
pub(crate) fn check_order(py: Python<'_>, operands: &mut Operands<'_>) -> PyResult<()> {
    for at in operands.unchecked.drain(..) {
        let (_, tensor) = &mut operands.named[at];
        *tensor = in_checked_order(py, tensor.clone())?;
        if is_loose(tensor) {
            operands.loose.push(at);
        }
    }
    Ok(())
}
