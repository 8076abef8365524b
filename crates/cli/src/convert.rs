//! `tamis convert`: reads a tensor file and writes it as another.

use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::recommend::storage;
use tamis::Duplicates;
use tamis_io::WriteOptions;

/// Runs the command.
pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let file = tamis_io::read(&args.input)?;
    let mut list = file.coordinates;
    if let Some(text) = &args.to {
        let storage = storage(&list, text)?;
        list = tamis::pack(&list, &storage, Duplicates::Sum)?.to_coordinates();
    }
    tamis_io::write(&args.output, &list, &WriteOptions::default())?;
    println!("{} entries written to {}", list.vals.len(), args.output.display());
    Ok(())
}
