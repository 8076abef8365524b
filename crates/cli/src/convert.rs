//! `tamis convert`: reads a tensor file and writes it as another.

use crate::args::ConvertArgs;
use crate::failure::{Failure, invalid, note, noted};
use crate::lists::{Listed, rounded};
use crate::recommend::storage;
use crate::written::note_fill;
use crate::{inputs, json, progress};
use serde_json::json;
use std::io::Write;
use tamis::{Coordinates, Duplicates, Scalar, Storage};
use tamis_io::{Field, File, FileFormat, Header, ReadOptions, Symmetry, WriteOptions};

/// Runs the command.
pub fn convert(args: &ConvertArgs, out: &mut dyn Write) -> Result<(), Failure> {
    tamis::threads::set(None)?;
    if args.json {
        progress::hide();
    }
    if args.json && tamis_io::is_standard(&args.output) {
        let reason = "the output goes to standard output, too";
        return Err(invalid("--json", reason, "write it to a file"));
    }
    let format = inputs::file_format(args.format.as_deref(), &[&args.input, &args.output])?;
    // Where both sides are standard, the format is that of the output.
    let standard = tamis_io::is_standard(&args.output);
    let known = if standard { None } else { format };
    let options = ReadOptions { format: known, otherwise: format, ..ReadOptions::default() };
    let File { coordinates: mut list, header } =
        inputs::file(&args.input, &args.reading, &options)?;
    if args.drop_zeros {
        list = without(&list, header.fill)?;
    }
    if let Some(text) = &args.to {
        let storage = storage(&list, text, header.fill)?;
        check_fill(&list, text, header.fill, &storage)?;
        let _packing = progress::stage("packing");
        let packed = tamis::pack(&list, &storage, Duplicates::Sum)?;
        // Both lists at once are more than needed.
        let (own, read) = (list.vals().datatype(), Listed::Whole(list));
        let rounded = rounded(args.input.display(), &read, storage.datatype);
        if let (Some(rounded), false) = (rounded, args.quiet) {
            note(&format!("{rounded}: --to with {{{own}}} keeps them"));
        }
        drop(read);
        list = packed.to_coordinates()?;
    }
    let options = written(args, &header, format.or(standard.then_some(header.format)));
    progress::write(&args.output, &list, &options)?;
    if !args.quiet {
        note_fill(&args.output, options.fill);
        note_expanded(args, &header, &options);
    }
    if standard {
        return Ok(());
    }
    let count = match FileFormat::of(&args.output) {
        Some(FileFormat::Npy) => list.dims().iter().product(),
        _ => tamis_io::entries_written(&list, &options) as u64,
    };
    if args.json {
        return Ok(json::print(out, told(args, &header, &list, (count, &options)))?);
    }
    let entries = match count {
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    writeln!(out, "{entries} written to {}", args.output.display())?;
    Ok(())
}

/// Says that a matrix is written as any other though its file said a symmetry, unless that was asked for.
fn note_expanded(args: &ConvertArgs, header: &Header, options: &WriteOptions) {
    let is_asked = args.expand || args.to.is_some();
    if header.symmetry == options.symmetry || is_asked {
        return;
    }
    let (symmetry, output) = (header.symmetry, args.output.display());
    note(&format!(
        "both triangles of the {symmetry} matrix are written to {output}; .mtx and .rb files keep one"
    ));
}

/// What was read and written.
fn told(
    args: &ConvertArgs,
    header: &Header,
    list: &Coordinates,
    (count, options): (u64, &WriteOptions),
) -> serde_json::Value {
    json!({
        "input": args.input.to_string_lossy(),
        "input_format": header.format.name(),
        "output": args.output.to_string_lossy(),
        "output_format": FileFormat::of(&args.output).map(FileFormat::name),
        "dims": list.dims(),
        "nnz": list.vals().len(),
        "written": count,
        "type": list.vals().datatype().name(),
        "symmetry": options.symmetry.to_string(),
        "fill": header.fill.map(json::scalar),
        "notes": noted(),
    })
}

/// The entries that have another value than what stands for all others.
fn without(list: &Coordinates, fill: Option<Scalar>) -> Result<Coordinates, Failure> {
    let vals = list.vals();
    let is_kept = |&n: &usize| match fill {
        // By its text, so that NaN is itself.
        Some(fill) => vals.get(n).to_string() != fill.to_string(),
        None => !vals.get(n).is_zero(),
    };
    let kept: Vec<usize> = (0..vals.len()).filter(is_kept).collect();
    Ok(list.picked(&kept)?)
}

/// Refuses a fill value for what a file has no entries for: the file says which that is.
fn check_fill(
    list: &Coordinates,
    text: &str,
    fill: Option<Scalar>,
    storage: &Storage,
) -> Result<(), Failure> {
    let mut spec = tamis::format::parse(text, Some(list.dims().len()))?;
    if spec.fill.is_none() {
        return Ok(());
    }
    spec.fill = fill;
    let own = spec.resolve(list.vals().datatype())?.fill;
    // By their text, so that NaN is itself.
    if own.to_string() == storage.fill.to_string() {
        return Ok(());
    }
    let reason = format!("the file has {own} where it has no entry, not {}", storage.fill);
    let help = format!("write fill: {own}, or no fill value");
    Err(invalid(&format!("--to {text}"), &reason, &help))
}

/// How a file is written that keeps what another said of itself.
fn written(args: &ConvertArgs, header: &Header, format: Option<FileFormat>) -> WriteOptions {
    let known =
        if tamis_io::is_stream(&args.output) { format } else { FileFormat::of(&args.output) };
    let holds = known.is_some_and(|format| !format.holds_tensors());
    let keeps = holds && !args.expand && args.to.is_none();
    let comments = match known {
        Some(FileFormat::MatrixMarket | FileFormat::Frostt) => &header.comments[..],
        _ => &[],
    };
    WriteOptions {
        format,
        fill: header.fill,
        comments: comments.to_vec(),
        symmetry: if keeps { header.symmetry } else { Symmetry::General },
        field: Some(header.field).filter(|&field| keeps && field == Field::Pattern),
        ..WriteOptions::default()
    }
}
