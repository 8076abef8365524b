//! Arrays of others, borrowed by the buffer protocol.

use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use std::any::Any;
use std::sync::Arc;
use tamis::{Buffer, DataType};

/// A lease on somebody's memory: as long as it lives, the memory is neither freed nor moved.
pub(crate) struct Lease(Box<ffi::Py_buffer>);

// SAFETY: the view is read where it was filled in, and given back with the interpreter attached.
unsafe impl Send for Lease {}
// SAFETY: as above; nothing is written through it.
unsafe impl Sync for Lease {}

impl Drop for Lease {
    fn drop(&mut self) {
        // SAFETY: the view was filled in by PyObject_GetBuffer and is given back once, attached.
        // Where the interpreter is gone, so is the memory's owner.
        Python::try_attach(|_| unsafe { ffi::PyBuffer_Release(&mut *self.0) });
    }
}

/// An array of somebody: where its elements are.
pub(crate) struct View {
    /// The first element.
    pub address: *const u8,
    /// Elements along each axis.
    pub shape: Vec<u64>,
    /// Bytes from one element to the next along each axis.
    pub strides: Vec<isize>,
    /// The type of the elements.
    pub datatype: DataType,
    lease: Lease,
}

impl View {
    /// The array of an object with the buffer protocol; `None` for elements that no tensor has in
    /// this form: of another byte order, not aligned, or of another type.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<View>> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the view is zeroed memory of its own; on failure nothing is to be released.
        let status =
            unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, ffi::PyBUF_RECORDS_RO) };
        if status != 0 {
            let error = PyErr::fetch(object.py());
            // NumPy lends no dates, say; whoever copies the array tells the reason.
            return match error.is_instance_of::<PyException>(object.py()) {
                true => Ok(None),
                false => Err(error),
            };
        }
        let lease = Lease(view);
        let view = &lease.0;
        let axes = view.ndim.max(0) as usize;
        // SAFETY: asked for with strides and format, the view has `ndim` of each, and a string
        // that ends in zero or null for bytes.
        let (shape, strides, format) = unsafe {
            let axes = |first: *mut ffi::Py_ssize_t| match axes {
                0 => &[][..],
                n => std::slice::from_raw_parts(first, n),
            };
            let format = match view.format.is_null() {
                true => c"B",
                false => std::ffi::CStr::from_ptr(view.format),
            };
            (axes(view.shape), axes(view.strides), format)
        };
        let Some(datatype) = datatype(format.to_bytes(), view.itemsize as usize) else {
            return Ok(None);
        };
        let aligned = alignment(datatype);
        let whole = strides.iter().all(|&s| s.unsigned_abs() % aligned == 0);
        if !(view.buf as usize).is_multiple_of(aligned) || !whole {
            return Ok(None);
        }
        let shape = shape.iter().map(|&n| n as u64).collect();
        let (address, strides) = (view.buf as *const u8, strides.to_vec());
        Ok(Some(View { address, shape, strides, datatype, lease }))
    }

    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product::<u64>() as usize
    }

    /// The order of the axes, outermost first, in which the elements follow one another; `None`
    /// if they do not.
    pub(crate) fn order(&self) -> Option<Vec<usize>> {
        let mut axes: Vec<usize> = (0..self.shape.len()).collect();
        let follows = |axes: &[usize]| {
            let mut next = self.datatype.size() as isize;
            axes.iter().rev().all(|&axis| {
                let fits = self.shape[axis] == 1 || self.strides[axis] == next;
                next *= self.shape[axis] as isize;
                fits
            })
        };
        if self.len() == 0 || follows(&axes) {
            return Some(axes);
        }
        // Axes of one element have any stride: they come last.
        axes.sort_by_key(|&axis| (self.shape[axis] == 1, std::cmp::Reverse(self.strides[axis])));
        follows(&axes).then_some(axes)
    }

    /// The elements, which follow one another, as an array of a tensor.
    pub(crate) fn into_buffer(self) -> Buffer {
        let (address, len, datatype) = (self.address, self.len(), self.datatype);
        let owner: Arc<dyn Any + Send + Sync> = Arc::new(self.lease);
        // SAFETY: the exporter promises so many elements, which were found to be aligned, as long
        // as the lease lives. That they stay unchanged while a kernel runs is what users of arrays
        // that several threads share have to see to, if positions and coordinates are not copied
        // (`borrowing`); between runs they are looked at again.
        unsafe { Buffer::from_foreign(address, len, datatype, owner) }
    }
}

/// Whether the memory of an array is somebody else's.
pub(crate) fn is_foreign(buffer: &Buffer) -> bool {
    buffer.owner().is::<Lease>()
}

/// What keeps memory alive that NumPy allocated, and that nobody else can reach.
struct Kept(
    #[expect(dead_code, reason = "lives as long as the memory")] Arc<dyn Any + Send + Sync>,
);

/// An array that was borrowed of somebody who gave it away.
pub(crate) fn given_away(buffer: Buffer) -> Buffer {
    let (address, len, datatype) = (buffer.address(), buffer.len(), buffer.datatype());
    let owner = Arc::new(Kept(Arc::clone(buffer.owner())));
    // SAFETY: the elements are those of an array, which lives as long as its owner.
    unsafe { Buffer::from_foreign(address, len, datatype, owner) }
}

fn alignment(datatype: DataType) -> usize {
    datatype.part().size()
}

/// The data type of elements as the buffer protocol describes them, in this machine's byte order.
fn datatype(format: &[u8], size: usize) -> Option<DataType> {
    let swapped = if cfg!(target_endian = "little") { b">!".as_slice() } else { b"<".as_slice() };
    let code = match format {
        [order, ..] if swapped.contains(order) && size > 1 => return None,
        [b'@' | b'=' | b'<' | b'>' | b'!' | b'^', code @ ..] => code,
        code => code,
    };
    Some(match (code, size) {
        (b"?", 1) => DataType::Bool,
        (b"b", 1) => DataType::I8,
        (b"B", 1) => DataType::U8,
        (b"h", 2) => DataType::I16,
        (b"H", 2) => DataType::U16,
        (b"i" | b"l", 4) => DataType::I32,
        (b"I" | b"L", 4) => DataType::U32,
        (b"l" | b"q" | b"n", 8) => DataType::I64,
        (b"L" | b"Q" | b"N", 8) => DataType::U64,
        (b"e", 2) => DataType::F16,
        (b"f", 4) => DataType::F32,
        (b"d", 8) => DataType::F64,
        (b"Zf", 8) => DataType::C64,
        (b"Zd", 16) => DataType::C128,
        _ => return None,
    })
}
