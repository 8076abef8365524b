//! Archives of NumPy arrays, `.npz`: what SciPy's `save_npz` writes, and binsparse 0.1.
//!
//! ```text
//! format.npy  b"csr"        binsparse.npy  {"binsparse": {"version": "0.1", "format": "CSR", ..}}
//! shape.npy   [2 3]         pointers_to_1.npy  indices_1.npy  values.npy
//! indptr.npy  indices.npy  data.npy
//! ```
//!
//! An archive that has an array `binsparse` is read as binsparse, whatever its name; `.bsp.npz` is
//! written so. Binsparse in HDF5 is left to Python: there is no reader of HDF5 without its C library.
//! `.npy`, one of these arrays alone, holds every element of a tensor ([`alone`]).
//! A fill value other than 0 is an array `fill_value` in both; SciPy does not look at it.

pub(crate) mod alone;
mod array;
mod binsparse;
mod levels;
mod scipy;

use crate::error::{FileError, FileErrorCode, Flaw, Parsed, Place};
use crate::header::{Field, File, FileFormat, Header, Layout, Symmetry, WriteOptions};
use crate::{progress, save};
use array::{Array, read_array, write_array};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use tamis_runtime::{Code, Coordinates, DataType, Diagnostic, Values, check_dims};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// Reads an archive.
pub(crate) fn read_archive(from: impl Read + Seek, path: &Path) -> Result<File, FileError> {
    read(from).map_err(|flaw| flaw.of_file(path))
}

fn read(from: impl Read + Seek) -> Parsed<File> {
    let mut archive = Archive { zip: ZipArchive::new(from).map_err(|e| damaged(&e))? };
    let (format, coordinates) = match archive.has("binsparse") {
        true => (FileFormat::Binsparse, binsparse::read(&mut archive)?),
        false => (FileFormat::Npz, scipy::read(&mut archive)?),
    };
    let fill = match archive.has("fill_value") {
        true => Some(archive.array("fill_value")?.scalar()?),
        false => None,
    };
    let header = Header {
        format,
        layout: Layout::Coordinate,
        field: field_of(coordinates.vals().datatype()),
        symmetry: Symmetry::General,
        stored: coordinates.vals().len(),
        comments: vec![],
        fill,
    };
    Ok(File { coordinates, header }.with_fill())
}

/// The kind of values of a type.
fn field_of(datatype: DataType) -> Field {
    match datatype.is_complex() {
        true => Field::Complex,
        false if datatype.is_float() => Field::Real,
        false => Field::Integer,
    }
}

/// Refuses tensors of so many modes as an archive of a format does not hold; other formats hold them.
pub(crate) fn check_order(format: FileFormat, path: &Path, order: usize) -> Result<(), FileError> {
    let message = match format {
        FileFormat::Npz if order == 0 => "SciPy reads no scalars from an archive".to_owned(),
        FileFormat::Binsparse if !(1..=binsparse::MOST_MODES).contains(&order) => {
            let most = binsparse::MOST_MODES;
            format!("binsparse holds tensors of 1 to {most} modes here, this one has {order}")
        }
        _ => return Ok(()),
    };
    Err(FileError::whole(FileErrorCode::Order, path, message, "write a .tns file"))
}

/// Writes an archive in one of the two formats.
pub(crate) fn write_archive(
    format: FileFormat,
    out: &mut dyn Write,
    path: &Path,
    coordinates: &Coordinates,
    options: &WriteOptions,
) -> Result<(), FileError> {
    check_order(format, path, coordinates.dims().len())?;
    check_dims(coordinates.dims()).map_err(|told| {
        FileError::whole(FileErrorCode::Range, path, told.message, "write a .tns file")
    })?;
    let fill = coordinates.fill().or(options.fill);
    let parts = match format {
        FileFormat::Binsparse => binsparse::parts(coordinates, fill),
        _ => scipy::parts(coordinates),
    };
    let mut parts = parts.map_err(|flaw| flaw.of_file(path))?;
    if let Some(fill) = fill {
        parts.push(("fill_value", Array::of_scalar(fill, coordinates.vals().datatype())));
    }
    write_parts(out, &parts).map_err(|error| save::not_writable(path, &error))
}

fn write_parts(out: &mut dyn Write, parts: &[(&str, Array)]) -> io::Result<()> {
    let mut zip = ZipWriter::new_stream(out);
    for (name, array) in parts {
        let options = SimpleFileOptions::default().large_file(true);
        zip.start_file(format!("{name}.npy"), options)?;
        write_array(&mut zip, array)?;
        progress::advance(array.len());
    }
    zip.finish()?;
    Ok(())
}

/// An archive that is read.
struct Archive<R> {
    zip: ZipArchive<R>,
}

impl<R: Read + Seek> Archive<R> {
    /// Whether there is an array of this name.
    fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// The array of a name.
    fn array(&mut self, name: &str) -> Parsed<Array> {
        let within = |mut flaw: Box<Flaw>| {
            flaw.message = format!("{name}: {}", flaw.message);
            flaw
        };
        let file = match self.zip.by_name(&format!("{name}.npy")) {
            Err(ZipError::FileNotFound) => {
                let message = format!("the archive has no array named {name}");
                let help = "write it with scipy.sparse.save_npz, or as binsparse";
                return Err(Flaw::at(Place::File, FileErrorCode::Unsupported, message, help));
            }
            file => file.map_err(|e| damaged(&e))?,
        };
        read_array(file).map_err(within)
    }

    /// The indices in an array.
    fn indices(&mut self, name: &str) -> Parsed<Vec<u64>> {
        self.array(name)?.indices(name)
    }
}

fn damaged(error: &ZipError) -> Box<Flaw> {
    let message = format!("the archive is damaged: {error}");
    let help = "the file may be incomplete: fetch or write it again";
    Flaw::at(Place::File, FileErrorCode::Compression, message, help)
}

/// What an archive says contradicts itself.
fn wrong(message: impl Into<String>) -> Box<Flaw> {
    let help = "the file may be damaged: write it again";
    Flaw::at(Place::File, FileErrorCode::Syntax, message, help)
}

/// What is well formed and not read.
fn unsupported(message: impl Into<String>, help: &str) -> Box<Flaw> {
    Flaw::at(Place::File, FileErrorCode::Unsupported, message, help)
}

/// Values at coordinates, one list per mode.
fn entries(dims: Vec<u64>, crds: Vec<Vec<u64>>, vals: Values) -> Parsed<Coordinates> {
    let flawed = |told: Diagnostic| match told.code {
        Code::OutOfMemory => Flaw::of_memory(told),
        _ => Box::new(Flaw { code: FileErrorCode::Range, ..*wrong(told.message) }),
    };
    check_dims(&dims).map_err(flawed)?;
    Coordinates::new(dims, crds, vals).map_err(flawed)
}
