//! Sizes as Python gives them: of axes, of index variables, of memory.
//!
//! ```text
//! shape=(3, 4)    3, 4
//! shape=(-3,)     refused, as is what has more than 64 bits
//! ```

use crate::failure::refused;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use tamis::Code;

/// A whole number from 0.
#[derive(Clone, Copy)]
pub(crate) struct Size(u64);

impl Size {
    /// The number.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Size {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Size> {
        let py = object.py();
        object.extract().map(Size).map_err(|error: PyErr| {
            let (code, message) = match error.is_instance_of::<PyOverflowError>(py) {
                true => (Code::InvalidOption, format!("{} is no size", shown(&object))),
                false => (Code::TypeMismatch, format!("{} is no integer", shown(&object))),
            };
            refused(py, code, message, "give sizes from 0, below 2^64")
        })
    }
}

fn shown(object: &Bound<'_, PyAny>) -> String {
    object.repr().map_or_else(|_| "the object".to_owned(), |text| text.to_string())
}

/// The numbers of sizes.
pub(crate) fn numbers(sizes: Vec<Size>) -> Vec<u64> {
    sizes.into_iter().map(Size::number).collect()
}
