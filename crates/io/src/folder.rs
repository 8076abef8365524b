//! A tensor in a folder: files of parts, and a manifest that lists them.
//!
//! ```text
//! y.tns/manifest.json                      {"version": 1, "dims": [4, 2], "datatype": "f64", "fill": null,
//!                                           "parts": [{"file": "part-00000-9a3f..tns", "bytes": 31}, ..]}
//! y.tns/part-00000-9a3f0c5be1d24c77.tns    entries, in a file like any other
//! y.tns/part-00001-9a3f0c5be1d24c77.tns
//! ```
//!
//! Each part is written under a name of its own, the manifest last: a folder holds the tensor that it held before, or all
//! of the new one. Files that no manifest lists belong to no tensor.

use crate::error::{FileError, FileErrorCode, Flaw};
use crate::file::{read_with, unknown_format, write_content};
use crate::header::{Field, File, FileFormat, Header, Layout, ReadOptions, Symmetry, WriteOptions};
use crate::marks::{self, Wanted};
use crate::parts::{Found, Part};
use crate::save::{fill, not_writable, save};
use crate::source::not_readable;
use serde_json::{Value, json};
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use tamis_runtime::temporary::{Readers, Temporary};
use tamis_runtime::{Coordinates, DataType, Scalar, Values};

const MANIFEST: &str = "manifest.json";
const VERSION: u64 = 1;
/// Lists of parts are not longer.
const LONGEST: u64 = 1 << 26;

/// Whether a path says by a `/`, or what separates folders here, at its end that a folder is to be written.
pub fn is_folder(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().last();
    last.is_some_and(|&byte| std::path::is_separator(char::from(byte)))
}

/// A file of a part, as a manifest lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartFile {
    /// Its name in the folder.
    pub file: String,
    /// Its size.
    pub bytes: u64,
}

/// A part that is written, and gets its name by [`NewPart::publish`]. It is removed if that does not happen.
#[derive(Debug)]
pub struct NewPart {
    temporary: Temporary,
    folder: PathBuf,
    listed: PartFile,
}

impl NewPart {
    /// Gives the part its name.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn publish(self) -> Result<PartFile, FileError> {
        let path = self.folder.join(&self.listed.file);
        self.temporary.rename(&path).map_err(|error| not_writable(&path, &error))?;
        Ok(self.listed)
    }
}

/// A tensor in a folder.
///
/// Several processes write one together: one calls [`Folder::create`], each [`Folder::part`] and, once all have,
/// [`NewPart::publish`]; then one calls [`Folder::write`] with the parts of all.
///
/// ```
/// use tamis_io::{Coordinates, DataType, FileError, Folder, Values, WriteOptions};
///
/// # let parent = tamis_io::temporary::Temporary::folder(&std::env::temp_dir()).unwrap();
/// # let path = &parent.path().join("y.tns/");
/// let id = Folder::create(path)?;
/// let mut parts = vec![];
/// for at in [0, 7] {
///     let list = Coordinates::new(vec![9], vec![vec![at]], Values::F64(vec![0.5])).unwrap();
///     parts.push(Folder::part(path, (id, parts.len()), &list, &WriteOptions::default())?.publish()?);
/// }
/// Folder { path: path.clone(), dims: vec![9], datatype: DataType::F64, fill: None, parts }.write()?;
/// assert_eq!(tamis_io::read(path)?.coordinates.crds(), [[0, 7]]);
/// # Ok::<(), FileError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Folder {
    /// Its name.
    pub path: PathBuf,
    /// The dimension of each mode.
    pub dims: Vec<u64>,
    /// The type of the values. Parts that are text do not tell it: they are read as text is.
    pub datatype: DataType,
    /// The value of coordinates without an entry, where that is not 0.
    pub fill: Option<Scalar>,
    /// The parts, in the order of their entries.
    pub parts: Vec<PartFile>,
}

