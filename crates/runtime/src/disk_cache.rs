//! Compiled libraries, and notes, on disk, safe with other processes and other users.
//!
//! ```text
//! $TAMIS_CACHE_DIR, $XDG_CACHE_HOME or $HOME/.cache; on Windows %LOCALAPPDATA%
//!   tamis/                                the user's own, 0700
//!     5d41402abc4b2a76b9719d911017c592..  an entry: SHA-256 of its name and content, then the content
//!     .tamis-3f0c9a5be1d24c77..tmp        being written, or left by a process that was killed
//! ```
//!
//! An entry's name is the SHA-256 of all that its content depends on. Entries are written under a temporary
//! name, synced and renamed; one whose checksum differs is none. The least recently used go where the cache
//! is beyond its bound.

use crate::ending;
use crate::size;
use crate::temporary::{Readers, Temporary, is_temporary};
use crate::trusted::{self, Missing};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The bound of the cache, unless `TAMIS_CACHE_SIZE` has another.
const BOUND: u64 = 256_000_000;
/// Temporaries that are older were left by processes that are gone.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of a checksum.
const CHECKSUM: usize = 32;
/// The variables that name the folder for all caches, and the user's.
const USUAL: &str = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_CACHE_HOME" };
const TEMPORARIES: &str = if cfg!(windows) { "TMP" } else { "TMPDIR" };
const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
/// What an entry takes on disk at least.
const BLOCK: u64 = 4096;

/// One entry.
pub struct Cache {
    place: Option<Place>,
    name: String,
}

impl Cache {
    /// The entry for everything that its content depends on. Where there is no folder for the cache, nothing
    /// is found and nothing kept: see [`refusal`].
    pub fn open(parts: &[&str]) -> Cache {
        let place = Place::of(&|name| std::env::var_os(name)).unwrap_or_else(|reason| {
            *refused() = Some(reason);
            None
        });
        Cache::within(place, parts)
    }

    fn within(place: Option<Place>, parts: &[&str]) -> Cache {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let name = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Cache { place, name }
    }

    /// The content, if it is there and whole.
    pub fn find(&self) -> Option<Vec<u8>> {
        let place = self.place.as_ref()?;
        let file = trusted::opened(&place.folder.join(&self.name)).ok()?;
        let mut bytes = vec![];
        (&file).take(place.bound).read_to_end(&mut bytes).ok()?;
        let (checksum, content) = bytes.split_at_checked(CHECKSUM)?;
        if checksum != self.checksum(content) {
            return None;
        }
        // Used last; where that cannot be noted it goes earlier.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes.split_off(CHECKSUM))
    }

    /// Keeps a content. Where that cannot be done, it will be made again.
    pub fn store(&self, content: &[u8]) {
        let Some(place) = &self.place else { return };
        let size = (CHECKSUM + content.len()) as u64;
        if size <= place.bound && self.write(&place.folder, content).is_ok() {
            place.evict();
        }
    }

