//! A file appears complete or not at all.

use crate::Folder;
use std::fs;
use tamis_io::{Coordinates, FileErrorCode, Values, WriteOptions, read, write};

fn tensor(order: usize) -> Coordinates {
    Coordinates { dims: vec![1; order], crds: vec![vec![0]; order], vals: Values::F64(vec![1.5]) }
}

#[test]
fn nothing_but_the_file_is_left() {
    let folder = Folder::new("only");
    for _ in 0..2 {
        write(&folder.file("a.mtx"), &tensor(2), &WriteOptions::default()).unwrap();
        write(&folder.file("b.tns.gz"), &tensor(3), &WriteOptions::default()).unwrap();
    }
    assert_eq!(folder.names(), ["a.mtx", "b.tns.gz"]);
}

#[test]
fn a_failure_leaves_what_was_there() {
    let folder = Folder::new("failure");
    write(&folder.file("a.mtx"), &tensor(2), &WriteOptions::default()).unwrap();
    for name in ["a.mtx", "b.mtx.gz", "c.rb"] {
        let error = write(&folder.file(name), &tensor(3), &WriteOptions::default()).unwrap_err();
        assert_eq!(error.code, FileErrorCode::Order);
    }
    assert_eq!(folder.names(), ["a.mtx"]);
    assert_eq!(read(&folder.file("a.mtx")).unwrap().coordinates, tensor(2));
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new("link");
    write(&folder.file("a.tns"), &tensor(3), &WriteOptions::default()).unwrap();
    std::os::unix::fs::symlink(folder.file("a.tns"), folder.file("b.tns")).unwrap();
    write(&folder.file("b.tns"), &tensor(1), &WriteOptions::default()).unwrap();
    assert!(fs::symlink_metadata(folder.file("b.tns")).unwrap().is_symlink());
    assert_eq!(read(&folder.file("a.tns")).unwrap().coordinates, tensor(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let folder = Folder::new("full");
    for name in ["a.mtx", "b.mtx.gz"] {
        std::os::unix::fs::symlink("/dev/full", folder.file(name)).unwrap();
        let error = write(&folder.file(name), &tensor(2), &WriteOptions::default()).unwrap_err();
        assert_eq!(error.code, FileErrorCode::NotWritable);
        assert!(error.help.contains("free some space"), "{error}");
    }
}

#[test]
fn gzip_is_recognised_by_content_and_may_have_members() {
    let folder = Folder::new("gzip");
    write(&folder.file("a.tns.gz"), &tensor(2), &WriteOptions::default()).unwrap();
    let one = fs::read(folder.file("a.tns.gz")).unwrap();
    fs::write(folder.file("b.tns"), [&one[..], &one[..]].concat()).unwrap();
    assert_eq!(read(&folder.file("b.tns")).unwrap().coordinates.vals.len(), 2);
}
