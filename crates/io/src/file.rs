//! Files by name: the format comes from the extension, compression from the content.

use crate::error::{FileError, FileErrorCode};
use crate::header::{File, FileFormat, Layout, WriteOptions};
use crate::{frostt, matrix_market, progress, rutherford_boeing, save};
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, Read, Write};
use std::path::Path;
use tamis_runtime::Coordinates;

/// The first bytes of gzip data.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads a tensor from a file: Matrix Market `.mtx`, Rutherford-Boeing `.rb` (also `.rua`, `.psa`,
/// ...) or FROSTT `.tns`, each also gzipped.
///
/// # Errors
/// When the file cannot be read, its format is unknown, or its content is not what its format
/// demands.
pub fn read(path: &Path) -> Result<File, FileError> {
    let format = known_format(path)?;
    progress::begin(None);
    let bytes = std::fs::read(path).map_err(|error| not_readable(path, &error))?;
    let text = if bytes.starts_with(&GZIP_MAGIC) {
        decompress(&bytes, path)?
    } else if is_gzip_name(path) {
        let help = "compress it with gzip, or drop .gz from its name";
        return Err(FileError::whole(FileErrorCode::Compression, path, "not a gzip file", help));
    } else {
        bytes
    };
    match format {
        FileFormat::MatrixMarket => matrix_market::read_matrix_market(&text, path),
        FileFormat::RutherfordBoeing => rutherford_boeing::read_rutherford_boeing(&text, path),
        FileFormat::Frostt => frostt::read_frostt(&text, path),
    }
}

/// Writes a tensor to a file in the format that its name tells, gzipped if it ends in `.gz`.
///
/// The file appears under its name when it is complete; if writing fails, what was there stays.
///
/// # Errors
/// When the file cannot be written, its format is unknown, or the format cannot hold the tensor.
pub fn write(
    path: &Path,
    coordinates: &Coordinates,
    options: &WriteOptions,
) -> Result<(), FileError> {
    let format = known_format(path)?;
    if options.layout == Layout::Array && format != FileFormat::MatrixMarket {
        let message = format!("{format} has no array layout");
        let help = "write a .mtx file, or only the stored entries";
        return Err(FileError::whole(FileErrorCode::Unsupported, path, message, help));
    }
    progress::begin(None);
    save::save(path, |out| {
        if !is_gzip_name(path) {
            return write_format(format, out, path, coordinates, options);
        }
        let mut encoder = GzEncoder::new(out, Compression::default());
        write_format(format, &mut encoder, path, coordinates, options)?;
        encoder.finish().map(drop).map_err(|error| save::not_writable(path, &error))
    })
}

/// Whether a tensor of an order may be written to a file: what [`write()`] would refuse, before anything is
/// computed.
///
/// # Errors
/// When the file cannot be written, its format is unknown, or the format cannot hold the tensor.
pub fn check_writable(path: &Path, order: usize) -> Result<(), FileError> {
    let format = known_format(path)?;
    if order > 2 && format != FileFormat::Frostt {
        return Err(FileError::order(path, format, order));
    }
    save::check(path)
}

fn write_format(
    format: FileFormat,
    out: &mut dyn Write,
    path: &Path,
    coordinates: &Coordinates,
    options: &WriteOptions,
) -> Result<(), FileError> {
    match format {
        FileFormat::MatrixMarket => {
            matrix_market::write_matrix_market(out, path, coordinates, options)
        }
        FileFormat::RutherfordBoeing => {
            rutherford_boeing::write_rutherford_boeing(out, path, coordinates, options)
        }
        FileFormat::Frostt => frostt::write_frostt(out, path, coordinates, options),
    }
}

fn known_format(path: &Path) -> Result<FileFormat, FileError> {
    FileFormat::of(path).ok_or_else(|| {
        let message = "the name does not end in a known file format";
        let help = "known are .mtx, .rb (or .rua, .rsa, .pua, ...) and .tns, each also with .gz";
        FileError::whole(FileErrorCode::UnknownFormat, path, message, help)
    })
}

fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"))
}

fn decompress(bytes: &[u8], path: &Path) -> Result<Vec<u8>, FileError> {
    let mut text = Vec::new();
    let mut rest = bytes;
    // Members follow one another; zeros behind them fill blocks of tapes and disks, as in gzip(1).
    while rest.iter().any(|&byte| byte != 0) {
        let mut member = GzDecoder::new(rest);
        member.read_to_end(&mut text).map_err(|error| damaged(path, &error))?;
        rest = member.into_inner();
    }
    Ok(text)
}

fn damaged(path: &Path, error: &io::Error) -> FileError {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return out_of_memory(path);
    }
    let message = format!("the compressed data is damaged: {error}");
    let help = "the file may be incomplete: fetch or compress it again";
    FileError::whole(FileErrorCode::Compression, path, message, help)
}

fn not_readable(path: &Path, error: &io::Error) -> FileError {
    let help = match error.kind() {
        io::ErrorKind::OutOfMemory => return out_of_memory(path),
        io::ErrorKind::NotFound => "check the name and the folder",
        io::ErrorKind::PermissionDenied => "allow yourself to read it",
        io::ErrorKind::IsADirectory => "name a file in the folder",
        _ => "check the file and the disk it is on",
    };
    let message = format!("cannot read the file: {error}");
    FileError::whole(FileErrorCode::NotReadable, path, message, help)
}

fn out_of_memory(path: &Path) -> FileError {
    let help = "read a smaller file, or use more memory";
    FileError::whole(FileErrorCode::TooLarge, path, "the file does not fit into memory", help)
}
