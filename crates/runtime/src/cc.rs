//! The system's C compiler: found, called, and its libraries loaded.
//!
//! Flags were chosen by measurement (`docs/decisions/003-c-tier.md`). Compiled libraries are kept
//! in the [`crate::disk_cache`].

use crate::budget;
use crate::disk_cache::Cache;
use crate::kernel::Executable;
use crate::processor::{self, Level};
use std::collections::BTreeMap;
use std::ffi::{CString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::ir::Status;

/// A loaded shared library.
struct Library(*mut c_void);

// SAFETY: the handle is only used to look symbols up and to close it once.
unsafe impl Send for Library {}
// SAFETY: as above; dlsym is thread-safe.
unsafe impl Sync for Library {}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle came from dlopen and is closed once.
        unsafe { libc::dlclose(self.0) };
    }
}

/// A compiled C function; keeps its library loaded.
pub struct CFunction {
    address: *const c_void,
    _library: Arc<Library>,
}

// SAFETY: the address is code of a library that is kept loaded.
unsafe impl Send for CFunction {}
// SAFETY: as above.
unsafe impl Sync for CFunction {}

impl Executable for CFunction {
    unsafe fn call(&self, slots: &mut [u64]) -> Status {
        // SAFETY: the symbol is the entry of a function that takes slots.
        let function: extern "C" fn(*mut u64) -> i64 = unsafe { std::mem::transmute(self.address) };
        let status = function(slots.as_mut_ptr());
        Status::ALL.into_iter().find(|s| *s as i64 == status).unwrap_or(Status::OutOfMemory)
    }
}

/// What stands behind the text: its calls for memory go to ours, so that they are counted.
const HOST: &str = "
/* Called by the host: memory within its limit. */
struct {
  void *(*malloc)(size_t);
  void *(*realloc)(void *, size_t);
  int (*posix_memalign)(void **, size_t, size_t);
  void (*free)(void *);
} tamis_host;
void *malloc(size_t size) { return tamis_host.malloc(size); }
void *realloc(void *old, size_t size) { return tamis_host.realloc(old, size); }
int posix_memalign(void **fresh, size_t alignment, size_t size) { return tamis_host.posix_memalign(fresh, alignment, size); }
void free(void *old) { tamis_host.free(old); }
";

/// The functions of the library's own by which it calls for memory.
const RENAMED: [&str; 4] = [
    "-Dmalloc=tamis_malloc",
    "-Drealloc=tamis_realloc",
    "-Dposix_memalign=tamis_posix_memalign",
    "-Dfree=tamis_free",
];

/// The functions that a library calls for memory.
#[repr(C)]
struct Host {
    malloc: extern "C" fn(usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    posix_memalign: unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int,
    free: unsafe extern "C" fn(*mut c_void),
}

/// Compiles C text and loads the functions of these names.
pub fn compile(source: &str, entries: &[String]) -> Result<Vec<CFunction>, Diagnostic> {
    let compiler = compiler()?;
    let source = &format!("{source}{HOST}");
    let cache = Cache::open(&[&compiler.identity, source]);
    let library = cache
        .find(source)
        .and_then(|path| load(&path).ok())
        .map_or_else(|| build(&compiler, &cache, source), Ok)?;
    let library = Arc::new(library);
    entries.iter().map(|name| symbol(&library, name)).collect()
}

fn build(compiler: &Compiler, cache: &Cache, source: &str) -> Result<Library, Diagnostic> {
    cache.store(source, |text, target| compiler.run(text, target)).and_then(|path| load(&path))
}

fn load(path: &Path) -> Result<Library, Diagnostic> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| failed("a path with a NUL byte"))?;
    // SAFETY: the library is one that the compiler made of our own text; it runs no code on load.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(failed("the library cannot be loaded"));
    }
    let library = Library(handle);
    // SAFETY: the handle is open and the name is terminated.
    let host = unsafe { libc::dlsym(handle, c"tamis_host".as_ptr()) };
    if host.is_null() {
        return Err(failed("the library has no room for its host"));
    }
    let functions = Host {
        malloc: budget::malloc,
        realloc: budget::realloc,
        posix_memalign: budget::posix_memalign,
        free: budget::free,
    };
    // SAFETY: the symbol is a variable of this layout. Libraries that are loaded again share it,
    // and it gets the same functions each time.
    unsafe { host.cast::<Host>().write_volatile(functions) };
    Ok(library)
}

fn symbol(library: &Arc<Library>, name: &str) -> Result<CFunction, Diagnostic> {
    let symbol = CString::new(name).map_err(|_| failed("a name with a NUL byte"))?;
    // SAFETY: the handle is open and the name is terminated.
    let address = unsafe { libc::dlsym(library.0, symbol.as_ptr()) };
    match address.is_null() {
        true => Err(failed(&format!("the library has no function {name}"))),
        false => Ok(CFunction { address, _library: Arc::clone(library) }),
    }
}

