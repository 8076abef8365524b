//! `tamis convert`: reads a tensor file and writes it as another.

use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::recommend::storage;
use crate::{inputs, progress};
use std::io::Write;
use tamis::Duplicates;
use tamis_io::{Field, File, FileFormat, Header, ReadOptions, Symmetry, WriteOptions};

/// Runs the command.
pub fn convert(args: &ConvertArgs, out: &mut dyn Write) -> Result<(), Failure> {
    inputs::limit_memory(args.memory_limit.as_deref())?;
    tamis::threads::set(None)?;
    let format = inputs::file_format(args.format.as_deref())?;
    let options = ReadOptions { format, ..ReadOptions::default() };
    let File { coordinates: mut list, header } = progress::read(&args.input, &options)?;
    if let Some(text) = &args.to {
        let storage = storage(&list, text, header.fill)?;
        let _packing = progress::stage("packing");
        let packed = tamis::pack(&list, &storage, Duplicates::Sum)?;
        // Both lists at once are more than needed.
        drop(list);
        list = packed.to_coordinates()?;
    }
    progress::write(&args.output, &list, &written(args, &header, format))?;
    if tamis_io::is_standard(&args.output) {
        return Ok(());
    }
    let entries = match list.vals().len() {
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    writeln!(out, "{entries} written to {}", args.output.display())?;
    Ok(())
}

/// How a file is written that keeps what another said of itself.
fn written(args: &ConvertArgs, header: &Header, format: Option<FileFormat>) -> WriteOptions {
    let standard = tamis_io::is_standard(&args.output);
    let known = if standard { format } else { FileFormat::of(&args.output) };
    let keeps = known == Some(FileFormat::MatrixMarket) && !args.expand && args.to.is_none();
    let comments = match known {
        Some(FileFormat::MatrixMarket | FileFormat::Frostt) => &header.comments[..],
        _ => &[],
    };
    WriteOptions {
        format,
        fill: header.fill,
        comments: comments.iter().filter(|line| !line.starts_with("fill:")).cloned().collect(),
        symmetry: if keeps { header.symmetry } else { Symmetry::General },
        field: Some(header.field).filter(|&field| keeps && field == Field::Pattern),
        ..WriteOptions::default()
    }
}
