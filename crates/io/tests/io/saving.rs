//! A file appears complete or not at all.

use crate::Folder;
use std::fs;
use tamis_io::{Coordinates, FileErrorCode, Values, WriteOptions, read, write};
use tamis_runtime::Interrupt;

fn tensor(order: usize) -> Coordinates {
    Coordinates::new(vec![1; order], vec![vec![0]; order], Values::F64(vec![1.5])).unwrap()
}

#[test]
fn nothing_but_the_file_is_left() {
    let folder = Folder::new();
    for _ in 0..2 {
        write(&folder.file("a.mtx"), &tensor(2), &WriteOptions::default()).unwrap();
        write(&folder.file("b.tns.gz"), &tensor(3), &WriteOptions::default()).unwrap();
    }
    assert_eq!(folder.names(), ["a.mtx", "b.tns.gz"]);
}

#[test]
fn a_failure_leaves_what_was_there() {
    let folder = Folder::new();
    write(&folder.file("a.mtx"), &tensor(2), &WriteOptions::default()).unwrap();
    for name in ["a.mtx", "b.mtx.gz", "c.rb"] {
        let error = write(&folder.file(name), &tensor(3), &WriteOptions::default()).unwrap_err();
        assert_eq!(error.code, FileErrorCode::Order);
    }
    assert_eq!(folder.names(), ["a.mtx"]);
    assert_eq!(read(&folder.file("a.mtx")).unwrap().coordinates, tensor(2));
}

#[test]
fn an_interrupted_write_leaves_nothing() {
    let folder = Folder::new();
    let interrupt = Interrupt::default();
    interrupt.request();
    for name in ["a.mtx", "b.tns.gz", "c.rb"] {
        let written = || write(&folder.file(name), &tensor(2), &WriteOptions::default());
        let error = interrupt.over(written).unwrap_err();
        assert!(error.message.contains("interrupted"), "{error}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[cfg(unix)]
#[test]
fn a_file_with_the_longest_name_keeps_its_rights() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.file(&format!("{}.mtx", "x".repeat(251)));
    for rights in [0o600, 0o640, 0o444] {
        write(&path, &tensor(2), &WriteOptions::default()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(rights)).unwrap();
        write(&path, &tensor(2), &WriteOptions::default()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, rights);
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new();
    write(&folder.file("a.tns"), &tensor(3), &WriteOptions::default()).unwrap();
    std::os::unix::fs::symlink(folder.file("a.tns"), folder.file("b.tns")).unwrap();
    write(&folder.file("b.tns"), &tensor(1), &WriteOptions::default()).unwrap();
    assert!(fs::symlink_metadata(folder.file("b.tns")).unwrap().is_symlink());
    assert_eq!(read(&folder.file("a.tns")).unwrap().coordinates, tensor(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let folder = Folder::new();
    for name in ["a.mtx", "b.mtx.gz"] {
        std::os::unix::fs::symlink("/dev/full", folder.file(name)).unwrap();
        let error = write(&folder.file(name), &tensor(2), &WriteOptions::default()).unwrap_err();
        assert_eq!(error.code, FileErrorCode::NotWritable);
        assert!(error.help.contains("free some space"), "{error}");
    }
}

#[test]
fn gzip_is_recognised_by_content_and_may_have_members() {
    let folder = Folder::new();
    write(&folder.file("a.tns.gz"), &tensor(2), &WriteOptions::default()).unwrap();
    let one = fs::read(folder.file("a.tns.gz")).unwrap();
    fs::write(folder.file("b.tns"), [&one[..], &one[..]].concat()).unwrap();
    assert_eq!(read(&folder.file("b.tns")).unwrap().coordinates.vals().len(), 2);
}
