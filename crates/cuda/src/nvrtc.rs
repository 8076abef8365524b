//! NVIDIA's compiler of CUDA C, where it is installed: text to code for a device.
//!
//! ```text
//! Suited::to(90, Some(12))       a compiler that knows sm_90, of CUDA 12 or older, whose code the driver loads
//! Suited::to(120, Some(12))      one that knows less: code of its newest machine, which the driver compiles on
//! ```
//!
//! Compilers are looked for when one is first needed: the file that `$TAMIS_NVRTC` names, the system's
//! library, the folder of CUDA, and the folders of Python packages. Of several, the first one suits that
//! knows the device's architecture and is not newer than the driver.

use crate::library::{Library, functions};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};

type Program = *mut c_void;

functions! {
    /// What is called of the library.
    Functions {
        version = "nvrtcVersion"(*mut c_int, *mut c_int);
        create = "nvrtcCreateProgram"(*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char);
        compile = "nvrtcCompileProgram"(Program, c_int, *const *const c_char);
        log_size = "nvrtcGetProgramLogSize"(Program, *mut usize);
        log = "nvrtcGetProgramLog"(Program, *mut c_char);
        binary_size = "nvrtcGetCUBINSize"(Program, *mut usize);
        binary = "nvrtcGetCUBIN"(Program, *mut c_char);
        text_size = "nvrtcGetPTXSize"(Program, *mut usize);
        text = "nvrtcGetPTX"(Program, *mut c_char);
        count = "nvrtcGetNumSupportedArchs"(*mut c_int);
        known = "nvrtcGetSupportedArchs"(*mut c_int);
        destroy = "nvrtcDestroyProgram"(*mut Program);
    }
}

/// A compiler, and where it was found.
struct Compiler {
    functions: Functions,
    path: PathBuf,
    /// The version of CUDA that it is of.
    version: (u32, u32),
    /// The architectures that it knows, such as 90.
    known: Vec<u32>,
    _library: Library,
}

/// A compiler whose code a device runs.
pub struct Suited {
    compiler: &'static Compiler,
    /// What it compiles for: `sm_90`, or `compute_90` for code that the driver compiles on.
    architecture: String,
}

/// Compiled kernels.
pub struct Binary {
    /// Machine code, or text that the driver makes such of, as a module is loaded from.
    pub code: Vec<u8>,
    /// What the compiler says of registers, and what it warns of.
    pub log: String,
}

/// Whether a compiler is there.
pub fn is_available() -> bool {
    compilers().is_ok()
}

impl Suited {
    /// A compiler for a compute capability, such as 90, and the newest version of CUDA that the driver
    /// knows, if there is one.
    ///
    /// # Errors
    ///
    /// [`Code::UnsupportedBackend`] where none is found, or none suits.
    pub fn to(capability: u32, driver: Option<u32>) -> Result<Suited, Diagnostic> {
        let all = compilers()?;
        let old_enough = |c: &&&Compiler| driver.is_none_or(|driver| c.version.0 <= driver);
        let loaded: Vec<&Compiler> = all.iter().filter(old_enough).copied().collect();
        if let Some(&compiler) = loaded.iter().find(|c| c.known.contains(&capability)) {
            return Ok(Suited { compiler, architecture: format!("sm_{capability}") });
        }
        let newest = |c: &Compiler| c.known.iter().copied().filter(|&k| k < capability).max();
        match loaded.iter().max_by_key(|c| newest(c)).map(|&c| (c, newest(c))) {
            Some((compiler, Some(known))) => {
                Ok(Suited { compiler, architecture: format!("compute_{known}") })
            }
            _ => Err(unsuited(all, capability, driver)),
        }
    }

    /// The compiler's version and path, and what it compiles for, which compiled kernels depend on.
    pub fn identity(&self) -> String {
        let Compiler { version: (major, minor), path, .. } = self.compiler;
        format!("nvrtc {major}.{minor} {} {}", path.display(), self.architecture)
    }

