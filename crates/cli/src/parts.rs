//! Files that ranks read in parts: a range of bytes each, cut at lines.
//!
//! ```text
//! A.mtx, 2 ranks      rank 0: its first lines, rank 1: the others
//! ```
//!
//! Ranks tell each other what they found, since what a file has to be concerns all of it. An error is the one that a
//! single reader comes to, on every rank.

use crate::streams;
use std::path::Path;
use tamis::dist::{Communicator, phase, same};
use tamis::{Coordinates, Diagnostic};
use tamis_io::{Cut, FileError, FileErrorCode, Found, Header, ReadOptions, changed};

/// What a rank has of a file.
pub struct OfRank {
    /// The entries of its part, with the dimensions of the whole.
    pub list: Coordinates,
    /// How many entries all ranks have.
    pub entries: u64,
    /// What the file says about itself before its entries.
    pub header: Header,
}

/// Reads this rank's part of a file; none where each rank has to read all of it. Every rank gets the same error.
pub fn read(
    comm: &dyn Communicator,
    path: &Path,
    options: &ReadOptions,
) -> Result<Result<Option<OfRank>, FileError>, Diagnostic> {
    phase(comm, || {
        let cut = streams::cut(path, options);
        let told =
            cut.as_ref().map_or(String::new(), |cut| format!("{:?} {}", cut.header(), cut.bytes()));
        if comm.all_gather(told.as_bytes())?.iter().any(Vec::is_empty) {
            return Ok(Ok(None));
        }
        let Some(cut) = cut else { return Ok(Ok(None)) };
        same(comm, &format!("the file {}", path.display()), told.as_bytes())?;
        Reading { comm, path, cut }.part()
    })
}

struct Reading<'r> {
    comm: &'r dyn Communicator,
    path: &'r Path,
    cut: Cut,
}

impl Reading<'_> {
    fn part(&self) -> Result<Result<Option<OfRank>, FileError>, Diagnostic> {
        let (rank, ranks) = (self.comm.rank(), self.comm.ranks());
        let counted = match self.cut.needs_before() {
            true => match self.agreed(self.cut.count(rank, ranks))? {
                Ok(own) => Some(self.joined(&own)?.0),
                Err(error) => return Ok(Err(error)),
            },
            false => None,
        };
        let read = self.cut.read(rank, ranks, counted.as_ref());
        let found = read.as_ref().map(|part| part.found.clone()).unwrap_or_default();
        let (before, all) = self.joined(&found)?;
        let failed = self.comm.all_gather(&[u8::from(read.is_err())])?;
        let is_good = failed.iter().all(|failed| *failed == [0]) && self.cut.is_sound(&all);
        let part = match read {
            Ok(part) if is_good => part,
            _ => {
                // Once more, now that it is known what is before it: the first rank that fails tells what and where.
                let before = Found { marks: all.marks, ..before };
                let again = match read {
                    Err(error) if error.code == FileErrorCode::TooLarge => Err(error),
                    _ => self.cut.read(rank, ranks, Some(&before)).map(drop),
                };
                let outcome = self.agreed(again)?;
                return Ok(Err(outcome.err().unwrap_or_else(|| changed(self.path))));
            }
        };
        if self.cut.is_two_sided(&all) {
            return Ok(Ok(None));
        }
        let entries = self.gathered(&[part.entries()])?.iter().map(|of_rank| of_rank[0]).sum();
        let header = self.cut.header();
        let list = self.agreed(self.cut.finished(part, &all))?;
        Ok(list.map(|list| Some(OfRank { list, entries, header })))
    }

    /// What was found before this rank's part, and in all parts.
    fn joined(&self, own: &Found) -> Result<(Found, Found), Diagnostic> {
        let numbers = [&[own.lines, own.entries, own.marks], &own.largest[..]].concat();
        let (mut before, mut all) = (Found::default(), Found::default());
        for (rank, numbers) in self.gathered(&numbers)?.iter().enumerate() {
            if rank == self.comm.rank() {
                before = all.clone();
            }
            let [lines, entries, marks, largest @ ..] = &numbers[..] else { continue };
            let largest = largest.to_vec();
            all.join(&Found { lines: *lines, entries: *entries, marks: *marks, largest });
        }
        Ok((before, all))
    }

    /// Numbers of each rank.
    fn gathered(&self, own: &[u64]) -> Result<Vec<Vec<u64>>, Diagnostic> {
        let own: Vec<u8> = own.iter().flat_map(|n| n.to_le_bytes()).collect();
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
        let all = self.comm.all_gather(&own)?;
        Ok(all.iter().map(|bytes| bytes.chunks(8).map(number).collect()).collect())
    }

    /// The outcome of this rank, or on every rank the error of the first that has one.
    fn agreed<T>(&self, own: Result<T, FileError>) -> Result<Result<T, FileError>, Diagnostic> {
        let told = own.as_ref().err().map_or(String::new(), written);
        let all = self.comm.all_gather(told.as_bytes())?;
        let first = all.iter().find(|told| !told.is_empty());
        let Some(first) = first else { return Ok(own) };
        Ok(Err(error(&String::from_utf8_lossy(first), self.path)))
    }
}

/// An error as text.
fn written(error: &FileError) -> String {
    let FileError { code, line, column, message, help, .. } = error;
    serde_json::json!([code.name(), line, column, message, help]).to_string()
}

/// The error that a text is of.
fn error(text: &str, path: &Path) -> FileError {
    let told: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let text = |at: usize| told[at].as_str().unwrap_or_default().to_owned();
    let code = FileErrorCode::ALL.into_iter().find(|code| code.name() == text(0));
    FileError {
        code: code.unwrap_or(FileErrorCode::NotReadable),
        path: path.to_path_buf(),
        line: told[1].as_u64(),
        column: told[2].as_u64(),
        message: text(3),
        help: text(4),
    }
}
