//! By the profile: Windows gives its folders to the user and to administrators.

use super::{Missing, told};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use windows_sys::Win32::Foundation::GENERIC_READ;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_WRITE_ATTRIBUTES,
};

/// The path without links of a folder in the user's profile; or the reason against it.
pub(crate) fn shared(path: &Path, missing: Missing) -> Result<PathBuf, String> {
    let profile = std::env::var_os("USERPROFILE").filter(|name| !name.is_empty());
    let profile = profile.ok_or("USERPROFILE names no folder")?;
    let profile = resolved(Path::new(&profile))?;
    // What is in a profile is known before anything is made there.
    let known = path.ancestors().find(|folder| folder.exists()).unwrap_or(path);
    if missing == Missing::Create && resolved(known)?.starts_with(&profile) {
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

/// A file, which is no link, to read, and to note when it was used.
pub(crate) fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.access_mode(GENERIC_READ | FILE_WRITE_ATTRIBUTES);
    let file = options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn resolved(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|e| told(path, &e))
}
