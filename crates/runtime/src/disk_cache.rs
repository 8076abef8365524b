//! Compiled libraries, and notes, on disk, safe with concurrent processes.
//!
//! An entry is a library and the text it was made of. It is written under a temporary name and
//! renamed; a text that differs (a collision, or damage) makes the entry one to build again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tamis_core::diagnostic::{Code, Diagnostic};

/// One entry's place.
pub struct Cache {
    folder: PathBuf,
    name: String,
}

impl Cache {
    /// The entry for everything that a library depends on.
    pub fn open(parts: &[&str]) -> Cache {
        let folder = folder();
        let text = parts.join("\0");
        let name = format!("{:016x}{:016x}", hash(&text, 0xCBF2_9CE4_8422_2325), hash(&text, 7));
        Cache { folder, name }
    }

    /// The library, if there is one of exactly this text.
    pub fn find(&self, source: &str) -> Option<PathBuf> {
        let kept = std::fs::read_to_string(self.folder.join(format!("{}.c", self.name))).ok()?;
        let library = self.folder.join(format!("{}.so", self.name));
        (kept == source && library.exists()).then_some(library)
    }

    /// What was noted of exactly this subject.
    pub fn note(&self, subject: &str) -> Option<String> {
        let kept = std::fs::read_to_string(self.folder.join(format!("{}.note", self.name))).ok()?;
        let (note, about) = kept.split_once('\n')?;
        (about == subject).then(|| note.to_owned())
    }

    /// Keeps a note, of one line, of a subject. Where that cannot be done, it will be found out again.
    pub fn keep_note(&self, subject: &str, note: &str) {
        let written = self.folder.join(format!("{}.note", self.unique()));
        if std::fs::write(&written, format!("{note}\n{subject}")).is_ok() {
            let _ = std::fs::rename(&written, self.folder.join(format!("{}.note", self.name)));
        }
    }

    /// A name that nobody else writes to.
    fn unique(&self) -> String {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        format!(".{}.{}.{serial}", self.name, std::process::id())
    }

    /// Makes the library of a text by `compile(source, target)` and keeps both.
    pub fn store(
        &self,
        source: &str,
        compile: impl Fn(&Path, &Path) -> Result<(), Diagnostic>,
    ) -> Result<PathBuf, Diagnostic> {
        let unique = self.unique();
        let text = self.folder.join(format!("{unique}.c"));
        let built = self.folder.join(format!("{unique}.so"));
        std::fs::write(&text, source).map_err(|e| unwritable(&text, &e))?;
        let compiled = compile(&text, &built);
        if compiled.is_err() {
            let _ = std::fs::remove_file(&text);
            return compiled.map(|()| built);
        }
        let library = self.folder.join(format!("{}.so", self.name));
        let kept = self.folder.join(format!("{}.c", self.name));
        std::fs::rename(&built, &library).map_err(|e| unwritable(&library, &e))?;
        std::fs::rename(&text, &kept).map_err(|e| unwritable(&kept, &e))?;
        Ok(library)
    }
}

/// `$TAMIS_CACHE_DIR`, else the user's cache, else a temporary folder: the first that is writable.
fn folder() -> PathBuf {
    let named = std::env::var_os("TAMIS_CACHE_DIR").map(PathBuf::from);
    let user = std::env::var_os("XDG_CACHE_HOME").map(|d| PathBuf::from(d).join("tamis"));
    let home = std::env::var_os("HOME").map(|d| PathBuf::from(d).join(".cache").join("tamis"));
    let temporary = std::env::temp_dir().join(format!("tamis-{}", std::process::id()));
    for candidate in [named, user, home].into_iter().flatten() {
        let probe = candidate.join(format!(".probe.{}", std::process::id()));
        if std::fs::create_dir_all(&candidate).is_ok() && std::fs::write(&probe, "").is_ok() {
            let _ = std::fs::remove_file(&probe);
            return candidate;
        }
    }
    let _ = std::fs::create_dir_all(&temporary);
    temporary
}

/// FNV-1a from a starting value.
fn hash(text: &str, start: u64) -> u64 {
    text.bytes().fold(start, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let message = format!("{} cannot be written: {error}", path.display());
    Diagnostic::new(Code::CompilerFailed, message)
        .help("name a writable folder in TAMIS_CACHE_DIR, or use --backend jit")
}
