//! Tensors as Python sees them: what `tamis.Tensor` is made of.

use crate::array::{coordinates, indices, known_format};
use crate::borrowing::{copies, stable, stable_levels};
use crate::convert::{self, as_list, canonical, converted, has_room, own, own_levels, reshaped};
use crate::failure::{detached, interruptible, raised, refused};
use crate::foreign::{given_away, is_foreign};
use crate::listed;
use crate::memory::{Access, buffer, lent};
use crate::result;
use crate::select::{self, Pick};
use crate::size::{Size, numbers};
use crate::sparse::{loosened, stored_as};
use crate::specs::{beside, constant, spec, with_fill};
use crate::threads::on_threads;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use tamis::format::FormatSpec;
use tamis::ids::{Id, Mode};
use tamis::level::Part;
use tamis::{
    Bf16, Buffer, Code, Coordinates, DataType, Diagnostic, Duplicates, IndexWidth, LevelData,
    Storage, Values,
};

/// A tensor in memory; the arrays never change, but where they are somebody else's.
#[pyclass(frozen, subclass, module = "tamis._native")]
pub struct Tensor {
    tensor: tamis::Tensor,
    foreign: bool,
}

/// The names of the arrays of a level.
const PARTS: [(Part, &str); 4] =
    [(Part::Pos, "pos"), (Part::Crd, "crd"), (Part::Width, "width"), (Part::Mask, "mask")];

/// Conversions of so many values may take so long that signals are looked for.
const LONG: usize = 1 << 20;

impl Tensor {
    /// A tensor for Python.
    pub(crate) fn new(tensor: tamis::Tensor) -> Tensor {
        let arrays = tensor.levels().iter().flat_map(|l| PARTS.map(|(part, _)| l.part(part)));
        let foreign = arrays.flatten().chain([tensor.vals()]).any(is_foreign);
        Tensor { tensor, foreign }
    }

    /// The tensor, of which the arrays of others may have changed.
    pub(crate) fn known(&self) -> &tamis::Tensor {
        &self.tensor
    }

    /// Whether its arrays are those of others.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// The tensor; arrays of others may have changed and are looked at again.
    pub(crate) fn checked(&self, py: Python<'_>) -> PyResult<tamis::Tensor> {
        let tensor = self.tensor.clone();
        if !self.foreign {
            return Ok(tensor);
        }
        let (dims, storage) = (tensor.dims().to_vec(), tensor.storage().clone());
        let vals = tensor.vals().clone();
        let made = stable_levels(tensor.levels());
        made.and_then(|levels| valid(dims, storage, levels, vals)).map_err(|d| raised(py, &d))
    }

    /// The tensor with arrays of others as [`crate::sparse::in_unchecked_order`] has it.
    pub(crate) fn in_unchecked_order(&self) -> Option<tamis::Tensor> {
        let loose = loosened(&self.tensor).filter(|_| self.foreign)?;
        let levels = stable_levels(loose.levels()).ok()?;
        let (dims, storage) = (loose.dims().to_vec(), loose.storage().clone());
        let made = valid(dims, storage, levels, loose.vals().clone()).ok()?;
        Some(stored_as(made, self.tensor.storage().format.clone()))
    }
}

/// The tensor of these arrays, if they keep the promises of their format.
pub(crate) fn valid(
    dims: Vec<u64>,
    storage: Storage,
    levels: Vec<LevelData>,
    vals: Buffer,
) -> Result<tamis::Tensor, Diagnostic> {
    // Arrays of others are given back to Python, which waits for the caller of this: not by another
    // thread, then, that drops arrays which are refused.
    let arrays = (levels.clone(), vals.clone());
    let made =
        on_threads(vals.len(), || tamis::Tensor::try_from_parts(dims, storage, levels, vals));
    drop(arrays);
    made
}

