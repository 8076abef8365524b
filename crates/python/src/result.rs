//! Tensors as objects of Python: NumPy's where every element has a position, SciPy's where the
//! operands are, else tensors of the package.

use crate::array::known_format;
use crate::convert::{converted, own_levels};
use crate::failure::{detached, raised, refused};
use crate::foreign::is_foreign;
use crate::memory::{Access, lent};
use crate::operand::{Owner, helper};
use crate::sparse::{DIAGONALS, Scheme, scheme};
use crate::specs::{beside, spec};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use std::sync::Arc;
use tamis::format::{LevelMap, LevelSpec};
use tamis::ids::Id;
use tamis::level::Part;
use tamis::{Buffer, Code, DataType, Diagnostic, LevelData, Storage, Tensor};

/// What a caller gets for a result whose sparse operands have this owner.
pub(crate) fn returned<'py>(
    py: Python<'py>,
    tensor: Tensor,
    owner: Owner,
) -> PyResult<Bound<'py, PyAny>> {
    let storage = tensor.storage();
    if tensor.dims().is_empty() {
        return number(py, tensor);
    }
    if storage.format.is_full() {
        return dense(py, tensor);
    }
    match owner {
        Owner::SparseArray | Owner::SparseMatrix if is_scipys(&tensor, owner) => {
            let tensor = alone(tensor).map_err(|d| raised(py, &d))?;
            scipy(py, tensor, owner == Owner::SparseMatrix, Access::Given)
        }
        _ => wrapped(py, tensor),
    }
}

/// The tensor with positions and coordinates that no other result has: SciPy's methods change theirs in place.
fn alone(tensor: Tensor) -> Result<Tensor, Diagnostic> {
    let is_shared = |array: &Buffer| Arc::strong_count(array.owner()) > 1 && !is_foreign(array);
    let parts = |level: &LevelData| Part::ALL.map(|part| level.part(part).is_some_and(is_shared));
    if !tensor.levels().iter().flat_map(parts).any(|shared| shared) {
        return Ok(tensor);
    }
    let (dims, storage, levels, vals) = tensor.into_parts();
    let levels = own_levels(&levels)?;
    // SAFETY: the arrays are copies of those of a valid tensor.
    Ok(unsafe { Tensor::from_parts_unchecked(dims, storage, levels, vals) })
}

/// Whether SciPy has sparse arrays of such tensors.
pub(crate) fn is_scipys(tensor: &Tensor, owner: Owner) -> bool {
    let storage = tensor.storage();
    let axes = tensor.dims().len();
    let fits = axes == 2 || axes == 1 && owner == Owner::SparseArray;
    fits && storage.fill.is_zero()
        && !storage.datatype.is_half()
        && scheme(&storage.format).is_some()
}

/// A tensor of the package.
pub(crate) fn wrapped(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS
        .get_or_try_init(py, || py.import("tamis._tensor")?.getattr("Tensor").map(Bound::unbind))?;
    class.bind(py).call1((crate::tensor::Tensor::new(tensor),))
}

/// NumPy's number for a tensor of order 0.
pub(crate) fn number(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    dense(py, tensor)?.get_item(PyTuple::empty(py))
}

/// NumPy's array for a tensor of which every element has a position.
pub(crate) fn dense(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let plain = tensor.storage().format.is_basic();
    let tensor = if plain && tensor.storage().datatype != DataType::Bf16 {
        tensor
    } else {
        // Blocks and the like in the order of rows; NumPy has no bf16.
        let text = match tensor.storage().datatype {
            DataType::Bf16 => "dense{f32}",
            _ => "dense",
        };
        let spec = spec(py, text, tensor.dims().len())?;
        let storage = beside(&spec, tensor.storage()).map_err(|d| raised(py, &d))?;
        detached(py, move || converted(&tensor, &storage))?
    };
    let levels = tensor.storage().format.levels();
    let order: Vec<usize> =
        levels.iter().flat_map(|l| l.map.modes()).map(|mode| mode.index()).collect();
    let (shape, vals) = (tensor.dims().to_vec(), tensor.vals().clone());
    drop(tensor);
    lent(py, vals, &shape, &order, Access::Given)
}

