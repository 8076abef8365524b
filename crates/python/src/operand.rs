//! Objects of Python as operands.

use crate::array::dense;
use crate::borrowing::copying;
use crate::failure::guarded;
use crate::scalar::Number;
use crate::sparse::{self, Scheme, ordered};
use crate::tensor;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use tamis::Tensor;
use tamis::notation::Program;

/// The module with what is easier said in Python.
const HELPERS: &str = "tamis._operands";

/// Whose an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// NumPy's, or of another with dense arrays.
    Dense,
    /// A sparse array of SciPy's.
    SparseArray,
    /// A sparse matrix of SciPy's.
    SparseMatrix,
    /// A tensor of the package.
    Tamis,
}

/// An operand.
pub(crate) enum Operand {
    /// A tensor, which shares its arrays with the object. Those of SciPy may be unordered.
    Tensor(Tensor, Owner),
    /// A number, whose type depends on the other operands.
    Number(Number),
}

/// Whose the result of operands of two owners is.
pub(crate) fn together(one: Owner, other: Owner) -> Owner {
    match (one, other) {
        (Owner::Tamis, _) | (_, Owner::Tamis) => Owner::Tamis,
        (Owner::SparseArray, _) | (_, Owner::SparseArray) => Owner::SparseArray,
        (Owner::SparseMatrix, _) | (_, Owner::SparseMatrix) => Owner::SparseMatrix,
        _ => Owner::Dense,
    }
}

/// The error with the operand that it is about.
pub(crate) fn about(py: Python<'_>, error: PyErr, name: &str) -> PyErr {
    let noted = error.value(py).call_method1("add_note", (format!("in operand {name}"),));
    match noted {
        Ok(_) => error,
        Err(other) => other,
    }
}

/// What objects of a class are, as `_operands.classify` says it.
#[derive(Clone, Copy)]
enum Class {
    Array,
    Number,
    Sparse(Scheme, Owner),
    Other,
}

impl Class {
    /// The class of a code.
    fn of(code: u8) -> Class {
        let scheme = match code % 10 {
            1 => Scheme::Csr,
            2 => Scheme::Csc,
            3 => Scheme::Coo,
            4 => Scheme::Bsr,
            _ => Scheme::Dia,
        };
        match code {
            1 => Class::Array,
            2 => Class::Number,
            11..=15 => Class::Sparse(scheme, Owner::SparseArray),
            21..=25 => Class::Sparse(scheme, Owner::SparseMatrix),
            _ => Class::Other,
        }
    }
}

/// A function of the helpers.
pub(crate) fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(HELPERS)?.getattr(name)
}

impl Operand {
    /// The operand that an object is.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
        if let Ok(tensor) = object.cast::<tensor::Tensor>() {
            return Ok(Operand::Tensor(tensor.get().checked(object.py())?, Owner::Tamis));
        }
        Ok(match class(object)? {
            Class::Array => Operand::Tensor(dense(object)?, Owner::Dense),
            Class::Number => Operand::Number(Number::of(object)?),
            Class::Sparse(scheme, owner) => Operand::Tensor(sparse::tensor(object, scheme)?, owner),
            Class::Other => {
                let plain = helper(object.py(), "plain")?.call1((object,))?;
                match Operand::of_plain(&plain)? {
                    // Sparse in a scheme that no tensor shares: still its owner's.
                    Operand::Tensor(tensor, _) if is_scipy(object)? => {
                        Operand::Tensor(tensor, class_owner(&plain)?)
                    }
                    operand => operand,
                }
            }
        })
    }

    /// A matrix with arrays of others as [`sparse::in_unchecked_order`] has it.
    pub(crate) fn in_unchecked_order(object: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
        if let Ok(tensor) = object.cast::<tensor::Tensor>() {
            let tensor = tensor.get().in_unchecked_order();
            return Ok(tensor.map(|tensor| Operand::Tensor(tensor, Owner::Tamis)));
        }
        let Class::Sparse(scheme, owner) = class(object)? else { return Ok(None) };
        let tensor = sparse::in_unchecked_order(object, scheme)?;
        Ok(tensor.map(|tensor| Operand::Tensor(tensor, owner)))
    }

    /// The operand that an object is which the helpers made.
    fn of_plain(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
        if let Ok(tensor) = object.cast::<tensor::Tensor>() {
            return Ok(Operand::Tensor(tensor.get().checked(object.py())?, Owner::Tamis));
        }
        match class(object)? {
            Class::Sparse(scheme, owner) => {
                Ok(Operand::Tensor(sparse::tensor(object, scheme)?, owner))
            }
            _ => Ok(Operand::Tensor(dense(object)?, Owner::Dense)),
        }
    }
}

fn is_scipy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module: String = object.get_type().module()?.to_string();
    Ok(module.starts_with("scipy.sparse"))
}

fn class_owner(object: &Bound<'_, PyAny>) -> PyResult<Owner> {
    Ok(match class(object)? {
        Class::Sparse(_, owner) => owner,
        _ => Owner::Dense,
    })
}

/// The class of an object; each Python class is looked at once.
fn class(object: &Bound<'_, PyAny>) -> PyResult<Class> {
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = object.py();
    let classes = CLASSES.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    let kind = object.get_type();
    if let Some(code) = classes.get_item(&kind)? {
        return Ok(Class::of(code.extract()?));
    }
    let code: u8 = helper(py, "classify")?.call1((&kind,))?.extract()?;
    classes.set_item(&kind, code)?;
    Ok(Class::of(code))
}

/// The tensor of an object, which shares its arrays if it can, or only its values.
#[pyfunction]
#[pyo3(signature = (object, *, copy = false))]
pub fn borrow(object: &Bound<'_, PyAny>, copy: bool) -> PyResult<tensor::Tensor> {
    let made = || {
        Ok(match Operand::of(object)? {
            Operand::Tensor(tensor, Owner::Tamis) => tensor,
            Operand::Tensor(tensor, _) => ordered(object.py(), tensor)?,
            Operand::Number(number) => number.tensor(object.py(), None)?,
        })
    };
    guarded(object.py(), || if copy { copying(made) } else { made() }).map(tensor::Tensor::new)
}

/// The operands of a program, in the order in which they are read.
pub(crate) fn operands(program: &Program) -> Vec<String> {
    let (mut written, mut names) = (vec![], vec![]);
    for statement in &program.statements {
        for access in statement.value.accesses() {
            let name = &program.tensors[access.tensor].name;
            if !written.contains(&access.tensor) && !names.contains(name) {
                names.push(name.clone());
            }
        }
        written.push(statement.result.tensor);
    }
    names
}