#[pymethods]
impl Tensor {
    #[new]
    fn of(tensor: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        if let Ok(known) = tensor.cast::<Tensor>() {
            let Tensor { tensor, foreign } = known.get();
            return Ok(Tensor { tensor: tensor.clone(), foreign: *foreign });
        }
        let (py, kind) = (tensor.py(), tensor.get_type());
        let message = format!("{} is no tensor", kind.name()?);
        Err(refused(py, Code::TypeMismatch, message, "make one of it: tamis.asarray(x)"))
    }

    /// The same tensor in arrays of its own, which nobody changes.
    fn copied(&self, py: Python<'_>) -> PyResult<Tensor> {
        let (tensor, foreign) = (self.tensor.clone(), self.foreign);
        detached(py, move || {
            let (dims, storage) = (tensor.dims().to_vec(), tensor.storage().clone());
            let (levels, vals) = (own_levels(tensor.levels())?, own(tensor.vals())?);
            if foreign {
                return valid(dims, storage, levels, vals);
            }
            // SAFETY: the arrays are copies of those of a valid tensor, which nobody changes.
            Ok(unsafe { tamis::Tensor::from_parts_unchecked(dims, storage, levels, vals) })
        })
        .map(Tensor::new)
    }

    /// The tensor with other values at the same positions, and another fill value. The array of values is
    /// the tensor's from now on: nobody else may have it.
    fn with_values(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        fill: &str,
    ) -> PyResult<Tensor> {
        let known = self.checked(py)?;
        let (_, vals) = crate::array::values(values)?;
        // Of any format, since that of the tensor takes its time to be written and read.
        let text = format!("dense{{{}, fill: {fill}}}", vals.datatype());
        let format = known.storage().format.clone();
        let spec = FormatSpec { format, ..spec(py, &text, 1)? };
        let storage = beside(&spec, known.storage()).map_err(|d| raised(py, &d))?;
        if !self.foreign && has_room(&known, &storage, &vals) {
            let (dims, levels) = (known.dims().to_vec(), known.levels().to_vec());
            let vals = given_away(vals);
            // SAFETY: the levels are those of a valid tensor like this, with as many values.
            let made = unsafe { tamis::Tensor::from_parts_unchecked(dims, storage, levels, vals) };
            return Ok(Tensor::new(made));
        }
        let made = detached(py, || {
            let levels = match self.foreign {
                true => own_levels(known.levels())?,
                false => known.levels().to_vec(),
            };
            valid(known.dims().to_vec(), storage, levels, given_away(vals))
        });
        made.map(Tensor::new)
    }

    /// A tensor of entries: for each axis their coordinates, and their values. Those of the same
    /// coordinate are added up. The fill value is that of the format, or `fill`.
    #[staticmethod]
    #[pyo3(signature = (shape, coords, values, format, refuse_duplicates = false, fill = None))]
    fn of_entries(
        py: Python<'_>,
        shape: Vec<Size>,
        coords: Vec<Bound<'_, PyAny>>,
        values: &Bound<'_, PyAny>,
        format: &str,
        refuse_duplicates: bool,
        fill: Option<&str>,
    ) -> PyResult<Tensor> {
        let shape = numbers(shape);
        let mut spec = spec(py, format, shape.len())?;
        let mut crds = vec![];
        for coords in &coords {
            crds.push(coordinates(coords)?);
        }
        let (_, vals) = crate::array::values(values)?;
        if let Some(fill) = fill {
            spec = with_fill(spec, fill, vals.datatype()).map_err(|d| raised(py, &d))?;
        }
        let mut storage = spec.resolve(vals.datatype()).map_err(|d| raised(py, &d))?;
        let largest = shape.iter().copied().max().unwrap_or(0).max(vals.len() as u64);
        if spec.pos.is_none() {
            storage.pos = IndexWidth::for_max(largest);
        }
        if spec.crd.is_none() {
            storage.crd = IndexWidth::for_max(largest);
        }
        let duplicates = if refuse_duplicates { Duplicates::Refuse } else { Duplicates::Sum };
        detached(py, move || {
            let list = Coordinates::new(shape, crds, Values::copied(&vals))?;
            on_threads(usize::MAX, || tamis::pack(&list, &storage, duplicates))
        })
        .map(Tensor::new)
    }

