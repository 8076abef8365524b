//! Archives of NumPy arrays: round trips, and damage that is told.

use crate::Folder;
use std::io::Write;
use std::path::Path;
use tamis_io::{
    Coordinates, FileErrorCode, FileFormat, Scalar, Values, WriteOptions, check_writable, read,
    write,
};

fn all_types() -> Vec<Values> {
    vec![
        Values::Bool(vec![1, 0]),
        Values::I8(vec![-3, 2]),
        Values::I16(vec![-300, 2]),
        Values::I32(vec![-70000, 2]),
        Values::I64(vec![i64::MIN, 2]),
        Values::U8(vec![200, 2]),
        Values::U16(vec![60000, 2]),
        Values::U32(vec![u32::MAX, 2]),
        Values::U64(vec![u64::MAX, 2]),
        Values::F32(vec![0.1, f32::INFINITY]),
        Values::F64(vec![0.1, -2e300]),
        Values::C64(vec![[0.1, 2.0], [0.0, -1.0]]),
        Values::C128(vec![[0.1, 2.0], [0.0, -1.0]]),
    ]
}

/// A list of two entries, in order.
fn list(dims: &[u64], vals: Values) -> Coordinates {
    let crds = dims.iter().map(|&d| vec![0, d - 1]).collect();
    Coordinates::new(dims.to_vec(), crds, vals).unwrap()
}

fn check(path: &Path, list: &Coordinates, options: &WriteOptions) {
    write(path, list, options).unwrap();
    let file = read(path).unwrap();
    let fill = options.fill.unwrap_or(Scalar::I64(0));
    assert_eq!(file.coordinates, list.clone().with_fill(fill), "{}", path.display());
    assert_eq!(file.header.fill, options.fill);
    assert_eq!(Some(file.header.format), FileFormat::of(path));
}

#[test]
fn archives_read_back() {
    let folder = Folder::new();
    for name in ["a.npz", "a.bsp.npz"] {
        let path = folder.file(name);
        for vals in all_types() {
            check(&path, &list(&[3, 5], vals.clone()), &WriteOptions::default());
            check(&path, &list(&[7], vals.clone()), &WriteOptions::default());
            check(&path, &list(&[2, 3, 4, 5], vals), &WriteOptions::default());
        }
        let fill = WriteOptions { fill: Some(Scalar::F64(f64::INFINITY)), ..Default::default() };
        check(&path, &list(&[3, 5], Values::F64(vec![1.0, 2.0])), &fill);
        let none = Coordinates::new(vec![3, 0], vec![vec![], vec![]], Values::F64(vec![])).unwrap();
        check(&path, &none, &WriteOptions::default());
    }
}

/// Entries in any order, where rows are many.
#[test]
fn entries_out_of_order_are_a_list() {
    let folder = Folder::new();
    let vals = Values::F64(vec![1.0, 2.0, 3.0]);
    let crds = vec![vec![4, 0, 4], vec![1, 2, 0]];
    let unordered = Coordinates::new(vec![5, 3], crds, vals).unwrap();
    check(&folder.file("b.npz"), &unordered, &WriteOptions::default());
    let far = list(&[1 << 40, 3], Values::F64(vec![1.0, 2.0]));
    check(&folder.file("b.npz"), &far, &WriteOptions::default());
    // Binsparse has them sorted.
    let path = folder.file("b.bsp.npz");
    write(&path, &unordered, &WriteOptions::default()).unwrap();
    assert_eq!(read(&path).unwrap().coordinates.crds(), [[0, 4, 4], [2, 0, 1]]);
}

