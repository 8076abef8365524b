//! Every code of error, as it is shown.

use crate::Folder;
use std::fs;
use tamis_io::{
    Coordinates, FileError, FileErrorCode, Layout, Values, WriteOptions, read, read_frostt,
    read_matrix_market, read_rutherford_boeing, write,
};

/// The message without the folder, whose name differs from run to run.
fn shown(folder: &Folder, error: FileError) -> String {
    error.to_string().replace(&format!("{}/", folder.0.path().display()), "")
}

fn tensor(dims: &[u64]) -> Coordinates {
    let crds = vec![vec![0]; dims.len()];
    Coordinates::new(dims.to_vec(), crds, Values::F64(vec![1.0])).unwrap()
}

fn check_mtx(body: &str, expect: &str) {
    let text = format!("%%MatrixMarket matrix coordinate real general\n{body}");
    let error = read_matrix_market(text.as_bytes(), "a.mtx".as_ref()).unwrap_err();
    assert_eq!(error.to_string(), expect, "\n{text}");
}

fn check_tns(text: &str, expect: &str) {
    let error = read_frostt(text.as_bytes(), "a.tns".as_ref()).unwrap_err();
    assert_eq!(error.to_string(), expect, "\n{text}");
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = FileErrorCode::ALL.iter().map(|code| code.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FileErrorCode::ALL.len());
}

#[test]
fn not_readable() {
    let folder = Folder::new();
    let expect = "error[file-not-readable]: a.mtx: cannot read the file: \
                  No such file or directory (os error 2)\n  = help: check the name and the folder";
    assert_eq!(shown(&folder, read(&folder.file("a.mtx")).unwrap_err()), expect);
    fs::create_dir(folder.file("b.mtx")).unwrap();
    let expect = "error[file-not-readable]: b.mtx: the folder has no manifest.json\n  \
                  = help: name a file in the folder; a folder of parts has one";
    assert_eq!(shown(&folder, read(&folder.file("b.mtx")).unwrap_err()), expect);
}

/// Names that have nothing but their endings in common are not suggested.
#[test]
fn missing_files_are_like_others() {
    let folder = Folder::new();
    for name in ["4elt.mtx", "bar.mtx.gz", "bar.tns"] {
        fs::write(folder.file(name), "").unwrap();
    }
    let help = |name: &str| read(&folder.file(name)).unwrap_err().help;
    for (name, meant) in [
        ("bar.mtx", "bar.mtx.gz"),
        ("bra.mtx.gz", "bar.mtx.gz"),
        ("bra.tns", "bar.tns"),
        ("4elt.tns", "4elt.mtx"),
        ("4lt.bsp.npz", "4elt.mtx"),
    ] {
        assert_eq!(help(name), format!("did you mean {}?", folder.file(meant).display()), "{name}");
    }
    for name in ["zzzz.mtx", "zzzz.mtx.gz", "a.tns"] {
        assert_eq!(help(name), "check the name and the folder", "{name}");
    }
}

#[test]
fn not_writable() {
    let folder = Folder::new();
    let options = WriteOptions::default();
    let expect = "error[file-not-writable]: none/a.mtx: cannot write the file: \
                  No such file or directory (os error 2)\n  = help: create the folder first";
    let error = write(&folder.file("none/a.mtx"), &tensor(&[1, 1]), &options).unwrap_err();
    assert_eq!(shown(&folder, error), expect);
    fs::create_dir(folder.file("b.mtx")).unwrap();
    let error = write(&folder.file("b.mtx"), &tensor(&[1, 1]), &options).unwrap_err();
    let expect = "error[file-not-writable]: b.mtx: cannot write the file: \
                  Is a directory (os error 21)\n  = help: name a file, or end the name with / to write a folder of parts";
    assert_eq!(shown(&folder, error), expect);
    assert_eq!(folder.names(), ["b.mtx"]);
}

