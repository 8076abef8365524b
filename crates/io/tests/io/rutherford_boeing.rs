//! Rutherford-Boeing and Harwell-Boeing files, and what each reads as.

use crate::{name, summary};
use tamis_io::read_rutherford_boeing;

fn check(text: &str, expect: &str) {
    assert_eq!(summary(read_rutherford_boeing(text.as_bytes(), name())), expect, "\n{text}");
}

/// A file of this type and sizes with these lines of formats, pointers, row numbers and values.
fn file(kind: &str, sizes: &str, body: &str) -> String {
    format!("A title{:65}key\n   3   1   1   1\n{kind}           {sizes}   0\n{body}", "")
}

#[test]
fn real() {
    let body = "(5I2)           (4I1)           (2E10.3)\n 1 3 4 5\n1323\n 0.150D+01-2.000E+00\n  3.0      4.5-1\n";
    let expect = "3x3 Real General, 4 stored: 1,1=1.5 3,1=-2.0 2,2=3.0 3,3=0.45";
    check(&file("rua", "3 3 4", body), expect);
    check(&file("RUA", "3 3 4", &body.replace('\n', "\r\n")), expect);
}

#[test]
fn fields_abut() {
    let body = "(26I3)          (26I3)          (1P,5D6.1)\n  1101201\n";
    let mut text = file("rra", "200 2 200", body);
    for _ in 0..2 {
        let rows: Vec<String> = (101..=200).map(|row| row.to_string()).collect();
        text += &rows.join("");
        // A line longer than its format has no more fields than the format says.
    }
    let summary = summary(read_rutherford_boeing(text.as_bytes(), name()));
    assert!(summary.starts_with("error[file-truncated]"), "{summary}");
    let rows: Vec<String> = (101..=126).map(|row| row.to_string()).collect();
    let values = "1.0D+0".repeat(5);
    let mut text = file("rra", "200 1 26", "(26I3)          (26I3)          (1P,5D6.1)\n  1 27\n");
    text +=
        &format!("{}\n{values}\n{values}\n{values}\n{values}\n{values}\n2.0D-1\n", rows.join(""));
    let read = read_rutherford_boeing(text.as_bytes(), name()).unwrap().coordinates;
    assert_eq!(read.crds()[0], (100..126).collect::<Vec<u64>>());
    assert_eq!(*read.vals(), tamis_io::Values::F64([vec![1.0; 25], vec![0.2]].concat()));
}

#[test]
fn kinds() {
    let formats = "(3I2)           (2I2)           ";
    let body = format!("{formats}(2F5.1)\n 1 3 3\n 1 2\n  3.0  4.0\n");
    let expect = "2x2 Real Symmetric, 2 stored: 1,1=3.0 2,1=4.0 1,2=4.0";
    check(&file("rsa", "2 2 2", &body), expect);
    let body = format!("{formats}(2I5)\n 1 3 3\n 1 2\n    3   -4\n");
    check(&file("iua", "2 2 2", &body), "2x2 Integer General, 2 stored: 1,1=3 2,1=-4");
    let body = format!("{formats}\n 1 3 3\n 1 2\n");
    let expect = "2x2 Pattern Symmetric, 2 stored: 1,1=1.0 2,1=1.0 1,2=1.0";
    check(&file("psa", "2 2 2", &body), expect);
    check(&file("qsa", "2 2 2", &body), expect);
    let body = format!("{formats}(4(G5.1))\n 1 2 2\n 2\n  3.0  4.0\n");
    let expect = "2x2 Complex Hermitian, 1 stored: 2,1=3.0+4.0j 1,2=3.0-4.0j";
    check(&file("cha", "2 2 1", &body), expect);
    let body = format!("{formats}(1P2E5.1E2)\n 1 2 2\n 2\n  3.0\n");
    let expect = "2x2 Real SkewSymmetric, 1 stored: 2,1=3.0 1,2=-3.0";
    check(&file("rza", "2 2 1", &body), expect);
    let body = format!("{formats}(1P2E5.1E2)\n 1 2 2\n 1\n  3.0\n");
    let expect = "error[file-range]: t:7:6: the diagonal of a skew-symmetric matrix is zero, the \
                  entry (1, 1) is not\n  = help: correct the entry, or the symmetry in the header";
    check(&file("rza", "2 2 1", &body), expect);
    let body = format!("{formats}(1I20)\n 1 2 2\n 1\n18446744073709551615\n");
    let expect = "2x2 Integer General, 1 stored: 1,1=18446744073709551615";
    check(&file("iua", "2 2 1", &body), expect);
}

#[test]
fn fields_narrower_than_announced() {
    let body = "(3I2)           (3I2)           (3E8.1)\n 1 4\n 1 2 3\n 1.0E0 -2.0E0 3.0E0\n";
    let expect = "3x1 Real General, 3 stored: 1,1=1.0 2,1=-2.0 3,1=3.0";
    check(&file("rra", "3 1 3", body), expect);
}

#[test]
fn right_hand_sides_are_left_out() {
    let text = "title\n             5             1             1             1             1\n\
                RUA                        1             1             1             0\n\
                (16I5)          (16I5)          (5E16.8)            (5E16.8)\n\
                F                          1             0\n    1    2\n    1\n  2.50000000E+00\n  1.0\n";
    check(text, "1x1 Real General, 1 stored: 1,1=2.5");
}

#[test]
fn what_is_not_read_is_refused() {
    let body = "(3I2)           (2I2)           (2F5.1)\n 1 3 3\n 1 2\n  3.0  4.0\n";
    let start = "error[file-unsupported]: t:3:1: elemental matrices are not read\n  = help: ";
    let help = "assemble its elements first, and store it as a matrix of type ..a";
    check(&file("rse", "2 2 2", body), &format!("{start}{help}"));
}

#[test]
fn wrong_files_are_refused() {
    let body = "(3I2)           (2I2)           (2F5.1)\n 1 3 3\n 1 2\n  3.0  4.0\n";
    let check = |from: &str, to: &str, expect: &str| {
        assert!(body.contains(from));
        check(&file("rua", "2 2 2", &body.replace(from, to)), expect);
    };
    let format_help = "= help: a field is as wide as the format in line 4 says";
    check(
        " 1 3 3",
        " 1 4 3",
        "error[file-range]: t:5:4: column pointer 4 is not from 1 to 3\n  = help: correct this number or the header",
    );
    check(
        " 1 3 3",
        " 1 2 2",
        "error[file-range]: t:5:6: column pointer 2 is not from 3 to 3\n  = help: correct this number or the header",
    );
    check(
        " 1 2\n",
        " 1 3\n",
        "error[file-range]: t:6:4: row number 3 is not from 1 to 2\n  = help: correct this number or the header",
    );
    check(
        "  3.0  4.0",
        "  3.0  4,0",
        &format!("error[file-syntax]: t:7:8: expected a number, found \"4,0\"\n  {format_help}"),
    );
    check(
        "  3.0  4.0\n",
        "  3.0\n",
        "error[file-truncated]: t:8:1: expected a number, found the end of the file\n  = help: the file may be incomplete: fetch it again, or correct its header",
    );
    check(
        "(2F5.1)",
        "(2A5)",
        "error[file-syntax]: t:4:33: expected three Fortran formats of one kind of number each\n  = help: line 4 is such as: (26I3)          (26I3)          (3E26.18)",
    );
}