/// Whatever bytes are missing or wrong, the file is refused or read, and nothing ends.
#[test]
fn damaged_archives_are_told() {
    let folder = Folder::new();
    for name in ["c.npz", "c.bsp.npz"] {
        let path = folder.file(name);
        let crds = vec![(0..40).collect(), (0..40).map(|k| k * k % 37).collect()];
        let vals = Values::F64((0..40).map(f64::from).collect());
        let tensor = Coordinates::new(vec![40, 37], crds, vals).unwrap();
        write(&path, &tensor, &WriteOptions::default()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let mut refused = 0;
        for length in (0..whole.len()).step_by(5) {
            std::fs::write(&path, &whole[..length]).unwrap();
            let error = read(&path).expect_err("an archive ends with its directory");
            assert!(!error.message.is_empty() && !error.help.is_empty());
        }
        for at in (0..whole.len()).step_by(2) {
            let mut bytes = whole.clone();
            bytes[at] ^= [0x01, 0x80, 0xff][at % 3];
            std::fs::write(&path, &bytes).unwrap();
            refused += usize::from(read(&path).is_err());
        }
        assert!(refused > whole.len() / 6, "{refused} of {}", whole.len() / 2);
    }
}

/// What an array claims beyond what it has takes no memory.
#[test]
fn claims_are_not_believed() {
    let folder = Folder::new();
    let path = folder.file("d.npz");
    let array = |descr: &str, shape: &str, bytes: &[u8]| {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
    };
    let refused = |shape: &str, claimed: &str| {
        let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        let mut add = |name: &str, bytes: Vec<u8>| {
            zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(&bytes).unwrap();
        };
        let two = [2_i64, 2].map(i64::to_le_bytes).concat();
        add("format.npy", array("|S3", "()", b"coo"));
        add("shape.npy", array("<i8", shape, &two));
        for name in ["row.npy", "col.npy", "data.npy"] {
            add(name, array("<i8", claimed, &[0; 16]));
        }
        zip.finish().unwrap();
        read(&path).map(drop).map_err(|error| error.message)
    };
    assert_eq!(refused("(2,)", "(2,)"), Ok(()));
    for (shape, claimed) in [
        ("(2,)", "(1152921504606846976,)"),
        ("(2,)", "(4294967296, 4294967296)"),
        ("(2,)", "(99999999999999999999999,)"),
        ("(2,)", "(3,)"),
        ("(1152921504606846976,)", "(2,)"),
        ("(2,)", "(-1,)"),
    ] {
        assert!(refused(shape, claimed).is_err(), "{shape} {claimed}");
    }
    let told = read(Path::new("d.bsp.h5")).unwrap_err();
    assert!(told.help.contains("Python"), "{told}");
}

/// Archives that SciPy made (`tests/data/make.py`).
#[test]
fn archives_of_scipy_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let wanted = [([0, 0], 1.0), ([0, 3], 2.0), ([2, 1], 3.0), ([3, 1], 4.5), ([5, 2], -5.0)];
    for name in ["csr", "csc", "coo", "dia", "bsr", "nd", "matrix"] {
        let list = read(&folder.join(format!("{name}.npz"))).unwrap().coordinates;
        let order = list.dims().len();
        assert_eq!(list.dims(), if order == 2 { &[6, 4][..] } else { &[2, 3, 4] }, "{name}");
        let entry = |n: usize| {
            let crd: Vec<u64> = list.crds().iter().map(|crd| crd[n]).collect();
            let row = if order == 2 { crd[0] } else { crd[0] * 3 + crd[1] };
            ([row, crd[order - 1]], list.vals().as_f64(n))
        };
        let mut found: Vec<_> = (0..list.vals().len()).map(entry).collect();
        found.retain(|(_, value)| *value != 0.0);
        found.sort_by_key(|(crd, _)| *crd);
        assert_eq!(found, wanted, "{name}");
    }
}

/// Entries in the order of columns stay in it.
#[test]
fn matrices_are_written_by_rows_or_columns() {
    let folder = Folder::new();
    let path = folder.file("a.npz");
    let vals = Values::F64(vec![1.0, 2.0, 3.0]);
    for crds in [[[0, 0, 2], [3, 1, 0]], [[2, 0, 1], [0, 1, 1]], [[2, 0, 1], [1, 0, 2]]] {
        let list =
            Coordinates::new(vec![3, 4], crds.map(Vec::from).to_vec(), vals.clone()).unwrap();
        write(&path, &list, &WriteOptions::default()).unwrap();
        assert_eq!(read(&path).unwrap().coordinates, list);
    }
}

#[test]
fn what_archives_do_not_hold_is_refused() {
    let folder = Folder::new();
    let refused = |name: &str, dims: &[u64], says: &str| {
        let none = vec![vec![]; dims.len()];
        let vals = Values::F64(vec![]);
        let tensor = Coordinates::new(dims.to_vec(), none, vals).unwrap();
        let told = write(&folder.file(name), &tensor, &WriteOptions::default()).unwrap_err();
        assert!(told.message.contains(says), "{told}");
        assert_eq!(told.help, "write a .tns file");
    };
    for name in ["e.npz", "e.bsp.npz"] {
        refused(name, &[1 << 62, 3], "beyond 2^62 - 1");
        refused(name, &[u64::MAX], "beyond 2^62 - 1");
        let told = check_writable(&folder.file(name), 0, None).unwrap_err();
        assert_eq!(told.help, "write a .tns file");
        refused(name, &[], &told.message);
    }
    refused("e.bsp.npz", &[2; 9], "tensors of 1 to 8 modes here, this one has 9");
    assert!(check_writable(&folder.file("e.bsp.npz"), 9, None).is_err());
    assert!(check_writable(&folder.file("e.npz"), 9, None).is_ok());
}

