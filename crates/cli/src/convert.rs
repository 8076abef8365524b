//! `tamis convert`: reads a tensor file and writes it as another.

use crate::args::ConvertArgs;
use crate::failure::Failure;
use tamis::Duplicates;
use tamis_io::WriteOptions;

/// Runs the command.
pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let file = tamis_io::read(&args.input)?;
    let mut list = file.coordinates;
    if let Some(text) = &args.to {
        let spec = tamis::format::parse(text, Some(list.dims.len()))?;
        let mut storage = spec.resolve(list.vals.datatype())?;
        let largest = list.dims.iter().copied().max().unwrap_or(0).max(list.vals.len() as u64);
        storage.pos = spec.pos.unwrap_or(tamis::IndexWidth::for_max(largest));
        storage.crd = spec.crd.unwrap_or(tamis::IndexWidth::for_max(largest));
        list = tamis::pack(&list, &storage, Duplicates::Sum)?.to_coordinates();
    }
    tamis_io::write(&args.output, &list, &WriteOptions::default())?;
    println!("{} entries written to {}", list.vals.len(), args.output.display());
    Ok(())
}
