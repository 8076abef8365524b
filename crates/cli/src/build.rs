//! `tamis build`: kernels as a library that needs no Tamis.

use crate::args::BuildArgs;
use crate::explain::explanation;
use crate::failure::{Failure, invalid};
use crate::inputs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tamis::Language;
use tamis::temporary::{Readers, Temporary};
use tamis_io::{FileError, FileErrorCode};

/// Runs the command.
pub fn build(args: &BuildArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let program = tamis::notation::parse(&args.expression)?;
    let schedule = tamis::schedule::parse(&args.schedule)?;
    let language = Language::parse(&args.emit).ok_or_else(|| {
        let known: Vec<&str> = Language::ALL.iter().map(|l| l.name()).collect();
        invalid(
            &format!("--emit {}", args.emit),
            "libraries are not written in this language",
            &format!("use one of {}", known.join(", ")),
        )
    })?;
    let formats = inputs::formats(&program, &args.tensors.formats)?;
    let explanation = explanation(&program, &args.tensors, &formats, schedule)?;
    let result = program.statements.last().map(|s| &program.tensors[s.result.tensor].name);
    let output = args.output.clone().unwrap_or_else(|| {
        let of = result.map_or("nothing", String::as_str).to_lowercase();
        PathBuf::from(format!("compute_{of}"))
    });
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = output.parent().unwrap_or(Path::new(""));
    for file in explanation.library(name, language)? {
        let path = folder.join(&file.name);
        write(&path, &file.text).map_err(|e| not_written(&path, &e))?;
        let lines = file.text.lines().count();
        writeln!(out, "{lines} lines written to {}", path.display())?;
    }
    Ok(())
}

/// Writes a file whole, or leaves what was there.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let (temporary, mut file) = Temporary::file(folder.unwrap_or(Path::new(".")), Readers::Usual)?;
    file.write_all(text.as_bytes())?;
    temporary.rename(path)
}

fn not_written(path: &Path, error: &io::Error) -> FileError {
    FileError {
        code: FileErrorCode::NotWritable,
        path: path.to_owned(),
        line: None,
        column: None,
        message: format!("cannot write: {error}"),
        help: "name a folder that exists and that you may write to".to_owned(),
    }
}
