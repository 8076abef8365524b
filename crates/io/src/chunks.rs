//! The text of a file, in chunks that end with a line: no more of it than a chunk is in memory, and
//! that counts against the memory limit.
//!
//! ```text
//! 1 1 0.5\n2 1 4\n3 1       the chunk ends behind 4\n; the next starts with 3 1
//! ```

use crate::cursor::Cursor;
use crate::error::{FileError, FileErrorCode, Flaw, Parsed, Place};
use crate::progress;
use std::path::Path;
use tamis_runtime::budget::Reservation;

/// Bytes of a chunk, unless a line is longer.
const CHUNK: usize = 1 << 20;

/// What may stand before a text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Where text comes from.
pub(crate) trait Source {
    /// Writes the next bytes, and says how many; 0 at the end.
    fn fill(&mut self, into: &mut [u8]) -> Parsed<usize>;
    /// The most bytes that there are in all, where known.
    fn most(&self) -> Option<u64>;
    /// How many bytes there are, where known.
    fn total(&self) -> Option<u64> {
        self.most()
    }
}

impl Source for &[u8] {
    fn fill(&mut self, into: &mut [u8]) -> Parsed<usize> {
        let (now, later) = self.split_at(self.len().min(into.len()));
        into[..now.len()].copy_from_slice(now);
        *self = later;
        Ok(now.len())
    }

    fn most(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}

/// A chunk of a text, and what follows.
pub(crate) struct Chunks<'s> {
    source: &'s mut dyn Source,
    /// The most bytes that the text has.
    most: Option<u64>,
    bytes: Vec<u8>,
    /// Where the chunk ends, and what was read behind it.
    end: usize,
    filled: usize,
    /// Where reading goes on.
    at: usize,
    /// Whether the source is at its end.
    is_read: bool,
    /// Lines and bytes before the chunk.
    lines: u64,
    before: u64,
    reservation: Reservation,
}