    /// A tensor of the arrays of its levels, as `levels` gives them, and its values. Arrays that are given
    /// are the tensor's from now on: nobody else may have them.
    #[staticmethod]
    #[pyo3(signature = (shape, format, levels, values, given = false))]
    fn of_arrays(
        py: Python<'_>,
        shape: Vec<Size>,
        format: &str,
        levels: Vec<Bound<'_, PyDict>>,
        values: &Bound<'_, PyAny>,
        given: bool,
    ) -> PyResult<Tensor> {
        let shape = numbers(shape);
        let spec = spec(py, format, shape.len())?;
        let own = |array: Buffer| if given { given_away(array) } else { array };
        let mut data = vec![];
        for level in &levels {
            let mut arrays = LevelData::default();
            for (part, name) in PARTS {
                let Some(array) = level.get_item(name)? else { continue };
                *arrays.part_mut(part) = Some(own(match part {
                    Part::Mask => stable(py, crate::array::values(&array)?.1)?,
                    _ => indices(&array)?,
                }));
            }
            data.push(arrays);
        }
        let (_, vals) = crate::array::values(values)?;
        let mut storage = spec.resolve(vals.datatype()).map_err(|d| raised(py, &d))?;
        let width = |part: Part| data.iter().find_map(|l: &LevelData| l.part(part).map(wide));
        storage.pos = width(Part::Pos).unwrap_or(storage.pos);
        storage.crd = width(Part::Crd).unwrap_or(storage.crd);
        let vals = match (storage.datatype, vals.as_slice::<f32>()) {
            // NumPy lacks the type.
            (DataType::Bf16, Some(wide)) => {
                Buffer::from_vec(wide.iter().map(|&x| Bf16::from(x)).collect())
            }
            _ => own(vals),
        };
        let made = valid(shape, storage, data, vals);
        made.map(Tensor::new).map_err(|d| raised(py, &d))
    }