    fn write(&self, folder: &Path, content: &[u8]) -> io::Result<()> {
        let (temporary, mut file) = Temporary::file(folder, Readers::User)?;
        file.write_all(&self.checksum(content))?;
        file.write_all(content)?;
        file.sync_all()?;
        temporary.rename(&folder.join(&self.name))?;
        // Windows keeps no folder open.
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    fn checksum(&self, content: &[u8]) -> [u8; CHECKSUM] {
        Sha256::new().chain_update(&self.name).chain_update(content).finalize().into()
    }
}

/// Why the folder that the environment names for the cache was not used, if it was not.
pub fn refusal() -> Option<String> {
    refused().clone()
}

fn refused() -> std::sync::MutexGuard<'static, Option<String>> {
    static REFUSED: Mutex<Option<String>> = Mutex::new(None);
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Folders for temporaries that others cannot replace, best first: the cache, and the system's.
pub(crate) fn workspaces() -> impl Iterator<Item = Result<PathBuf, String>> {
    let place = Place::of(&|name| std::env::var_os(name)).ok().flatten();
    let system = || {
        let folder =
            std::path::absolute(crate::temporary::system_folder()).map_err(|e| e.to_string());
        let folder = folder.and_then(|folder| trusted::shared(&folder, Missing::Refuse));
        folder.map_err(|why| {
            format!("no folder for temporaries: {why}: name another in {TEMPORARIES}")
        })
    };
    place.map(|place| Ok(place.folder)).into_iter().chain(std::iter::once_with(system))
}

/// A folder of our own for a time.
pub(crate) fn workspace() -> Result<Temporary, String> {
    let mut reason = String::new();
    for parent in workspaces() {
        let told = |parent: &Path, e: io::Error| format!("{}: {e}", parent.display());
        match parent.and_then(|parent| Temporary::folder(&parent).map_err(|e| told(&parent, e))) {
            Ok(folder) => return Ok(folder),
            Err(why) => reason = why,
        }
    }
    Err(reason)
}

/// The folder of the cache and how large that may be.
struct Place {
    folder: PathBuf,
    bound: u64,
}

impl Place {
    /// The folder that variables name; none if they turn the cache off or name no folder at all.
    fn of(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Option<Place>, String> {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let bound = match set("TAMIS_CACHE_SIZE") {
            None => BOUND,
            Some(text) => text.to_str().and_then(size::bytes).ok_or_else(|| {
                format!("TAMIS_CACHE_SIZE={}: write a size as 500M or 1G", text.display())
            })?,
        };
        if bound == 0 {
            return Ok(None);
        }
        let names = ["TAMIS_CACHE_DIR", USUAL, HOME];
        let named = names.into_iter().find_map(|name| Some((name, set(name)?)));
        let is_on = |(name, value): &(&str, OsString)| *name != names[0] || value != "off";
        let Some((name, value)) = named.filter(is_on) else { return Ok(None) };
        let refused = |why: String| format!("{name}={}: {why}", value.display());
        let path = match name {
            _ if name == names[0] => {
                std::path::absolute(&value).map_err(|e| refused(e.to_string()))?
            }
            _ if Path::new(&value).is_relative() => {
                return Err(refused("the path is not absolute".to_owned()));
            }
            _ => PathBuf::from(&value),
        };
        let parent = match name {
            // Nobody's home is made.
            HOME => trusted::shared(&path, Missing::Refuse)
                .and_then(|home| trusted::shared(&home.join(".cache"), Missing::Create)),
            _ => trusted::shared(&path, Missing::Create),
        };
        let folder = parent.and_then(|parent| trusted::own(&parent, "tamis")).map_err(refused)?;
        Ok(Some(Place { folder, bound }))
    }

    /// Removes what was used least recently while there is too much, and what killed processes left.
    fn evict(&self) {
        let Ok(listed) = std::fs::read_dir(&self.folder) else { return };
        let mut entries = vec![];
        for item in listed.flatten() {
            let (path, name) = (item.path(), item.file_name().to_string_lossy().into_owned());
            let Ok((about, modified)) =
                item.metadata().and_then(|about| Ok((about.len(), about.modified()?)))
            else {
                continue;
            };
            if is_temporary(&name) {
                if modified.elapsed().is_ok_and(|age| age > STALE) {
                    ending::remove(&path);
                }
            } else if is_entry(&name) {
                entries.push((modified, about.max(BLOCK), path));
            }
        }
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        entries.sort();
        for (_, size, path) in entries {
            if total <= self.bound {
                return;
            }
            // Another process may have been faster.
            let _ = std::fs::remove_file(path);
            total -= size;
        }
    }
}

/// Whether a name is that of an entry.
fn is_entry(name: &str) -> bool {
    name.len() == 2 * CHECKSUM && name.bytes().all(|b| b.is_ascii_hexdigit())
}
