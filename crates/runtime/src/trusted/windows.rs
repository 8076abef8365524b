//! By the profile: Windows gives its folders to the user and to administrators.

use super::Missing;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The path without links of a folder in the user's profile; or the reason against it.
pub(crate) fn shared(path: &Path, missing: Missing) -> Result<PathBuf, String> {
    let profile = std::env::var_os("USERPROFILE").filter(|name| !name.is_empty());
    let profile = profile.ok_or("USERPROFILE names no folder")?;
    let profile = resolved(Path::new(&profile))?;
    if missing == Missing::Create {
        std::fs::create_dir_all(path).map_err(|e| told(path, &e))?;
    }
    let resolved = resolved(path)?;
    match resolved.starts_with(&profile) && resolved.is_dir() {
        true => Ok(resolved),
        false => Err(format!("{} is no folder in your profile", path.display())),
    }
}

/// The user's own folder in one that [`shared`] gave: made, if it is missing.
pub(crate) fn own(parent: &Path, name: &str) -> Result<PathBuf, String> {
    let path = shared(&parent.join(name), Missing::Create)?;
    match path.starts_with(parent) {
        true => Ok(path),
        false => Err(format!("{} is a link to another folder", parent.join(name).display())),
    }
}

/// A file, which is no link.
pub(crate) fn opened(path: &Path) -> io::Result<File> {
    match path.symlink_metadata()?.is_file() {
        true => File::open(path),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn resolved(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|e| told(path, &e))
}

fn told(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
