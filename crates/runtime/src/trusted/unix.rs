//! By owners and modes.
//!
//! ```text
//! /            root's                        followed from here, component by component
//! /tmp         root's, 1777                  others may add to it, but not rename what is not theirs
//! /tmp/mine    the user's, 0755              trusted
//! /tmp/theirs  another user's                refused
//! /tmp/open    the user's, 0777              refused
//! ```
//!
//! A component is looked at once those above it are trusted: then nobody else can replace it any more, and
//! paths are as good as descriptors.

use super::{Missing, told};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// As many as Linux follows.
const MOST_LINKS: usize = 40;
/// What allows a group or others to write.
const WRITTEN_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The path without links of a folder, which others may add to but in which they cannot replace what is
/// not theirs; or the reason against it.
pub(crate) fn shared(path: &Path, missing: Missing) -> Result<PathBuf, String> {
    let root = about(Path::new("/"))?;
    let mut resolved = closed(PathBuf::from("/"), &root)?;
    let mut is_open = is_written_by_others(&root);
    let mut ahead = components(path);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(name);
        let about = match missing {
            Missing::Create => created(&next)?,
            Missing::Refuse => about(&next)?,
        };
        // Who owns the root may do anything: the administrator, or who made the container. In a container
        // strangers may have the same number, who add to folders that are open to all.
        let is_owned = [0, user()].contains(&about.uid()) || !is_open && about.uid() == root.uid();
        if !is_owned {
            return Err(format!("{} belongs to another user", next.display()));
        }
        if about.is_symlink() {
            links += 1;
            let target = std::fs::read_link(&next).map_err(|e| told(&next, &e))?;
            if links > MOST_LINKS {
                return Err(format!("{} is a link to itself", next.display()));
            }
            if target.is_absolute() {
                resolved = PathBuf::from("/");
            }
            ahead.extend(components(&target));
            continue;
        }
        if !about.is_dir() {
            return Err(format!("{} is not a folder", next.display()));
        }
        is_open |= is_written_by_others(&about);
        resolved = closed(next, &about)?;
    }
    Ok(resolved)
}

fn is_written_by_others(about: &Metadata) -> bool {
    about.mode() & WRITTEN_BY_OTHERS != 0
}

/// A folder in which others cannot rename what is not theirs.
fn closed(path: PathBuf, about: &Metadata) -> Result<PathBuf, String> {
    match is_written_by_others(about) && about.mode() & STICKY == 0 {
        true => Err(format!("others may write to {}", path.display())),
        false => Ok(path),
    }
}

/// The user's own folder in one that [`shared`] gave: made, if it is missing.
pub(crate) fn own(parent: &Path, name: &str) -> Result<PathBuf, String> {
    let path = parent.join(name);
    let about = created(&path)?;
    if !about.is_dir() {
        return Err(format!("{} is not a folder", path.display()));
    }
    if about.uid() != user() {
        return Err(format!("{} belongs to another user", path.display()));
    }
    match about.mode() & 0o7777 {
        0o700 => {}
        mode if mode & WRITTEN_BY_OTHERS != 0 => {
            return Err(format!("others may write to {}", path.display()));
        }
        _ => std::fs::set_permissions(&path, Permissions::from_mode(0o700))
            .map_err(|e| told(&path, &e))?,
    }
    Ok(path)
}

/// A file of the user's own, which is no link.
pub(crate) fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let own =
        |about: Metadata| about.is_file() && about.uid() == user() && !is_written_by_others(&about);
    match own(file.metadata()?) {
        true => Ok(file),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// The user whose rights this process has.
fn user() -> u32 {
    // SAFETY: it only asks, and cannot fail.
    unsafe { libc::geteuid() }
}

/// The components of a path, last one first.
fn components(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

fn about(path: &Path) -> Result<Metadata, String> {
    path.symlink_metadata().map_err(|e| told(path, &e))
}

/// What is known of a folder, made if it is missing.
fn created(path: &Path) -> Result<Metadata, String> {
    match path.symlink_metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            match DirBuilder::new().mode(0o700).create(path) {
                // Another process may have been faster.
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(told(path, &e)),
                _ => about(path),
            }
        }
        found => found.map_err(|e| told(path, &e)),
    }
}
