//! `tamis convert`: reads a tensor file and writes it as another.

use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::recommend::storage;
use crate::{inputs, progress};
use std::io::Write;
use tamis::Duplicates;
use tamis_io::ReadOptions;

/// Runs the command.
pub fn convert(args: &ConvertArgs, out: &mut dyn Write) -> Result<(), Failure> {
    inputs::limit_memory(args.memory_limit.as_deref())?;
    tamis::threads::set(None)?;
    let file = progress::read(&args.input, &ReadOptions::default())?;
    let mut list = file.coordinates;
    if let Some(text) = &args.to {
        let storage = storage(&list, text)?;
        let _packing = progress::stage("packing");
        let packed = tamis::pack(&list, &storage, Duplicates::Sum)?;
        // Both lists at once are more than needed.
        drop(list);
        list = packed.to_coordinates()?;
    }
    progress::write(&args.output, &list)?;
    let entries = match list.vals().len() {
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    writeln!(out, "{entries} written to {}", args.output.display())?;
    Ok(())
}
