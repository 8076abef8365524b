//! The system's C compiler: found, called, and its libraries loaded.
//!
//! Flags were chosen by measurement (`docs/decisions/003-c-tier.md`). Compiled libraries are kept
//! in the [`crate::disk_cache`]; the compiler runs as a `crate::child` with a folder of our own for
//! its temporaries.

pub use crate::child::quiet;

use crate::budget;
use crate::child::{self, Failure};
use crate::disk_cache::{self, Cache};
use crate::interrupt::Interrupt;
use crate::kernel::Executable;
use crate::library::Library;
use crate::processor::{self, Level};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString, c_int, c_void};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};
use tamis_ir::ir::Status;

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

/// The environment variable that names a compiler, or turns it off.
const VARIABLE: &str = "TAMIS_CC";
/// The one that says how long it may take.
const TIMEOUT: &str = "TAMIS_CC_TIMEOUT";
/// Kernels take tenths of a second.
const PATIENCE: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(1_000_000);
/// A file without text, by which compilers are asked for flags.
const EMPTY: &str = "empty.c";

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
    let cache = Cache::open(&["library", &compiler.identity, source]);
    let library = match cache.find().and_then(|bytes| load(&bytes).ok()) {
        Some(library) => library,
        None => {
            let bytes = compiler.run(source)?;
            let library = load(&bytes)?;
            cache.store(&bytes);
            library
        }
    };
    let library = Arc::new(library);
    entries.iter().map(|name| symbol(&library, name)).collect()
}

/// What compiled code depends on beside its source: the compiler, its version and flags, the processor.
pub fn identity() -> Result<String, Diagnostic> {
    Ok(compiler()?.identity.clone())
}

/// Why no compiler is used, where one was looked for that a variable names, or for as long as one says.
pub fn refusal() -> Option<Diagnostic> {
    let is_asked = match std::env::var_os(VARIABLE) {
        Some(name) => name != "off",
        None => std::env::var_os(TIMEOUT).is_some(),
    };
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.values().find_map(|compiler| compiler.as_ref().err()).filter(|_| is_asked).cloned()
}

fn load(bytes: &[u8]) -> Result<Library, Diagnostic> {
    let library = Library::load(bytes).map_err(|why| failed(&why))?;
    let host = library.symbol(c"tamis_host");
    let host = host.ok_or_else(|| failed("the library has no room for its host"))?;
    let functions = Host {
        malloc,
        realloc: budget::realloc,
        posix_memalign: budget::posix_memalign,
        free: budget::free,
    };
    // SAFETY: the symbol is a variable of this layout.
    unsafe { host.cast::<Host>().write_volatile(functions) };
    Ok(library)
}

/// `malloc` within the memory limit.
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: a null address is a fresh allocation.
    unsafe { budget::realloc(std::ptr::null_mut(), bytes) }
}

fn symbol(library: &Arc<Library>, name: &str) -> Result<CFunction, Diagnostic> {
    let symbol = CString::new(name).map_err(|_| failed("a name with a NUL byte"))?;
    let address = library.symbol(&symbol);
    let address = address.ok_or_else(|| failed(&format!("the library has no function {name}")))?;
    Ok(CFunction { address, _library: Arc::clone(library) })
}

/// A compiler that works, and how to call it.
struct Compiler {
    program: OsString,
    flags: Vec<String>,
    /// What a cached library depends on: version, flags with the level, and processor.
    identity: String,
}

impl Compiler {
    fn of(program: OsString, version: &str, level: Level, flags: Vec<String>) -> Compiler {
        let processor = if level == Level::Native { processor::model() } else { String::new() };
        let (name, called) = (program.display(), flags.join(" "));
        let identity = format!("{name}\n{version}\n{called}\n{processor}");
        Compiler { program, flags, identity }
    }

