//! Tensors in folders of part files.

use std::fs;
use std::path::{Path, PathBuf};
use tamis_io::temporary::Temporary;
use tamis_io::{
    Coordinates, DataType, FileErrorCode, Folder, PartFile, Scalar, Values, WriteOptions, read,
    write,
};

fn scratch() -> Temporary {
    Temporary::folder(&std::env::temp_dir()).unwrap()
}

fn vector(at: &[u64], vals: Values) -> Coordinates {
    Coordinates::new(vec![9], vec![at.to_vec()], vals).unwrap()
}

/// A folder of parts, and its values as one type.
fn folder(path: &Path, datatype: DataType, parts: Vec<Values>) -> Folder {
    let id = Folder::create(path).unwrap();
    let options = WriteOptions::default();
    let parts = parts.into_iter().enumerate().map(|(number, vals)| {
        let list = vector(&[number as u64], vals);
        Folder::part(path, (id, number), &list, &options).unwrap().publish().unwrap()
    });
    let parts: Vec<PartFile> = parts.collect();
    Folder { path: path.to_owned(), dims: vec![9], datatype, fill: None, parts }
}

/// The files of a folder.
fn files(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn parts_are_read_as_one_file_would_be() {
    let scratch = scratch();
    let whole = |vals| Values::F64(vals);
    // In text, whole numbers of one part and fractions of another are of one type.
    let cases = [
        ("tns", DataType::F32, vec![whole(vec![2.0]), whole(vec![0.5])], whole(vec![2.0, 0.5])),
        (
            "mtx",
            DataType::U64,
            vec![Values::U64(vec![u64::MAX]), Values::U64(vec![1])],
            Values::U64(vec![u64::MAX, 1]),
        ),
        (
            "bsp.npz",
            DataType::I16,
            vec![Values::I16(vec![-3]), Values::I16(vec![4])],
            Values::I16(vec![-3, 4]),
        ),
        (
            "tns.gz",
            DataType::C128,
            vec![Values::C128(vec![[1.0, 0.0]]), Values::C128(vec![[0.0, 2.0]])],
            Values::C128(vec![[1.0, 0.0], [0.0, 2.0]]),
        ),
    ];
    for (extension, datatype, parts, expected) in cases {
        let path = scratch.path().join(format!("y.{extension}/"));
        folder(&path, datatype, parts).write().unwrap();
        let file = read(&path).unwrap();
        assert_eq!(file.coordinates, vector(&[0, 1], expected), "{extension}");
    }
}

#[test]
fn folders_are_written_like_files() {
    let scratch = scratch();
    let path = scratch.path().join("y.tns/");
    let list = vector(&[3, 8], Values::F64(vec![0.5, f64::INFINITY]));
    let options = WriteOptions { fill: Some(Scalar::F64(-1.0)), ..WriteOptions::default() };
    write(&path, &list, &options).unwrap();
    let before = files(&path);
    write(&path, &list, &options).unwrap();
    let file = read(&path).unwrap();
    assert_eq!(file.header.fill, Some(Scalar::F64(-1.0)));
    assert_eq!(file.coordinates, list.clone().with_fill(Scalar::F64(-1.0)));
    // The parts of before are gone.
    let after = files(&path);
    assert_eq!((before.len(), after.len()), (2, 2));
    assert_ne!(before, after);
    // Files of others are left alone.
    let other = scratch.path().join("other.tns/");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("x"), "").unwrap();
    let refused = write(&other, &list, &options).unwrap_err();
    assert_eq!(refused.code, FileErrorCode::NotWritable);
    assert!(refused.message.contains("the folder has files"), "{refused}");
    assert_eq!(files(&other), ["x"]);
}