    /// The sizes of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, self.tensor.dims())
    }

    /// How many axes there are.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.dims().len()
    }

    /// NumPy's type of the values.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::memory::dtype(py, self.tensor.storage().datatype)
    }

    /// How many entries are stored, explicit zeros included.
    #[getter]
    fn nnz(&self, py: Python<'_>) -> PyResult<usize> {
        // Counting values reads no array.
        match self.tensor.has_only_entries() {
            true => Ok(self.tensor.nnz()),
            false => Ok(self.checked(py)?.nnz()),
        }
    }

    /// Whether every value is that of an entry.
    #[getter]
    fn is_compact(&self) -> bool {
        self.tensor.has_only_entries()
    }

    /// Whether every element is stored.
    #[getter]
    fn is_full(&self) -> bool {
        self.tensor.storage().format.is_full()
    }

    /// Whether a coordinate may have several entries, which are to be added up.
    #[getter]
    fn has_duplicates(&self) -> bool {
        self.tensor.storage().format.has_duplicates()
    }

    /// Whether arrays are somebody else's, who may change them.
    #[getter]
    fn is_borrowed(&self) -> bool {
        self.foreign
    }

    /// Refuses arrays of somebody else's that were changed into what is no tensor.
    fn validate(&self, py: Python<'_>) -> PyResult<()> {
        self.checked(py).map(drop)
    }

    /// Bytes of all arrays.
    #[getter]
    fn nbytes(&self) -> usize {
        self.tensor.bytes()
    }

    /// The format, by name or by its levels.
    #[getter]
    fn format(&self) -> String {
        self.tensor.storage().format.to_string()
    }

    /// The value of everything that is not stored.
    #[getter]
    fn fill_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let storage = self.tensor.storage();
        result::number(py, crate::scalar::of_type(storage.fill, storage.datatype))
    }

    /// The format with element type, fill value and widths: what a tensor is made of beside its
    /// arrays.
    #[getter]
    fn storage(&self) -> String {
        let storage = self.tensor.storage();
        let spec = FormatSpec {
            datatype: Some(storage.datatype),
            fill: Some(constant(storage.fill)),
            pos: Some(storage.pos),
            crd: Some(storage.crd),
            ..FormatSpec::of(storage.format.clone())
        };
        spec.to_string()
    }

    /// The arrays of each level by name: `pos`, `crd`, `width`, `mask`. They cannot be written.
    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let level = |data: &LevelData| {
            let arrays = PyDict::new(py);
            for (part, name) in PARTS {
                if let Some(array) = data.part(part) {
                    arrays.set_item(name, shared(py, array)?)?;
                }
            }
            Ok(arrays)
        };
        self.tensor.levels().iter().map(level).collect()
    }

    /// The stored values in the order of storage. They cannot be written.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shared(py, self.tensor.vals())
    }

    /// The coordinates of the entries, each once, as an array for each axis, and their values.
    fn entries<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Vec<Bound<'py, PyAny>>, Bound<'py, PyAny>)> {
        let tensor = self.checked(py)?;
        let list = detached(py, move || canonical(tensor)?.to_coordinates())?;
        let (_, crds, vals) = list.into_parts();
        let given = |buffer: Buffer| {
            let len = buffer.len() as u64;
            lent(py, buffer, &[len], &[0], Access::Given)
        };
        let crds = crds.into_iter().map(|crds| {
            given(Buffer::from_vec::<i64>(crds.into_iter().map(|c| c as i64).collect()))
        });
        Ok((crds.collect::<PyResult<_>>()?, given(buffer(vals))?))
    }

    /// The value at a coordinate, or the fill value.
    fn get<'py>(&self, py: Python<'py>, mut coordinate: Vec<u64>) -> PyResult<Bound<'py, PyAny>> {
        self.tensor.check_coordinate(&coordinate).map_err(|d| raised(py, &d))?;
        let format = &self.tensor.storage().format;
        // What a tensor of its own has in order is searched at once.
        let is_selected = self.foreign || !format.is_basic();
        let has_rows = select::is_known(format) && select::row_mode(format).is_some();
        let value = if is_selected && has_rows || listed::is_known(format) {
            let start = |c: &mut u64| std::mem::take(c) as i64;
            let one = |c: &mut u64| Pick::Steps { start: start(c), step: 1, len: 1 };
            let picks: Vec<Pick> = coordinate.iter_mut().map(one).collect();
            let tensor = if copies() { self.checked(py)? } else { self.tensor.clone() };
            select::of_borrowed(py, &tensor, &picks)?.get(&coordinate)
        } else {
            self.checked(py)?.get(&coordinate)
        };
        let datatype = self.tensor.storage().datatype;
        result::number(py, crate::scalar::of_type(value.map_err(|d| raised(py, &d))?, datatype))
    }

    /// What is selected by a pick for each axis: none for all, a number, a first coordinate with a step and how many
    /// there are, or an array. Axes of numbers have one element, or are left out. Nothing for formats whose arrays do not tell.
    fn select(&self, py: Python<'_>, picks: Vec<Pick>) -> PyResult<Option<Tensor>> {
        select::check_picks(self.tensor.dims(), &picks).map_err(|d| raised(py, &d))?;
        let format = &self.tensor.storage().format;
        if !select::is_known(format) {
            return Ok(None);
        }
        let of_rows = select::row_mode(format).is_some_and(|row| !matches!(picks[row], Pick::All));
        let made = match self.foreign && !copies() && (of_rows || listed::is_known(format)) {
            true => select::of_borrowed(py, &self.tensor, &picks)?,
            false => select::selected(py, &self.checked(py)?, &picks, !self.foreign)?,
        };
        Ok(Some(Tensor::new(made)))
    }

    /// The same tensor in another format. What the format leaves open stays as it is.
    fn to_format(&self, py: Python<'_>, format: &str) -> PyResult<Tensor> {
        let spec = spec(py, format, self.tensor.dims().len())?;
        let storage = beside(&spec, self.tensor.storage()).map_err(|d| raised(py, &d))?;
        let tensor = self.checked(py)?;
        if let Some(made) = if self.foreign { None } else { as_list(&tensor, &storage) } {
            return made.map(Tensor::new).map_err(|d| raised(py, &d));
        }
        let made = match tensor.vals().len() < LONG {
            true => detached(py, || converted(&tensor, &storage))?,
            false => interruptible(py, move || converted(&tensor, &storage))?
                .map_err(|d| raised(py, &d))?,
        };
        Ok(Tensor::new(made))
    }

    /// The elements in the order of rows in axes of other sizes, as many, in a format.
    fn reshaped(&self, py: Python<'_>, shape: Vec<Size>, format: &str) -> PyResult<Tensor> {
        let dims = numbers(shape);
        let format = known_format(format, dims.len()).map_err(|d| raised(py, &d))?;
        let tensor = self.checked(py)?;
        detached(py, move || reshaped(&tensor, dims, format)).map(Tensor::new)
    }

    /// The elements of a diagonal of a matrix; nothing for formats in which these are not searched.
    fn of_diagonal(&self, py: Python<'_>, offset: i64) -> PyResult<Option<Tensor>> {
        let made = convert::diagonal(&self.checked(py)?, offset);
        made.transpose().map(|made| made.map(Tensor::new)).map_err(|d| raised(py, &d))
    }

    /// The same entries with another fill value, or another reading of what is not stored.
    fn with_fill(&self, py: Python<'_>, fill: &str) -> PyResult<Tensor> {
        let known = self.tensor.storage();
        let text = format!("{}{{{}, fill: {fill}}}", known.format, known.datatype);
        let spec = spec(py, &text, self.tensor.dims().len())?;
        let storage = beside(&spec, known).map_err(|d| raised(py, &d))?;
        let made = self.checked(py)?.with_fill(storage.fill).map_err(|d| raised(py, &d))?;
        Ok(Tensor::new(made))
    }

    /// The tensor with its axes in another order, by the same arrays, if a format has these.
    fn permuted(&self, order: Vec<i64>) -> Option<Tensor> {
        let mode = |m: i64| usize::try_from(m).ok().map(Mode::new);
        let modes: Vec<Mode> = order.into_iter().map(mode).collect::<Option<_>>()?;
        self.tensor.permuted(&modes).map(Tensor::new)
    }

    /// Every element as a NumPy array.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.checked(py)?;
        let dense = match tensor.storage().format.is_full() {
            true => tensor,
            false => {
                let spec = spec(py, "dense", self.tensor.dims().len())?;
                let storage = beside(&spec, tensor.storage()).map_err(|d| raised(py, &d))?;
                detached(py, move || converted(&tensor, &storage))?
            }
        };
        result::dense(py, dense)
    }

    /// SciPy's sparse array, or matrix, of the same arrays.
    fn as_scipy<'py>(&self, py: Python<'py>, matrix: bool) -> PyResult<Bound<'py, PyAny>> {
        result::scipy(py, self.checked(py)?, matrix, Access::Shared)
    }
}

fn wide(array: &Buffer) -> IndexWidth {
    match array.datatype() {
        DataType::I64 => IndexWidth::I64,
        _ => IndexWidth::I32,
    }
}

fn shared<'py>(py: Python<'py>, array: &Buffer) -> PyResult<Bound<'py, PyAny>> {
    lent(py, array.clone(), &[array.len() as u64], &[0], Access::Shared)
}
