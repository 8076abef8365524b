//! `tamis formats`: what tensors may be stored as, from the code.

use crate::args::FormatsArgs;
use crate::failure::Failure;
use crate::json;
use serde_json::json;
use std::io::Write;
use tamis::format::NAMED;
use tamis::level::{LevelKind, registered};

/// Lists the named formats and the level formats.
pub fn formats(args: &FormatsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    if args.json {
        return as_json(out);
    }
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
               "summary": named.summary, "levels": format.map(|format| format.to_string())})
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

fn level(level: &tamis::format::LevelSpec) -> String {
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
        ("value iteration", p.full || kind.parts().contains(&tamis::level::Part::Mask)),
        ("position iteration", kind.walks()),
        ("locate", kind.locates()),
        ("append", kind.append().is_some()),
        ("insert", p.full || kind.insert().is_some()),
    ];
    let words: Vec<&str> = all.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    words.join(", ")
}