#[test]
fn unknown_format() {
    let expect = "error[file-unknown-format]: a.csv: the name does not end in a known file format\n  \
                  = help: known are .npz, .bsp.npz, and .mtx, .tns, .npy, .rb (or .rua, .rsa, .pua, ...), the last four also with .gz behind them";
    assert_eq!(read("a.csv".as_ref()).unwrap_err().to_string(), expect);
    let error = write("a.csv".as_ref(), &tensor(&[1]), &WriteOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), expect);
}

#[test]
fn compression() {
    let folder = Folder::new();
    fs::write(folder.file("a.tns.gz"), "1 1\n").unwrap();
    let expect = "error[file-compression]: a.tns.gz: not a gzip file\n  \
                  = help: compress it with gzip, or drop .gz from its name";
    assert_eq!(shown(&folder, read(&folder.file("a.tns.gz")).unwrap_err()), expect);
    write(&folder.file("b.tns.gz"), &tensor(&[1, 1]), &WriteOptions::default()).unwrap();
    let bytes = fs::read(folder.file("b.tns.gz")).unwrap();
    fs::write(folder.file("b.tns.gz"), &bytes[..bytes.len() - 9]).unwrap();
    let message = shown(&folder, read(&folder.file("b.tns.gz")).unwrap_err());
    let padded = [&bytes[..], &bytes[..], &[0; 700]].concat();
    fs::write(folder.file("c.tns.gz"), padded).unwrap();
    assert_eq!(read(&folder.file("c.tns.gz")).unwrap().header.stored, 2);
    let start = "error[file-compression]: b.tns.gz: the compressed data is damaged: ";
    let end = "\n  = help: the file may be incomplete: fetch or compress it again";
    assert!(message.starts_with(start) && message.ends_with(end), "{message}");
}

#[test]
fn syntax() {
    let help = "\n  = help: correct this line of the file";
    let check =
        |body: &str, expect: &str| check_mtx(body, &format!("error[file-syntax]: {expect}{help}"));
    check("2 2 1\nx 1 1\n", "a.mtx:3:1: expected a row number, found \"x\"");
    check("2 2 1\n1 1.5 1\n", "a.mtx:3:3: expected a column number, found \"1.5\"");
    check("2 2 1\n1 1 1.2.3\n", "a.mtx:3:5: expected a number, found \"1.2.3\"");
    check("2 2 1\n1 1 \u{1}\u{7f}\n", "a.mtx:3:5: expected a number, found \"\\u{1}\\u{7f}\"");
    check("2 x 1\n", "a.mtx:2:3: expected a number of columns, found \"x\"");
    check("2 2\n", "a.mtx:2:4: expected a number of entries, found the end of the line");
    check("2 2 2 2\n", "a.mtx:2:7: expected the end of the line, found \"2\"");
    let long = "9".repeat(60) + "x";
    let shown = "9".repeat(40);
    check(
        &format!("2 2 1\n{long} 1 1"),
        &format!("a.mtx:3:1: expected a row number, found \"{shown}\"..."),
    );
    let help = "\n  = help: correct the number of entries in the header";
    let expect =
        "error[file-syntax]: a.mtx:4:1: expected the end of the file after 1 entry, found \"2\"";
    check_mtx("2 2 1\n1 1 1\n2 2 2\n", &format!("{expect}{help}"));
}

/// The header of an array has dimensions, and no number of entries.
#[test]
fn arrays_are_as_long_as_their_dimensions_say() {
    let refused = |symmetry: &str, values: &str| {
        let text = format!("%%MatrixMarket matrix array real {symmetry}\n2 2\n{values}");
        read_matrix_market(text.as_bytes(), "a.mtx".as_ref()).unwrap_err().to_string()
    };
    let expect = "error[file-syntax]: a.mtx:6:1: expected the end of the file after 3 values, \
                  found \"4\"\n  = help: correct the dimensions or the symmetry in the header";
    assert_eq!(refused("symmetric", "1\n2\n3\n4\n"), expect);
    let expect = "error[file-truncated]: a.mtx:7:1: an array of 2 rows and 2 columns has 4 values, \
                  the file ends after 3\n  \
                  = help: the file may be incomplete: fetch it again, or correct its header";
    assert_eq!(refused("general", "10\n2\n3\n\n"), expect);
}

