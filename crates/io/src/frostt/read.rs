//! FROSTT text to coordinates.

use super::values::Numbers;
use crate::chunks::{Chunks, Source};
use crate::counted::Counted;
use crate::cursor::{Cursor, Item, LARGEST};
use crate::error::{FileError, FileErrorCode, Flaw, Parsed, entries as counted};
use crate::header::{Field, File, FileFormat, Header, Layout, ReadOptions, Symmetry};
use crate::parts::Scope;
use std::path::Path;
use tamis_runtime::budget::Reservation;
use tamis_runtime::{Coordinates, MAX_ORDER, Values};

/// Reads a tensor from FROSTT text, plain or extended; `path` names the file in errors.
///
/// Values are `f64`, or complex if any is; `i64` or `u64` where all are integers that one of these
/// holds, and `f64` not exactly. Explicit zeros and duplicates are kept. Without
/// dimensions in the file, each is the largest coordinate of its mode.
///
/// # Errors
/// When a line is ragged, a number is none or out of range, or a file without dimensions is empty.
pub fn read_frostt(text: &[u8], path: &Path) -> Result<File, FileError> {
    read_source(&mut &*text, path, &ReadOptions::default())
}

/// Reads a tensor from text that comes in chunks.
pub(crate) fn read_source(
    source: &mut dyn Source,
    path: &Path,
    options: &ReadOptions,
) -> Result<File, FileError> {
    // The header of the extended format is two lines, and known by the third.
    let mut chunks = Chunks::new(source, 3, COMMENTS).map_err(|flaw| flaw.of_file(path))?;
    read_chunks(&mut chunks, options).map_err(|flaw| chunks.locate(flaw, path))
}

/// What a comment starts with; MLIR writes `;`.
pub(crate) const COMMENTS: &[u8] = b"#;";

/// What stands before the entries.
#[derive(Default)]
struct Preamble {
    comments: Counted<String>,
    dims: Option<Vec<u64>>,
    extended: bool,
    /// How many entries the file announces.
    announced: Option<u64>,
}

fn read_chunks(chunks: &mut Chunks, options: &ReadOptions) -> Parsed<File> {
    let head = read_head(chunks, options)?;
    let coordinates = head.entries(chunks, &Scope::File { is_bounded: true })?;
    let header = head.header(coordinates.vals(), coordinates.vals().len());
    Ok(File { coordinates, header })
}

/// What stands before the entries, and what the first of them tells.
#[derive(Debug)]
pub(crate) struct Head {
    comments: Vec<String>,
    dims: Option<Vec<u64>>,
    /// How many entries the file announces.
    announced: Option<u64>,
    /// The dimensions that the user knows.
    known: Vec<Option<u64>>,
    /// What coordinates may be, by what the file or the user says of them.
    bounds: Vec<u64>,
    /// Whether complex numbers are two fields.
    pairs: bool,
}

/// Reads what stands before the entries, and goes on behind it.
pub(crate) fn read_head(chunks: &mut Chunks, options: &ReadOptions) -> Parsed<Head> {
    let mut cursor = chunks.cursor();
    let mut preamble = read_preamble(&mut cursor)?;
    if preamble.dims.is_none() && (preamble.extended || looks_extended(&cursor)) {
        read_extended_header(&mut cursor, &mut preamble)?;
    }
    if preamble.dims.is_none() {
        refuse_parti(&cursor)?;
        refuse_dims(&cursor)?;
    }
    let at = cursor.at();
    let (bounds, pairs) = first_entry(cursor, &preamble, options)?;
    chunks.go_to(at);
    let Preamble { comments, dims, announced, .. } = preamble;
    let (comments, known) = (comments.into_vec(), options.dims.clone());
    Ok(Head { comments, dims, announced, known, bounds, pairs })
}

impl Head {
    /// What a file of these values says about itself.
    pub(crate) fn header(&self, vals: &Values, stored: usize) -> Header {
        let field = match vals {
            Values::I64(_) => Field::Integer,
            Values::U64(_) => Field::Unsigned,
            Values::C128(_) => Field::Complex,
            _ => Field::Real,
        };
        Header {
            format: FileFormat::Frostt,
            layout: Layout::Coordinate,
            field,
            symmetry: Symmetry::General,
            stored,
            comments: self.comments.clone(),
            fill: None,
        }
    }

    /// How many modes there are.
    pub(crate) fn order(&self) -> usize {
        self.bounds.len()
    }

    /// The dimensions that the file says.
    pub(crate) fn said_dims(&self) -> Option<&[u64]> {
        self.dims.as_deref()
    }

    /// How many entries the file announces.
    pub(crate) fn announced(&self) -> Option<u64> {
        self.announced
    }