/// An archive of arrays of indices and a format.
fn archive(path: &Path, format: &str, arrays: &[(&str, &[i64])]) {
    let array = |descr: &str, shape: &str, bytes: &[u8]| {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
    };
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let mut add = |name: &str, bytes: Vec<u8>| {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(&bytes).unwrap();
    };
    add("format", array("|S3", "()", format.as_bytes()));
    for (name, list) in arrays {
        let bytes: Vec<u8> = list.iter().flat_map(|x| x.to_le_bytes()).collect();
        add(name, array("<i8", &format!("({},)", list.len()), &bytes));
    }
}

/// An array of NumPy, alone.
fn npy(path: &Path, descr: &str, order: &str, shape: &str, bytes: &[u8]) {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    let all = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat();
    std::fs::write(path, all).unwrap();
}

/// An array has every element: the fill value where a list has no entry.
#[test]
fn arrays_alone_read_back_in_full() {
    let folder = Folder::new();
    let both = ["a.npy.gz", "a.npy"].map(|name| folder.file(name));
    let each = both.iter().flat_map(|path| all_types().into_iter().map(move |vals| (path, vals)));
    for (path, vals) in each {
        for dims in [&[7][..], &[3, 5], &[2, 3, 4, 5]] {
            let list = list(dims, vals.clone());
            write(path, &list, &WriteOptions::default()).unwrap();
            let file = read(path).unwrap();
            let count = dims.iter().product::<u64>() as usize;
            let (read, last) = (file.coordinates.vals(), count - 1);
            assert_eq!((read.len(), file.coordinates.dims()), (count, dims));
            assert_eq!(read.datatype(), vals.datatype());
            assert_eq!([read.get(0), read.get(last)], [vals.get(0), vals.get(1)]);
            assert!((1..last).all(|k| read.get(k).is_zero()));
            let crds: Vec<u64> = file.coordinates.crds().iter().map(|crds| crds[last]).collect();
            assert!(crds.iter().zip(dims).all(|(crd, dim)| crd + 1 == *dim));
            assert_eq!(Some(file.header.format), FileFormat::of(path));
        }
    }
    let [_, path] = both;
    assert_eq!(FileFormat::of_bytes(&std::fs::read(&path).unwrap()), FileFormat::of(&path));
    let fill = WriteOptions { fill: Some(Scalar::F64(f64::INFINITY)), ..Default::default() };
    write(&path, &list(&[3], Values::F64(vec![1.0, 2.0])), &fill).unwrap();
    let file = read(&path).unwrap();
    assert_eq!(file.coordinates.vals(), &Values::F64(vec![1.0, f64::INFINITY, 2.0]));
    for dims in [vec![], vec![0], vec![3, 0]] {
        let count = usize::from(dims.is_empty());
        let none = vec![vec![]; dims.len()];
        let list = Coordinates::new(dims.clone(), none, Values::F64(vec![2.5; count])).unwrap();
        write(&path, &list, &WriteOptions::default()).unwrap();
        assert_eq!(read(&path).unwrap().coordinates, list);
    }
    let twice = Coordinates::new(vec![2], vec![vec![1, 1]], Values::F64(vec![1.0, 2.0])).unwrap();
    write(&path, &twice, &WriteOptions::default()).unwrap();
    assert_eq!(read(&path).unwrap().coordinates.vals(), &Values::F64(vec![0.0, 3.0]));
}

