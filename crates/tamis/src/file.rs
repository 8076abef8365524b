//! Files as tensors, and tensors as files, by name.
//!
//! ```
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! # let folder = tamis::temporary::Temporary::folder(&std::env::temp_dir()).expect("a folder");
//! # let [a_mtx, b_tns] = ["a.mtx", "b.tns"].map(|name| folder.path().join(name));
//! # std::fs::write(&a_mtx, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 4.0\n2 1 5.0\n").expect("a file");
//! let a = tamis::read(&a_mtx, "csc")?;
//! let b = tamis::evaluate("B(j,i) = A(i,j)", &[("A", &a)])?;
//! tamis::write(&b_tns, &b)?;
//! assert_eq!(tamis::read(&b_tns, None)?, b);
//! # Ok(())
//! # }
//! ```

use crate::convert::{pack, usual_format};
use std::path::Path;
use tamis_core::format;
use tamis_io::WriteOptions;
use tamis_ir::datatype::IndexWidth;
use tamis_ir::diagnostic::Diagnostic;
use tamis_runtime::{Duplicates, Tensor};

/// Reads a file, of a format that its name tells, as a tensor of this format, or of the [`usual_format`]; values
/// at the same coordinate are added. [`io::read`](tamis_io::read) tells what else the file says.
///
/// # Errors
/// When the file cannot be read, or the format does not fit its tensor.
pub fn read<'f>(
    path: impl AsRef<Path>,
    format: impl Into<Option<&'f str>>,
) -> Result<Tensor, Diagnostic> {
    let list = tamis_io::read(path.as_ref())?.coordinates;
    let (dims, entries) = (list.dims(), list.vals().len() as u64);
    let text = format.into().unwrap_or_else(|| usual_format(dims, entries));
    let mut spec = format::parse(text, Some(dims.len()))?;
    spec.fill = spec.fill.or(list.fill());
    let largest = dims.iter().copied().max().unwrap_or(0).max(entries);
    spec.pos = spec.pos.or(Some(IndexWidth::for_max(largest)));
    spec.crd = spec.crd.or(Some(IndexWidth::for_max(largest)));
    let datatype = spec.with_fill(list.vals().datatype());
    pack(&list, &spec.resolve(datatype)?, Duplicates::Sum)
}

/// Writes the entries of a tensor to a file, of a format that its name tells. What was there stays until the file is
/// complete.
///
/// # Errors
/// When the file cannot be written, or its format does not hold the tensor.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<(), Diagnostic> {
    Ok(tamis_io::write(path.as_ref(), &tensor.to_coordinates()?, &WriteOptions::default())?)
}
