//! Text that commands write to files.

use std::io::{self, Write};
use std::path::Path;
use tamis::temporary::{Readers, Temporary};
use tamis_io::{FileError, FileErrorCode};

/// Writes a file whole, or leaves what was there.
pub fn write(path: &Path, text: &str) -> Result<(), FileError> {
    whole(path, text).map_err(|error| FileError {
        code: FileErrorCode::NotWritable,
        path: path.to_owned(),
        line: None,
        column: None,
        message: format!("cannot write: {error}"),
        help: "name a folder that exists and that you may write to".to_owned(),
    })
}

fn whole(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let (temporary, mut file) = Temporary::file(folder.unwrap_or(Path::new(".")), Readers::Usual)?;
    file.write_all(text.as_bytes())?;
    temporary.rename(path)
}