    /// The library of a text.
    fn run(&self, source: &str) -> Result<Vec<u8>, Diagnostic> {
        let folder = disk_cache::workspace().map_err(|why| no_folder(&why))?;
        let (text, library) = (folder.path().join("kernel.c"), folder.path().join("kernel.so"));
        let unusable = |path: &Path, e| failed(&format!("{}: {e}", path.display()));
        std::fs::write(&text, source).map_err(|e| unusable(&text, e))?;
        let mut command = Command::new(&self.program);
        command.args(&self.flags).args(RENAMED).arg("-o").arg(&library).arg(&text).arg("-lm");
        let output = child::run(&mut command, folder.path(), Instant::now() + patience()?)
            .map_err(|failure| told(&self.program, failure))?;
        if output.status.success() {
            return std::fs::read(&library).map_err(|e| unusable(&library, e));
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
type Found = BTreeMap<(Option<String>, Level), Result<Arc<Compiler>, Diagnostic>>;

/// The compilers that were looked for.
static FOUND: Mutex<Found> = Mutex::new(BTreeMap::new());

/// The compiler for the level of this process, looked for once: the one of [`use_compiler`], else
/// `$TAMIS_CC`, else clang, gcc, cc.
fn compiler() -> Result<Arc<Compiler>, Diagnostic> {
    let named = NAMED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let wanted = (named, processor::level()?);
    let found = || FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = found().get(&wanted) {
        return known.clone();
    }
    // The search takes long, and the process may be forked meanwhile: nothing is locked.
    let compiler = find(wanted.0.as_deref(), wanted.1).map(Arc::new);
    // Whoever gave the search up says nothing of compilers.
    Interrupt::current().map_or(Ok(()), |interrupt| interrupt.check())?;
    found().insert(wanted, compiler.clone());
    compiler
}

fn find(named: Option<&str>, level: Level) -> Result<Compiler, Diagnostic> {
    if cfg!(windows) {
        let message = "on Windows no C compiler is used, whatever TAMIS_CC says";
        return Err(Diagnostic::new(Code::UnsupportedBackend, message)
            .help_by("use {}", [Setting::BackendJit]));
    }
    let environment = || std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let by_environment = named.is_none();
    let named = named.map(OsString::from).or_else(environment);
    if by_environment && named.as_ref().is_some_and(|name| name == "off") {
        return Err(Diagnostic::new(
            Code::UnsupportedBackend,
            "TAMIS_CC=off: no C compiler is used",
        )
        .help_by("use {}, or set TAMIS_CC to a compiler", [Setting::BackendJit]));
    }
    let candidates = match &named {
        Some(name) => vec![name.clone()],
        None => ["clang", "gcc", "cc"].map(OsString::from).to_vec(),
    };
    let folder = disk_cache::workspace().map_err(|why| no_folder(&why))?;
    std::fs::write(folder.path().join(EMPTY), "").map_err(|e| failed(&e.to_string()))?;
    let until = Instant::now() + patience()?;
    for program in candidates {
        let ask =
            |args: &[&str]| child::run(Command::new(&program).args(args), folder.path(), until);
        match ask(&["--version"]) {
            Ok(output) if output.status.success() => {
                let version = String::from_utf8_lossy(&output.stdout).into_owned();
                let flags = known_flags(&program, &version, level, folder.path(), &ask)?;
                return Ok(Compiler::of(program, &version, level, flags));
            }
            Ok(_) | Err(Failure::Start(_)) => {}
            Err(failure) => return Err(told(&program, failure)),
        }
    }
    let message = match named {
        Some(name) if by_environment => {
            format!("{}, which TAMIS_CC names, is no C compiler", name.display())
        }
        Some(name) => format!("{} is no C compiler", name.display()),
        None => "no C compiler was found".to_owned(),
    };
    Err(Diagnostic::new(Code::UnsupportedBackend, message)
        .help_by("install clang or gcc, name one in TAMIS_CC, or use {}", [Setting::BackendJit]))
}

/// Asks a compiler by some arguments.
type Ask<'a> = &'a dyn Fn(&[&str]) -> Result<Output, Failure>;

/// The flags for a compiler of this version, asked for once for all processes.
fn known_flags(
    program: &OsStr,
    version: &str,
    level: Level,
    folder: &Path,
    ask: Ask,
) -> Result<Vec<String>, Diagnostic> {
    let name = program.to_string_lossy();
    let cache = Cache::open(&["flags", &name, version, level.name(), &processor::model()]);
    if let Some(kept) = cache.find().and_then(|bytes| String::from_utf8(bytes).ok()) {
        return Ok(kept.lines().map(str::to_owned).collect());
    }
    let flags = accepted_flags(program, level, folder, ask)?;
    cache.store(flags.join("\n").as_bytes());
    Ok(flags)
}

fn accepted_flags(
    program: &OsStr,
    level: Level,
    folder: &Path,
    ask: Ask,
) -> Result<Vec<String>, Diagnostic> {
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
    // Compilers remove what has the name of their output: it is ours.
    let [source, object] = [EMPTY, "empty.o"].map(|name| folder.join(name));
    let (source, object) = (source.to_string_lossy(), object.to_string_lossy());
    let accepts = |flag: &str| match ask(&["-Werror", flag, "-c", "-o", &object, &source]) {
        Ok(output) => Ok(output.status.success()),
        Err(failure) => Err(told(program, failure)),
    };
    let first = |candidates: &mut dyn Iterator<Item = String>| -> Result<_, Diagnostic> {
        for flag in candidates {
            if accepts(&flag)? {
                return Ok(Some(flag));
            }
        }
        Ok(None)
    };
    flags.extend(first(&mut architectures(level))?);
    // Compilers refuse names that are not of their release.
    let gathers = [
        "-mtune-ctrl=^use_gather_2parts,^use_gather_4parts,^use_gather_8parts",
        "-mtune-ctrl=^use_gather_2parts,^use_gather_4parts,^use_gather",
    ];
    flags.extend(first(&mut gathers.into_iter().map(str::to_owned))?);
    let width = format!("-mprefer-vector-width={}", 8 * level.vector_bytes());
    for flag in ["-fno-loop-unroll-and-jam".to_owned(), width] {
        flags.extend(first(&mut [flag].into_iter())?);
    }
    Ok(flags)
}

/// The flags that name a level, or a lower one for compilers that do not know it, best first.
fn architectures(level: Level) -> impl Iterator<Item = String> {
    let lower = Level::ALL.into_iter().rev().filter(move |l| match level {
        Level::Native => *l == Level::Native,
        level => *l <= level,
    });
    lower.map(|l| format!("-march={}", l.name()))
}

/// How long a compiler may take: `$TAMIS_CC_TIMEOUT` in seconds.
fn patience() -> Result<Duration, Diagnostic> {
    let Some(text) = std::env::var_os(TIMEOUT).filter(|text| !text.is_empty()) else {
        return Ok(PATIENCE);
    };
    let seconds = text.to_str().and_then(|text| text.parse::<f64>().ok()).filter(|s| *s > 0.0);
    seconds
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .filter(|time| *time < LONGEST)
        .ok_or_else(|| {
            let message = format!("{TIMEOUT}={} is no number of seconds", text.display());
            Diagnostic::new(Code::InvalidOption, message).help("write it as 60")
        })
}

fn told(program: &OsStr, failure: Failure) -> Diagnostic {
    let name = program.display();
    match failure {
        Failure::Start(e) => failed(&format!("{name}: {e}")),
        Failure::Hangs => {
            Diagnostic::new(Code::CompilerFailed, format!("the C compiler {name} takes too long"))
                .help_by(
                    format!("use {{}}, or give it more seconds in {TIMEOUT}"),
                    [Setting::BackendJit],
                )
        }
        Failure::Interrupted(diagnostic) => diagnostic,
    }
}

fn no_folder(why: &str) -> Diagnostic {
    let message = format!("there is no folder for temporary files of the C compiler: {why}");
    Diagnostic::new(Code::CompilerFailed, message)
        .help_by("name another in TMPDIR, or use {}", [Setting::BackendJit])
}

fn failed(what: &str) -> Diagnostic {
    Diagnostic::new(Code::CompilerFailed, format!("the C compiler failed: {what}"))
        .help_by("use {}, or name another compiler in TAMIS_CC", [Setting::BackendJit])
}
