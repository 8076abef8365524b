//! Temporary files and folders: random names, created exclusively, removed when they are dropped or the
//! process ends.
//!
//! ```text
//! .tamis-3f0c9a5be1d24c77a0b3c1d2e4f58697.tmp
//! ```

use crate::ending::owned;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Names are not met twice by chance; whoever guesses them makes us try another.
const ATTEMPTS: usize = 16;
const PREFIX: &str = ".tamis-";
const SUFFIX: &str = ".tmp";

/// The folder that the system has for temporaries; where the environment names none, the usual one.
pub fn system_folder() -> PathBuf {
    let folder = std::env::temp_dir();
    if folder.as_os_str().is_empty() { PathBuf::from("/tmp") } else { folder }
}

/// Who may read a temporary file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readers {
    /// The user.
    User,
    /// Whom files of this process are for, by its umask.
    Usual,
}

/// A temporary file or folder.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// A new file in a folder.
    pub fn file(folder: &Path, readers: Readers) -> io::Result<(Temporary, File)> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // On Windows files have the readers of their folder.
        #[cfg(unix)]
        options.mode(match readers {
            Readers::User => 0o600,
            Readers::Usual => 0o666,
        });
        #[cfg(windows)]
        let _ = readers;
        new(folder, |path| options.open(path))
    }

    /// A new folder of the user's own in a folder.
    pub fn folder(parent: &Path) -> io::Result<Temporary> {
        Ok(new(parent, |path| own_folders().create(path))?.0)
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Gives a file its name, instead of what had it.
    pub fn rename(self, target: &Path) -> io::Result<()> {
        owned().rename(&self.0, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        owned().remove(&self.0);
    }
}

/// Whether a name is one of ours.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

fn new<T>(folder: &Path, create: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Temporary, T)> {
    let mut attempts = 0;
    loop {
        let path = folder.join(format!("{PREFIX}{:032x}{SUFFIX}", random()?));
        attempts += 1;
        let created = owned().create(&path, &create);
        match created {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempts < ATTEMPTS => continue,
            created => return created.map(|created| (Temporary(path), created)),
        }
    }
}

/// What makes folders that only the user reads; on Windows those of the parent do.
#[cfg_attr(windows, expect(unused_mut))]
fn own_folders() -> DirBuilder {
    let mut folders = DirBuilder::new();
    #[cfg(unix)]
    folders.mode(0o700);
    folders
}

/// A number that nobody can guess, and that no other process gets: not one of a container, whose numbers of
/// processes are the same, nor a forked one.
fn random() -> io::Result<u128> {
    let mut bytes = [0; 16];
    fill(&mut bytes)?;
    Ok(u128::from_ne_bytes(bytes))
}

/// Fills a few bytes with what the system draws.
#[cfg(unix)]
fn fill(bytes: &mut [u8; 16]) -> io::Result<()> {
    // SAFETY: there is room for as many bytes.
    match unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Fills a few bytes with what the system draws.
#[cfg(windows)]
fn fill(bytes: &mut [u8; 16]) -> io::Result<()> {
    use windows_sys::Win32::Security::Cryptography::{
        BCRYPT_USE_SYSTEM_PREFERRED_RNG, BCryptGenRandom,
    };
    let (address, len) = (bytes.as_mut_ptr(), bytes.len() as u32);
    let usual = std::ptr::null_mut();
    // SAFETY: there is room for as many bytes.
    match unsafe { BCryptGenRandom(usual, address, len, BCRYPT_USE_SYSTEM_PREFERRED_RNG) } {
        0 => Ok(()),
        _ => Err(io::Error::other("the system draws no random numbers")),
    }
}
