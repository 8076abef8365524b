//! Writing a file as a whole: under a temporary name beside it, then renamed.

use crate::error::{FileError, FileErrorCode};
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Creates or replaces a file by what `content` writes; if that fails, nothing changes.
///
/// What is not a regular file (a device, a pipe) is written in place, since it cannot be replaced.
pub(crate) fn save(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), FileError>,
) -> Result<(), FileError> {
    // Renaming onto a link would replace the link, not the file it names.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let in_place = fs::metadata(&target).is_ok_and(|m| !m.is_file() && !m.is_dir());
    let written = if in_place { target.clone() } else { temporary_beside(&target) };
    let done = create(&written, in_place)
        .map_err(|error| not_writable(path, &error))
        .and_then(|file| {
            let mut out = BufWriter::with_capacity(1 << 16, file);
            content(&mut out)?;
            out.flush().map_err(|error| not_writable(path, &error))
        })
        .and_then(|()| {
            if in_place {
                return Ok(());
            }
            fs::rename(&written, &target).map_err(|error| not_writable(path, &error))
        });
    if done.is_err() && !in_place {
        // The first error is the one to report; there may be no temporary file at all.
        let _ = fs::remove_file(&written);
    }
    done
}

/// Whether a file may be created or replaced.
pub(crate) fn check(path: &Path) -> Result<(), FileError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let refused = |error| not_writable(path, &error);
    match fs::metadata(&target) {
        Ok(m) if m.is_dir() => Err(refused(io::ErrorKind::IsADirectory.into())),
        Ok(m) if !m.is_file() => Ok(()),
        _ => {
            let written = temporary_beside(&target);
            create(&written, false).and_then(|_| fs::remove_file(&written)).map_err(refused)
        }
    }
}

fn create(path: &Path, in_place: bool) -> io::Result<fs::File> {
    if in_place {
        return OpenOptions::new().write(true).open(path);
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// A name in the same folder that no other thread or process uses.
fn temporary_beside(target: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.{number}.tmp", std::process::id()))
}

/// The error that a file cannot be written.
pub(crate) fn not_writable(path: &Path, error: &io::Error) -> FileError {
    let help = match error.kind() {
        io::ErrorKind::NotFound => "create the folder first",
        io::ErrorKind::PermissionDenied => "choose a folder that you may write to",
        io::ErrorKind::IsADirectory => "name a file, not a folder",
        io::ErrorKind::StorageFull => "free some space on the disk",
        _ => "choose another place",
    };
    let message = format!("cannot write the file: {error}");
    FileError::whole(FileErrorCode::NotWritable, path, message, help)
}
