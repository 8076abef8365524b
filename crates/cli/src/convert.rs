//! `tamis convert`: reads a tensor file and writes it as another.

use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::progress;
use crate::recommend::storage;
use std::io::Write;
use tamis::Duplicates;

/// Runs the command.
pub fn convert(args: &ConvertArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let file = progress::read(&args.input)?;
    let mut list = file.coordinates;
    if let Some(text) = &args.to {
        let storage = storage(&list, text)?;
        let _packing = progress::stage("packing");
        list = tamis::pack(&list, &storage, Duplicates::Sum)?.to_coordinates();
    }
    progress::write(&args.output, &list)?;
    let entries = match list.vals.len() {
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    writeln!(out, "{entries} written to {}", args.output.display())?;
    Ok(())
}