impl Folder {
    /// Makes the folder, unless it is there; a number that the names of new parts have.
    ///
    /// # Errors
    /// When it cannot be made, or is one of other files.
    pub fn create(path: &Path) -> Result<u64, FileError> {
        check(path)?;
        match fs::create_dir(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(not_writable(path, &error))
            }
            // A number that other processes do not get.
            _ => Ok(RandomState::new().build_hasher().finish()),
        }
    }

    /// Writes a part with the number of [`Folder::create`] and its own.
    ///
    /// # Errors
    /// Those of [`write()`](crate::write()).
    pub fn part(
        path: &Path,
        (id, number): (u64, usize),
        list: &Coordinates,
        options: &WriteOptions,
    ) -> Result<NewPart, FileError> {
        part_of(path, (id, number), |path, out| write_content(path, out, list, options))
    }

    /// Writes the manifest: from now on the folder holds these parts. Those of the tensor before are removed.
    ///
    /// # Errors
    /// When it cannot be written, or a part is not there as it was written.
    pub fn write(&self) -> Result<(), FileError> {
        self.parts.iter().try_for_each(|part| self.check_part(part))?;
        let before = Folder::open(&self.path).map_or(vec![], |before| before.parts);
        let path = self.path.join(MANIFEST);
        let part = |part: &PartFile| json!({"file": part.file, "bytes": part.bytes});
        let said = json!({
            "version": VERSION, "dims": self.dims, "datatype": self.datatype.name(),
            "fill": self.fill.map(|fill| fill.to_string()),
            "parts": self.parts.iter().map(part).collect::<Vec<_>>(),
        });
        save(&path, |out| {
            serde_json::to_writer_pretty(&mut *out, &said)
                .map_err(io::Error::from)
                .and_then(|()| out.write_all(b"\n"))
                .map_err(|error| not_writable(&path, &error))
        })?;
        let is_old = |old: &&PartFile| {
            is_own(&old.file) && !self.parts.iter().any(|new| new.file == old.file)
        };
        for old in before.iter().filter(is_old) {
            // One that stays is in nobody's way.
            let _ = fs::remove_file(self.path.join(&old.file));
        }
        Ok(())
    }

    /// Reads the manifest of a folder.
    ///
    /// # Errors
    /// When there is none, or it is not what it should be.
    pub fn open(path: &Path) -> Result<Folder, FileError> {
        let file = path.join(MANIFEST);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => FileError::whole(
                FileErrorCode::NotReadable,
                path,
                format!("the folder has no {MANIFEST}"),
                "name a file in the folder; a folder of parts has one",
            ),
            _ => not_readable(&error).of_file(&file),
        };
        let size = fs::metadata(&file).map_err(failed)?.len();
        if size > LONGEST {
            let flaw = Flaw::too_large(format!("a manifest of {size} bytes"));
            return Err(flaw.of_file(&file));
        }
        let text = fs::read(&file).map_err(failed)?;
        let said: Value = serde_json::from_slice(&text).map_err(|error| FileError {
            line: Some(error.line() as u64),
            column: Some(error.column().max(1) as u64),
            ..wrong(&file, "not JSON".to_owned())
        })?;
        Folder::of(path, &said).map_err(|message| wrong(&file, message))
    }

    fn of(path: &Path, said: &Value) -> Result<Folder, String> {
        if said["version"].as_u64() != Some(VERSION) {
            return Err(format!(
                "a manifest of version {VERSION} is read, this is {}",
                said["version"]
            ));
        }
        let listed = |name: &str| said[name].as_array().ok_or(format!("\"{name}\" is no list"));
        let dims = listed("dims")?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
        let datatype = said["datatype"].as_str().and_then(DataType::parse);
        let fill = match &said["fill"] {
            Value::Null => None,
            fill => Some(fill.as_str().and_then(Scalar::parse).ok_or("\"fill\" is no number")?),
        };
        let part = |part: &Value| {
            let file = part["file"].as_str().filter(|file| is_name(file))?.to_owned();
            let has_entries = FileFormat::of(Path::new(&file)) != Some(FileFormat::Npy);
            has_entries.then_some(PartFile { file, bytes: part["bytes"].as_u64()? })
        };
        let parts = listed("parts")?.iter().map(part).collect::<Option<Vec<PartFile>>>();
        Ok(Folder {
            path: path.to_owned(),
            dims: dims.ok_or("\"dims\" are not all numbers")?,
            datatype: datatype.ok_or("\"datatype\" is none that is known")?,
            fill,
            parts: parts.ok_or("\"parts\" are not all files of the folder with their \"bytes\"")?,
        })
    }

    /// What the folder says about its tensor, which has so many entries.
    pub fn header(&self, stored: usize) -> Header {
        let field = match self.datatype {
            t if t.is_complex() => Field::Complex,
            DataType::U64 => Field::Unsigned,
            t if t.integers().is_some() => Field::Integer,
            _ => Field::Real,
        };
        let format = self.parts.first().and_then(|part| FileFormat::of(Path::new(&part.file)));
        Header {
            format: format.or(FileFormat::of(&self.path)).unwrap_or(FileFormat::Frostt),
            layout: Layout::Coordinate,
            field,
            symmetry: Symmetry::General,
            stored,
            comments: vec![],
            fill: self.fill,
        }
    }

    /// Reads a share of the parts, by its number of so many.
    ///
    /// # Errors
    /// When a part cannot be read, is not the one that the manifest lists, or has other dimensions.
    pub fn read(&self, share: usize, shares: usize) -> Result<Vec<Part>, FileError> {
        let first = |share: usize| {
            (self.parts.len() as u128 * share as u128 / shares.max(1) as u128) as usize
        };
        let own = &self.parts[first(share)..first(share + 1)];
        own.iter().map(|listed| self.read_part(listed)).collect()
    }

    fn read_part(&self, listed: &PartFile) -> Result<Part, FileError> {
        self.check_part(listed)?;
        let path = self.path.join(&listed.file);
        let dims = self.dims.iter().map(|&d| Some(d)).collect();
        let File { coordinates, header } =
            read_with(&path, &ReadOptions { dims, ..ReadOptions::default() })?;
        // By their text, so that NaN is itself.
        let [own, said] = [header.fill, self.fill].map(|fill| fill.map(|fill| fill.to_string()));
        if own.is_some() && own != said {
            let said = said.unwrap_or_else(|| "0".to_owned());
            let message = format!(
                "the part has the fill value {}, the manifest says {said}",
                own.unwrap_or_default()
            );
            return Err(wrong(&path, message));
        }
        let (mut dims, mut crds, vals) = coordinates.into_parts();
        // Matrix files hold vectors as n x 1.
        while dims.len() > self.dims.len() && dims.last() == Some(&1) {
            dims.pop();
            crds.pop();
        }
        if dims != self.dims {
            let message =
                format!("the part has dimensions {dims:?}, the manifest says {:?}", self.dims);
            return Err(wrong(&path, message));
        }
        let marks = marks::of_values(&vals);
        let list = Coordinates::new(dims, crds, vals)
            .map_err(|told| Flaw::of_list(told).of_file(&path))?;
        Ok(Part::new(list, Found { marks, ..Found::default() }))
    }

    /// The entries of some parts in one list, in the type that all parts have together.
    ///
    /// # Errors
    /// When they do not fit in memory, or a part has a type that the manifest does not allow.
    pub fn finished(&self, parts: Vec<Part>, all: &Found) -> Result<Coordinates, FileError> {
        let flawed = |told| Flaw::of_list(told).of_file(&self.path);
        let format = self.header(0).format;
        let wanted = match format {
            FileFormat::Frostt => Some(marks::of_numbers(all.marks)),
            FileFormat::Npz | FileFormat::Binsparse => None,
            _ if self.datatype.is_complex() => Some(Wanted::Complex),
            _ if self.datatype.integers().is_some() => Some(marks::of_integers(all.marks)),
            _ => Some(Wanted::Real),
        };
        let datatype = wanted.map_or(self.datatype, Wanted::datatype);
        let none = self.dims.iter().map(|_| vec![]).collect();
        let mut list =
            Coordinates::new(self.dims.clone(), none, Values::empty(datatype)).map_err(flawed)?;
        for part in parts {
            let (dims, crds, vals) = part.into_coordinates().into_parts();
            let vals = match wanted {
                Some(wanted) => {
                    marks::cast(vals, wanted).map_err(|flaw| flaw.of_file(&self.path))?
                }
                None => vals,
            };
            if vals.datatype() != datatype {
                let message = format!(
                    "a part has values of {}, the manifest says {datatype}",
                    vals.datatype()
                );
                return Err(wrong(&self.path, message));
            }
            list.append(Coordinates::new(dims, crds, vals).map_err(flawed)?).map_err(flawed)?;
        }
        Ok(list.with_fill(self.fill.unwrap_or(Scalar::I64(0))))
    }

    /// Requires that a part is there as it was written.
    fn check_part(&self, part: &PartFile) -> Result<(), FileError> {
        let path = self.path.join(&part.file);
        let about = fs::metadata(&path).map_err(|error| {
            let help = "name a folder that all processes share, and read it when nobody writes it";
            FileError { help: help.to_owned(), ..not_readable(&error).of_file(&path) }
        })?;
        match about.len() == part.bytes {
            _ if !about.is_file() => Err(wrong(&path, "the part is no file".to_owned())),
            true => Ok(()),
            false => Err(wrong(
                &path,
                format!("{} bytes, the manifest says {}", about.len(), part.bytes),
            )),
        }
    }
}

