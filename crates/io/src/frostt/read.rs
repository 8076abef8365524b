//! FROSTT text to coordinates.

use super::values::Numbers;
use crate::cursor::{Cursor, Item, LARGEST};
use crate::error::{FileError, FileErrorCode, Flaw, Parsed, entries as counted};
use crate::header::{Field, File, FileFormat, Header, Layout, Symmetry};
use crate::triplets::reserved;
use std::path::Path;
use tamis_runtime::{Coordinates, Values};

/// Reads a tensor from FROSTT text, plain or extended; `path` names the file in errors.
///
/// Values are `f64`, or complex if any is; `i64` or `u64` where all are integers that one of these
/// holds, and `f64` not exactly. Explicit zeros and duplicates are kept. Without
/// dimensions in the file, each is the largest coordinate of its mode.
///
/// # Errors
/// When a line is ragged, a number is none or out of range, or a file without dimensions is empty.
pub fn read_frostt(text: &[u8], path: &Path) -> Result<File, FileError> {
    read_text(text).map_err(|flaw| flaw.locate(path, text))
}

/// What a comment starts with; MLIR writes `;`.
const COMMENTS: &[u8] = b"#;";

/// What stands before the entries.
#[derive(Default)]
struct Preamble {
    comments: Vec<String>,
    dims: Option<Vec<u64>>,
    extended: bool,
    /// How many entries the file announces.
    announced: Option<u64>,
}

fn read_text(text: &[u8]) -> Parsed<File> {
    let mut cursor = Cursor::new(text);
    let mut preamble = read_preamble(&mut cursor)?;
    if preamble.dims.is_none() && (preamble.extended || looks_extended(&cursor)) {
        read_extended_header(&mut cursor, &mut preamble)?;
    }
    let entries = read_entries(&mut cursor, &preamble)?;
    let stored = entries.vals.len();
    let vals = entries.vals.finish();
    let field = match vals {
        Values::I64(_) => Field::Integer,
        Values::U64(_) => Field::Unsigned,
        Values::C128(_) => Field::Complex,
        _ => Field::Real,
    };
    let dims = preamble.dims.unwrap_or_else(|| largest(&entries.crds));
    let header = Header {
        format: FileFormat::Frostt,
        layout: Layout::Coordinate,
        field,
        symmetry: Symmetry::General,
        stored,
        comments: preamble.comments,
    };
    Ok(File { coordinates: Coordinates { dims, crds: entries.crds, vals }, header })
}

fn largest(crds: &[Vec<u64>]) -> Vec<u64> {
    crds.iter().map(|crd| crd.iter().max().map_or(0, |max| max + 1)).collect()
}

/// The text of a comment, if the line is one.
fn comment_of(line: &[u8]) -> Option<String> {
    let (mark, text) = line.split_first()?;
    COMMENTS.contains(mark).then(|| String::from_utf8_lossy(text).trim().to_string())
}

fn is_dims(comment: &str) -> bool {
    comment.to_ascii_lowercase().starts_with("dims:")
}

fn is_extended(comment: &str) -> bool {
    comment.to_ascii_lowercase().contains("extended frostt")
}

fn read_preamble(cursor: &mut Cursor) -> Parsed<Preamble> {
    let mut preamble = Preamble::default();
    // No marks of comments: each is looked at here.
    while cursor.next_entry(b"") {
        let mut line = cursor.clone();
        let Some(comment) = comment_of(line.rest_of_line()) else { break };
        // Only the first line of dimensions counts, so that a comment cannot unsay it.
        if preamble.dims.is_none() && is_dims(&comment) {
            preamble.dims = Some(read_dims_comment(cursor)?);
        } else if preamble.dims.is_none() && is_extended(&comment) {
            preamble.extended = true;
        } else {
            preamble.comments.push(comment);
        }
        *cursor = line;
    }
    Ok(preamble)
}

/// The numbers after the colon of `# dims: 3 4 5`.
fn read_dims_comment(cursor: &mut Cursor) -> Parsed<Vec<u64>> {
    cursor.skip_past(b':');
    let mut dims = Vec::new();
    cursor.skip_blanks();
    while !cursor.field().is_empty() {
        dims.push(cursor.count("dimension")?);
        cursor.skip_blanks();
    }
    Ok(dims)
}

/// Whether the header of the extended format stands here, by the rule of the module's text.
fn looks_extended(cursor: &Cursor) -> bool {
    let mut lines = cursor.clone();
    let Some(first) = numbers_of_line(&mut lines, 2) else { return false };
    let [order, announced] = first[..] else { return false };
    let Some(order) = usize::try_from(order).ok().filter(|&order| order > 0) else { return false };
    if numbers_of_line(&mut lines, order).is_none_or(|dims| dims.len() != order) {
        return false;
    }
    if !lines.next_entry(COMMENTS) {
        return announced == 0;
    }
    let fields = count_fields(&lines);
    fields == order + 1 || fields == order + 2
}

/// The numbers of the next line if it holds nothing else and at most `most`; moves behind it.
fn numbers_of_line(cursor: &mut Cursor, most: usize) -> Option<Vec<u64>> {
    if !cursor.next_entry(COMMENTS) {
        return None;
    }
    let mut numbers = Vec::new();
    while cursor.end_of_line().is_err() {
        if numbers.len() == most {
            return None;
        }
        numbers.push(cursor.count("number").ok()?);
    }
    Some(numbers)
}

