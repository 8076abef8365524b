//! What commands write to files: text, and results.

use crate::failure::{Failure, note};
use crate::ranks::{Outcome, Ranks};
use crate::{parts, progress};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tamis::Scalar;
use tamis::dist::Communicator;
use tamis::temporary::{Readers, Temporary};
use tamis_io::{FileError, FileErrorCode, FileFormat, WriteOptions};

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

/// Says that SciPy reads zeros where a file stores nothing and has another value.
pub fn note_fill(path: &Path, fill: Option<Scalar>) {
    let Some(fill) = fill.filter(|fill| !fill.is_zero()) else { return };
    if FileFormat::of(path) == Some(FileFormat::Npz) {
        let path = path.display();
        note(&format!(
            "{path} has {fill} where nothing is stored: Tamis reads that, SciPy reads 0"
        ));
    }
}

/// Writes results to their files and folders.
pub fn results(
    ranks: Ranks<'_>,
    results: &[(String, Outcome)],
    outputs: &[(String, PathBuf)],
    standard: Option<FileFormat>,
) -> Result<(), Failure> {
    for (name, path) in outputs {
        let Some((_, result)) = results.iter().find(|(n, _)| n == name) else { continue };
        let fill = Some(result.storage().fill).filter(|fill| !fill.is_zero());
        let options = WriteOptions { format: standard, fill, ..WriteOptions::default() };
        match result {
            Outcome::Whole(tensor) => {
                progress::write(path, &tensor.to_coordinates()?, &options)?;
                note_fill(path, fill);
            }
            Outcome::OfRanks(of_ranks) => {
                let _writing = progress::stage(format!("writing {}", path.display()));
                let write = |comm: &dyn Communicator, rank: usize| {
                    parts::write(comm, path, &of_ranks[rank], &options)
                };
                let written = ranks.each(write)?;
                written.into_iter().collect::<Result<(), FileError>>()?;
            }
        }
    }
    Ok(())
}
