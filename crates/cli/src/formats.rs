//! `tamis formats`: what tensors may be stored as, from the code.

use crate::args::FormatsArgs;
use crate::failure::Failure;
use crate::json;
use serde_json::json;
use std::io::Write;
use tamis::format::{Format, LevelSpec, NAMED, parse};
use tamis::level::{LevelKind, Part, registered};

/// Lists the named formats and the level formats, or what some formats store.
pub fn formats(args: &FormatsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let given = args.formats.iter().map(|text| Ok((text.as_str(), read(text)?)));
    let given = given.collect::<Result<Vec<_>, Failure>>()?;
    match (given.is_empty(), args.json) {
        (true, true) => as_json(out),
        (true, false) => all(out),
        (false, true) => {
            let formats: Vec<_> =
                given.iter().map(|(text, format)| levels_of(text, format)).collect();
            Ok(json::print(out, json!({ "formats": formats }))?)
        }
        (false, false) => given.iter().try_for_each(|(text, format)| one(text, format, out)),
    }
}

/// A format. One of any order is shown for a matrix, or for a 3-tensor if it has three modes at least.
fn read(text: &str) -> Result<Format, Failure> {
    let parsed = parse(text, None).or_else(|d| {
        let others = [2, 3].into_iter().find_map(|order| parse(text, Some(order)).ok());
        others.ok_or(d)
    });
    Ok(parsed?.format)
}

/// What a format stores, a line for each level.
fn one(text: &str, format: &Format, out: &mut dyn Write) -> Result<(), Failure> {
    let named = NAMED.iter().find(|named| text.split(['(', '{']).next() == Some(named.name));
    writeln!(out, "{text}{}", named.map_or(String::new(), |named| format!(": {}", named.summary)))?;
    writeln!(out, "  {}", format.arrow())?;
    for spec in format.levels() {
        let arrays = arrays(spec).join(", ");
        let arrays = if arrays.is_empty() { "no arrays" } else { &arrays };
        writeln!(out, "      {:<24} {arrays:<12} {}", level(spec), properties(spec.kind))?;
    }
    writeln!(out, "      {:<24} {:<12} one for each position of the last level", "values", "vals")?;
    Ok(())
}

fn levels_of(text: &str, format: &Format) -> serde_json::Value {
    let levels = format.levels().iter().map(|spec| {
        json!({"stores": spec.map.to_string(), "name": spec.kind.to_string(),
               "arrays": arrays(spec), "properties": properties(spec.kind),
               "capabilities": capabilities(spec.kind)})
    });
    json!({"name": text, "order": format.order(), "levels": format.arrow(),
           "level_formats": levels.collect::<Vec<_>>()})
}

/// The arrays of a level.
fn arrays(spec: &LevelSpec) -> Vec<&'static str> {
    Part::ALL.into_iter().filter(|part| spec.has(*part)).map(Part::name).collect()
}

fn all(out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "Named formats")?;
    for named in &NAMED {
        let order = named.order().map_or_else(|| "any".to_owned(), |n| n.to_string());
        let format = named.order().and_then(|n| named.for_order(n));
        let levels = format.map(|f| f.levels().iter().map(level).collect::<Vec<_>>().join(", "));
        let usage = match named.usage {
            "" => named.name.to_owned(),
            usage => format!("{}({usage})", named.name),
        };
        writeln!(out, "  {usage}")?;
        writeln!(out, "      order {order}: {}", named.summary)?;
        if let Some(levels) = levels {
            writeln!(out, "      ({levels})")?;
        }
    }
    writeln!(out)?;
    writeln!(out, "Level formats, as in (i, j) -> (i: dense, j: compressed)")?;
    for kind in registered() {
        writeln!(out, "  {:<12} {}", kind.name(), kind.summary())?;
        writeln!(out, "      properties    {}", properties(kind))?;
        writeln!(out, "      capabilities  {}", capabilities(kind))?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "Levels store a mode i, its block i/4 and the offset there i%4, a diagonal j-i, or slots #i."
    )?;
    writeln!(
        out,
        "Braces after a format give types and the fill value: csr{{f32, fill: inf, pos: i64, crd: i32}}"
    )?;
    writeln!(out, "Element types: {}", tamis::DataType::ALL.map(|t| t.name()).join(", "))?;
    Ok(())
}

fn as_json(out: &mut dyn Write) -> Result<(), Failure> {
    let named = NAMED.iter().map(|named| {
        let format = named.order().and_then(|n| named.for_order(n));
        json!({"name": named.name, "arguments": named.usage, "order": named.order(),
               "summary": named.summary, "levels": format.map(|format| format.arrow())})
    });
    let levels = registered().into_iter().map(|kind| {
        json!({"name": kind.name(), "summary": kind.summary(),
               "properties": properties(kind), "capabilities": capabilities(kind)})
    });
    let object = json!({
        "formats": named.collect::<Vec<_>>(),
        "level_formats": levels.collect::<Vec<_>>(),
        "types": tamis::DataType::ALL.map(|t| t.name()),
        "file_formats": tamis_io::FileFormat::NAMED.map(|(name, _)| name),
    });
    Ok(json::print(out, object)?)
}

fn level(level: &LevelSpec) -> String {
    format!("{}: {}", level.map, level.kind)
}

fn properties(kind: LevelKind) -> String {
    let p = kind.properties();
    let all = [
        ("full", p.full),
        ("ordered", p.ordered),
        ("unique", p.unique),
        ("branchless", p.branchless),
        ("compact", p.compact),
    ];
    let mut words: Vec<String> =
        all.iter().filter(|(_, has)| *has).map(|(name, _)| (*name).to_owned()).collect();
    words.extend(kind.optional().iter().map(|p| format!("[{p}]")));
    words.join(" ")
}

fn capabilities(kind: LevelKind) -> String {
    let p = kind.properties();
    let all = [
        ("coordinate value iteration", p.full || kind.parts().contains(&Part::Mask)),
        ("position iteration", kind.walks()),
        ("locate", kind.locates()),
        ("append", kind.append().is_some()),
        ("insert", p.full || kind.insert().is_some()),
    ];
    let words: Vec<&str> = all.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    words.join(", ")
}
