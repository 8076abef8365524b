//! Tensor files by name.

use crate::convert::{canonical, converted};
use crate::failure::{detached, interruptible, raised, raised_by_file};
use crate::specs::{beside, spec};
use crate::tensor::Tensor;
use crate::threads::on_threads;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::mpsc;
use tamis::{Duplicates, IndexWidth, Scalar};
use tamis_io::{FileFormat, Header, WriteOptions};

/// What a file says of itself: its format, symmetry and comments.
type About = (String, String, Vec<String>);

/// Reads a tensor file; without a format a matrix is `csr`, a tensor of more axes `csf`, a vector
/// `dense`, and with by far fewer entries than rows a matrix `dcsr`, a vector `sparse`.
#[pyfunction]
#[pyo3(signature = (path, format = None))]
pub fn read(py: Python<'_>, path: PathBuf, format: Option<&str>) -> PyResult<(Tensor, About)> {
    let file = interruptible(py, move || tamis_io::read(&path))?;
    let file = file.map_err(|error| raised_by_file(py, &error))?;
    let list = file.coordinates;
    let usual = tamis::usual_format(list.dims(), list.vals().len() as u64);
    let mut spec = spec(py, format.unwrap_or(usual), list.dims().len())?;
    spec.fill = spec.fill.or(file.header.fill);
    let mut storage =
        spec.resolve(spec.with_fill(list.vals().datatype())).map_err(|d| raised(py, &d))?;
    let largest = list.dims().iter().copied().max().unwrap_or(0).max(list.vals().len() as u64);
    storage.pos = spec.pos.unwrap_or(IndexWidth::for_max(largest));
    storage.crd = spec.crd.unwrap_or(IndexWidth::for_max(largest));
    let pack = move || on_threads(usize::MAX, || tamis::pack(&list, &storage, Duplicates::Sum));
    let tensor = interruptible(py, pack)?.map_err(|d| raised(py, &d))?;
    Ok((Tensor::new(tensor), about(&file.header)))
}

fn about(header: &Header) -> About {
    (header.format.to_string(), header.symmetry.to_string(), header.comments.clone())
}

/// Writes the entries of a tensor to a file, whose name tells the format. What was there stays
/// until the new file is complete.
#[pyfunction]
#[pyo3(signature = (path, tensor, comments = vec![]))]
pub fn write(
    py: Python<'_>,
    path: PathBuf,
    tensor: &Tensor,
    comments: Vec<String>,
) -> PyResult<()> {
    let tensor = tensor.checked(py)?;
    // Rutherford-Boeing has no fill value: every element is written where it is not 0.
    let is_told = FileFormat::of(&path) != Some(FileFormat::RutherfordBoeing);
    let tensor = match is_told || tensor.storage().fill.is_zero() {
        true => detached(py, || canonical(tensor))?,
        false => {
            let spec = spec(py, "dense", tensor.dims().len())?;
            let storage = beside(&spec, tensor.storage()).map_err(|d| raised(py, &d))?;
            detached(py, move || converted(&tensor, &storage))?
        }
    };
    let options = WriteOptions { comments, ..WriteOptions::default() };
    let list = detached(py, move || tensor.to_coordinates())?;
    // Where every element is in the list, there is nothing to tell.
    let list = if is_told { list } else { list.with_fill(Scalar::I64(0)) };
    let (ends, ended) = mpsc::channel::<()>();
    let written = interruptible(py, move || {
        let _ends = ends;
        tamis_io::write(&path, &list, &options)
    });
    // What was interrupted removes its temporary file before the exception is seen.
    let _ = py.detach(move || ended.recv());
    written?.map_err(|error| raised_by_file(py, &error))
}
