//! Writing a file as a whole: under a temporary name beside it, then renamed.

use crate::error::{FileError, FileErrorCode};
use crate::file::is_standard;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tamis_runtime::Interrupt;
use tamis_runtime::temporary::{Readers, Temporary};

/// Creates or replaces a file by what `content` writes; if that fails, nothing changes.
///
/// What is not a regular file (a device, a pipe) is written in place, since it cannot be replaced.
pub(crate) fn save<E: From<FileError>>(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let refused = |error| not_writable(path, &error);
    if is_standard(path) {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        content(&mut out)?;
        return Ok(out.flush().map_err(refused)?);
    }
    // Renaming onto a link would replace the link, not the file it names.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let before = fs::metadata(&target).ok();
    if before.as_ref().is_some_and(|about| !about.is_file() && !about.is_dir()) {
        let file = OpenOptions::new().write(true).open(&target).map_err(refused)?;
        return fill(file, path, content);
    }
    // Who may read the old file may read the new one, and nobody else meanwhile.
    let readers = if before.is_some() { Readers::User } else { Readers::Usual };
    let (temporary, file) = beside(&target, readers).map_err(refused)?;
    if let Some(before) = before {
        file.set_permissions(readers_of(&before)).map_err(refused)?;
    }
    fill(file.try_clone().map_err(refused)?, path, content)?;
    // A crash right after the renaming leaves the whole file, too.
    file.sync_all().map_err(refused)?;
    Ok(temporary.rename(&target).map_err(refused)?)
}

/// Who may read and write a file, without what else modes say.
fn readers_of(about: &Metadata) -> Permissions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Permissions::from_mode(about.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    about.permissions()
}

/// Writes a file, until the caller asks for the end.
pub(crate) fn fill<E: From<FileError>>(
    file: File,
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let file = Interruptible { file, interrupt: Interrupt::current() };
    let mut out = BufWriter::with_capacity(1 << 16, file);
    content(&mut out)?;
    Ok(out.flush().map_err(|error| not_writable(path, &error))?)
}

/// A file that is written as long as the caller wants it.
struct Interruptible {
    file: File,
    interrupt: Option<Interrupt>,
}

impl Write for Interruptible {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(interrupt) = &self.interrupt {
            interrupt.check().map_err(|d| io::Error::other(d.message))?;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether a file may be created or replaced.
pub(crate) fn check(path: &Path) -> Result<(), FileError> {
    if is_standard(path) {
        return Ok(());
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let refused = |error| not_writable(path, &error);
    match fs::metadata(&target) {
        Ok(m) if m.is_dir() => Err(refused(io::ErrorKind::IsADirectory.into())),
        Ok(m) if !m.is_file() => Ok(()),
        _ => beside(&target, Readers::Usual).map(drop).map_err(refused),
    }
}

/// A temporary file in the folder of another.
pub(crate) fn beside(target: &Path, readers: Readers) -> io::Result<(Temporary, File)> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    Temporary::file(folder.unwrap_or(Path::new(".")), readers)
}

/// The error that a file cannot be written.
pub(crate) fn not_writable(path: &Path, error: &io::Error) -> FileError {
    let help = match error.kind() {
        io::ErrorKind::NotFound => "create the folder first",
        io::ErrorKind::PermissionDenied => "choose a folder that you may write to",
        io::ErrorKind::IsADirectory => {
            "name a file, or end the name with / to write a folder of parts"
        }
        io::ErrorKind::StorageFull => "free some space on the disk",
        _ => "choose another path",
    };
    let message = format!("cannot write the file: {error}");
    FileError::whole(FileErrorCode::NotWritable, path, message, help)
}
