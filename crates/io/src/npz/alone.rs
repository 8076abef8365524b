//! An array alone, `.npy`: every element of a tensor, in row-major order.

use super::array::{Array, Data, read_array, write_array};
use super::{entries, field_of, wrong};
use crate::chunks::Source;
use crate::counted::Counted;
use crate::error::{FileError, Flaw, Parsed};
use crate::header::{File, FileFormat, Header, Layout, Symmetry, WriteOptions};
use crate::save;
use std::io::{self, Read, Write};
use std::path::Path;
use tamis_runtime::{Coordinates, elements};

/// Reads an array.
pub(crate) fn read(source: &mut dyn Source, path: &Path) -> Result<File, FileError> {
    read_source(source).map_err(|flaw| flaw.of_file(path))
}

fn read_source(source: &mut dyn Source) -> Parsed<File> {
    let array = read_array(Bytes(source))?;
    if source.fill(&mut [0])? > 0 {
        return Err(wrong("bytes follow the last element"));
    }
    let dims = array.shape.clone();
    let vals = array.numbers()?;
    let coordinates = entries(dims.clone(), coordinates(&dims, vals.len())?, vals)?;
    let header = Header {
        format: FileFormat::Npy,
        layout: Layout::Array,
        field: field_of(coordinates.vals().datatype()),
        symmetry: Symmetry::General,
        stored: coordinates.vals().len(),
        comments: vec![],
        fill: None,
    };
    Ok(File { coordinates, header })
}

/// The bytes of a source.
struct Bytes<'s>(&'s mut dyn Source);

impl Read for Bytes<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.fill(into).map_err(|flaw| io::Error::other(flaw.message))
    }
}

/// The coordinates of all elements.
fn coordinates(dims: &[u64], count: usize) -> Parsed<Vec<Vec<u64>>> {
    let mut crds = vec![];
    for (mode, &size) in dims.iter().enumerate() {
        let inner: u64 = dims[mode + 1..].iter().product();
        let mut list = Counted::with_room(count)?;
        (0..count as u64).try_for_each(|at| list.push(at / inner % size))?;
        crds.push(list.into_vec());
    }
    Ok(crds)
}

/// Writes every element of a tensor: where it has no entry, its fill value.
pub(crate) fn write_alone(
    out: &mut dyn Write,
    path: &Path,
    coordinates: &Coordinates,
    options: &WriteOptions,
) -> Result<(), FileError> {
    let all = elements(coordinates, coordinates.fill().or(options.fill));
    let all = all.map_err(|told| FileError {
        help: "write a .tns or .npz file, which has the entries alone".to_owned(),
        ..Flaw::of_list(told).of_file(path)
    })?;
    let array = Array { shape: coordinates.dims().to_vec(), data: Data::Numbers(all) };
    write_array(&mut &mut *out, &array).map_err(|error| save::not_writable(path, &error))
}
