//! The operands of a call: objects of Python by the names of a program's tensors, in the formats that it was compiled
//! for.

use crate::convert::converted;
use crate::failure::{detached, raised, refused};
use crate::kernel::Kernel;
use crate::operand::{Operand, Owner, about, together};
use crate::scalar::Number;
use crate::sparse::{is_loose, ordered};
use crate::specs::beside;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tamis::{Code, DataType, Scalar, Storage, Tensor};

/// Operands by name.
pub(crate) type Named<'k> = Vec<(&'k str, Tensor)>;

/// The operands of a call.
pub(crate) struct Operands<'k> {
    pub(crate) named: Named<'k>,
    /// Whose they are.
    pub(crate) owner: Owner,
    /// Which of them are SciPy's unordered.
    pub(crate) loose: Vec<usize>,
    /// Which of them are SciPy's in an order that nobody looked at.
    pub(crate) unchecked: Vec<usize>,
}

impl Kernel {
    /// Operands by name in the formats that the caller of `compile` asked for, sorted, for another thread.
    pub(crate) fn owned_operands(
        &self,
        py: Python<'_>,
        operands: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Vec<(String, Tensor)>, Owner)> {
        let Operands { mut named, owner, loose, .. } =
            self.bound(py, (&PyTuple::empty(py), operands), false)?;
        for at in loose {
            named[at].1 = ordered(py, named[at].1.clone())?;
        }
        Ok((owned(&named), owner))
    }

    /// The operands of a call, in the formats that the caller of `compile` asked for. The order of SciPy's coordinates may
    /// be left unchecked.
    pub(crate) fn bound<'k>(
        &'k self,
        py: Python<'_>,
        (args, kwargs): (&Bound<'_, PyTuple>, Option<&Bound<'_, PyDict>>),
        may_leave: bool,
    ) -> PyResult<Operands<'k>> {
        let given = self.given(py, args, kwargs)?;
        let mut named: Named<'k> = Vec::with_capacity(given.len());
        let (mut numbers, mut owner, mut beside): (Vec<(&str, Number)>, _, Option<DataType>) =
            (vec![], Owner::Dense, None);
        let (mut loose, mut unchecked) = (vec![], vec![]);
        for (name, object) in given {
            let leaves = may_leave && self.absent.is_none() && !self.formats.contains_key(name);
            let left = if leaves { Operand::in_unchecked_order(&object) } else { Ok(None) };
            if matches!(left, Ok(Some(_))) {
                unchecked.push(named.len());
            }
            let operand = left.transpose().unwrap_or_else(|| Operand::of(&object));
            match operand.map_err(|error| about(py, error, name))? {
                Operand::Number(number) => numbers.push((name, number)),
                Operand::Tensor(tensor, of) => {
                    let datatype = tensor.storage().datatype;
                    beside = Some(beside.map_or(datatype, |t| t.promote(datatype)));
                    owner = together(owner, of);
                    let tensor = self.in_format(py, name, self.read(py, tensor, of)?)?;
                    if of != Owner::Tamis && !self.formats.contains_key(name) && is_loose(&tensor) {
                        loose.push(named.len());
                    }
                    named.push((name, tensor));
                }
            }
        }
        for (name, number) in numbers {
            let tensor = number.tensor(py, beside)?;
            named.push((name, self.in_format(py, name, tensor)?));
        }
        Ok(Operands { named, owner, loose, unchecked })
    }

    /// The objects of a call by the names of the program's tensors.
    fn given<'k, 'py>(
        &'k self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<(&'k str, Bound<'py, PyAny>)>> {
        if args.len() > self.operands.len() {
            let message = format!(
                "{} operands are given, the program reads {}",
                args.len(),
                self.operands.len()
            );
            let help = format!("give {}", self.operands.join(", "));
            return Err(refused(py, Code::UnusedInput, message, &help));
        }
        let mut given: Vec<(&str, Bound<'py, PyAny>)> =
            self.operands.iter().map(String::as_str).zip(args.iter()).collect();
        for (name, object) in kwargs.into_iter().flatten() {
            let name: std::borrow::Cow<'_, str> = name.extract()?;
            let Some(id) = self.program.tensor(&name) else {
                let names: Vec<&str> =
                    self.program.tensors.iter().map(|t| t.name.as_str()).collect();
                let message = format!("the expression has no tensor named {name}");
                let help = format!("its tensors are {}", names.join(", "));
                return Err(refused(py, Code::UnknownTensor, message, &help));
            };
            let own = self.program.tensors[id].name.as_str();
            if given.iter().any(|(name, _)| *name == own) {
                let message = format!("{own} is given twice");
                return Err(refused(py, Code::UnusedInput, message, "give it once"));
            }
            given.push((own, object));
        }
        Ok(given)
    }

    /// An operand with what it does not store read as the program says.
    fn read(&self, py: Python<'_>, tensor: Tensor, owner: Owner) -> PyResult<Tensor> {
        let (Some(absent), Owner::SparseArray | Owner::SparseMatrix) = (self.absent, owner) else {
            return Ok(tensor);
        };
        let datatype = tensor.storage().datatype;
        let holds = datatype.is_float() || absent.integer().is_some_and(|_| datatype.holds(absent));
        if holds {
            return tensor.with_fill(absent).map_err(|d| raised(py, &d));
        }
        // Integers have no infinity.
        let storage =
            Storage { datatype: DataType::F64, fill: Scalar::F64(0.0), ..tensor.storage().clone() };
        detached(py, move || converted(&tensor, &storage)?.with_fill(absent))
    }

    fn in_format(&self, py: Python<'_>, name: &str, tensor: Tensor) -> PyResult<Tensor> {
        let Some(spec) = self.formats.get(name) else { return Ok(tensor) };
        if spec.format.order() != tensor.dims().len() {
            let axes = tensor.dims().len();
            let message =
                format!("{name} has {axes} axes, its format {} has another order", spec.format);
            return Err(refused(
                py,
                Code::FormatOrder,
                message,
                "give a format with a level per axis",
            ));
        }
        let storage = beside(spec, tensor.storage()).map_err(|d| raised(py, &d))?;
        if storage == *tensor.storage() {
            return Ok(tensor);
        }
        detached(py, move || converted(&tensor, &storage))
    }
}

/// Operands as kernels take them.
pub(crate) fn borrowed<N: AsRef<str>>(named: &[(N, Tensor)]) -> Vec<(&str, &Tensor)> {
    named.iter().map(|(name, tensor)| (name.as_ref(), tensor)).collect()
}

/// Operands for another thread.
pub(crate) fn owned(named: &Named<'_>) -> Vec<(String, Tensor)> {
    named.iter().map(|(name, tensor)| ((*name).to_owned(), tensor.clone())).collect()
}
