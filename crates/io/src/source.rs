//! Files as sources of text: plain ones, and gzip in one or several members.

use crate::at::{read_at, standard_input};
use crate::chunks::{BYTE_ORDER_MARK, Source};
use crate::error::{FileErrorCode, Flaw, Parsed, Place};
use crate::header::FileFormat;
use flate2::bufread::{GzDecoder, MultiGzDecoder};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Seek};
use std::path::Path;
use std::sync::Arc;

/// The first bytes of gzip data.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Deflate makes at most so many bytes of one.
const MOST_INFLATED: u64 = 1032;

/// So many bytes are looked at to tell a format, and read at once.
const FIRST: usize = 1 << 16;

/// The first bytes of a file, which come through a pipe in pieces of any size, and the rest.
type Begun = BufReader<Chain<Cursor<Vec<u8>>, File>>;

/// A file as it is.
pub(crate) struct Plain {
    file: Begun,
    /// Its bytes, where known.
    pub size: Option<u64>,
}

impl Plain {
    /// Opens a file, or standard input, and reads its first bytes.
    pub fn open(path: &Path) -> io::Result<Plain> {
        let mut file = match path == Path::new("-") {
            true => standard_input()?,
            false => File::open(path)?,
        };
        let size = file.metadata().ok().filter(|m| m.is_file() && m.len() > 0).map(|m| m.len());
        let mut first = vec![];
        file.by_ref().take(FIRST as u64).read_to_end(&mut first)?;
        let file = BufReader::with_capacity(FIRST, Cursor::new(first).chain(file));
        Ok(Plain { file, size })
    }

    /// Its first bytes.
    fn first(&self) -> &[u8] {
        self.file.get_ref().get_ref().0.get_ref()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.first().is_empty()
    }

    /// Whether it starts as gzip data does.
    pub fn is_gzip(&self) -> bool {
        self.first().starts_with(&GZIP_MAGIC)
    }

    /// The format that its first bytes tell.
    pub fn told(&self) -> Option<FileFormat> {
        FileFormat::of_bytes(&self.text())
    }

    /// The format whose mark it begins with, if that is another than it is read as.
    pub fn other(&self, format: FileFormat) -> Option<FileFormat> {
        let is_archive = |format| matches!(format, FileFormat::Npz | FileFormat::Binsparse);
        let is_same = |one| one == format || is_archive(one) && is_archive(format);
        FileFormat::marked(&self.text()).filter(|&marked| !is_same(marked))
    }

    /// Its first bytes, those of compressed data once they are decompressed.
    fn text(&self) -> Cow<'_, [u8]> {
        let mut text = Cow::Borrowed(self.first());
        if self.is_gzip() {
            let mut inflated = vec![];
            // What is damaged is told where all is read.
            let mut decoder = MultiGzDecoder::new(self.first()).take(FIRST as u64);
            let _ = decoder.read_to_end(&mut inflated);
            text = Cow::Owned(inflated);
        }
        match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => Cow::Owned(rest.to_vec()),
            None => text,
        }
    }

    /// The file, from its start on where that can be reached.
    pub fn into_file(self) -> File {
        let (_, mut file) = self.file.into_inner().into_inner();
        // Whoever reads a pipe from its start cannot be served, and is told so.
        let _ = file.rewind();
        file
    }
}

impl Source for Plain {
    fn fill(&mut self, into: &mut [u8]) -> Parsed<usize> {
        loop {
            match self.file.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| not_readable(&error)),
            }
        }
    }

    fn most(&self) -> Option<u64> {
        self.size
    }
}

/// A part of a file: so many bytes from a position on. The file may have several at the same time.
pub(crate) struct Stretch {
    pub file: Arc<File>,
    pub at: u64,
    pub left: u64,
}

impl Source for Stretch {
    fn fill(&mut self, into: &mut [u8]) -> Parsed<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        loop {
            match read_at(&self.file, &mut into[..most], self.at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(not_readable(&error)),
                Ok(count) => {
                    self.at += count as u64;
                    self.left -= count as u64;
                    return Ok(count);
                }
            }
        }
    }

    fn most(&self) -> Option<u64> {
        Some(self.left)
    }
}

/// A compressed file.
pub(crate) struct Gzip {
    /// The member that is read; nothing behind the last.
    member: Option<GzDecoder<Begun>>,
    size: Option<u64>,
}

