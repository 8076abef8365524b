//! Plain and extended FROSTT files, and what each reads as.

use crate::{name, summary};
use tamis_io::read_frostt;

fn check(text: &str, expect: &str) {
    assert_eq!(summary(read_frostt(text.as_bytes(), name())), expect, "\n{text}");
}

#[test]
fn plain() {
    let expect = "2x1x5 Real General, 2 stored: 1,1,5=0.5 2,1,1=-3.0";
    check("1 1 5 0.5\n2 1 1 -3\n", expect);
    check("# a comment\n\n1 1 5 0.5\r\n# another\n  2\t1 1 -3", expect);
    check("3 1.5\n1 2\n", "3 Real General, 2 stored: 3=1.5 1=2.0");
}

#[test]
fn dimensions_in_a_comment() {
    check("# dims: 3 4 5\n1 1 5 2\n", "3x4x5 Real General, 1 stored: 1,1,5=2.0");
    check("#DIMS:3 4\n", "3x4 Real General, 0 stored:");
    check("# note\n# dims: 0\n", "0 Real General, 0 stored:");
    check("# dims: 3\n# dims: 1\n2 0\n", "3 Real General, 1 stored: 2=0.0");
}

#[test]
fn dimensions_after_entries_are_refused() {
    let expect = "error[file-syntax]: t:3:2: the dimensions stand after the first entry\n  \
                  = help: move this line to the start of the file";
    check("1 2\n# note\n # dims: 9\n2 3\n", expect);
    check("# dims: 9\n1 2\n# dims: 5\n", "9 Real General, 1 stored: 1=2.0");
}

#[test]
fn either_mark_starts_a_comment() {
    let expect = "2x4 Real General, 2 stored: 1,2=10.0 2,4=0.5";
    check("; extended FROSTT format\n2 2\n2 4\n1 2 10\n; note\n2 4 0.5\n", expect);
    check("; dims: 2 4\n# note\n1 2 10\n2 4 0.5\n;", expect);
}

/// Integers are as exact as their file, and floats where all values are.
#[test]
fn large_integers() {
    check("1 9007199254740992\n", "1 Real General, 1 stored: 1=9007199254740992.0");
    let expect = "4 Integer General, 4 stored: 1=5 2=9007199254740993 3=2 4=-9223372036854775808";
    check("1 5\n2 9007199254740993\n3 2.0\n4 -9223372036854775808\n", expect);
    let expect = "2 Unsigned General, 2 stored: 1=18446744073709551615 2=5";
    check("1 18446744073709551615\n2 +5\n", expect);
    let real = |text: &str, entries: &str| check(text, &format!("2 Real General, {entries}"));
    real("1 9007199254740993\n2 0.5\n", "2 stored: 1=9007199254740992.0 2=0.5");
    real("1 0.5\n2 9007199254740993\n", "2 stored: 1=0.5 2=9007199254740992.0");
    real("1 -1\n2 18446744073709551615\n", "2 stored: 1=-1.0 2=1.8446744073709552e19");
    let expect = "2 Complex General, 2 stored: 1=9007199254740992.0+0.0j 2=0.0+1.0j";
    check("1 9007199254740993\n2 1j\n", expect);
    check("9223372036854775807\n", " Integer General, 1 stored: =9223372036854775807");
}

#[test]
fn order_zero() {
    check("2.5\n", " Real General, 1 stored: =2.5");
    check("# the answer\n\n-42", " Real General, 1 stored: =-42.0");
    check("1.5+2j\n", " Complex General, 1 stored: =1.5+2.0j");
    check("# dims:\n7\n", " Real General, 1 stored: =7.0");
    let expect = "error[file-syntax]: t:3:1: a tensor of order 0 has one value, this is a second\n  \
                  = help: write its coordinates in front of each value, or only one value";
    check("1.5\n\n2.5\n", expect);
}

#[test]
fn complex_values() {
    let expect = "1x5 Complex General, 5 stored: \
                  1,1=1.0+0.0j 1,2=1.5-2.0j 1,3=0.1-0.002j 1,4=0.0+2.0j 1,5=-1.0+inf";
    let text = "1 1 1\n1 2 1.5-2j\n1 3 1e-1-2E-3j\n1 4 2i\n1 5 -1+infj\n";
    check(text, &format!("{expect}j"));
}

