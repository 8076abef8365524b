//! Files that ranks read in parts: a range of bytes each, cut at lines, or some files of a folder; and folders that they
//! write together.
//!
//! ```text
//! A.mtx, 2 ranks      rank 0: its first lines, rank 1: the others
//! A.tns/              rank 0: the first files, rank 1: the others
//! ```
//!
//! Ranks tell each other what they found, since what a file has to be concerns all of it. An error is the one that a
//! single reader comes to, on every rank.

use crate::streams;
use std::path::Path;
use tamis::dist::{Communicator, Distributed, phase, same};
use tamis::{Coordinates, Diagnostic};
use tamis_io::{
    Cut, FileError, FileErrorCode, Folder, Found, Header, PartFile, ReadOptions, WriteOptions,
    changed,
};

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
        if all_true(comm, !tamis_io::is_standard(path) && path.is_dir())? {
            return of_folder(comm, path);
        }
        let cut = streams::cut(path, options);
        let told =
            cut.as_ref().map_or(String::new(), |cut| format!("{:?} {}", cut.header(), cut.bytes()));
        if comm.all_gather(told.as_bytes())?.iter().any(Vec::is_empty) {
            return Ok(Ok(None));
        }
        let Some(cut) = cut else { return Ok(Ok(None)) };
        same(comm, &format!("the file {}", path.display()), told.as_bytes())?;
        Together { comm, path }.part(&cut)
    })
}

/// Reads this rank's parts of a folder.
fn of_folder(
    comm: &dyn Communicator,
    path: &Path,
) -> Result<Result<Option<OfRank>, FileError>, Diagnostic> {
    let together = Together { comm, path };
    let folder = match together.agreed(Folder::open(path))? {
        Ok(folder) => folder,
        Err(error) => return Ok(Err(error)),
    };
    same(comm, &format!("the folder {}", path.display()), format!("{folder:?}").as_bytes())?;
    let own = match together.agreed(folder.read(comm.rank(), comm.ranks()))? {
        Ok(own) => own,
        Err(error) => return Ok(Err(error)),
    };
    let mut found = Found::default();
    own.iter().for_each(|part| found.join(&part.found));
    let (_, all) = together.joined(&found)?;
    let list = match together.agreed(folder.finished(own, &all))? {
        Ok(list) => list,
        Err(error) => return Ok(Err(error)),
    };
    let entries = together.sum(list.vals().len() as u64)?;
    let header = folder.header(entries as usize);
    Ok(Ok(Some(OfRank { list, entries, header })))
}

/// Writes a folder of a part of each rank, with these options for each and this fill value of all. Every rank gets the same
/// error.
pub fn write(
    comm: &dyn Communicator,
    path: &Path,
    tensor: &Distributed,
    options: &WriteOptions,
) -> Result<Result<(), FileError>, Diagnostic> {
    phase(comm, || Together { comm, path }.write(tensor, options))
}

/// Whether something holds on every rank.
fn all_true(comm: &dyn Communicator, own: bool) -> Result<bool, Diagnostic> {
    Ok(comm.all_gather(&[u8::from(own)])?.iter().all(|of_rank| *of_rank == [1]))
}

/// A file or folder that ranks read or write together.
struct Together<'r> {
    comm: &'r dyn Communicator,
    path: &'r Path,
}

