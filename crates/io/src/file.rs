//! Files by name: the format comes from the extension, compression from the content.

use crate::chunks::Source;
use crate::counted::Counted;
use crate::error::{FileError, FileErrorCode, Parsed};
use crate::header::{FILL_MARK, File, FileFormat, Header, Layout, ReadOptions, WriteOptions};
use crate::source::{Gzip, Plain, not_readable};
use crate::{folder, frostt, matrix_market, npz, number, progress, rutherford_boeing, save};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use tamis_runtime::{Coordinates, nearest};

/// Reads a tensor from a file: Matrix Market `.mtx`, Rutherford-Boeing `.rb` (also `.rua`, `.psa`,
/// ...) FROSTT `.tns` or NumPy's `.npy`, each also gzipped, SciPy's `.npz`, or binsparse `.bsp.npz`; or from a
/// [`Folder`](crate::Folder). The path `-` is standard input.
///
/// # Errors
/// When the file cannot be read, its format is unknown, or its content is not what its format
/// demands.
pub fn read(path: &Path) -> Result<File, FileError> {
    read_with(path, &ReadOptions::default())
}

/// Reads a tensor from a file, as [`read`] does, where more is known than the file says.
///
/// # Errors
/// As those of [`read`].
pub fn read_with(path: &Path, options: &ReadOptions) -> Result<File, FileError> {
    if !is_standard(path) && path.is_dir() {
        return folder::read_folder(path);
    }
    let named = options.format.filter(|_| is_stream(path)).or(FileFormat::of(path));
    if named.is_none() && !is_stream(path) {
        let told = unknown_format(path);
        let is_other =
            path.exists() || path.extension().is_some_and(|e| OF_PYTHON.iter().any(|o| e == *o));
        let meant = if is_other { None } else { like(path) };
        return Err(FileError { help: meant.unwrap_or(told.help), ..told });
    }
    progress::begin(None);
    let mut plain = Plain::open(path).map_err(|error| {
        let told = not_readable(&error).of_file(path);
        match error.kind() {
            io::ErrorKind::NotFound => FileError { help: like(path).unwrap_or(told.help), ..told },
            _ => told,
        }
    })?;
    if is_stream(path) && plain.is_empty() {
        return Err(empty(path));
    }
    let is_gzip = plain.is_gzip();
    let told = || plain.told().or(options.otherwise);
    let format = named.or_else(told).ok_or_else(|| unknown_format(path))?;
    let is_archive = matches!(format, FileFormat::Npz | FileFormat::Binsparse);
    check_marks(&plain, path, format)?;
    if is_archive && !is_stream(path) {
        return npz::read_archive(io::BufReader::new(plain.into_file()), path);
    }
    let mut gzip;
    let source: &mut dyn Source = match is_gzip {
        true => {
            gzip = Gzip::new(plain);
            &mut gzip
        }
        false => &mut plain,
    };
    if is_archive {
        let bytes = all(source).map_err(|flaw| flaw.of_file(path))?;
        return npz::read_archive(io::Cursor::new(&bytes[..]), path);
    }
    let mut file = match format {
        FileFormat::MatrixMarket => matrix_market::read_source(source, path)?,
        FileFormat::RutherfordBoeing => rutherford_boeing::read_source(source, path)?,
        FileFormat::Npy => return npz::alone::read(source, path),
        _ => frostt::read_source(source, path, options)?,
    };
    if format != FileFormat::RutherfordBoeing {
        take_fill(&mut file.header);
    }
    Ok(file.with_fill())
}

/// Takes the fill value out of the comments.
pub(crate) fn take_fill(header: &mut Header) {
    let said = |line: &String| line.strip_prefix(FILL_MARK).map(number::scalar_of);
    header.fill = header.comments.iter().find_map(said).flatten();
    header.comments.retain(|line| said(line).is_none());
}

