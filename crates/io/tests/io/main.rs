//! Tests of reading and writing files, by what they promise.

mod chunks;
mod damage;
mod errors;
mod fill;
mod folder;
mod frostt;
mod matrix_market;
mod npz;
mod odd;
mod parts;
mod random;
mod round_trip;
mod rutherford_boeing;
mod saving;
mod shipped;

use std::fs;
use std::path::{Path, PathBuf};
use tamis_io::{File, FileError, Values};
use tamis_runtime::temporary::Temporary;

/// A folder of its own for a test, removed at its end.
struct Folder(Temporary);

impl Folder {
    fn new() -> Folder {
        Folder(Temporary::folder(&std::env::temp_dir()).unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The names of all files in the folder, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// What was read, on one line: `3x3 Real Symmetric, 2 stored: 1,1=0.5 3,2=4.0 2,3=4.0`.
fn summary(read: Result<File, FileError>) -> String {
    let File { coordinates, header } = match read {
        Ok(file) => file,
        Err(error) => return error.to_string(),
    };
    let dims: Vec<String> = coordinates.dims().iter().map(u64::to_string).collect();
    let values: Vec<String> = match &coordinates.vals() {
        Values::I64(v) => v.iter().map(i64::to_string).collect(),
        Values::U64(v) => v.iter().map(u64::to_string).collect(),
        Values::F64(v) => v.iter().map(|x| format!("{x:?}")).collect(),
        Values::C128(v) => v.iter().map(|[re, im]| format!("{re:?}{im:+?}j")).collect(),
        other => panic!("no reader gives {other:?}"),
    };
    assert!(coordinates.crds().iter().all(|crd| crd.len() == values.len()));
    assert_eq!(coordinates.crds().len(), coordinates.dims().len());
    let entries = values.iter().enumerate().map(|(entry, value)| {
        let crds: Vec<String> =
            coordinates.crds().iter().map(|crd| (crd[entry] + 1).to_string()).collect();
        format!(" {}={value}", crds.join(","))
    });
    let header = format!("{:?} {:?}, {} stored", header.field, header.symmetry, header.stored);
    format!("{} {header}:{}", dims.join("x"), entries.collect::<String>())
}

/// The name that errors of text in memory show.
fn name() -> &'static Path {
    Path::new("t")
}