#[test]
fn extended_header() {
    let expect = "2x4 Real General, 3 stored: 1,2=10.0 2,1=0.0 2,4=20.0";
    let body = "2 3\n2 4\n1 2 10\n2 1 0\n2 4 20\n";
    check(&format!("# extended FROSTT format\n{body}"), expect);
    check(&format!("# Extended FROSTT format:\n# rank nnz\n# sizes\n{body}"), expect);
    check(body, expect);
    check("1 2\n8\n3 1.5\n8 2\n", "8 Real General, 2 stored: 3=1.5 8=2.0");
    check("3 0\n2 3 4\n", "2x3x4 Real General, 0 stored:");
    check("2 1\n2 4\n1 2 10 -1\n", "2x4 Complex General, 1 stored: 1,2=10.0-1.0j");
    check("# extended FROSTT format\n0 1\n2.5\n", " Real General, 1 stored: =2.5");
}

#[test]
fn plain_files_that_look_extended_at_first() {
    check("2 3\n3 4\n", "3 Real General, 2 stored: 2=3.0 3=4.0");
    check("2 3\n3 4\n1 2\n", "3 Real General, 3 stored: 2=3.0 3=4.0 1=2.0");
    check("# dims: 4\n2 0\n3 4\n", "4 Real General, 2 stored: 2=0.0 3=4.0");
    check("2 3 1\n3 4 1\n1 2 1\n", "3x4 Real General, 3 stored: 2,3=1.0 3,4=1.0 1,2=1.0");
}

#[test]
fn extended_header_must_hold() {
    let expect = "error[file-truncated]: t:6:1: the header announces 4 entries, the file ends after 3\n  \
                  = help: the file may be incomplete: fetch it again, or correct its header";
    check("2 4\n2 4\n1 2 10\n2 1 0\n2 4 20\n", expect);
    let expect = "error[file-syntax]: t:6:1: the header announces 2 entries, the file has 3\n  \
                  = help: correct the number of entries in the header";
    check("2 2\n2 4\n1 2 10\n2 1 0\n2 4 20\n", expect);
    let expect = "error[file-syntax]: t:2:3: expected a number of entries, found the end of the line\n  \
                  = help: correct this line of the file";
    check("# extended FROSTT format\n2 \n", expect);
    let expect = "error[file-truncated]: t:4:1: the line of dimensions is missing\n  \
                  = help: the file may be incomplete: fetch it again, or correct its header";
    check("# extended FROSTT format\n2 3\n\n", expect);
}

#[test]
fn wrong_lines_are_named() {
    let entries = "# dims: 2 2\n1 1 5\n";
    let check = |line: &str, expect: &str| check(&format!("{entries}{line}\n"), expect);
    let help = "= help: every entry is one line with the same number of fields";
    let fields = "expected 3: 2 coordinates and a value";
    check(
        "1 2.5",
        &format!("error[file-ragged]: t:3:6: the line has 2 fields, {fields}\n  {help}"),
    );
    check(
        "1 2 2 2.5",
        &format!("error[file-ragged]: t:3:7: the line has 4 fields, {fields}\n  {help}"),
    );
    let help = "= help: coordinates in files start at 1";
    check(
        "0 1 2",
        &format!("error[file-range]: t:3:1: coordinate 0 of mode 1 is below 1\n  {help}"),
    );
    check(
        "1 -7 2",
        &format!("error[file-range]: t:3:3: coordinate -7 of mode 2 is below 1\n  {help}"),
    );
    let help = "= help: correct this line of the file";
    check(
        "1 x 2",
        &format!(
            "error[file-syntax]: t:3:3: expected a coordinate of mode 2, found \"x\"\n  {help}"
        ),
    );
    check(
        "1 1 2,5",
        &format!("error[file-syntax]: t:3:5: expected a number, found \"2,5\"\n  {help}"),
    );
}