fn count_fields(cursor: &Cursor) -> usize {
    let mut line = cursor.clone();
    std::iter::from_fn(|| Some(line.take_field()).filter(|field| !field.is_empty())).count()
}

fn read_extended_header(cursor: &mut Cursor, preamble: &mut Preamble) -> Parsed<()> {
    if !cursor.next_entry(COMMENTS) {
        return Err(truncated(cursor, "the line of order and number of entries is missing".into()));
    }
    let order = cursor.count("order")?;
    preamble.announced = Some(cursor.count("number of entries")?);
    cursor.end_of_line()?;
    let mut dims = Vec::new();
    if order > 0 && !cursor.next_entry(COMMENTS) {
        return Err(truncated(cursor, "the line of dimensions is missing".into()));
    }
    for _ in 0..order {
        dims.push(cursor.count("dimension")?);
    }
    if order > 0 {
        cursor.end_of_line()?;
    }
    preamble.dims = Some(dims);
    Ok(())
}

/// The entries read so far.
struct Entries {
    crds: Vec<Vec<u64>>,
    vals: Numbers,
}

fn read_entries(cursor: &mut Cursor, preamble: &Preamble) -> Parsed<Entries> {
    let has_entries = cursor.next_entry(COMMENTS);
    let fields = count_fields(cursor);
    let order = match &preamble.dims {
        Some(dims) => dims.len(),
        None if has_entries => fields - 1,
        None => {
            let help = "an empty tensor needs its dimensions in a first line: # dims: 3 4 5";
            return Err(cursor.flaw(
                FileErrorCode::Truncated,
                "the file has neither entries nor dimensions",
                help,
            ));
        }
    };
    let pairs = preamble.announced.is_some() && fields == order + 2;
    let room = cursor.lines_left().min(cursor.remaining() / (2 * order + 1) + 1);
    let mut entries = Entries {
        crds: (0..order).map(|_| reserved(room, cursor.at())).collect::<Parsed<_>>()?,
        vals: Numbers::with_room(room, cursor.at())?,
    };
    let unbounded = vec![LARGEST; order];
    let dims = preamble.dims.as_ref().unwrap_or(&unbounded);
    while cursor.next_entry(b"") {
        if COMMENTS.contains(&cursor.peek()) {
            skip_comment(cursor, preamble)?;
            continue;
        }
        let line = cursor.at();
        if order == 0 && entries.vals.len() == 1 {
            let message = "a tensor of order 0 has one value, this is a second";
            let help = "write its coordinates in front of each value, or only one value";
            return Err(cursor.flaw(FileErrorCode::Syntax, message, help));
        }
        if let Err(flaw) = read_entry(cursor, dims, pairs, &mut entries) {
            return Err(ragged(&cursor.moved_to(line), flaw, order, pairs));
        }
    }
    check_announced(cursor, preamble.announced, entries.vals.len())?;
    Ok(entries)
}

/// Moves over a comment between entries, which may say nothing about them.
#[cold]
fn skip_comment(cursor: &mut Cursor, preamble: &Preamble) -> Parsed<()> {
    let here = cursor.clone();
    let comment = comment_of(cursor.rest_of_line()).unwrap_or_default();
    if preamble.dims.is_none() && is_dims(&comment) {
        let message = "the dimensions stand after the first entry";
        let help = "move this line to the start of the file";
        return Err(here.flaw(FileErrorCode::Syntax, message, help));
    }
    Ok(())
}

#[inline(always)]
fn read_entry(cursor: &mut Cursor, dims: &[u64], pairs: bool, entries: &mut Entries) -> Parsed<()> {
    for (mode, (crd, &dim)) in entries.crds.iter_mut().zip(dims).enumerate() {
        crd.push(cursor.coordinate(Item::Mode(mode + 1), dim)?);
    }
    if pairs {
        entries.vals.push_complex([cursor.float()?, cursor.float()?]);
    } else {
        entries.vals.read(cursor)?;
    }
    cursor.end_of_line()
}

#[cold]
fn ragged(line: &Cursor, flaw: Box<Flaw>, order: usize, pairs: bool) -> Box<Flaw> {
    let value = if pairs { "real and imaginary part" } else { "a value" };
    let fields = match order {
        0 => value.to_string(),
        1 => format!("a coordinate and {value}"),
        _ => format!("{order} coordinates and {value}"),
    };
    line.ragged(flaw, order + 1 + usize::from(pairs), &fields)
}

fn check_announced(cursor: &Cursor, announced: Option<u64>, found: usize) -> Parsed<()> {
    match announced {
        Some(count) if count > found as u64 => {
            let message =
                format!("the header announces {}, the file ends after {found}", counted(count));
            Err(truncated(cursor, message))
        }
        Some(count) if count < found as u64 => Err(cursor.flaw(
            FileErrorCode::Syntax,
            format!("the header announces {}, the file has {found}", counted(count)),
            "correct the number of entries in the header",
        )),
        _ => Ok(()),
    }
}

fn truncated(cursor: &Cursor, message: String) -> Box<Flaw> {
    let help = "the file may be incomplete: fetch it again, or correct its header";
    cursor.flaw(FileErrorCode::Truncated, message, help)
}
