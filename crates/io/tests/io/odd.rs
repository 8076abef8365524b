//! Files that say something odd are refused, or read as they must be meant.

use crate::{Folder, name, summary};
use std::fs;
use tamis_io::{
    ReadOptions, read, read_frostt, read_matrix_market, read_rutherford_boeing, read_with,
};

/// Reads a matrix of order 3 with these entries, and requires what is read or refused.
fn check_mtx(kind: &str, entries: &[&str], expect: &str) {
    let text = format!(
        "%%MatrixMarket matrix coordinate {kind}\n3 3 {}\n% c\n{}\n",
        entries.len(),
        entries.join("\n")
    );
    let found = summary(read_matrix_market(text.as_bytes(), name()));
    assert!(found.contains(expect), "{found}\n{text}");
}

#[test]
fn both_triangles_are_taken_once_or_refused() {
    let symmetric = "real symmetric";
    check_mtx(symmetric, &["2 1 5", "1 2 5", "3 3 1"], "3 stored: 2,1=5.0 1,2=5.0 3,3=1.0");
    check_mtx(symmetric, &["1 2 5", "3 1 4", "2 1 5"], "3 stored: 3,1=4.0 1,3=4.0 2,1=5.0 1,2=5.0");
    let message = "and not the same: (2, 1) in line 4 is 5.0, (1, 2) in line 6 is 7.0";
    check_mtx(symmetric, &["2 1 5", "3 3 1", "1 2 7"], message);
    check_mtx(symmetric, &["2 1 5", "3 3 1", "1 2 7"], "error[file-range]: t:6: a symmetric");
    // One triangle may be either, and may repeat itself.
    check_mtx(symmetric, &["1 2 5", "1 3 5"], "2 stored: 1,2=5.0 2,1=5.0 1,3=5.0 3,1=5.0");
    check_mtx(symmetric, &["2 1 5", "2 1 5"], "2,1=5.0 1,2=5.0 2,1=5.0 1,2=5.0");
    check_mtx(symmetric, &["2 1 5", "2 1 5", "1 2 5"], "and not the same");
    check_mtx(symmetric, &["2 1 nan", "1 2 nan"], "2 stored: 2,1=NaN 1,2=NaN");
    check_mtx("pattern symmetric", &["2 1", "1 2"], "2 stored: 2,1=1.0 1,2=1.0");
    check_mtx("integer symmetric", &["2 1 3", "1 2 4"], "and not the same");
    check_mtx("real skew-symmetric", &["2 1 3", "1 2 -3"], "2 stored: 2,1=3.0 1,2=-3.0");
    check_mtx("real skew-symmetric", &["2 1 3", "1 2 3"], "and not the same");
    check_mtx("complex hermitian", &["2 1 3 1", "1 2 3 -1"], "2,1=3.0+1.0j 1,2=3.0-1.0j");
    check_mtx("complex hermitian", &["2 1 3 1", "1 2 3 1"], "and not the same");
    check_mtx("complex symmetric", &["2 1 3 1", "1 2 3 1"], "2,1=3.0+1.0j 1,2=3.0+1.0j");
}

#[test]
fn both_triangles_of_column_files_too() {
    let check = |values: &str, expect: &str| {
        let text = format!(
            "t\n 3 1 1 1\nrsa 2 2 2 0\n(3I2)           (1I2)           (2F4.1)\n 1 2 3\n 2\n 1\n{values}\n"
        );
        let found = summary(read_rutherford_boeing(text.as_bytes(), name()));
        assert!(found.contains(expect), "{found}\n{text}");
    };
    check(" 5.0 5.0", "2 stored: 2,1=5.0 1,2=5.0");
    check(" 5.0 6.0", "(2, 1) in line 6 is 5.0, (1, 2) in line 7 is 6.0");
}

#[test]
fn digits_beyond_the_largest_number_are_refused_and_names_are_not() {
    let mtx = |field: &str, value: &str| {
        let text =
            format!("%%MatrixMarket matrix coordinate {field} general\n1 1 1\n1 1 {value}\n");
        summary(read_matrix_market(text.as_bytes(), name()))
    };
    let tns = |value: &str| summary(read_frostt(format!("1 {value}\n").as_bytes(), name()));
    let rb = |value: &str| {
        let text = format!("t\n 3 1 1 1\nrua 1 1 1 0\n(2I2) (1I2) (1E9.1)\n 1 2\n 1\n{value:>9}\n");
        summary(read_rutherford_boeing(text.as_bytes(), name()))
    };
    for digits in ["1e999999", "-1e400", "1d999"] {
        for found in [mtx("real", digits), tns(digits), rb(digits)] {
            assert!(found.contains("is beyond 1.8e308"), "{digits}: {found}");
        }
    }
    for (field, value) in [("complex", "1 1e999"), ("complex", "1e999 1")] {
        assert!(mtx(field, value).contains("is beyond 1.8e308"), "{value}");
    }
    assert!(tns("1e999+2j").contains("is beyond 1.8e308"));
    assert!(tns("inf+2j").contains("1=inf+2.0j"));
    for (found, expect) in
        [(mtx("real", "inf"), "1,1=inf"), (tns("-inf"), "1=-inf"), (rb("inf"), "1,1=inf")]
    {
        assert!(found.contains(expect), "{found}");
    }
    assert!(mtx("real", "1e-999").contains("1,1=0.0"));
}

