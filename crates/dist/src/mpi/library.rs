//! Which MPI library: the one that is named, else the one in this process, else that of what started the process.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use tamis_ir::diagnostic::{Code, Diagnostic};
#[cfg(unix)]
use unix::{Handle, parent};
#[cfg(windows)]
use windows::{Handle, parent};

/// Which libraries are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::mpi) enum Which {
    /// Only libraries that this process has loaded before.
    Loaded,
    Any,
}

/// A library that stays loaded.
pub(crate) struct Library {
    handle: Handle,
    /// As it was asked for.
    pub(crate) name: PathBuf,
}

impl Library {
    /// The library at a path, or of a name that the system knows; else what the system says.
    pub(super) fn open(name: &Path, which: Which) -> Result<Library, String> {
        Ok(Library { handle: Handle::open(name, which)?, name: name.to_owned() })
    }

    /// The address of a function or a variable.
    pub(crate) fn symbol(&self, name: &str) -> Option<*mut c_void> {
        self.handle.symbol(&CString::new(name).ok()?)
    }

    /// The file that a symbol is in.
    pub(crate) fn file(&self, symbol: *mut c_void) -> PathBuf {
        let file = self.handle.file(symbol).unwrap_or_else(|| self.name.clone());
        file.canonicalize().unwrap_or(file)
    }

    /// What the library says it is. It need not be initialised for that.
    pub(crate) fn version(&self) -> Option<String> {
        let function = self.symbol("MPI_Get_library_version")?;
        // SAFETY: every MPI library has this function, of this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int>(
                function,
            )
        };
        let (mut text, mut length) = (vec![0u8; 1 << 16], 0);
        // SAFETY: no MPI library writes more than 8192 characters; the last byte stays zero.
        let error = unsafe { function(text.as_mut_ptr().cast(), &mut length) };
        let text = CStr::from_bytes_until_nul(&text).ok()?;
        (error == 0).then(|| text.to_string_lossy().lines().next().unwrap_or_default().to_owned())
    }
}

/// What started this process as one of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Launcher {
    pub(crate) name: &'static str,
    /// Names of libraries that suit it, the best one first.
    names: &'static [&'static str],
    /// How many processes it started.
    pub(crate) ranks: Option<usize>,
}

#[cfg(not(target_os = "macos"))]
const OPEN_MPI: &[&str] = &["libmpi.so.40"];
#[cfg(not(target_os = "macos"))]
const MPICH: &[&str] = &["libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"];
#[cfg(not(target_os = "macos"))]
const ANY: &str = "libmpi.so";
#[cfg(target_os = "macos")]
const OPEN_MPI: &[&str] = &["libmpi.40.dylib"];
#[cfg(target_os = "macos")]
const MPICH: &[&str] = &["libmpi_abi.1.dylib", "libmpi.12.dylib"];
#[cfg(target_os = "macos")]
const ANY: &str = "libmpi.dylib";

/// The launcher, as variables of the environment tell it.
pub(crate) fn launcher() -> Option<Launcher> {
    let number = |text: std::ffi::OsString| text.to_str()?.parse().ok();
    if let Some(ranks) = std::env::var_os("OMPI_COMM_WORLD_SIZE") {
        return Some(Launcher { name: "Open MPI", names: OPEN_MPI, ranks: number(ranks) });
    }
    let ranks = std::env::var_os("PMI_SIZE")?;
    Some(Launcher { name: "MPICH", names: MPICH, ranks: number(ranks) })
}

/// A library that this process has loaded already, as a Python module may have.
pub(crate) fn loaded() -> Option<Library> {
    let names = OPEN_MPI.iter().chain(MPICH).chain([&ANY]);
    names.into_iter().find_map(|name| Library::open(Path::new(name), Which::Loaded).ok())
}