/// A compiler that works, and how to call it.
struct Compiler {
    program: PathBuf,
    flags: Vec<String>,
    /// What a cached library depends on: version, flags with the level, and processor.
    identity: String,
}

impl Compiler {
    fn run(&self, source: &Path, target: &Path) -> Result<(), Diagnostic> {
        let output = Command::new(&self.program)
            .args(&self.flags)
            .args(RENAMED)
            .arg("-o")
            .arg(target)
            .arg(source)
            .arg("-lm")
            .output()
            .map_err(|e| failed(&e.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().take(8).collect();
        Err(failed(&lines.join("\n")))
    }
}

/// Whether a C compiler is there.
pub fn is_available() -> bool {
    compiler().is_ok()
}

/// The program that [`use_compiler`] named.
static NAMED: Mutex<Option<String>> = Mutex::new(None);

/// Names the program that compiles from now on, instead of the one that is found.
pub fn use_compiler(program: &str) -> Result<(), Diagnostic> {
    *NAMED.lock().unwrap_or_else(PoisonError::into_inner) = Some(program.to_owned());
    compiler().map(drop)
}

/// Compilers by the program that was named and the level of the processor.
type Found = BTreeMap<(Option<String>, Level), Option<Arc<Compiler>>>;

/// The compiler for the level of this process, looked for once: the one of [`use_compiler`], else
/// `$TAMIS_CC`, else clang, gcc, cc.
fn compiler() -> Result<Arc<Compiler>, Diagnostic> {
    static FOUND: Mutex<Found> = Mutex::new(BTreeMap::new());
    let level = processor::level()?;
    let named = NAMED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || find(named.as_deref(), level).map(Arc::new);
    let compiler = found.entry((named.clone(), level)).or_insert_with(new);
    compiler.clone().ok_or_else(|| {
        Diagnostic::new(Code::UnsupportedBackend, "no C compiler was found")
            .help("install clang or gcc, name one in TAMIS_CC, or use --backend jit")
    })
}

fn find(named: Option<&str>, level: Level) -> Option<Compiler> {
    let named = named.map(str::to_owned).or_else(|| std::env::var("TAMIS_CC").ok());
    let candidates = match &named {
        Some(name) => vec![name.as_str()],
        None => vec!["clang", "gcc", "cc"],
    };
    candidates.into_iter().find_map(|program| {
        let output = Command::new(program).arg("--version").output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then(|| with_flags(program, &version, level))
    })
}

fn with_flags(program: &str, version: &str, level: Level) -> Compiler {
    let flags = [
        "-std=gnu11",
        "-O3",
        "-fwrapv",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-shared",
        "-fPIC",
        "-w",
    ];
    let mut flags: Vec<String> = flags.map(str::to_owned).to_vec();
    let accepts = |flag: &String| {
        let mut probe = Command::new(program);
        probe.args(["-Werror", flag, "-x", "c", "-c", "-o", "/dev/null", "/dev/null"]);
        probe.output().is_ok_and(|o| o.status.success())
    };
    flags.extend(architectures(level).find(accepts));
    // Compilers refuse names that are not of their release.
    let gathers = [
        "-mtune-ctrl=^use_gather_2parts,^use_gather_4parts,^use_gather_8parts",
        "-mtune-ctrl=^use_gather_2parts,^use_gather_4parts,^use_gather",
    ];
    flags.extend(gathers.into_iter().map(str::to_owned).find(accepts));
    let width = format!("-mprefer-vector-width={}", vector_bits(level));
    flags.extend(["-fno-loop-unroll-and-jam".to_owned(), width].into_iter().filter(accepts));
    let processor = if level == Level::Native { processor::model() } else { String::new() };
    let identity = format!("{program}\n{version}\n{}\n{processor}", flags.join(" "));
    Compiler { program: program.into(), flags, identity }
}

/// The flags that name a level, or a lower one for compilers that do not know it, best first.
fn architectures(level: Level) -> impl Iterator<Item = String> {
    let lower = Level::ALL.into_iter().rev().filter(move |l| match level {
        Level::Native => *l == Level::Native,
        level => *l <= level,
    });
    lower.map(|l| format!("-march={}", l.name()))
}

/// How many bits the vectors of a level have.
fn vector_bits(level: Level) -> u16 {
    match level {
        _ if level.allows(Level::V4) => 512,
        _ if level.allows(Level::V3) => 256,
        _ => 128,
    }
}

fn failed(what: &str) -> Diagnostic {
    Diagnostic::new(Code::CompilerFailed, format!("the C compiler failed: {what}"))
        .help("use --backend jit, or name another compiler in TAMIS_CC")
}