#[test]
fn what_failed_before_the_manifest_changes_nothing() {
    let scratch = scratch();
    let path: PathBuf = scratch.path().join("y.tns/");
    let list = vector(&[3], Values::F64(vec![0.5]));
    write(&path, &list, &WriteOptions::default()).unwrap();
    let before = files(&path);
    // A part that gets no name, and one that another process does not see.
    let id = Folder::create(&path).unwrap();
    drop(Folder::part(&path, (id, 0), &list, &WriteOptions::default()).unwrap());
    let missing = PartFile { file: "part-00001-0.tns".to_owned(), bytes: 7 };
    let (dims, datatype) = (vec![9], DataType::F64);
    let new = Folder { path: path.clone(), dims, datatype, fill: None, parts: vec![missing] };
    let refused = new.write().unwrap_err();
    assert!(refused.help.contains("that all processes share"), "{refused}");
    assert_eq!(files(&path), before);
    assert_eq!(read(&path).unwrap().coordinates, list);
}

#[test]
fn damaged_folders_are_refused() {
    let scratch = scratch();
    let path = scratch.path().join("y.tns/");
    let list = vector(&[3], Values::F64(vec![0.5]));
    write(&path, &list, &WriteOptions::default()).unwrap();
    let manifest = path.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let expect = |text: &str, expected: &str| {
        fs::write(&manifest, text).unwrap();
        let refused = read(&path).unwrap_err();
        assert!(refused.to_string().contains(expected), "{text}: {refused}");
    };
    expect("{", "manifest.json:1:1: not JSON");
    expect(&text.replace("\"version\": 1", "\"version\": 2"), "a manifest of version 1 is read");
    expect(&text.replace("part-", "../part-"), "\"parts\" are not all files of the folder");
    expect(&text.replace("f64", "f65"), "\"datatype\" is none that is known");
    expect(&text.replace("null", "\"x\""), "\"fill\" is no number");
    expect(&text.replace('9', "-9"), "\"dims\" are not all numbers");
    expect(&text.replace("    9", "    8"), "the part has dimensions [9], the manifest says [8]");
    expect(&text.replace("\"bytes\": ", "\"bytes\": 1"), "bytes, the manifest says 1");
    // Whatever stands there, nothing panics.
    for at in 0..text.len() {
        for byte in [b'0', b'"', b'{', b'-'] {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = byte;
            fs::write(&manifest, damaged).unwrap();
            let _ = read(&path);
        }
    }
    fs::write(&manifest, &text).unwrap();
    assert_eq!(read(&path).unwrap().coordinates, list);
    fs::remove_file(&manifest).unwrap();
    expect_no_manifest(&path);
}

/// What a manifest lists is not removed unless it is a part by its name.
#[test]
fn files_of_others_stay() {
    let scratch = scratch();
    let path = scratch.path().join("y.tns/");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("notes.txt"), "abc").unwrap();
    let listed = |file: &str, bytes: u64| {
        let manifest = format!(
            "{{\"version\": 1, \"dims\": [9], \"datatype\": \"f64\", \"fill\": null, \
             \"parts\": [{{\"file\": \"{file}\", \"bytes\": {bytes}}}]}}"
        );
        fs::write(path.join("manifest.json"), manifest).unwrap();
    };
    let list = vector(&[3], Values::F64(vec![0.5]));
    for file in ["manifest.json", "notes.txt", "part-1-2.tns"] {
        listed(file, 3);
        write(&path, &list, &WriteOptions::default()).unwrap();
        assert_eq!(read(&path).unwrap().coordinates, list, "{file}");
        assert!(path.join("notes.txt").exists());
    }
    // Parts are files, and say nothing else than the manifest.
    fs::create_dir(path.join("folder")).unwrap();
    listed("folder", fs::metadata(path.join("folder")).unwrap().len());
    assert!(read(&path).unwrap_err().message.contains("the part is no file"));
    fs::write(path.join("filled.tns"), "# dims: 9\n# tamis fill: 7\n1 2\n").unwrap();
    listed("filled.tns", 30);
    let told = read(&path).unwrap_err();
    assert!(told.message.contains("the fill value 7, the manifest says 0"), "{told}");
}

fn expect_no_manifest(path: &Path) {
    let refused = read(path).unwrap_err();
    assert_eq!(refused.code, FileErrorCode::NotReadable);
    assert!(refused.message.contains("the folder has no manifest.json"), "{refused}");
}
