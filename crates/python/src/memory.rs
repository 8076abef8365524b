//! Arrays of tensors, lent by the buffer protocol to NumPy.

use crate::foreign::is_foreign;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use std::ffi::c_int;
use std::sync::Arc;
use tamis::{Bf16, Buffer, DataType, Truth, Values};

/// Memory of a tensor, as bytes. It lives as long as somebody looks at it.
#[pyclass(frozen, module = "tamis._native")]
pub struct Memory {
    buffer: Buffer,
    readonly: bool,
}

#[pymethods]
impl Memory {
    /// # Safety
    /// `view` may be written, as the interpreter promises.
    unsafe fn __getbuffer__(
        this: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let (memory, py) = (this.get(), this.py());
        let (address, len) = (memory.buffer.address().cast_mut(), memory.buffer.bytes());
        let readonly = c_int::from(memory.readonly);
        // SAFETY: the memory has so many bytes and lives as long as `this`, to which the view
        // keeps a reference. It is written only where nobody else has it.
        let status = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                this.as_ptr(),
                address.cast(),
                len as ffi::Py_ssize_t,
                readonly,
                flags,
            )
        };
        if status == 0 { Ok(()) } else { Err(PyErr::fetch(py)) }
    }
}

/// Who may write an array that is lent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nobody: a tensor has it too.
    Shared,
    /// The borrower, if nobody else has it.
    Given,
}

/// A NumPy array of the elements, of some shape, with the axes in this order in memory, outermost
/// first. Those of `bf16`, which NumPy lacks, are a copy in `f32`.
pub(crate) fn lent<'py>(
    py: Python<'py>,
    buffer: Buffer,
    shape: &[u64],
    order: &[usize],
    access: Access,
) -> PyResult<Bound<'py, PyAny>> {
    let buffer = match buffer.as_slice::<Bf16>() {
        Some(halves) => Buffer::from_vec(halves.iter().map(|&x| f32::from(x)).collect()),
        None => buffer,
    };
    let alone = Arc::strong_count(buffer.owner()) == 1 && !is_foreign(&buffer);
    let readonly = access == Access::Shared || !alone;
    let datatype = buffer.datatype();
    let is_c = order.iter().enumerate().all(|(k, &axis)| k == axis);
    let lengths = PyTuple::new(py, shape)?;
    let dtype = dtype(py, datatype)?;
    let array = numpy(py)?.getattr(pyo3::intern!(py, "ndarray"))?;
    let memory = Bound::new(py, Memory { buffer, readonly })?;
    if is_c {
        return array.call1((lengths, dtype, memory));
    }
    let mut strides = vec![0; shape.len()];
    let mut next = datatype.size() as i64;
    for &axis in order.iter().rev() {
        strides[axis] = next;
        next *= shape[axis].max(1) as i64;
    }
    array.call1((lengths, dtype, memory, 0, PyTuple::new(py, strides)?))
}

/// NumPy.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("numpy").map(|m| m.into_any().unbind()));
    module.map(|module| module.bind(py))
}

/// The codes of NumPy for data types; `bf16` has none.
const CODES: [(DataType, &str); 14] = [
    (DataType::Bool, "?"),
    (DataType::I8, "i1"),
    (DataType::I16, "i2"),
    (DataType::I32, "i4"),
    (DataType::I64, "i8"),
    (DataType::U8, "u1"),
    (DataType::U16, "u2"),
    (DataType::U32, "u4"),
    (DataType::U64, "u8"),
    (DataType::F16, "f2"),
    (DataType::F32, "f4"),
    (DataType::F64, "f8"),
    (DataType::C64, "c8"),
    (DataType::C128, "c16"),
];

/// NumPy's type for a data type; of `bf16`, which it lacks, that of `f32`.
pub(crate) fn dtype(py: Python<'_>, datatype: DataType) -> PyResult<Bound<'_, PyAny>> {
    static TYPES: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();
    let types = TYPES.get_or_try_init(py, || {
        let of = |(_, code): &(DataType, &str)| {
            numpy(py)?.call_method1("dtype", (*code,)).map(Bound::unbind)
        };
        CODES.iter().map(of).collect::<PyResult<Vec<_>>>()
    })?;
    let place = CODES.iter().position(|(t, _)| *t == datatype);
    let place = place.or_else(|| CODES.iter().position(|(t, _)| *t == DataType::F32));
    Ok(types[place.unwrap_or_default()].bind(py).clone())
}

/// Values as an array.
pub(crate) fn buffer(values: Values) -> Buffer {
    match values {
        Values::Bool(v) => Buffer::from_vec(v.into_iter().map(Truth::of_byte).collect()),
        Values::I8(v) => Buffer::from_vec(v),
        Values::I16(v) => Buffer::from_vec(v),
        Values::I32(v) => Buffer::from_vec(v),
        Values::I64(v) => Buffer::from_vec(v),
        Values::U8(v) => Buffer::from_vec(v),
        Values::U16(v) => Buffer::from_vec(v),
        Values::U32(v) => Buffer::from_vec(v),
        Values::U64(v) => Buffer::from_vec(v),
        Values::F16(v) => Buffer::from_vec(v),
        Values::Bf16(v) => Buffer::from_vec(v),
        Values::F32(v) => Buffer::from_vec(v),
        Values::F64(v) => Buffer::from_vec(v),
        Values::C64(v) => Buffer::from_vec(v),
        Values::C128(v) => Buffer::from_vec(v),
    }
}