/// Whether a path is `-`: standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses a file that begins otherwise than those of its format do.
fn check_marks(plain: &Plain, path: &Path, format: FileFormat) -> Result<(), FileError> {
    let is_archive = matches!(format, FileFormat::Npz | FileFormat::Binsparse);
    let compression = match plain.is_gzip() {
        false if is_gzip_name(path) => {
            Some(("not a gzip file", "compress it with gzip, or drop .gz from its name"))
        }
        true if is_archive && !is_stream(path) => {
            Some(("this is gzip data", "decompress it: archives are compressed within"))
        }
        _ => None,
    };
    if let Some((message, help)) = compression {
        return Err(FileError::whole(FileErrorCode::Compression, path, message, help));
    }
    let Some(other) = plain.other(format) else { return Ok(()) };
    let message = format!("this is no {format} file: it begins as one of {other}");
    let name = other.name();
    let help = match is_stream(path) {
        true => format!("read it as {name}"),
        false => format!("end its name in .{name}"),
    };
    Err(FileError::whole(FileErrorCode::Syntax, path, message, help))
}

/// Whether a format has to be given for what is at a path, or told by its first bytes: standard input or output, or a
/// pipe or device whose name tells none.
pub fn is_stream(path: &Path) -> bool {
    let is_other = || path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
    is_standard(path) || (FileFormat::of(path).is_none() && is_other())
}

/// Nothing comes through standard input, or a pipe.
fn empty(path: &Path) -> FileError {
    let message = if is_standard(path) { "standard input is empty" } else { "nothing comes of it" };
    let help = "did the command before it fail?";
    FileError::whole(FileErrorCode::Truncated, path, message, help)
}

/// All bytes that come, which count against the memory limit.
fn all(source: &mut dyn Source) -> Parsed<Counted<u8>> {
    let mut bytes = Counted::default();
    let mut chunk = vec![0; 1 << 16];
    loop {
        match source.fill(&mut chunk)? {
            0 => return Ok(bytes),
            count => chunk[..count].iter().try_for_each(|&byte| bytes.push(byte))?,
        }
    }
}

/// The file that a name stands for which is none: one with or without `.gz`, or spelled a little otherwise.
fn like(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|n| FileFormat::of(Path::new(n)).is_some()).collect();
    names.sort();
    let plain = |name: &str| name.strip_suffix(".gz").unwrap_or(name).to_owned();
    let compressed = names.iter().find(|name| plain(name) == plain(wanted));
    // Endings are alike anyway.
    let near = nearest(stem(wanted), names.iter().map(|name| stem(name)));
    let alike = names.iter().filter(|name| Some(stem(name)) == near);
    let closest = || nearest(wanted, alike.clone().map(String::as_str));
    let meant = compressed
        .map(String::as_str)
        .or_else(closest)
        .or(alike.clone().next().map(String::as_str));
    Some(format!("did you mean {}?", path.with_file_name(meant?).display()))
}

/// The name of a file without the endings that tell its format and that it is compressed.
fn stem(name: &str) -> &str {
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".bsp.npz")).unwrap_or(name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Writes a tensor to a file in the format that its name tells, gzipped if it ends in `.gz`; to a
/// [`Folder`](crate::Folder) of one part if it ends in `/`. The file names the fill value where that is not 0.
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
    known_format(path, options.format)?;
    progress::begin(None);
    let options = &options.with_fill_of(coordinates);
    if folder::is_folder(path) {
        let about = (coordinates.dims(), coordinates.vals().datatype());
        return folder::write_folder(path, about, options.fill, |path, out| {
            write_content(path, out, coordinates, options)
        });
    }
    save::save(path, |out| write_content(path, out, coordinates, options))
}

/// Writes what a file of this name holds.
pub(crate) fn write_content(
    path: &Path,
    out: &mut dyn Write,
    coordinates: &Coordinates,
    options: &WriteOptions,
) -> Result<(), FileError> {
    let format = known_format(path, options.format)?;
    let has_arrays = matches!(format, FileFormat::MatrixMarket | FileFormat::Npy);
    if options.layout == Layout::Array && !has_arrays {
        let message = format!("{format} has no array layout");
        let help = "write a .mtx file, or only the stored entries";
        return Err(FileError::whole(FileErrorCode::Unsupported, path, message, help));
    }
    if !is_gzip_name(path) {
        return write_format(format, out, path, coordinates, options);
    }
    let mut encoder = GzEncoder::new(out, Compression::default());
    write_format(format, &mut encoder, path, coordinates, options)?;
    encoder.finish().map(drop).map_err(|error| save::not_writable(path, &error))
}

