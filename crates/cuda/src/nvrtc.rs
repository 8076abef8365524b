//! NVIDIA's compiler of CUDA C, where it is installed: text to machine code of an architecture.
//!
//! It is looked for when it is first needed: the file that `$TAMIS_NVRTC` names, the system's
//! library, the folder of CUDA, and the folders of Python packages.

use crate::library::{Library, functions};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tamis_core::diagnostic::{Code, Diagnostic};

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
        destroy = "nvrtcDestroyProgram"(*mut Program);
    }
}

/// The compiler, and where it was found.
struct Compiler {
    functions: Functions,
    path: PathBuf,
    _library: Library,
}

/// Compiled kernels.
pub struct Binary {
    /// Machine code, as a module is loaded from.
    pub code: Vec<u8>,
    /// What the compiler says of registers, and what it warns of.
    pub log: String,
}

/// Whether the compiler is there.
pub fn is_available() -> bool {
    compiler().is_ok()
}

/// The compiler's version and place, which compiled kernels depend on.
pub fn identity() -> Result<String, Diagnostic> {
    let compiler = compiler()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are places for a number.
    unsafe { (compiler.functions.version)(&mut major, &mut minor) };
    Ok(format!("nvrtc {major}.{minor} {}", compiler.path.display()))
}

/// Compiles a text for an architecture, such as `sm_90`.
///
/// # Errors
///
/// [`Code::UnsupportedBackend`] without the compiler, [`Code::CompilerFailed`] where it fails.
pub fn compile(text: &str, architecture: &str) -> Result<Binary, Diagnostic> {
    let functions = &compiler()?.functions;
    let source = terminated(text)?;
    let architecture = terminated(&format!("--gpu-architecture={architecture}"))?;
    let options = [architecture.as_ptr(), c"-fmad=false".as_ptr(), c"--ptxas-options=-v".as_ptr()];
    let mut program: Program = std::ptr::null_mut();
    let (name, none) = (c"tamis.cu".as_ptr(), std::ptr::null());
    // SAFETY: texts are terminated and outlive the call; there are no headers.
    let created = unsafe { (functions.create)(&mut program, source.as_ptr(), name, 0, none, none) };
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

/// What a function gives of a program, and another the size of.
fn read(
    size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    bytes: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    program: Program,
) -> Vec<u8> {
    let mut length = 0;
    // SAFETY: the program was compiled, and there is a place for the size.
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

fn compiler() -> Result<&'static Compiler, Diagnostic> {
    static COMPILER: OnceLock<Compiler> = OnceLock::new();
    match COMPILER.get() {
        Some(compiler) => Ok(compiler),
        None => find().map(|found| COMPILER.get_or_init(|| found)),
    }
}

/// The library that is used before all others.
static PREFERRED: OnceLock<PathBuf> = OnceLock::new();

/// Names the library, before it is needed first.
pub fn prefer(library: &Path) {
    let _ = PREFERRED.set(library.to_owned());
}

fn find() -> Result<Compiler, Diagnostic> {
    let named = || std::env::var_os("TAMIS_NVRTC").map(PathBuf::from);
    let named = PREFERRED.get().cloned().or_else(named);
    let candidates = match &named {
        Some(path) => vec![path.clone()],
        None => candidates(),
    };
    let mut lacks = None;
    for path in candidates {
        let Some(library) = Library::open(&path) else { continue };
        match Functions::of(&library) {
            Ok(functions) => return Ok(Compiler { functions, path, _library: library }),
            Err(name) => lacks = Some((path, name)),
        }
    }
    let message = match (lacks, named) {
        (Some((path, name)), _) => format!("{} is too old: it has no {name}", path.display()),
        (None, Some(path)) => {
            format!("{}, which TAMIS_NVRTC names, cannot be loaded", path.display())
        }
        (None, None) => "NVRTC, the compiler of CUDA, was not found".to_owned(),
    };
    Err(Diagnostic::new(Code::UnsupportedBackend, message).help(
        "pip install nvidia-cuda-nvrtc-cu12, name libnvrtc.so in TAMIS_NVRTC, or use --backend jit",
    ))
}

/// Where the library may be.
fn candidates() -> Vec<PathBuf> {
    let names = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"];
    let mut found: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    for folder in ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(variable) {
        found.extend(names.iter().map(|name| folder.join("lib64").join(name)));
    }
    found.extend(names.iter().map(|name| Path::new("/usr/local/cuda/lib64").join(name)));
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable);
    let home = variable("HOME").map(|home| home.join(".local"));
    let system = ["/usr/local", "/usr"].map(PathBuf::from);
    for root in environments.chain(home).chain(system) {
        found.extend(of_packages(&root));
    }
    found
}

/// The libraries of Python packages below `ROOT/lib/python3.*`.
fn of_packages(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for python in entries(&root.join("lib")) {
        for packages in ["site-packages", "dist-packages"] {
            for package in entries(&python.join(packages).join("nvidia")) {
                found.extend(entries(&package.join("lib")).into_iter().filter(|path| {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    name.starts_with("libnvrtc.so.")
                }));
            }
        }
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
        .help("use --backend jit, or name another library in TAMIS_NVRTC")
}