/// Reads all of a folder.
pub(crate) fn read_folder(path: &Path) -> Result<File, FileError> {
    let folder = Folder::open(path)?;
    let parts = folder.read(0, 1)?;
    let mut all = Found::default();
    parts.iter().for_each(|part| all.join(&part.found));
    let coordinates = folder.finished(parts, &all)?;
    let header = folder.header(coordinates.vals().len());
    Ok(File { coordinates, header })
}

/// Writes a folder of one part.
pub(crate) fn write_folder<E: From<FileError>>(
    path: &Path,
    (dims, datatype): (&[u64], DataType),
    fill: Option<Scalar>,
    content: impl FnOnce(&Path, &mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let id = Folder::create(path)?;
    let part = part_of(path, (id, 0), content)?.publish()?;
    let (path, dims) = (path.to_owned(), dims.to_vec());
    Ok(Folder { path, dims, datatype, fill, parts: vec![part] }.write()?)
}

/// Requires that a folder may be written: there is none yet, it is empty, or it holds a tensor.
pub(crate) fn check(path: &Path) -> Result<(), FileError> {
    match FileFormat::of(path) {
        None => return Err(unknown_format(path)),
        Some(FileFormat::Npy) => {
            let (message, help) = ("an array alone has no parts", "write a folder of .npz files");
            return Err(FileError::whole(FileErrorCode::Unsupported, path, message, help));
        }
        Some(_) => {}
    }
    let entries = match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let made = Temporary::folder(parent.unwrap_or(Path::new(".")));
            return made.map(drop).map_err(|error| not_writable(path, &error));
        }
        Err(error) => return Err(not_writable(path, &error)),
    };
    if entries && let Err(told) = Folder::open(path) {
        let help = "name a new folder";
        let message = format!("the folder has files, and holds no tensor: {}", told.message);
        return Err(FileError::whole(FileErrorCode::NotWritable, path, message, help));
    }
    Temporary::file(path, Readers::Usual).map(drop).map_err(|error| not_writable(path, &error))
}