/// SciPy's sparse array, or matrix, of a tensor's arrays. Formats that SciPy lacks become csr, or
/// coo beyond two axes.
pub(crate) fn scipy(
    py: Python<'_>,
    tensor: Tensor,
    matrix: bool,
    access: Access,
) -> PyResult<Bound<'_, PyAny>> {
    let (axes, storage) = (tensor.dims().len(), tensor.storage().clone());
    if !storage.fill.is_zero() || storage.datatype.is_half() || axes == 0 {
        let message = match storage.fill.is_zero() {
            true => {
                format!("SciPy has no sparse arrays of {axes} axes and type {}", storage.datatype)
            }
            false => {
                format!("SciPy's sparse arrays have fill value 0, this one has {}", storage.fill)
            }
        };
        let help = "use to_numpy(), or asformat with another fill value or type";
        return Err(refused(py, Code::TypeMismatch, message, help));
    }
    let usual = if axes <= 2 { Scheme::Csr } else { Scheme::Coo };
    let own = scheme(&storage.format).filter(|_| divides(&tensor));
    let scheme = own.unwrap_or(usual);
    let format = match (own, scheme, axes) {
        // SciPy counts positions on diagonals by columns, `dia` by rows.
        (Some(Scheme::Dia), ..) => known_format(DIAGONALS, axes),
        (Some(_), ..) => Ok(storage.format.clone()),
        (_, Scheme::Csr, 1) => known_format("sparse", axes),
        (_, Scheme::Csr, _) => known_format("csr", axes),
        _ => known_format("coo", axes),
    };
    let format = format.map_err(|d| raised(py, &d))?;
    let mut target = Storage { format, ..storage.clone() };
    if !matches!(scheme, Scheme::Coo | Scheme::Dia) {
        // Both arrays have one type in SciPy.
        let wide = target.pos.max(target.crd);
        (target.pos, target.crd) = (wide, wide);
    }
    let tensor = match target == storage {
        true => tensor,
        false => detached(py, move || converted(&tensor, &target))?,
    };
    let arrays = arrays(py, tensor, scheme, access)?;
    let build = {
        static BUILD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        BUILD.get_or_try_init(py, || helper(py, "scipy_array").map(Bound::unbind))?.bind(py)
    };
    build.call1((scheme.name(), arrays.0, arrays.1, matrix))
}

impl Scheme {
    /// SciPy's name.
    fn name(self) -> &'static str {
        match self {
            Scheme::Csr => "csr",
            Scheme::Csc => "csc",
            Scheme::Coo => "coo",
            Scheme::Bsr => "bsr",
            Scheme::Dia => "dia",
        }
    }
}

/// The arrays that SciPy's constructor takes, values first, and the shape.
fn arrays<'py>(
    py: Python<'py>,
    tensor: Tensor,
    scheme: Scheme,
    access: Access,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
    let shape = PyTuple::new(py, tensor.dims())?;
    let (vals, levels) = (tensor.vals().clone(), tensor.levels().to_vec());
    let dims = tensor.dims().to_vec();
    let blocks: Vec<u64> = tensor.storage().format.levels().iter().filter_map(block).collect();
    drop(tensor);
    let vals_shape = match scheme {
        Scheme::Bsr => {
            let size = blocks.iter().product::<u64>().max(1);
            vec![vals.len() as u64 / size, blocks[0], blocks[1]]
        }
        Scheme::Dia => {
            let wide = dims[1];
            vec![levels[0].crd.as_ref().map_or(0, Buffer::len) as u64, wide]
        }
        _ => vec![vals.len() as u64],
    };
    let order: Vec<usize> = (0..vals_shape.len()).collect();
    let mut arrays = vec![lent(py, vals, &vals_shape, &order, access)?];
    let line = |buffer: Buffer| {
        let len = buffer.len() as u64;
        lent(py, buffer, &[len], &[0], access)
    };
    let mut positions = vec![];
    for level in levels {
        if let Some(crd) = level.crd {
            arrays.push(line(crd)?);
        }
        positions.extend(level.pos);
    }
    if !matches!(scheme, Scheme::Coo | Scheme::Dia) {
        for pos in positions {
            arrays.push(line(pos)?);
        }
    }
    Ok((PyTuple::new(py, arrays)?, shape))
}

/// Whether SciPy could have the blocks of a tensor: they divide its dimensions.
fn divides(tensor: &Tensor) -> bool {
    tensor.storage().format.levels().iter().all(|level| match level.map {
        LevelMap::Mod(mode, size) => tensor.dims()[mode.index()].is_multiple_of(size),
        _ => true,
    })
}

/// The size of the blocks that a level counts the offsets of.
fn block(level: &LevelSpec) -> Option<u64> {
    match level.map {
        LevelMap::Mod(_, size) => Some(size),
        _ => None,
    }
}
