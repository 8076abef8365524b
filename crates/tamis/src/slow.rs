//! A word before it is slow: what a kernel is going to do for certain operands.
//!
//! ```text
//! N(i,j) = A(i,j) / d(i)     Strictness::Ieee, A: csr     warning[dense-result]: N stores 9e8 values of 1e5: ..
//! ```

use crate::Kernel;
use tamis_core::cin::terms::Sizes;
use tamis_core::steps::{self, Steps};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::Id;
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
        Ok(self.steps(operands, steps::FLOOR)?.1)
    }

    /// The same for programs of at least so many steps, and how many there are.
    #[doc(hidden)]
    pub fn steps(
        &self,
        operands: &[(&str, &Tensor)],
        floor: f64,
    ) -> Result<(Steps, Vec<Diagnostic>), Diagnostic> {
        let (values, dims) = self.bind(operands)?;
        let stored = |id: tamis_ir::ids::TensorId| {
            values.get(id.index()).and_then(Option::as_ref).map(|value| value.vals().len() as u64)
        };
        let sizes = Sizes { dimension: &|var| dims[var], stored: &stored };
        Ok(steps::warnings(self.program(), &self.compiled().program, &sizes, floor))
    }
}
