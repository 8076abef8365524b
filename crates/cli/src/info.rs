//! `tamis info`: what a tensor file holds, and the formats that suit it.

use crate::args::InfoArgs;
use crate::failure::{Failure, invalid};
use crate::recommend::{self, Measures};
use crate::written::write;
use crate::{inputs, json, picture};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use tamis::Coordinates;
use tamis::{Values, budget};
use tamis_io::ReadOptions;

/// Runs the command.
pub fn info(args: &InfoArgs, out: &mut dyn Write) -> Result<(), Failure> {
    tamis::threads::set(None)?;
    let format = inputs::file_format(args.format.as_deref(), &[&args.file])?;
    let options = ReadOptions { format, ..ReadOptions::default() };
    let file = inputs::file(&args.file, &args.reading, &options)?;
    let list = &file.coordinates;
    let bytes = Measures::bytes(list);
    budget::check("what is measured of the file", bytes, "measure a part of it")?;
    let measures = Measures::of(list);
    if let Some(path) = &args.plot {
        plot(path, list)?;
    }
    if args.json {
        let formats = recommend::candidates(list)?;
        let formats: Vec<_> = formats
            .iter()
            .map(|c| json!({"format": c.format, "bytes": c.bytes, "why": measures.reason(&c.format)}))
            .collect();
        let mut object = json!({
            "file": args.file.to_string_lossy(),
            "file_format": file.header.format.name(),
            "dims": list.dims(),
            "nnz": list.vals().len(),
            "zeros": zeros(list.vals()),
            "density": measures.density,
            "type": list.vals().datatype().name(),
            "field": file.header.field.to_string(),
            "symmetry": file.header.symmetry.to_string(),
            "fill": file.header.fill.map(json::scalar),
            "formats": formats,
        });
        object.as_object_mut().into_iter().for_each(|object| object.extend(measures.json()));
        return Ok(json::print(out, object)?);
    }
    let dims: Vec<String> = list.dims().iter().map(u64::to_string).collect();
    writeln!(out, "order       {}", list.dims().len())?;
    writeln!(
        out,
        "dimensions  {}",
        if dims.is_empty() { "none (a scalar)".to_owned() } else { dims.join(" x ") }
    )?;
    writeln!(out, "nonzeros    {}", list.vals().len())?;
    writeln!(out, "density     {:.3e}", measures.density)?;
    writeln!(out, "stored as   {}, {}", file.header.field, file.header.symmetry)?;
    if let Some(fill) = file.header.fill {
        writeln!(out, "fill value  {fill}")?;
    }
    let zeros = zeros(list.vals());
    if zeros > 0 {
        writeln!(out, "zeros       {zeros} explicit")?;
    }
    measures.print(out)?;
    measures.print_histograms(out)?;
    picture::draw(list, out)?;
    recommend::print(list, &measures, out)
}

/// Draws the pattern of a matrix to a file.
fn plot(path: &Path, list: &Coordinates) -> Result<(), Failure> {
    let option = format!("--plot {}", path.display());
    if path.extension().is_none_or(|extension| extension != "svg") {
        return Err(invalid(&option, "pictures are SVG", "end the name in .svg"));
    }
    let drawn = picture::svg(list)
        .ok_or_else(|| invalid(&option, "only matrices are drawn", "leave --plot out"))?;
    Ok(write(path, &drawn)?)
}

fn zeros(vals: &Values) -> usize {
    (0..vals.len()).filter(|&n| vals.get(n).is_zero()).count()
}