#[test]
fn ragged() {
    let help = "\n  = help: every entry is one line with the same number of fields";
    let message = "fields, expected 3: row, column and value";
    check_mtx(
        "2 2 1\n1 1\n",
        &format!("error[file-ragged]: a.mtx:3:4: the line has 2 {message}{help}"),
    );
    check_mtx(
        "2 2 1\n1 1 1 7\n",
        &format!("error[file-ragged]: a.mtx:3:7: the line has 4 {message}{help}"),
    );
    let message = "fields, expected 4: 3 coordinates and a value";
    check_tns(
        "1 1 1 5\n1 1 5\n",
        &format!("error[file-ragged]: a.tns:2:6: the line has 3 {message}{help}"),
    );
}

#[test]
fn range() {
    let help = "\n  = help: coordinates in files start at 1";
    check_mtx(
        "2 2 1\n0 1 1\n",
        &format!("error[file-range]: a.mtx:3:1: row number 0 is below 1{help}"),
    );
    check_tns(
        "1 1\n-3 1\n",
        &format!("error[file-range]: a.tns:2:1: coordinate -3 of mode 1 is below 1{help}"),
    );
    let expect = "error[file-range]: a.mtx:3:3: column number 3 is beyond the dimension 2\n  \
                  = help: coordinates run from 1 to 2: correct the entry, the header, or the dimensions that were given";
    check_mtx("2 2 1\n1 3 1\n", expect);
    let expect = "error[file-range]: a.tns:1:3: coordinate 9223372036854775808 of mode 2 is too large\n  \
                  = help: coordinates are below 2^63";
    check_tns("1 9223372036854775808 1\n", expect);
    let long = "7".repeat(50);
    let expect = format!(
        "error[file-range]: a.tns:1:1: coordinate {long} of mode 1 is too large\n  \
         = help: coordinates are below 2^63"
    );
    check_tns(&format!("{long} 1\n"), &expect);
    let expect = "error[file-range]: a.mtx:2:1: number of rows 9223372036854775808 is out of range\n  \
                  = help: it must be from 0 to 2^63 - 1";
    check_mtx("9223372036854775808 2 1\n", expect);
    let text = b"%%MatrixMarket matrix array integer general\n1 1\n18446744073709551616\n";
    let error = read_matrix_market(text, "a.mtx".as_ref()).unwrap_err();
    let expect = "error[file-range]: a.mtx:3:1: integer \"18446744073709551616\" does not fit into 64 bit\n  \
                  = help: declare the values real to read them as floating-point numbers";
    assert_eq!(error.to_string(), expect);
}

#[test]
fn truncated() {
    let help = "\n  = help: the file may be incomplete: fetch it again, or correct its header";
    let start = "error[file-truncated]: a.mtx";
    check_mtx("", &format!("{start}:2:1: the line of sizes is missing{help}"));
    let message = "the header announces 2 entries, the file ends after 1";
    check_mtx("2 2 2\n1 1 1\n", &format!("{start}:4:1: {message}{help}"));
    let message = "the header announces 9000000000000 entries, the file has room for at most 2";
    check_mtx("2 2 9000000000000\n1 1 1\n", &format!("{start}:3:1: {message}{help}"));
    let expect = "error[file-truncated]: a.tns:2:1: the file has neither entries nor dimensions\n  \
                  = help: an empty tensor needs its dimensions in a first line: # dims: 3 4 5";
    check_tns("# nothing\n", expect);
}

