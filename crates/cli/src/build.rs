//! `tamis build`: kernels as a library that needs no Tamis.

use crate::args::BuildArgs;
use crate::explain::explanation;
use crate::failure::{Failure, invalid, suggested};
use crate::written::write;
use crate::{inputs, json};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use tamis::Language;

/// Runs the command.
pub fn build(args: &BuildArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let program = tamis::notation::parse(&args.expression)?;
    let schedule = tamis::schedule::parse(&args.schedule)?;
    let language = Language::parse(&args.emit).ok_or_else(|| {
        let known: Vec<&str> = Language::ALL.iter().map(|l| l.name()).collect();
        invalid(
            &format!("--emit {}", args.emit),
            "libraries are not written in this language",
            &suggested(&args.emit, &known, "use one of"),
        )
    })?;
    let formats = inputs::formats(&program, &args.tensors.formats)?;
    if let Some((name, _)) = inputs::placements(&program, &args.tensors.formats)?.first_key_value()
    {
        let help = "leave out what stands behind @";
        return Err(invalid(&format!("-f {name}"), "libraries run in one process", help));
    }
    let (explanation, _) = explanation(&program, &args.tensors, &formats, schedule)?;
    let result = program.statements.last().map(|s| &program.tensors[s.result.tensor].name);
    let of = result.map_or("nothing", String::as_str).to_lowercase();
    let own = PathBuf::from(format!("compute_{of}"));
    let output = match &args.output {
        Some(output)
            if output.as_os_str().as_encoded_bytes().ends_with(b"/") || output.is_dir() =>
        {
            output.join(own)
        }
        output => output.clone().unwrap_or(own),
    };
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = output.parent().unwrap_or(Path::new(""));
    let mut files = vec![];
    for file in explanation.library(name, language)? {
        let path = folder.join(&file.name);
        write(&path, &file.text)?;
        let lines = file.text.lines().count();
        match args.json {
            true => files.push(json!({"file": path.to_string_lossy(), "lines": lines})),
            false => writeln!(out, "{lines} lines written to {}", path.display())?,
        }
    }
    if args.json {
        json::print(out, json!({"name": name, "language": language.name(), "files": files}))?;
    }
    Ok(())
}
