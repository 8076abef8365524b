//! Files longer than what is read at a time.

use crate::{Folder, name, summary};
use std::fmt::Write;
use tamis_io::{Values, read, read_frostt, read_matrix_market};

/// Lines of entries and comments beyond a chunk, of lengths that do not divide it.
const LINES: u64 = 150_000;

/// Text of so many lines of each kind, and the values.
fn text(line: impl Fn(u64) -> String) -> String {
    (0..LINES).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "{}", line(n));
        if n % 1000 == 17 {
            let _ = writeln!(text, "% {}", "comment ".repeat(n as usize % 300));
        }
        text
    })
}

#[test]
fn every_entry_is_read_once() {
    let entries = text(|n| format!("{} {} {n}.25", n + 1, n % 7 + 1));
    let header = format!("%%MatrixMarket matrix coordinate real general\n{LINES} 7 {LINES}\n");
    let tensors = entries.replace('%', "#");
    let mtx = read_matrix_market((header + &entries).as_bytes(), name()).unwrap().coordinates;
    let tns = read_frostt(tensors.as_bytes(), name()).unwrap().coordinates;
    assert_eq!(mtx, tns);
    assert_eq!(mtx.crds()[0], (0..LINES).collect::<Vec<_>>());
    let values: Vec<f64> = (0..LINES).map(|n| n as f64 + 0.25).collect();
    assert_eq!(*mtx.vals(), Values::F64(values));
    let folder = Folder::new();
    for file in ["a.rb", "a.mtx.gz", "a.tns", "a.mtx"] {
        tamis_io::write(&folder.file(file), &mtx, &Default::default()).unwrap();
        let back = read(&folder.file(file)).unwrap().coordinates;
        assert_eq!(back.vals().len(), LINES as usize, "{file}");
        if file != "a.rb" {
            assert_eq!(back, mtx, "{file}");
        }
    }
}

#[test]
fn errors_name_their_line_in_any_chunk() {
    let bad = |n: u64| if n == LINES - 5 { "x 1 1".to_owned() } else { format!("{} 1 1", n + 1) };
    let entries = text(bad);
    let line = entries.lines().position(|line| line.starts_with('x')).unwrap();
    let header = format!("%%MatrixMarket matrix coordinate real general\n{LINES} 7 {LINES}\n");
    let found = summary(read_matrix_market((header + &entries).as_bytes(), name()));
    assert!(found.contains(&format!("t:{}:1: expected a row number", line + 3)), "{found}");
    let found = summary(read_frostt(entries.replace('%', "#").as_bytes(), name()));
    assert!(found.contains(&format!("t:{}:1: expected a coordinate", line + 1)), "{found}");
}

/// What only integers without sign hold may come in any chunk, for both kinds of files.
#[test]
fn integers_lose_their_sign_late() {
    let header = format!("%%MatrixMarket matrix array integer general\n{LINES} 1\n");
    let value = |n: u64| if n == LINES - 3 { u64::MAX } else { n };
    let read =
        read_matrix_market((header.clone() + &text(|n| value(n).to_string())).as_bytes(), name());
    let values: Vec<u64> = (0..LINES).map(value).collect();
    assert_eq!(*read.unwrap().coordinates.vals(), Values::U64(values));
    let both = text(|n| if n == 1 { "-1".to_owned() } else { value(n).to_string() });
    let found = summary(read_matrix_market((header + &both).as_bytes(), name()));
    assert!(found.contains("does not fit into 64 bit"), "{found}");
}

/// A header, and a line, may be longer than a chunk.
#[test]
fn long_headers_and_lines_are_read() {
    let comments = "# c\n".repeat(700_000);
    let text = format!("{comments}2 3\n2 4\n{comments}1 2 10\n2 1 0\n2 4 20\n");
    let found = summary(read_frostt(text.as_bytes(), name()));
    assert_eq!(found, "2x4 Real General, 3 stored: 1,2=10.0 2,1=0.0 2,4=20.0");
    let values = "1 ".repeat(700_000);
    let text = format!("%%MatrixMarket matrix array real general\n700000 1\n{values}\n");
    let read = read_matrix_market(text.as_bytes(), name()).unwrap();
    assert_eq!(*read.coordinates.vals(), Values::F64(vec![1.0; 700_000]));
}