#[test]
fn arrays_alone_have_any_order_and_their_size() {
    let folder = Folder::new();
    let path = folder.file("a.npy");
    let bytes: Vec<u8> = (1..=6_i32).flat_map(i32::to_be_bytes).collect();
    npy(&path, ">i4", "True", "(2, 3)", &bytes);
    let file = read(&path).unwrap();
    assert_eq!(file.coordinates.vals(), &Values::I32(vec![1, 3, 5, 2, 4, 6]));
    assert_eq!(file.coordinates.crds(), [vec![0, 0, 0, 1, 1, 1], vec![0, 1, 2, 0, 1, 2]]);
    let refused = |descr: &str, shape: &str, bytes: &[u8], what: &str| {
        npy(&path, descr, "False", shape, bytes);
        let told = read(&path).unwrap_err();
        assert!(told.message.contains(what), "{} instead of {what}", told.message);
    };
    refused("<i4", "(2, 3)", &bytes[..20], "ends before its last element");
    refused("<i4", "(2, 3)", &[&bytes[..], &[0]].concat(), "bytes follow the last element");
    refused("<f16", "(1,)", &bytes, "elements of the type <f16 (floats of more than 64 bits,");
    refused("|O", "(1,)", &bytes, "elements of the type |O");
    refused("<U2", "()", &bytes[..8], "");
    refused("<i4", "(9999999999, 9999999999)", &bytes, "the shape is too large");
    let part = folder.file("parts.npy/");
    let told = write(&part, &list(&[3], Values::F64(vec![1.0, 2.0])), &WriteOptions::default());
    assert!(told.unwrap_err().message.contains("has no parts"));
    let wide = Coordinates::new(vec![1 << 40, 1 << 40], vec![vec![], vec![]], Values::F64(vec![]));
    assert!(write(&path, &wide.unwrap(), &WriteOptions::default()).is_err());
}

#[test]
fn the_only_row_of_a_vector_ends_where_it_says() {
    let folder = Folder::new();
    let path = folder.file("f.npz");
    let vector = |size: i64, pointers: &[i64]| {
        let (crds, vals) = (&[1, 3, 4], &[7, 8, 9]);
        let arrays: [(&str, &[i64]); 4] =
            [("shape", &[size]), ("indptr", pointers), ("indices", crds), ("data", vals)];
        archive(&path, "csr", &arrays);
        read(&path).map(|file| file.coordinates.vals().len()).map_err(|error| error.message)
    };
    assert_eq!(vector(5, &[0, 3]), Ok(3));
    assert_eq!(vector(5, &[0, 2]), Ok(2));
    assert!(vector(5, &[0, 4]).is_err());
    assert!(vector(5, &[0, 1, 3]).is_err());
    assert!(vector(i64::MAX, &[0, 3]).unwrap_err().contains("beyond 2^62 - 1"));
}

/// An archive has no header that a reader could correct.
#[test]
fn wrong_coordinates_of_archives_are_told() {
    let folder = Folder::new();
    let path = folder.file("h.npz");
    let refused = |rows: &[i64], columns: &[i64]| {
        let arrays: [(&str, &[i64]); 4] =
            [("shape", &[2, 3]), ("row", rows), ("col", columns), ("data", &[7, 8])];
        archive(&path, "coo", &arrays);
        read(&path).unwrap_err()
    };
    for (columns, message) in [
        (&[1, 3][..], "coordinate 3 of entry 1 is outside the dimension 3 of mode 2"),
        (&[1], "mode 2 has 1 coordinates for 2 values"),
    ] {
        let error = refused(&[0, 1], columns);
        assert_eq!((error.code, &error.message[..]), (FileErrorCode::Range, message));
        assert_eq!(error.help, "the file may be damaged: write it again");
    }
}

/// Comments of others that look like a fill value are comments.
#[test]
fn fill_values_of_text_files_have_a_mark() {
    let folder = Folder::new();
    for (name, head, mark) in
        [("g.mtx", "%%MatrixMarket matrix coordinate real general\n", '%'), ("g.tns", "", '#')]
    {
        let path = folder.file(name);
        let text = format!("{head}{mark} fill: 0.25\n2 2 1\n1 1 4\n");
        std::fs::write(&path, text).unwrap();
        let header = read(&path).unwrap().header;
        assert_eq!((header.fill, &header.comments[..]), (None, &["fill: 0.25".to_owned()][..]));
        let inf = Some(Scalar::F64(f64::INFINITY));
        let options = WriteOptions { fill: inf, comments: header.comments, ..Default::default() };
        write(&path, &list(&[3, 5], Values::F64(vec![1.0, 2.0])), &options).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(&format!("\n{mark} tamis fill: inf\n")), "{text}");
        let header = read(&path).unwrap().header;
        assert!(header.comments.contains(&"fill: 0.25".to_owned()));
        assert_eq!((header.fill, header.comments.len()), (inf, 1));
    }
}
