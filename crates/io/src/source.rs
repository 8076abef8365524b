//! Files as sources of text: plain ones, and gzip in one or several members.

use crate::chunks::Source;
use crate::error::{FileErrorCode, Flaw, Parsed, Place};
use flate2::bufread::GzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The first bytes of gzip data.
pub(crate) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Deflate makes at most so many bytes of one.
const MOST_INFLATED: u64 = 1032;

/// A file as it is.
pub(crate) struct Plain {
    pub file: BufReader<File>,
    /// Its bytes, where known.
    pub size: Option<u64>,
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
            match self.file.read_at(&mut into[..most], self.at) {
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
    member: Option<GzDecoder<BufReader<File>>>,
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
fn next_member(mut rest: BufReader<File>) -> Parsed<Option<GzDecoder<BufReader<File>>>> {
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
        io::ErrorKind::OutOfMemory => return Flaw::too_large("the file does not fit into memory"),
        io::ErrorKind::NotFound => "check the name and the folder",
        io::ErrorKind::PermissionDenied => "allow yourself to read it",
        io::ErrorKind::IsADirectory => "name a file in the folder",
        _ => "check the file and the disk it is on",
    };
    let message = format!("cannot read the file: {error}");
    Flaw::at(Place::File, FileErrorCode::NotReadable, message, help)
}