    /// The dimensions of a file with these coordinates at most, counted from 1.
    pub(crate) fn dims(&self, largest: &[u64]) -> Vec<u64> {
        let known = |mode: usize| self.known.get(mode).copied().flatten();
        let dim = |(m, &largest): (usize, &u64)| known(m).unwrap_or(largest);
        self.dims.clone().unwrap_or_else(|| largest.iter().enumerate().map(dim).collect())
    }

    /// The entries from where reading goes on.
    pub(crate) fn entries(&self, chunks: &mut Chunks, scope: &Scope) -> Parsed<Coordinates> {
        let Entries { crds, vals, reservation } = read_entries(chunks, self, scope)?;
        let vals = vals.finish()?;
        drop(reservation);
        let dims = self.dims(&largest(&crds));
        Coordinates::new(dims, crds, vals).map_err(Flaw::of_list)
    }
}

/// The largest coordinates, counted from 1.
pub(crate) fn largest(crds: &[Vec<u64>]) -> Vec<u64> {
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
            cursor.check_fill(&comment)?;
            preamble.comments.push_text(comment)?;
        }
        *cursor = line;
    }
    Ok(preamble)
}

/// The numbers after the colon of `# dims: 3 4 5`.
fn read_dims_comment(cursor: &mut Cursor) -> Parsed<Vec<u64>> {
    cursor.skip_past(b':');
    let mut dims = Counted::default();
    cursor.skip_blanks();
    while !cursor.field().is_empty() {
        dims.push(cursor.count("dimension")?)?;
        cursor.skip_blanks();
    }
    Ok(dims.into_vec())
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

/// Refuses the header of ParTI: the order, then the dimensions, where entries would have one field,
/// then more.
fn refuse_parti(cursor: &Cursor) -> Parsed<()> {
    let mut lines = cursor.clone();
    lines.next_entry(COMMENTS);
    let start = lines.clone();
    let order = numbers_of_line(&mut lines, 1).and_then(|n| usize::try_from(*n.first()?).ok());
    let Some(order) = order.filter(|order| (1..=MAX_ORDER).contains(order)) else { return Ok(()) };
    let dims = numbers_of_line(&mut lines, order).filter(|dims| dims.len() == order);
    let Some(dims) = dims else { return Ok(()) };
    let help = format!("write the dimensions as a comment instead of both: {}", comment(&dims));
    let message = "two lines of order and dimensions, as ParTI writes them, are not read";
    Err(start.flaw(FileErrorCode::Unsupported, message, help))
}

/// Refuses dimensions alone in a line, before entries of one field more.
fn refuse_dims(cursor: &Cursor) -> Parsed<()> {
    let mut lines = cursor.clone();
    lines.next_entry(COMMENTS);
    let start = lines.clone();
    let Some(dims) = numbers_of_line(&mut lines, MAX_ORDER) else { return Ok(()) };
    if !lines.next_entry(COMMENTS) || count_fields(&lines) != dims.len() + 1 {
        return Ok(());
    }
    let help = format!("if these are dimensions, write them as a comment: {}", comment(&dims));
    let message = "the first line has one field less than the next, as dimensions have";
    Err(start.flaw(FileErrorCode::Ragged, message, help))
}

/// How a file says its dimensions.
fn comment(dims: &[u64]) -> String {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    format!("# dims: {}", dims.join(" "))
}

/// The numbers of the next line if it holds nothing else and at most `most`; moves behind it.
fn numbers_of_line(cursor: &mut Cursor, most: usize) -> Option<Counted<u64>> {
    if !cursor.next_entry(COMMENTS) {
        return None;
    }
    let mut numbers = Counted::default();
    while cursor.end_of_line().is_err() {
        if numbers.len() == most {
            return None;
        }
        numbers.push(cursor.count("number").ok()?).ok()?;
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
    let mut dims = Counted::default();
    if order > 0 && !cursor.next_entry(COMMENTS) {
        return Err(truncated(cursor, "the line of dimensions is missing".into()));
    }
    for _ in 0..order {
        dims.push(cursor.count("dimension")?)?;
    }
    if order > 0 {
        cursor.end_of_line()?;
    }
    preamble.dims = Some(dims.into_vec());
    Ok(())
}

/// The entries read so far.
struct Entries {
    crds: Vec<Vec<u64>>,
    vals: Numbers,
    reservation: Reservation,
}

impl Entries {
    fn new(order: usize) -> Entries {
        let crds = vec![vec![]; order];
        Entries { crds, vals: Numbers::new(), reservation: Reservation::default() }
    }

    /// Makes room for so many more.
    fn reserve(&mut self, more: usize) -> Parsed<()> {
        let (len, value) = (self.vals.len(), self.vals.size());
        let room = (len + more).max(len / 2 * 3);
        if len + more <= self.vals.capacity() {
            return Ok(());
        }
        let bytes = room.saturating_mul(8 * self.crds.len() + value);
        self.reservation.resize(bytes, "the list of entries", "").map_err(Flaw::of_memory)?;
        let full = |_| Flaw::no_room("the list of entries", bytes);
        self.crds.iter_mut().try_for_each(|c| c.try_reserve_exact(room - len)).map_err(full)?;
        self.vals.reserve(room - len)
    }
}

/// What coordinates may be, by the number of fields of the first entry where the file does not say; and whether
/// complex numbers are two fields.
fn first_entry(
    mut cursor: Cursor,
    preamble: &Preamble,
    options: &ReadOptions,
) -> Parsed<(Vec<u64>, bool)> {
    let start = cursor.clone();
    let has_entries = cursor.next_entry(COMMENTS);
    let fields = count_fields(&cursor);
    let order = match &preamble.dims {
        Some(dims) => dims.len(),
        None if has_entries => fields - 1,
        None if !options.dims.is_empty() && options.dims.iter().all(Option::is_some) => {
            options.dims.len()
        }
        None => {
            let help = "an empty tensor needs its dimensions in a first line: # dims: 3 4 5";
            return Err(cursor.flaw(
                FileErrorCode::Truncated,
                "the file has neither entries nor dimensions",
                help,
            ));
        }
    };
    if order > MAX_ORDER {
        let message = format!("tensors have at most {MAX_ORDER} modes, and this one {order}");
        let help = "fuse some of its modes";
        return Err(start.flaw(FileErrorCode::Unsupported, &message, help));
    }
    let known = |mode: usize| options.dims.get(mode).copied().flatten().unwrap_or(LARGEST);
    let bounds = match &preamble.dims {
        Some(dims) => dims.clone(),
        None => (0..order).map(known).collect(),
    };
    Ok((bounds, preamble.announced.is_some() && fields == order + 2))
}

fn read_entries(chunks: &mut Chunks, head: &Head, scope: &Scope) -> Parsed<Entries> {
    let mut entries = Entries::new(head.order());
    entries.reserve(scope.expected())?;
    loop {
        // The shortest line has a digit and what ends it for each field.
        entries.reserve(chunks.in_chunk() / (2 * head.order() + 2) + 1)?;
        let mut cursor = chunks.cursor();
        read_chunk(&mut cursor, head, &mut entries)?;
        let at = cursor.at();
        chunks.go_to(at);
        if !chunks.next()? {
            if scope.is_last() {
                let found = scope.before() + entries.vals.len() as u64;
                check_announced(&chunks.cursor(), head.announced, found)?;
            }
            return Ok(entries);
        }
    }
}

/// Reads the entries up to the end of the chunk.
fn read_chunk(cursor: &mut Cursor, head: &Head, entries: &mut Entries) -> Parsed<()> {
    let order = head.order();
    while cursor.next_entry(b"") {
        if COMMENTS.contains(&cursor.peek()) {
            skip_comment(cursor, head)?;
            continue;
        }
        let line = cursor.at();
        if order == 0 && entries.vals.len() == 1 {
            let message = "a tensor of order 0 has one value, this is a second";
            let help = "write its coordinates in front of each value, or only one value";
            return Err(cursor.flaw(FileErrorCode::Syntax, message, help));
        }
        if let Err(flaw) = read_entry(cursor, head, entries) {
            return Err(ragged(&cursor.moved_to(line), flaw, order, head.pairs));
        }
    }
    Ok(())
}

/// Moves over a comment between entries, which may say nothing about them.
#[cold]
fn skip_comment(cursor: &mut Cursor, head: &Head) -> Parsed<()> {
    let here = cursor.clone();
    let comment = comment_of(cursor.rest_of_line()).unwrap_or_default();
    if head.dims.is_none() && is_dims(&comment) {
        let message = "the dimensions stand after the first entry";
        let help = "move this line to the start of the file";
        return Err(here.flaw(FileErrorCode::Syntax, message, help));
    }
    Ok(())
}

#[inline(always)]
fn read_entry(cursor: &mut Cursor, head: &Head, entries: &mut Entries) -> Parsed<()> {
    for (mode, (crd, &dim)) in entries.crds.iter_mut().zip(&head.bounds).enumerate() {
        crd.push(cursor.coordinate(Item::Mode(mode + 1), dim)?);
    }
    if head.pairs {
        entries.vals.push_complex([cursor.float()?, cursor.float()?])?;
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

fn check_announced(cursor: &Cursor, announced: Option<u64>, found: u64) -> Parsed<()> {
    match announced {
        Some(count) if count > found => {
            let message =
                format!("the header announces {}, the file ends after {found}", counted(count));
            Err(truncated(cursor, message))
        }
        Some(count) if count < found => Err(cursor.flaw(
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