/// Editors on Windows put a mark before a text; there, shells write UTF-16.
#[test]
fn byte_order_marks_are_no_part_of_the_text() {
    let folder = Folder::new();
    let mtx = "%%MatrixMarket matrix coordinate real general\r\n2 2 1\r\n2 1 5\r\n";
    for (name, text) in [("a.mtx", mtx), ("a.tns", "2 1 5\n"), ("b.tns", "# dims: 2 2\n2 1 5\n")] {
        let path = folder.file(name);
        fs::write(&path, format!("\u{feff}{text}")).unwrap();
        let list = read(&path).unwrap().coordinates;
        assert_eq!((list.crds(), list.vals().len()), (&[vec![1], vec![0]][..], 1), "{name}");
        assert!(tamis_io::Cut::open(&path, &ReadOptions::default()).is_some(), "{name}");
        let wide: Vec<u8> =
            format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(&path, wide).unwrap();
        let error = read(&path).unwrap_err();
        assert_eq!(error.message, "the text has characters of 16 bits (UTF-16)", "{name}");
    }
}

/// The fill value is read as values are, or refused: never skipped.
#[test]
fn fill_values_are_read_as_values_are() {
    let folder = Folder::new();
    let fill = |text: &str| {
        fs::write(folder.file("a.tns"), format!("# dims: 3\n# tamis fill: {text}\n2 1\n")).unwrap();
        read(&folder.file("a.tns"))
            .map(|file| file.header.fill.map(|fill| fill.to_string()))
            .map_err(|error| error.to_string())
    };
    for (text, expected) in [
        ("nan", "nan"),
        ("NaN", "nan"),
        ("Infinity", "inf"),
        ("-INF", "-inf"),
        ("1E3", "1000.0"),
        ("2J", "0.0+2.0j"),
    ] {
        assert_eq!(fill(text), Ok(Some(expected.to_owned())), "{text}");
    }
    for text in ["xyz", "1,5", "", "true"] {
        let refused = fill(text).unwrap_err();
        assert!(refused.contains("a.tns:2:1: the fill value"), "{text}: {refused}");
        assert!(
            tamis_io::Cut::open(&folder.file("a.tns"), &ReadOptions::default()).is_none(),
            "{text}"
        );
    }
}

#[test]
fn what_follows_compressed_data_is_told() {
    let folder = Folder::new();
    let good = read_frostt(b"1 1 0.5\n", name()).unwrap().coordinates;
    tamis_io::write(&folder.file("a.tns.gz"), &good, &Default::default()).unwrap();
    let bytes = fs::read(folder.file("a.tns.gz")).unwrap();
    let check = |more: &[&[u8]], expect: &str| {
        fs::write(folder.file("b.tns.gz"), [&[&bytes[..]], more].concat().concat()).unwrap();
        let found = summary(read(&folder.file("b.tns.gz")));
        assert!(found.contains(expect), "{found}");
    };
    check(&[], "1 stored");
    check(&[&bytes, &[0; 70_000], &bytes], "3 stored");
    let message = "the compressed data ends before the file, and what follows is no gzip data";
    check(&[b"\n"], message);
    check(&[&bytes, &[0; 9], b"1 1 2\n"], message);
}

#[test]
fn the_header_of_parti_is_told_apart() {
    for text in ["3\n3 4 5\n1 1 2 2\n", "# c\n2\n3 4\n", "1\n7\n2 0.5\n"] {
        let found = summary(read_frostt(text.as_bytes(), name()));
        assert!(found.contains("as ParTI writes them") && found.contains("# dims: "), "{found}");
    }
    let found = summary(read_frostt(b"3\n3 4 5\n1 1 2 2\n", name()));
    assert!(found.ends_with("# dims: 3 4 5"), "{found}");
    assert!(summary(read_frostt(b"3\n", name())).ends_with("1 stored: =3.0"));
}

#[test]
fn dimensions_without_a_comment_are_told_apart() {
    for text in ["3 4 5\n1 1 2 0.5\n", "# c\n3 4\n\n1 1 0.5\n2 2 1\n", "7\n# c\n2 0.5\n"] {
        let found = summary(read_frostt(text.as_bytes(), name()));
        assert!(found.contains("one field less than the next"), "{found}");
    }
    let found = summary(read_frostt(b"3 4 5\n1 1 2 0.5\n", name()));
    assert!(found.ends_with("# dims: 3 4 5"), "{found}");
}

#[test]
fn dimensions_may_be_given_to_files_without() {
    let folder = Folder::new();
    let check = |text: &str, dims: &[Option<u64>], expect: &str| {
        fs::write(folder.file("a.tns"), text).unwrap();
        let options = ReadOptions { dims: dims.to_vec(), ..ReadOptions::default() };
        let found = summary(read_with(&folder.file("a.tns"), &options));
        assert!(found.contains(expect), "{found}");
    };
    check("2 3 1\n", &[Some(4), Some(5)], "4x5 Real");
    check("2 3 1\n", &[None, Some(5)], "2x5 Real");
    check("2 3 1\n", &[], "2x3 Real");
    check(
        "2 3 1\n",
        &[Some(1), None],
        "a.tns:1:1: coordinate 2 of mode 1 is beyond the dimension 1",
    );
    check("", &[Some(4), Some(5)], "4x5 Real General, 0 stored");
    check("", &[Some(4), None], "neither entries nor dimensions");
    check("# dims: 9 9\n2 3 1\n", &[Some(4), Some(5)], "9x9 Real");
}
