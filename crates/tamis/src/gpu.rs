//! Tensors that live on a GPU: operands and results of kernels that feed each other without copies.
//!
//! ```no_run
//! use tamis::{Backend, Kernel, Options, Tensor, gpu};
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let a = Tensor::csr([2, 2], vec![0, 1, 2], vec![1, 0], vec![1.0, 2.0])?;
//! let x = Tensor::dense(&[2], vec![3.0, 4.0])?;
//! let (a, mut x) = (gpu::to_device(&a)?, gpu::to_device(&x)?);
//! let mut options = Options { backend: Backend::Cuda, ..Options::default() };
//! options.results.insert("y".to_owned(), tamis::format::parse("dense", Some(1))?);
//! let step = Kernel::compile_on_device("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)], &options)?;
//! for _ in 0..10 {
//!     x = step.run_on_device(&[("A", &a), ("x", &x)])?.remove(0).1;
//! }
//! println!("{:?}", x.from_device()?.vals().as_slice::<f64>());
//! # Ok(())
//! # }
//! ```
//!
//! A call returns when its kernels are started, unless it has to know how long a result is; what it
//! computes is waited for where it is copied to the host. Several threads may call.

use crate::binding::{Binding, Values};
use crate::kernel::{Kernel, Options};
use crate::operand::Operand;
use crate::results::Results;
use std::borrow::Cow;
use tamis_core::cin::KernelKind;
use tamis_core::format::Storage;
use tamis_core::notation;
use tamis_core::pipeline::Compiled;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, TensorId};

pub use tamis_cuda::memory::release;
pub use tamis_cuda::nvrtc::look_in;
pub use tamis_cuda::stream::last_milliseconds;
pub use tamis_cuda::tensor::{DeviceTensor, to_device};

/// Results by name.
type Named = Results<DeviceTensor>;

impl Kernel {
    /// Compiles a program for operands on the device stored like these; the backend of the options has to
    /// be [`Backend::Cuda`](crate::Backend::Cuda).
    ///
    /// # Errors
    ///
    /// As for [`compile`](Kernel::compile), and where there is no device.
    pub fn compile_on_device(
        text: &str,
        operands: &[(&str, &DeviceTensor)],
        options: &Options,
    ) -> Result<Kernel, Diagnostic> {
        Kernel::of_operands(notation::parse(text)?, operands, options)
    }

    /// Computes the results from tensors on the device, where they stay, by name in the order of the
    /// statements that wrote them last.
    ///
    /// # Errors
    ///
    /// As for [`run`](Kernel::run), where the kernel was compiled for another backend, and where the device
    /// has no memory or fails. What fails in a kernel that nobody waited for is told by the call that
    /// waits next.
    pub fn run_on_device(&self, operands: &[(&str, &DeviceTensor)]) -> Result<Named, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        self.on_device(KernelKind::Fused, values, &binding)
    }

    /// Computes the values that the results have at the entries of patterns: [`compute`](Kernel::compute)
    /// with operands, patterns and results on the device. A pattern that shares the arrays of an operand, as a
    /// result of [`run_on_device`](Kernel::run_on_device) does that has its entries, is not merged with the
    /// operands; others are, row by row.
    ///
    /// # Errors
    ///
    /// As for [`compute`](Kernel::compute) and [`run_on_device`](Kernel::run_on_device).
    pub fn compute_on_device(
        &self,
        operands: &[(&str, &DeviceTensor)],
        patterns: &[(&str, &DeviceTensor)],
    ) -> Result<Named, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        let mut owned = vec![];
        for (name, pattern) in patterns {
            owned.push(match self.is_scattered(name) {
                true => to_device(&self.written(name, &pattern.from_device()?)?)?,
                false => (*pattern).clone(),
            });
        }
        let names = patterns.iter().map(|(name, _)| *name);
        let patterns: Vec<(&str, &DeviceTensor)> = names.zip(&owned).collect();
        let places = self.pattern_places(&patterns, &binding.dims)?;
        let compiled = self.form(KernelKind::Fused)?.compiled();
        let is_known = |id: TensorId, pattern: &DeviceTensor| {
            has_entries_of_operand(compiled, &values, id, pattern)
        };
        if places.iter().all(|(id, pattern, _)| is_known(*id, pattern)) {
            return self.on_device(KernelKind::Fused, values, &binding);
        }
        for (id, pattern, _) in places {
            values[id.index()] = Some(Cow::Owned(pattern.clone()));
        }
        self.on_device(KernelKind::Compute, values, &binding)
    }

    /// Runs the kernels of a kind on values that are on the device.
    fn on_device(
        &self,
        kind: KernelKind,
        values: Values<'_, DeviceTensor>,
        binding: &Binding,
    ) -> Result<Named, Diagnostic> {
        let form = self.form(kind)?.suited(&values, &binding.dims)?;
        let steps = form.steps().ok_or_else(elsewhere)?;
        let owned = values.into_iter().map(|value| value.map(Cow::into_owned)).collect();
        let results = steps.run_on_device(form, owned, &binding.dims)?;
        self.placed(results.into_iter().map(|value| value.map(Cow::Owned)).collect())
    }

    /// The results in the formats that were asked for. Those that no kernel writes go by the host.
    fn placed(&self, values: Values<'_, DeviceTensor>) -> Result<Named, Diagnostic> {
        let mut results = self.named(values);
        for (name, result) in results.iter_mut() {
            if self.is_scattered(name)
                && let Some(packed) = self.scattered(name, &result.from_device()?)?
            {
                *result = to_device(&packed)?;
            }
        }
        Ok(results)
    }
}

impl Operand for DeviceTensor {
    fn dims(&self) -> &[u64] {
        self.dims()
    }
    fn storage(&self) -> &Storage {
        self.storage()
    }
    fn stored(&self) -> usize {
        self.stored()
    }
    fn longest_row(&self) -> Option<u64> {
        self.longest_row().ok()
    }
}

/// Whether a pattern has the arrays of the operand whose entries the result has without one: they need not be
/// looked for in the operand.
fn has_entries_of_operand(
    compiled: &Compiled,
    values: &Values<'_, DeviceTensor>,
    id: TensorId,
    pattern: &DeviceTensor,
) -> bool {
    let kernels = &compiled.program.kernels;
    let kernel = kernels.iter().position(|kernel| kernel.result == id);
    let like = kernel.and_then(|k| compiled.functions[k].like);
    let operand = like.and_then(|like| Some((values.get(like.operand.index())?.as_ref()?, like)));
    operand.is_some_and(|(operand, like)| pattern.shares_levels(operand, like.levels))
}

fn elsewhere() -> Diagnostic {
    let message = "the kernel was not compiled for tensors on a device".to_owned();
    Diagnostic::new(Code::UnsupportedBackend, message)
        .help("compile it with the backend cuda, or copy its operands by from_device")
}
