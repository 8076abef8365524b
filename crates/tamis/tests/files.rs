//! Reading files into tensors of a format, and the diagnostics for files that hold no tensor.

use std::fs;
use tamis::{Code, Diagnostic, Place, Tensor, temporary::Temporary};

#[test]
fn files_become_tensors_of_a_format() -> Result<(), Diagnostic> {
    let folder = Temporary::folder(&std::env::temp_dir()).expect("a folder");
    let path = folder.path().join("a.tns");
    fs::write(&path, "# dims: 2 3\n# tamis fill: inf\n2 1 5\n1 3 4\n").expect("a file");
    for (format, expected) in
        [(None, "csr"), (Some("csc"), "csc"), (Some("coo{f32, crd: i64}"), "coo{f32, crd: i64}")]
    {
        let a = tamis::read(&path, format)?;
        let expected = tamis::format::parse(expected, Some(2))?;
        assert_eq!(a.storage().format, expected.format);
        assert_eq!(a.get(&[0, 2])?.as_f64(), 4.0);
        assert_eq!(a.get(&[0, 0])?.as_f64(), f64::INFINITY);
        tamis::write(&path, &a)?;
        assert_eq!(tamis::read(&path, format)?, a);
    }
    Ok(())
}

#[test]
fn errors_of_files_have_their_place() {
    let folder = Temporary::folder(&std::env::temp_dir()).expect("a folder");
    let path = folder.path().join("a.tns");
    fs::write(&path, "1 1 2.5\n1 x 2\n").expect("a file");
    let told = tamis::read(&path, "csr").expect_err("no number");
    let Some(Place::File { line, column, .. }) = told.place else { panic!("{told}") };
    assert_eq!((told.code, line, column), (Code::File, Some(2), Some(3)));
    let shown = told.to_string();
    assert!(shown.starts_with("error[file]: ") && shown.contains("a.tns:2:3: "), "{shown}");
    let told = tamis::read(folder.path().join("b.tns"), None).expect_err("no file");
    assert_eq!(told.code, Code::File);
    let told = tamis::write(folder.path().join("b.xyz"), &Tensor::scalar(1.0));
    assert_eq!(told.map_err(|told| told.code), Err(Code::UnknownFormat));
}