/// Whether a tensor of an order may be written to a file, in a format where it is standard output: what
/// [`write()`] would refuse, before anything is computed.
///
/// # Errors
/// When the file cannot be written, its format is unknown, or the format cannot hold the tensor.
pub fn check_writable(
    path: &Path,
    order: usize,
    format: Option<FileFormat>,
) -> Result<(), FileError> {
    let format = known_format(path, format)?;
    if order > 2 && !format.holds_tensors() {
        return Err(FileError::order(path, format, order));
    }
    npz::check_order(format, path, order)?;
    if folder::is_folder(path) { folder::check(path) } else { save::check(path) }
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
        FileFormat::Npz | FileFormat::Binsparse => {
            npz::write_archive(format, out, path, coordinates, options)
        }
        FileFormat::Npy => npz::alone::write_alone(out, path, coordinates, options),
    }
}

fn known_format(path: &Path, given: Option<FileFormat>) -> Result<FileFormat, FileError> {
    let given = given.filter(|_| is_stream(path));
    let format = given.or(FileFormat::of(path)).ok_or_else(|| unknown_format(path))?;
    let is_text = !matches!(format, FileFormat::Npz | FileFormat::Binsparse | FileFormat::Npy);
    if is_standard(path) && !is_text && io::stdout().is_terminal() {
        let message = format!("files of {format} are no text, and standard output is a terminal");
        let help = "name a file, or send standard output to one";
        return Err(FileError::whole(FileErrorCode::NotWritable, path, message, help));
    }
    Ok(format)
}

pub(crate) fn unknown_format(path: &Path) -> FileError {
    let whole = |message: &str, help: &str| {
        FileError::whole(FileErrorCode::UnknownFormat, path, message, help)
    };
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        _ if is_stream(path) => whole(
            &format!("the format of what goes through {} is not known", path.display()),
            "name it in ReadOptions::format or WriteOptions::format",
        ),
        Some("h5" | "hdf5") => whole(
            "HDF5 is read and written by Python alone, which has its library",
            "in Python, tamis.write(\"x.bsp.npz\", tamis.read(\"x.bsp.h5\")) makes a file that is read here",
        ),
        _ => whole(
            "the name does not end in a known file format",
            &meant_ending(path).unwrap_or_else(|| {
                "known are .npz, .bsp.npz, and .mtx, .tns, .npy, .rb (or .rua, .rsa, .pua, ...), the last four also with .gz behind them".to_owned()
            }),
        ),
    }
}

/// Endings of files that Python reads.
const OF_PYTHON: [&str; 2] = ["h5", "hdf5"];

/// What a name with an unknown ending likely means.
fn meant_ending(path: &Path) -> Option<String> {
    let (stem, ending) = (path.file_stem()?.to_str()?, path.extension()?.to_str()?);
    let is_compressed = FileFormat::of(Path::new(stem)).is_some();
    match ending.to_ascii_lowercase().as_str() {
        "gzip" | "gx" | "zg" if is_compressed => {
            return Some(format!("did you mean {}?", path.with_extension("gz").display()));
        }
        "bz2" | "xz" | "lzma" | "zst" | "lz4" | "z" | "zip" | "7z" if is_compressed => {
            return Some("decompress it: of compressed files, .gz are read".to_owned());
        }
        _ => {}
    }
    let inner = if is_gzip_name(path) { Path::new(stem) } else { path };
    let own = inner.extension()?.to_str()?;
    if own.eq_ignore_ascii_case("npz") {
        return Some("decompress it: archives are compressed within".to_owned());
    }
    let known = nearest(own, ["mtx", "tns", "rb", "npz", "npy"])?;
    let meant = path.with_file_name(inner.with_extension(known).file_name()?);
    let gz = if is_gzip_name(path) { ".gz" } else { "" };
    Some(format!("did you mean {}{gz}?", meant.display()))
}

pub(crate) fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"))
}
