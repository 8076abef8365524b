//! Programs as tasks, each of which computes a part: what `tamis.dask` is made of.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      Tasks(kernel, {"A": ((1000, 50), "csr{f64}", None), ..})
//!                           .pieces()       {"var": "i", "mode": 0, "operands": {"A": 0, "x": None}, ..}
//!                           .run(A=.., x=..)    on some rows of A
//! ```

use crate::convert::converted;
use crate::failure::{detached, guarded, interruptible, raised, refused};
use crate::kernel::Kernel;
use crate::operand::{Operand, Owner};
use crate::result::returned;
use crate::size::{Size, numbers};
use crate::sparse::{is_loose, ordered};
use crate::specs::spec;
use crate::threads::on_threads;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::sync::Arc;
use tamis::dist::{self, Described};
use tamis::{Code, DataType, Storage};

/// A program compiled for operands that tasks load.
#[pyclass(frozen, module = "tamis._native")]
pub struct Tasks {
    tasks: Arc<dist::Tasks>,
    operands: BTreeMap<String, Storage>,
}

/// The shape of an operand, how it is stored, and how many values it stores, where that is known.
type Said = (Vec<Size>, String, Option<usize>);

#[pymethods]
impl Tasks {
    #[new]
    fn new(
        py: Python<'_>,
        kernel: &Bound<'_, Kernel>,
        operands: BTreeMap<String, Said>,
    ) -> PyResult<Tasks> {
        let (program, options) = kernel.get().source();
        let mut described = vec![];
        for (name, (shape, format, stored)) in operands {
            let dims = numbers(shape);
            let storage = spec(py, &format, dims.len())?.resolve(DataType::F64);
            let storage = storage.map_err(|d| raised(py, &d))?;
            described.push((name, Described { dims, storage, stored }));
        }
        let stored = described.iter().map(|(name, d)| (name.clone(), d.storage.clone())).collect();
        let (program, options) = (program.clone(), options.clone());
        let compile = move || {
            let named: Vec<(&str, Described)> =
                described.iter().map(|(name, d)| (name.as_str(), d.clone())).collect();
            dist::Tasks::compile(program, &named, &options)
        };
        let tasks = interruptible(py, compile)?.map_err(|d| raised(py, &d))?;
        Ok(Tasks { tasks: Arc::new(tasks), operands: stored })
    }

    /// The shape of the last result.
    #[getter]
    fn shape(&self) -> Vec<u64> {
        self.tasks.dims.clone()
    }

    /// How the last result is stored.
    #[getter]
    fn storage(&self) -> String {
        self.tasks.storage.to_string()
    }

    /// Whether every element of the last result is stored, so that it becomes an array.
    #[getter]
    fn is_full(&self) -> bool {
        self.tasks.storage.format.is_full()
    }

    /// What a task needs that computes a part of the last result, or in words why one task computes all.
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pieces = match &self.tasks.pieces {
            Ok(pieces) => pieces,
            Err(why) => return Ok(why.into_pyobject(py)?.into_any()),
        };
        let told = PyDict::new(py);
        told.set_item("var", &pieces.var)?;
        told.set_item("size", pieces.size)?;
        told.set_item("block", pieces.block)?;
        told.set_item("mode", pieces.mode)?;
        told.set_item("operands", &pieces.operands)?;
        told.set_item("reads", &pieces.reads)?;
        Ok(told.into_any())
    }

    /// The last result of operands, whole or pieces of them, in the formats that were said.
    #[pyo3(signature = (**operands))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        operands: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut named = vec![];
        for (name, object) in operands.into_iter().flatten() {
            let name: String = name.extract()?;
            let Operand::Tensor(tensor, _) = Operand::of(&object)? else {
                let message = format!("{name} is a number of Python's");
                return Err(refused(py, Code::TypeMismatch, message, "give an array of no axes"));
            };
            let tensor = if is_loose(&tensor) { ordered(py, tensor)? } else { tensor };
            let tensor = match self.operands.get(&name) {
                Some(storage) => detached(py, || converted(&tensor, storage))?,
                None => tensor,
            };
            named.push((name, tensor));
        }
        let tasks = Arc::clone(&self.tasks);
        let run = move || {
            let operands: Vec<(&str, &tamis::Tensor)> =
                named.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
            on_threads(usize::MAX, || tasks.kernel.run(&operands))
        };
        let mut results = detached(py, run)?;
        let Some((_, last)) = results.pop() else {
            let message = "the program computes nothing".to_owned();
            return Err(refused(py, Code::Syntax, message, "write a statement"));
        };
        guarded(py, || returned(py, last, Owner::Tamis))
    }
}