impl Together<'_> {
    fn part(&self, cut: &Cut) -> Result<Result<Option<OfRank>, FileError>, Diagnostic> {
        let (rank, ranks) = (self.comm.rank(), self.comm.ranks());
        let counted = match cut.needs_before() {
            true => match self.agreed(cut.count(rank, ranks))? {
                Ok(own) => Some(self.joined(&own)?.0),
                Err(error) => return Ok(Err(error)),
            },
            false => None,
        };
        let read = cut.read(rank, ranks, counted.as_ref());
        let found = read.as_ref().map(|part| part.found.clone()).unwrap_or_default();
        let (before, all) = self.joined(&found)?;
        let is_good = all_true(self.comm, read.is_ok())? && cut.is_sound(&all);
        let part = match read {
            Ok(part) if is_good => part,
            _ => {
                // Once more, now that it is known what is before it: the first rank that fails tells what and where.
                let before = Found { marks: all.marks, ..before };
                let again = match read {
                    Err(error) if error.code == FileErrorCode::TooLarge => Err(error),
                    _ => cut.read(rank, ranks, Some(&before)).map(drop),
                };
                let outcome = self.agreed(again)?;
                return Ok(Err(outcome.err().unwrap_or_else(|| changed(self.path))));
            }
        };
        if cut.is_two_sided(&all) {
            return Ok(Ok(None));
        }
        let entries = self.sum(part.entries())?;
        let header = cut.header();
        let list = self.agreed(cut.finished(part, &all))?;
        Ok(list.map(|list| Some(OfRank { list, entries, header })))
    }

    fn write(
        &self,
        tensor: &Distributed,
        options: &WriteOptions,
    ) -> Result<Result<(), FileError>, Diagnostic> {
        let Together { comm, path } = self;
        let is_first = comm.rank() == 0;
        let id = match self.agreed(if is_first { Folder::create(path) } else { Ok(0) })? {
            Ok(id) => self.gathered(&[id])?[0][0],
            Err(error) => return Ok(Err(error)),
        };
        let list = tensor.entries(*comm)?;
        let part = match self.agreed(Folder::part(path, (id, comm.rank()), &list, options))? {
            Ok(part) => part,
            Err(error) => return Ok(Err(error)),
        };
        let own = part.publish();
        let listed =
            own.as_ref().map_or(String::new(), |part| format!("{} {}", part.bytes, part.file));
        let outcome = match self.agreed(own.clone().map(drop))? {
            Ok(()) => self.listed(tensor, &listed),
            Err(error) => Ok(Err(error)),
        };
        if let (Ok(Err(_)), Ok(part)) = (&outcome, own) {
            // The folder holds what it held before. Where ranks were lost, nobody knows.
            let _ = std::fs::remove_file(path.join(part.file));
        }
        outcome
    }

    /// Lists the parts of all ranks in the manifest.
    fn listed(&self, tensor: &Distributed, own: &str) -> Result<Result<(), FileError>, Diagnostic> {
        let part = |told: Vec<u8>| {
            let told = String::from_utf8_lossy(&told).into_owned();
            let (bytes, file) = told.split_once(' ')?;
            Some(PartFile { file: file.to_owned(), bytes: bytes.parse().ok()? })
        };
        let parts = self.comm.all_gather(own.as_bytes())?.into_iter().filter_map(part).collect();
        let storage = tensor.storage();
        let folder = Folder {
            path: self.path.to_owned(),
            dims: tensor.dims().to_vec(),
            datatype: storage.datatype,
            fill: Some(storage.fill).filter(|fill| !fill.is_zero()),
            parts,
        };
        self.agreed(if self.comm.rank() == 0 { folder.write() } else { Ok(()) })
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

    /// The sum of a number of each rank.
    fn sum(&self, own: u64) -> Result<u64, Diagnostic> {
        Ok(self.gathered(&[own])?.iter().map(|of_rank| of_rank[0]).sum())
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
        Ok(Err(error(&String::from_utf8_lossy(first))))
    }
}

/// An error as text.
fn written(error: &FileError) -> String {
    let FileError { code, path, line, column, message, help } = error;
    serde_json::json!([code.name(), line, column, message, help, path.to_string_lossy()])
        .to_string()
}

/// The error that a text is of.
fn error(text: &str) -> FileError {
    let told: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let text = |at: usize| told[at].as_str().unwrap_or_default().to_owned();
    let code = FileErrorCode::ALL.into_iter().find(|code| code.name() == text(0));
    FileError {
        code: code.unwrap_or(FileErrorCode::NotReadable),
        path: text(5).into(),
        line: told[1].as_u64(),
        column: told[2].as_u64(),
        message: text(3),
        help: text(4),
    }
}