    /// Compiles a text.
    ///
    /// # Errors
    ///
    /// [`Code::CompilerFailed`] with what the compiler says.
    pub fn compile(&self, text: &str) -> Result<Binary, Diagnostic> {
        let functions = &self.compiler.functions;
        let source = terminated(text)?;
        let architecture = terminated(&format!("--gpu-architecture={}", self.architecture))?;
        let options =
            [architecture.as_ptr(), c"-fmad=false".as_ptr(), c"--ptxas-options=-v".as_ptr()];
        let mut program: Program = std::ptr::null_mut();
        let (name, none) = (c"tamis.cu".as_ptr(), std::ptr::null());
        // SAFETY: texts are terminated and outlive the call; there are no headers.
        let created =
            unsafe { (functions.create)(&mut program, source.as_ptr(), name, 0, none, none) };
        if created != 0 {
            return Err(failed(&format!("error {created}")));
        }
        // SAFETY: the program was created; options are terminated and outlive the call.
        let compiled =
            unsafe { (functions.compile)(program, options.len() as c_int, options.as_ptr()) };
        let log = String::from_utf8_lossy(&read(functions.log_size, functions.log, program))
            .trim_end_matches('\0')
            .to_owned();
        let code = match compiled {
            0 if self.architecture.starts_with("compute") => {
                read(functions.text_size, functions.text, program)
            }
            0 => read(functions.binary_size, functions.binary, program),
            _ => vec![],
        };
        // SAFETY: the program was created, and is not used again.
        unsafe { (functions.destroy)(&mut program) };
        match compiled {
            0 => Ok(Binary { code, log }),
            _ => Err(failed(log.lines().take(8).collect::<Vec<_>>().join("\n").trim())),
        }
    }
}

/// Why no compiler suits.
fn unsuited(all: &[&Compiler], capability: u32, driver: Option<u32>) -> Diagnostic {
    let of = |c: &&Compiler| {
        let least = c.known.iter().min().copied().unwrap_or(0);
        let (major, minor) = c.version;
        format!("{} is of CUDA {major}.{minor} and knows sm_{least} and newer", c.path.display())
    };
    let found: Vec<String> = all.iter().map(of).collect();
    let asked = match driver {
        Some(driver) => format!("sm_{capability} with a driver of CUDA {driver}"),
        None => format!("sm_{capability}"),
    };
    let message = format!("no NVRTC compiles for {asked}: {}", found.join("; "));
    let version = driver.unwrap_or(12).min(if capability < 75 { 12 } else { u32::MAX });
    let package = match version {
        0..=12 => format!("nvidia-cuda-nvrtc-cu{version}"),
        _ => "nvidia-cuda-nvrtc".to_owned(),
    };
    Diagnostic::new(Code::UnsupportedBackend, message)
        .help_by(format!("pip install {package}, or use {{}}"), [Setting::BackendJit])
}

/// What a function gives of a program, and another the size of.
fn read(
    size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    bytes: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    program: Program,
) -> Vec<u8> {
    let mut length = 0;
    // SAFETY: the program was compiled, and there is room for the size.
    if unsafe { size(program, &mut length) } != 0 {
        return vec![];
    }
    let mut out = vec![0u8; length];
    // SAFETY: there is room for so many bytes.
    match unsafe { bytes(program, out.as_mut_ptr().cast()) } {
        0 => out,
        _ => vec![],
    }
}

fn terminated(text: &str) -> Result<CString, Diagnostic> {
    CString::new(text).map_err(|_| failed("a text with a zero byte"))
}

/// The compilers that there are, those that are looked for first at the beginning.
fn compilers() -> Result<&'static [&'static Compiler], Diagnostic> {
    static FOUND: OnceLock<Vec<&'static Compiler>> = OnceLock::new();
    match FOUND.get() {
        Some(found) => Ok(found),
        None => find().map(|found| {
            let lasting = || found.into_iter().map(|c| &*Box::leak(Box::new(c))).collect();
            &**FOUND.get_or_init(lasting)
        }),
    }
}

/// The library that is used before all others.
static PREFERRED: OnceLock<PathBuf> = OnceLock::new();

