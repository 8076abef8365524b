//! Files whose entries come in parts, so that never all of them are in memory.
//!
//! ```text
//! 1 1 0.5          the first part
//! 7 2 4            the second
//! ```
//!
//! A file appears under its name when the last part is written, as others do.

use crate::error::{FileError, FileErrorCode};
use crate::file::is_gzip_name;
use crate::folder::{is_folder, write_folder};
use crate::header::{FileFormat, WriteOptions};
use crate::matrix_market::InParts;
use crate::save::{beside, not_writable, save};
use crate::{frostt, is_stream};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tamis_runtime::temporary::Readers;
use tamis_runtime::{Coordinates, DataType};

/// Whether a file of this name, or of this format where it is standard output, is written in parts: Matrix Market and
/// FROSTT are, also gzipped.
pub fn is_streamed(path: &Path, standard: Option<FileFormat>) -> bool {
    matches!(format(path, standard), Some(FileFormat::MatrixMarket | FileFormat::Frostt))
}

/// Writes a tensor of these dimensions and this type of values whose entries come in parts: `parts` is called with what
/// writes one.
///
/// # Errors
/// When writing fails, `parts` does, or a part has another fill value than the options say; what was there stays then.
///
/// ```
/// use tamis_io::{Coordinates, DataType, FileError, Values, WriteOptions, write_in_parts};
///
/// # let folder = tamis_io::temporary::Temporary::folder(&std::env::temp_dir()).unwrap();
/// # let path = &folder.path().join("y.mtx");
/// let part = |at: u64| Coordinates::new(vec![9, 9], vec![vec![at], vec![0]], Values::F64(vec![0.5]));
/// let (dims, datatype) = ([9, 9], DataType::F64);
/// write_in_parts(path, (&dims, datatype), &WriteOptions::default(), |write| {
///     (0..9).try_for_each(|at| write(&part(at).unwrap()))
/// })?;
/// assert_eq!(tamis_io::read(path)?.header.stored, 9);
/// # Ok::<(), FileError>(())
/// ```
pub fn write_in_parts<E: From<FileError>>(
    path: &Path,
    (dims, datatype): (&[u64], DataType),
    options: &WriteOptions,
    parts: impl FnOnce(&mut dyn FnMut(&Coordinates) -> Result<(), FileError>) -> Result<(), E>,
) -> Result<(), E> {
    if is_folder(path) {
        return write_folder(path, (dims, datatype), options.fill, |path, out| {
            content(path, out, (dims, datatype), options, parts)
        });
    }
    save(path, |out| content(path, out, (dims, datatype), options, parts))
}

fn content<E: From<FileError>>(
    path: &Path,
    out: &mut dyn Write,
    about: (&[u64], DataType),
    options: &WriteOptions,
    parts: impl FnOnce(&mut dyn FnMut(&Coordinates) -> Result<(), FileError>) -> Result<(), E>,
) -> Result<(), E> {
    if !is_gzip_name(path) {
        return text(path, out, about, options, parts);
    }
    let mut encoder = GzEncoder::new(out, Compression::default());
    text(path, &mut encoder, about, options, parts)?;
    Ok(encoder.finish().map(drop).map_err(|error| not_writable(path, &error))?)
}

/// Refuses a part whose fill value the file does not say.
fn check_fill(path: &Path, part: &Coordinates, options: &WriteOptions) -> Result<(), FileError> {
    let Some(own) = part.fill().filter(|_| !part.has_fill(options.fill)) else { return Ok(()) };
    let said = options.fill.map_or_else(|| "0".to_owned(), |fill| fill.to_string());
    let message = format!("a part has the fill value {own}, the file {said}");
    let help = "say the fill value of all parts in WriteOptions::fill";
    Err(FileError::whole(FileErrorCode::Unsupported, path, message, help))
}

fn text<E: From<FileError>>(
    path: &Path,
    out: &mut dyn Write,
    (dims, datatype): (&[u64], DataType),
    options: &WriteOptions,
    parts: impl FnOnce(&mut dyn FnMut(&Coordinates) -> Result<(), FileError>) -> Result<(), E>,
) -> Result<(), E> {
    let refused = |error: io::Error| not_writable(path, &error);
    match format(path, options.format) {
        Some(FileFormat::Frostt) => {
            frostt::write_head(out, dims, options).map_err(refused)?;
            parts(&mut |list| {
                check_fill(path, list, options)?;
                frostt::write_entries(out, list).map_err(refused)
            })
        }
        Some(FileFormat::MatrixMarket) => {
            // How many entries there are stands before the first: these wait in a file.
            let mut all = InParts::new(dims, datatype, options, path)?;
            let folder = if is_stream(path) { &std::env::temp_dir().join("-") } else { path };
            let (waiting, file) = beside(folder, Readers::User).map_err(refused)?;
            let mut lines = BufWriter::with_capacity(1 << 16, file);
            parts(&mut |list| {
                check_fill(path, list, options)?;
                all.add(&mut lines, list).map_err(refused)
            })?;
            lines.flush().map_err(refused)?;
            out.write_all(&all.head()).map_err(refused)?;
            let mut lines = File::open(waiting.path()).map_err(refused)?;
            Ok(io::copy(&mut lines, out).map(drop).map_err(refused)?)
        }
        _ => {
            let message = "files of this format are written as a whole";
            let help = "write a .tns or .mtx file";
            Err(FileError::whole(FileErrorCode::Unsupported, path, message, help).into())
        }
    }
}

fn format(path: &Path, standard: Option<FileFormat>) -> Option<FileFormat> {
    if is_stream(path) { standard } else { FileFormat::of(path) }
}
