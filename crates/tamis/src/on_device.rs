//! Kernels of a program on a device, one after another in a stream: what one computes, the next one reads
//! there.
//!
//! ```text
//! t(i,k) = ..    on the device      t stays there
//! y(j) = t ..    on the host        t is copied to the host
//! z(i) = y ..    on the device      y is copied to the device
//! ```

use crate::backend::Backend;
use crate::backend::cuda::on_units;
use crate::compiled_kind::CompiledKind;
use crate::waste;
use std::borrow::Cow;
use std::cell::OnceCell;
use tamis_core::cin::{self, KernelKind, Role};
use tamis_core::lower::{Binding, Lowered};
use tamis_cuda::device::{self, OnDevice};
use tamis_cuda::driver;
use tamis_cuda::stream::{Stream, timed};
use tamis_cuda::tensor::DeviceTensor;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_ir::ir::Function;
use tamis_ir::ir::verify::verify;
use tamis_runtime::extent::check_extents;
use tamis_runtime::kernel::Executable;
use tamis_runtime::pattern::at_entries;
use tamis_runtime::{Interrupt, Tensor};

/// What runs the functions of a program, in order.
pub(crate) struct Steps(Vec<Step>);

enum Step {
    Device(OnDevice),
    Host(Box<dyn Executable>),
}

/// A tensor on the host, on the device, or on both.
#[derive(Default)]
struct Value {
    host: OnceCell<Tensor>,
    device: OnceCell<DeviceTensor>,
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value { host: OnceCell::from(tensor), device: OnceCell::new() }
    }
}

impl From<DeviceTensor> for Value {
    fn from(tensor: DeviceTensor) -> Value {
        Value { host: OnceCell::new(), device: OnceCell::from(tensor) }
    }
}

impl Value {
    /// The tensor on the host, copied there at first.
    fn on_host(&self, stream: &Stream) -> Result<Tensor, Diagnostic> {
        if let (None, Some(device)) = (self.host.get(), self.device.get()) {
            let _ = self.host.set(device.fetched(stream)?);
        }
        Ok(self.host.get().expect("a value is somewhere").clone())
    }

    /// The tensor on the device, copied there at first.
    fn on_device(&self, stream: &Stream) -> Result<DeviceTensor, Diagnostic> {
        if let (Some(host), None) = (self.host.get(), self.device.get()) {
            let _ = self.device.set(DeviceTensor::copied(host, stream)?);
        }
        Ok(self.device.get().expect("a value is somewhere").clone())
    }
}

/// The values of a program's tensors, as far as they have some, by id.
type Values = Vec<Option<Value>>;

impl Steps {
    /// Makes functions ready. Those that have no kernels run on the host.
    pub(crate) fn load(functions: &[&Function]) -> Result<Steps, Diagnostic> {
        functions.iter().try_for_each(|function| verify(function))?;
        // Without a device, programs of which no part would run on one fail as well.
        driver::device()?;
        let on_device = |functions: &[&Function]| {
            Ok(device::compile(functions)?.into_iter().map(Step::Device).collect())
        };
        let on_host = |functions: &[&Function]| {
            Ok(Backend::Jit.load(functions)?.into_iter().map(Step::Host).collect())
        };
        Ok(Steps(on_units(functions, &on_device, &on_host)?))
    }

    /// Runs them on tensors of the host; the results are there as well.
    pub(crate) fn run(
        &self,
        form: &CompiledKind,
        values: Vec<Option<Tensor>>,
        dims: &IdVec<IndexVar, u64>,
    ) -> Result<Vec<Option<Tensor>>, Diagnostic> {
        let values = values.into_iter().map(|value| value.map(Value::from)).collect();
        self.all(form, values, dims, &Value::on_host)
    }

    /// Runs them on tensors of the device; the results stay there.
    pub(crate) fn run_on_device(
        &self,
        form: &CompiledKind,
        mut values: Vec<Option<DeviceTensor>>,
        dims: &IdVec<IndexVar, u64>,
    ) -> Result<Vec<Option<DeviceTensor>>, Diagnostic> {
        values.resize(form.compiled().program.tensors.len(), None);
        let values = values.into_iter().map(|value| value.map(Value::from)).collect();
        self.all(form, values, dims, &Value::on_device)
    }