#[test]
fn too_large() {
    let text = b"%%MatrixMarket matrix array real general\n4000000000 4000000000\n1\n";
    let error = read_matrix_market(text, "a.mtx".as_ref()).unwrap_err();
    let expect = "error[file-too-large]: a.mtx:3:1: 16000000000000000000 entries do not fit in memory\n  \
                  = help: read a smaller file, or use more memory";
    assert_eq!(error.to_string(), expect);
    let folder = Folder::new();
    let options = WriteOptions { layout: Layout::Array, ..Default::default() };
    let large = tensor(&[1 << 40, 1 << 40]);
    let error = write(&folder.file("a.mtx"), &large, &options).unwrap_err();
    let expect = "error[file-too-large]: a.mtx: an array of 1208925819614629174706176 values does \
                  not fit in memory: it takes 9671406556917033397649408 bytes\n  = help: write only the stored entries";
    assert_eq!(shown(&folder, error), expect);
    let error = write(&folder.file("a.rb"), &large, &WriteOptions::default()).unwrap_err();
    let expect = "error[file-too-large]: a.rb: 1099511627776 columns make a Rutherford-Boeing file \
                  too large\n  = help: write a .mtx file, which takes no room for empty columns";
    assert_eq!(shown(&folder, error), expect);
    assert!(folder.names().is_empty());
}

#[test]
fn unsupported() {
    let text = b"title\n 1 1 0 0\nrse 1 1 1 1\n(1I1)           (1I1)           (1F1.0)\n";
    let error = read_rutherford_boeing(text, "a.rse".as_ref()).unwrap_err();
    let expect = "error[file-unsupported]: a.rse:3:1: elemental matrices are not read\n  \
                  = help: assemble its elements first, and store it as a matrix of type ..a";
    assert_eq!(error.to_string(), expect);
    let options = WriteOptions { layout: Layout::Array, ..Default::default() };
    let error = write("a.tns".as_ref(), &tensor(&[1]), &options).unwrap_err();
    let expect = "error[file-unsupported]: a.tns: FROSTT has no array layout\n  \
                  = help: write a .mtx file, or only the stored entries";
    assert_eq!(error.to_string(), expect);
}

#[test]
fn order() {
    let folder = Folder::new();
    let options = WriteOptions::default();
    let error = write(&folder.file("a.mtx"), &tensor(&[1, 1, 1]), &options).unwrap_err();
    let expect = "error[file-order]: a.mtx: Matrix Market holds matrices, the tensor has order 3\n  \
                  = help: write a .tns file";
    assert_eq!(shown(&folder, error), expect);
}

/// Files whose first bytes are the mark of another format than their names tell.
#[test]
fn marks_of_other_formats() {
    let folder = Folder::new();
    let text = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n";
    let (archive, array) = (b"PK\x03\x04............", b"\x93NUMPY\x01\x00....");
    for (name, bytes, format, other, ending) in [
        ("a.tns", &text[..], "FROSTT", "Matrix Market", "mtx"),
        ("a.npz", text, "SciPy's npz", "Matrix Market", "mtx"),
        ("a.npy", text, "NumPy's npy", "Matrix Market", "mtx"),
        ("a.mtx", archive, "Matrix Market", "SciPy's npz", "npz"),
        ("a.bsp.npz", array, "binsparse", "NumPy's npy", "npy"),
        ("a.rb", array, "Rutherford-Boeing", "NumPy's npy", "npy"),
    ] {
        fs::write(folder.file(name), bytes).unwrap();
        let expect = format!(
            "error[file-syntax]: {name}: this is no {format} file: it begins as one of {other}\n  \
             = help: end its name in .{ending}"
        );
        assert_eq!(shown(&folder, read(&folder.file(name)).unwrap_err()), expect);
        assert!(tamis_io::Cut::open(&folder.file(name), &Default::default()).is_none());
    }
    fs::write(folder.file("b.npz"), b"\x1f\x8b\x08\x00").unwrap();
    let expect = "error[file-compression]: b.npz: this is gzip data\n  \
                  = help: decompress it: archives are compressed within";
    assert_eq!(shown(&folder, read(&folder.file("b.npz")).unwrap_err()), expect);
}