/// Writes the content of a part.
fn part_of<E: From<FileError>>(
    folder: &Path,
    (id, number): (u64, usize),
    content: impl FnOnce(&Path, &mut dyn Write) -> Result<(), E>,
) -> Result<NewPart, E> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let file = format!("part-{number:05}-{id:016x}{}", extension(&name));
    let path = folder.join(&file);
    let refused = |error| not_writable(&path, &error);
    let (temporary, open) = Temporary::file(folder, Readers::Usual).map_err(refused)?;
    fill(open.try_clone().map_err(refused)?, &path, |out| content(&path, out))?;
    open.sync_all().map_err(refused)?;
    let bytes = open.metadata().map_err(refused)?.len();
    Ok(NewPart { temporary, folder: folder.to_owned(), listed: PartFile { file, bytes } })
}

/// The end of a name that tells a format: `.tns`, `.mtx.gz`, `.bsp.npz`.
fn extension(name: &str) -> &str {
    let before = |end: usize| name[..end].rfind('.').unwrap_or(0);
    let at = before(name.len());
    let last = name[at..].to_ascii_lowercase();
    let is_double = last == ".gz" || name.to_ascii_lowercase().ends_with(".bsp.npz");
    &name[if is_double { before(at) } else { at }..]
}

/// Whether a name is one of a file in the folder itself.
fn is_name(name: &str) -> bool {
    let mut components = Path::new(name).components();
    matches!(components.next(), Some(Component::Normal(part)) if part == name)
        && components.next().is_none()
}

/// Whether a name is one that [`Folder::part`] gives: others are not removed, whatever a manifest lists.
fn is_own(name: &str) -> bool {
    let Some((number, rest)) = name.strip_prefix("part-").and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    let id = rest.split('.').next().unwrap_or_default();
    let is_number = number.len() >= 5 && number.bytes().all(|digit| digit.is_ascii_digit());
    is_number && id.len() == 16 && id.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn wrong(path: &Path, message: String) -> FileError {
    FileError::whole(FileErrorCode::Syntax, path, message, "write the folder again")
}