/// The library of this process.
///
/// # Errors
///
/// [`Code::UnsupportedBackend`] if there is none: where it was looked for, and how to name one.
pub(crate) fn find(launcher: Option<Launcher>) -> Result<Library, Diagnostic> {
    if let Some(named) = std::env::var_os("TAMIS_MPI").filter(|named| !named.is_empty()) {
        let open = Library::open(Path::new(&named), Which::Any);
        return open.map_err(|told| {
            let message = format!("the MPI library that TAMIS_MPI names cannot be loaded: {told}");
            let help = "name the file of an MPI library, such as TAMIS_MPI=/usr/lib/libmpi.so.40";
            Diagnostic::new(Code::UnsupportedBackend, message).help(help)
        });
    }
    if let Some(library) = loaded() {
        return Ok(library);
    }
    let names: Vec<&str> = match launcher {
        Some(launcher) => launcher.names.to_vec(),
        None => OPEN_MPI.iter().chain(MPICH).chain([&ANY]).copied().collect(),
    };
    let folders = folders(launcher.is_some());
    let within = |folder: &Option<PathBuf>| {
        let path = |name| folder.as_ref().map_or(PathBuf::from(name), |folder| folder.join(name));
        names.iter().find_map(|name| Library::open(&path(name), Which::Any).ok())
    };
    folders.iter().find_map(within).ok_or_else(|| none(launcher, &names, &folders))
}

fn none(launcher: Option<Launcher>, names: &[&str], folders: &[Option<PathBuf>]) -> Diagnostic {
    let folder = |folder: &Option<PathBuf>| match folder {
        Some(folder) => folder.display().to_string(),
        None => "the system's folders".to_owned(),
    };
    let folders: Vec<String> = folders.iter().map(folder).collect();
    let whose =
        launcher.map_or(String::new(), |l| format!(" for {}, which started this process", l.name));
    let (names, folders) = (names.join(", "), folders.join(", "));
    let message = format!("there is no MPI library{whose}: no {names} in {folders}");
    let help = "install one, such as by pip install mpich, or name its file: TAMIS_MPI=/usr/lib/libmpi.so.40";
    Diagnostic::new(Code::UnsupportedBackend, message).help(help)
}

/// Where to look, in order; `None` is where the system looks. A process that was launched looks first beside what
/// launched it.
fn folders(was_launched: bool) -> Vec<Option<PathBuf>> {
    let starter = || {
        let program = std::fs::read_link(format!("/proc/{}/exe", parent()?)).ok()?;
        Some(program.parent()?.parent()?.join("lib"))
    };
    let starts = |folder: &PathBuf| folder.join("mpiexec").is_file();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mpiexec = std::env::split_paths(&path).find(starts);
    let beside = mpiexec.and_then(|folder| Some(folder.parent()?.join("lib")));
    let environment = |name: Option<std::ffi::OsString>| Some(Path::new(&name?).join("lib"));
    let mut folders = vec![None];
    folders.extend([
        beside,
        environment(std::env::var_os("VIRTUAL_ENV")),
        environment(std::env::var_os("CONDA_PREFIX")),
    ]);
    let starter = if was_launched { starter() } else { None };
    folders.retain(|folder| folder.as_deref().is_none_or(Path::is_dir));
    let mut all: Vec<Option<PathBuf>> = vec![];
    for folder in starter.into_iter().map(Some).chain([None]).chain(folders) {
        if !all.contains(&folder) {
            all.push(folder);
        }
    }
    all
}

/// Whether a file is of the standard's own ABI, by its name, which the standard fixes.
pub(crate) fn has_standard_name(file: &Path) -> bool {
    let name = file.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
    name.starts_with(b"libmpi_abi.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_told_with_where_it_was_looked_for() {
        let launcher = Launcher { name: "Open MPI", names: OPEN_MPI, ranks: Some(4) };
        let folders = [Some(PathBuf::from("/opt/mpi/lib")), None];
        let told = none(Some(launcher), &["libmpi.so.40"], &folders);
        let wanted = "error[unsupported-backend]: there is no MPI library for Open MPI, which started \
            this process: no libmpi.so.40 in /opt/mpi/lib, the system's folders\n  = help: install \
            one, such as by pip install mpich, or name its file: TAMIS_MPI=/usr/lib/libmpi.so.40";
        assert_eq!(told.to_string(), wanted);
    }

    #[test]
    fn the_standard_fixes_the_name_of_a_file() {
        let names = ["libmpi_abi.so.1", "libmpi_abi.1.dylib", "libmpi.so.12", "libmpi.so.40"];
        let standard = names.map(|name| has_standard_name(&Path::new("/usr/lib").join(name)));
        assert_eq!(standard, [true, true, false, false]);
    }
}
