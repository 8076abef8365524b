//! `tamis convert`: reads a tensor file and writes it as another.

use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::progress;
use crate::recommend::storage;
use tamis::Duplicates;

/// Runs the command.
pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let file = progress::read(&args.input)?;
    let mut list = file.coordinates;
    if let Some(text) = &args.to {
        let storage = storage(&list, text)?;
        let _packing = progress::stage("packing");
        list = tamis::pack(&list, &storage, Duplicates::Sum)?.to_coordinates();
    }
    progress::write(&args.output, &list)?;
    println!("{} entries written to {}", list.vals.len(), args.output.display());
    Ok(())
}