    /// Runs all, and takes the results where they are wanted.
    fn all<T>(
        &self,
        form: &CompiledKind,
        mut values: Values,
        dims: &IdVec<IndexVar, u64>,
        taken: &dyn Fn(&Value, &Stream) -> Result<T, Diagnostic>,
    ) -> Result<Vec<Option<T>>, Diagnostic> {
        let device = driver::device()?;
        let _entered = device.enter()?;
        let stream = device.stream()?;
        let functions = &form.compiled().functions;
        // Operands are copied before the clock starts.
        for (step, lowered) in self.0.iter().zip(functions) {
            if let Step::Device(_) = step {
                for id in bound(lowered) {
                    values[id.index()].as_ref().map(|v| v.on_device(&stream)).transpose()?;
                }
            }
        }
        timed(&stream, || {
            self.0.iter().enumerate().try_for_each(|(k, step)| {
                Running { form, dims, stream: &stream }.step(k, step, &mut values)
            })
        })?;
        let tensors = &form.compiled().program.tensors;
        let wanted = |id: TensorId| matches!(tensors[id].role, Role::Result(_));
        let ids = tensors.ids().map(|id| values[id.index()].as_ref().filter(|_| wanted(id)));
        ids.map(|value| value.map(|value| taken(value, &stream)).transpose()).collect()
    }
}

/// A program that runs.
struct Running<'r> {
    form: &'r CompiledKind,
    dims: &'r IdVec<IndexVar, u64>,
    stream: &'r Stream,
}

impl Running<'_> {
    /// Runs one kernel.
    fn step(&self, k: usize, step: &Step, values: &mut Values) -> Result<(), Diagnostic> {
        Interrupt::current().map_or(Ok(()), |interrupt| interrupt.check())?;
        let compiled = self.form.compiled();
        let (kernel, lowered) = (&compiled.program.kernels[k], &compiled.functions[k]);
        let target = &compiled.program.tensors[kernel.result];
        let place = kernel.result.index();
        let taken_over =
            match self.form.kind == KernelKind::Compute && kernel.kind == KernelKind::Fused {
                true => values[place].take(),
                false => None,
            };
        if !kernel.has_pattern() {
            let value = |id: TensorId| {
                values[id.index()].as_ref().map(|v| v.on_host(self.stream)).transpose()
            };
            waste::refuse_copy(&compiled.program, kernel, &value)?;
        }
        check_extents(target, self.dims)?;
        let value = match step {
            Step::Device(function) => self.on_device(function, kernel.result, lowered, values)?,
            Step::Host(function) => self.on_host(function.as_ref(), kernel, lowered, values)?,
        };
        values[place] = Some(match taken_over {
            None => value,
            Some(pattern) => {
                let (value, pattern) = (value.on_host(self.stream)?, pattern.on_host(self.stream)?);
                at_entries(&value, &pattern)?.into()
            }
        });
        Ok(())
    }

    fn on_device(
        &self,
        function: &OnDevice,
        id: TensorId,
        lowered: &Lowered,
        values: &Values,
    ) -> Result<Value, Diagnostic> {
        let mut own: Vec<Option<DeviceTensor>> = vec![None; values.len()];
        for used in bound(lowered).chain([id]) {
            let value = values[used.index()].as_ref();
            own[used.index()] = value.map(|v| v.on_device(self.stream)).transpose()?;
        }
        let target = &self.form.compiled().program.tensors[id];
        let call = device::Call { target, id, lowered, values: &own, dims: self.dims };
        function.run(&call, self.stream).map(Value::from)
    }

    fn on_host(
        &self,
        function: &dyn Executable,
        kernel: &cin::Kernel,
        lowered: &Lowered,
        values: &Values,
    ) -> Result<Value, Diagnostic> {
        let id = kernel.result;
        let mut own: Vec<Option<Cow<'_, Tensor>>> = vec![None; values.len()];
        let read = kernel.body.reads().into_iter().map(|access| access.tensor);
        for used in bound(lowered).chain(read).chain([id]) {
            let value = values[used.index()].as_ref();
            own[used.index()] = value.map(|v| v.on_host(self.stream)).transpose()?.map(Cow::Owned);
        }
        self.form.call(id, lowered, function, &own, self.dims).run().map(Value::from)
    }
}

/// The tensors whose arrays a function takes.
fn bound(lowered: &Lowered) -> impl Iterator<Item = TensorId> {
    lowered.bindings.iter().filter_map(|binding| match binding {
        Binding::Level { tensor, .. } | Binding::Vals { tensor } => Some(*tensor),
        Binding::Dimension(_) | Binding::Begin | Binding::End => None,
    })
}