/// Names the library, before it is needed first.
pub fn prefer(library: &Path) {
    let _ = PREFERRED.set(library.to_owned());
}

/// Folders of Python packages that were named.
static PACKAGES: Mutex<Vec<PathBuf>> = Mutex::new(vec![]);

/// Names folders of Python packages to look in first, before a compiler is needed: `sys.path`.
pub fn look_in(packages: Vec<PathBuf>) {
    *PACKAGES.lock().unwrap_or_else(PoisonError::into_inner) = packages;
}

fn find() -> Result<Vec<Compiler>, Diagnostic> {
    let named = || std::env::var_os("TAMIS_NVRTC").map(PathBuf::from);
    let named = PREFERRED.get().cloned().or_else(named);
    let candidates = match &named {
        Some(path) => vec![path.clone()],
        None => candidates(),
    };
    let (mut found, mut lacks): (Vec<Compiler>, _) = (vec![], None);
    for path in candidates {
        let Some(library) = Library::open(&path) else { continue };
        match Functions::of(&library) {
            Ok(functions) => {
                let compiler = opened(functions, path, library);
                let again = |other: &Compiler| other.version == compiler.version;
                if !found.iter().any(again) {
                    found.push(compiler);
                }
            }
            Err(name) => lacks = Some((path, name)),
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let message = match (lacks, named) {
        (Some((path, name)), _) => format!("{} is too old: it has no {name}", path.display()),
        (None, Some(path)) => {
            format!("{}, which TAMIS_NVRTC names, cannot be loaded", path.display())
        }
        (None, None) => "NVRTC, the compiler of CUDA, was not found".to_owned(),
    };
    Err(Diagnostic::new(Code::UnsupportedBackend, message).help_by(
        "pip install nvidia-cuda-nvrtc-cu12, name libnvrtc.so in TAMIS_NVRTC, or use {}",
        [Setting::BackendJit],
    ))
}

/// A compiler with what it says of itself.
fn opened(functions: Functions, path: PathBuf, library: Library) -> Compiler {
    let (mut major, mut minor, mut count) = (0, 0, 0);
    // SAFETY: there is room for all numbers.
    unsafe {
        (functions.version)(&mut major, &mut minor);
        (functions.count)(&mut count);
    }
    let mut known = vec![0 as c_int; count.max(0) as usize];
    // SAFETY: there is room for as many numbers as there are architectures.
    unsafe { (functions.known)(known.as_mut_ptr()) };
    let known = known.into_iter().filter_map(|k| u32::try_from(k).ok()).collect();
    let version = (major.unsigned_abs(), minor.unsigned_abs());
    Compiler { functions, path, version, known, _library: library }
}

/// Where the library may be.
fn candidates() -> Vec<PathBuf> {
    let names = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"];
    let packages = PACKAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found: Vec<PathBuf> = packages.iter().flat_map(|folder| of_packages(folder)).collect();
    found.extend(names.iter().map(PathBuf::from));
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    for folder in ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(variable) {
        found.extend(names.iter().map(|name| folder.join("lib64").join(name)));
    }
    found.extend(names.iter().map(|name| Path::new("/usr/local/cuda/lib64").join(name)));
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable);
    let home = variable("HOME").map(|home| home.join(".local"));
    let system = ["/usr/local", "/usr"].map(PathBuf::from);
    for root in environments.chain(home).chain(system) {
        for python in entries(&root.join("lib")) {
            let folders = ["site-packages", "dist-packages"];
            found.extend(folders.iter().flat_map(|folder| of_packages(&python.join(folder))));
        }
    }
    found
}

/// The libraries of Python packages in a folder.
fn of_packages(packages: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for package in entries(&packages.join("nvidia")) {
        found.extend(entries(&package.join("lib")).into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libnvrtc.so.")
        }));
    }
    found
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    found.sort();
    found
}

fn failed(what: &str) -> Diagnostic {
    Diagnostic::new(Code::CompilerFailed, format!("NVRTC failed: {what}"))
        .help_by("use {}, or name another library in TAMIS_NVRTC", [Setting::BackendJit])
}