impl Gzip {
    pub fn new(plain: Plain) -> Gzip {
        let size = plain.size.map(|size| size.saturating_mul(MOST_INFLATED));
        Gzip { member: Some(GzDecoder::new(plain.file)), size }
    }
}

impl Source for Gzip {
    fn fill(&mut self, into: &mut [u8]) -> Parsed<usize> {
        while let Some(member) = &mut self.member {
            match member.read(into) {
                Ok(0) => {}
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(damaged(&error)),
            }
            self.member = match self.member.take() {
                Some(member) => next_member(member.into_inner())?,
                None => None,
            };
        }
        Ok(0)
    }

    fn most(&self) -> Option<u64> {
        self.size
    }

    fn total(&self) -> Option<u64> {
        None
    }
}

/// The member that follows. Members may be behind one another; zeros behind them fill blocks of tapes
/// and disks, as in gzip(1).
fn next_member(mut rest: Begun) -> Parsed<Option<GzDecoder<Begun>>> {
    loop {
        let bytes = rest.fill_buf().map_err(|error| not_readable(&error))?;
        let Some(&first) = bytes.first() else { return Ok(None) };
        if first == GZIP_MAGIC[0] {
            return Ok(Some(GzDecoder::new(rest)));
        }
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        if zeros == 0 {
            let message =
                "the compressed data ends before the file, and what follows is no gzip data";
            let help = "remove what follows, or fetch the file again";
            return Err(Flaw::at(Place::File, FileErrorCode::Compression, message, help));
        }
        rest.consume(zeros);
    }
}

fn damaged(error: &io::Error) -> Box<Flaw> {
    let message = format!("the compressed data is damaged: {error}");
    let help = "the file may be incomplete: fetch or compress it again";
    Flaw::at(Place::File, FileErrorCode::Compression, message, help)
}

/// The flaw that a file cannot be read.
pub(crate) fn not_readable(error: &io::Error) -> Box<Flaw> {
    let help = match error.kind() {
        io::ErrorKind::OutOfMemory => return Flaw::too_large("the file does not fit in memory"),
        io::ErrorKind::NotFound => "check the name and the folder",
        io::ErrorKind::PermissionDenied => "allow yourself to read it",
        io::ErrorKind::IsADirectory => "name a file in the folder",
        _ => "check the file and the disk it is on",
    };
    let message = format!("cannot read the file: {error}");
    Flaw::at(Place::File, FileErrorCode::NotReadable, message, help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(vec![], Compression::default());
        encoder.write_all(text).expect("memory takes all");
        encoder.finish().expect("memory takes all")
    }

    #[test]
    fn formats_are_told_through_compression_and_marks() {
        let told = |bytes: Vec<u8>| {
            let rest = File::open("/dev/null").expect("it is there");
            Plain { file: BufReader::new(Cursor::new(bytes).chain(rest)), size: None }.told()
        };
        let rb = "# title\n 4 1 1 2\nrua 3 3 4 0\n(26I3) (26I3) (3E26.18)\n";
        for (text, format) in [
            ("%%matrixmarket matrix", Some(FileFormat::MatrixMarket)),
            ("# a comment\n1 1 2\n", Some(FileFormat::Frostt)),
            ("1 2 3\n4 5 6\n", Some(FileFormat::Frostt)),
            ("PK\x03\x04", Some(FileFormat::Npz)),
            (rb, Some(FileFormat::RutherfordBoeing)),
            (&rb.replace("rua", "rue"), Some(FileFormat::RutherfordBoeing)),
            (&rb.replace("rua", "rui"), Some(FileFormat::Frostt)),
            ("hello\n", None),
            ("", None),
        ] {
            let marked = [BYTE_ORDER_MARK, text.as_bytes()].concat();
            let (begin, end) = text.split_at(text.len().min(3));
            let members = [gzip(b""), gzip(begin.as_bytes()), gzip(end.as_bytes())].concat();
            let cut = gzip(text.repeat(1000).as_bytes());
            let cut = cut[..cut.len() - 8].to_vec();
            for bytes in [text.into(), gzip(&marked), marked, gzip(text.as_bytes()), members, cut] {
                assert_eq!(told(bytes), format, "{text}");
            }
        }
    }
}
