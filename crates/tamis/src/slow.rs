//! A word before it is slow: what a kernel is going to do for certain operands.
//!
//! ```text
//! N(i,j) = A(i,j) / d(i)     Strictness::Ieee, A: csr     warning[dense-result]: N stores 9e8 values, its operands 130000: ..
//! ```

use crate::Kernel;
use crate::binding::Values;
use crate::operand::Operand;
use std::borrow::Cow;
use tamis_core::cin::terms::Sizes;
use tamis_core::steps;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, TensorId};
use tamis_runtime::Tensor;

impl Kernel {
    /// What is slow about running the kernel on operands, if something is: each says why and how to write the
    /// program so that it is not. Nothing is printed.
    ///
    /// ```
    /// use tamis::{Code, Kernel, Options, Strictness, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let n = 10_000;
    /// let mut rows = vec![1; n + 1];
    /// rows[0] = 0;
    /// let a = Tensor::csr([n as u64, n as u64], rows, vec![3], vec![1.0])?;
    /// let d = Tensor::dense(&[n as u64], vec![2.0; n])?;
    /// let operands = [("A", &a), ("d", &d)];
    /// let warned = |strict| {
    ///     let options = Options { strict, ..Options::default() };
    ///     Kernel::compile("N(i,j) = A(i,j) / d(i)", &operands, &options)?.warnings(&operands)
    /// };
    /// assert!(warned(Strictness::Sparse)?.is_empty());
    /// assert_eq!(warned(Strictness::Ieee)?[0].code, Code::DenseResult);
    /// # Ok(())
    /// # }
    /// ```
    pub fn warnings(&self, operands: &[(&str, &Tensor)]) -> Result<Vec<Diagnostic>, Diagnostic> {
        self.warnings_from(operands, steps::FLOOR)
    }

    /// The same for programs of so many steps or more.
    #[doc(hidden)]
    pub fn warnings_from(
        &self,
        operands: &[(&str, &Tensor)],
        floor: f64,
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        self.warned(operands, floor)
    }

    /// These for operands wherever they are.
    pub(crate) fn warned<T: Operand>(
        &self,
        operands: &[(&str, &T)],
        floor: f64,
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        let dims = &binding.dims;
        let of = |value: &Cow<'_, T>| value.stored() as u64;
        // Each loop has a variable of its own, and searches take fewer steps than there are values.
        let most = values.iter().flatten().fold(1.0, |n, value| n + of(value) as f64);
        if dims.iter().fold(most, |n, &d| n * d.max(1) as f64) < floor {
            return Ok(vec![]);
        }
        let stored = |id: TensorId| values.get(id.index()).and_then(Option::as_ref).map(of);
        let sizes = Sizes { dimension: &|var| dims[var], stored: &stored };
        Ok(steps::warnings(self.program(), &self.compiled().program, &sizes, floor))
    }
}