impl<'s> Chunks<'s> {
    /// The first chunk: with so many lines that are neither empty nor start with one of `comments`.
    pub fn new(source: &'s mut dyn Source, lines: usize, comments: &[u8]) -> Parsed<Chunks<'s>> {
        let most = source.most();
        progress::begin(source.total());
        let mut chunks = Chunks {
            source,
            most,
            bytes: vec![],
            end: 0,
            filled: 0,
            at: 0,
            is_read: false,
            lines: 0,
            before: 0,
            reservation: Reservation::default(),
        };
        let small = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(CHUNK);
        chunks.resize(small.saturating_add(1).min(CHUNK))?;
        chunks.fill()?;
        chunks.skip_mark()?;
        while !chunks.is_read && chunks.lines_beside(comments) < lines {
            chunks.resize(2 * chunks.bytes.len())?;
            chunks.fill()?;
        }
        Ok(chunks)
    }

    /// Moves over the byte order mark that editors on Windows put before a text.
    fn skip_mark(&mut self) -> Parsed<()> {
        match self.bytes() {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                let message = "the text has characters of 16 bits (UTF-16)";
                let help = "save it as UTF-8: iconv -f UTF-16 -t UTF-8";
                Err(Flaw::at(Place::File, FileErrorCode::Unsupported, message, help))
            }
            bytes if bytes.starts_with(BYTE_ORDER_MARK) => {
                self.at = BYTE_ORDER_MARK.len();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The chunk as one before whose text so many lines of its file end.
    pub fn behind(self, lines: u64) -> Chunks<'s> {
        Chunks { lines, ..self }
    }

    /// How many lines end before the end of the chunk.
    pub fn lines(&self) -> u64 {
        self.lines + count_lines(self.bytes())
    }

    /// A cursor where reading goes on, which ends with the chunk.
    pub fn cursor(&self) -> Cursor<'_> {
        let text = &self.bytes[..self.end];
        Cursor::new(text, self.at, self.lines + count_lines(&text[..self.at]))
    }

    /// Goes on at a byte of the chunk.
    pub fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The most bytes that may follow a byte of the chunk, where known.
    pub fn left(&self, at: usize) -> Option<u64> {
        self.most.map(|most| most.saturating_sub(self.before + at as u64))
    }

    /// How many bytes of the chunk follow.
    pub fn in_chunk(&self) -> usize {
        self.end - self.at
    }

    /// Moves to the next chunk; false at the end of the text.
    pub fn next(&mut self) -> Parsed<bool> {
        if self.is_read && self.end == self.filled {
            return Ok(false);
        }
        self.lines += count_lines(&self.bytes[..self.end]);
        self.before += self.end as u64;
        progress::reach(self.before);
        self.bytes.copy_within(self.end..self.filled, 0);
        self.filled -= self.end;
        (self.end, self.at) = (0, 0);
        self.fill()?;
        Ok(self.end > 0)
    }

    /// The next line, without its end, where it starts, and its number; nothing at the end of the text.
    pub fn next_line(&mut self) -> Parsed<Option<(&[u8], usize)>> {
        if self.at == self.end && !self.next()? {
            return Ok(None);
        }
        let start = self.at;
        let mut cursor = Cursor::new(&self.bytes[..self.end], start, 0);
        let line = cursor.rest_of_line();
        self.at = cursor.at();
        Ok(Some((line, start)))
    }

    /// The bytes of the chunk.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    /// The number of the line at a byte of the chunk, and the byte within it, from 1.
    fn line_at(&self, at: usize) -> (u64, u64) {
        let before = &self.bytes[..at.min(self.end)];
        let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
        (self.lines + count_lines(before) + 1, (before.len() - start) as u64 + 1)
    }

    /// The flaw with its line instead of a byte of the chunk, which may go.
    pub fn pinned(&self, mut flaw: Box<Flaw>) -> Box<Flaw> {
        if let Place::Byte(at) = flaw.at {
            let (line, column) = self.line_at(at);
            flaw.at = Place::Line(line, Some(column));
        }
        flaw
    }

    /// The flaw as an error of the file.
    pub fn locate(&self, flaw: Box<Flaw>, path: &Path) -> FileError {
        self.pinned(flaw).of_file(path)
    }

    fn resize(&mut self, bytes: usize) -> Parsed<()> {
        let what = if bytes > CHUNK { "a line of the file" } else { "a first part of the file" };
        self.reservation.resize(bytes, what, "").map_err(Flaw::of_memory)?;
        let more = bytes.saturating_sub(self.bytes.len());
        let reserved = self.bytes.try_reserve_exact(more);
        reserved.map_err(|_| Flaw::no_room(what, more))?;
        self.bytes.resize(bytes, 0);
        Ok(())
    }

    /// Reads behind what was read, up to the end of a line.
    fn fill(&mut self) -> Parsed<()> {
        loop {
            while self.filled < self.bytes.len() && !self.is_read {
                let count = self.source.fill(&mut self.bytes[self.filled..])?;
                self.filled += count;
                self.is_read = count == 0;
            }
            let last = self.bytes[..self.filled].iter().rposition(|&b| b == b'\n');
            match last {
                _ if self.is_read => self.end = self.filled,
                Some(last) => self.end = last + 1,
                None => {
                    self.resize(2 * self.bytes.len())?;
                    continue;
                }
            }
            return Ok(());
        }
    }

    /// How many lines where reading goes on are neither empty nor comments.
    fn lines_beside(&self, comments: &[u8]) -> usize {
        let lines =
            self.bytes[self.at..self.end].split(|&b| b == b'\n').map(<[u8]>::trim_ascii_start);
        lines.filter(|line| line.first().is_some_and(|mark| !comments.contains(mark))).count()
    }
}

fn count_lines(text: &[u8]) -> u64 {
    // Sums of bytes are vectorised, and those of so few do not overflow.
    let ends = |piece: &[u8]| {
        piece.iter().fold(0u8, |count, &byte| count.wrapping_add(u8::from(byte == b'\n')))
    };
    text.chunks(u8::MAX.into()).map(|piece| u64::from(ends(piece))).sum()
}
