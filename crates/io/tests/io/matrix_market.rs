//! Every kind of Matrix Market file, and what each reads as.

use crate::{name, summary};
use tamis_io::{Layout, read_matrix_market};

fn check(text: &str, expect: &str) {
    assert_eq!(summary(read_matrix_market(text.as_bytes(), name())), expect, "\n{text}");
}

/// A file of this banner.
fn check_kind(kind: &str, body: &str, expect: &str) {
    check(&format!("%%MatrixMarket matrix {kind}\n{body}"), expect);
}

#[test]
fn coordinate_general() {
    let expect = "2x3 Real General, 2 stored: 1,3=0.5 2,1=-4.0";
    check_kind("coordinate real general", "2 3 2\n1 3 .5\n2 1 -4\n", expect);
    check_kind("coordinate double general", "2 3 2\n1 3 5e-1\n2 1 -0.04E+2", expect);
    let expect = "2x3 Integer General, 2 stored: 1,3=7 2,1=-9223372036854775808";
    let body = "2 3 2\n1 3 +7\n2 1 -9223372036854775808\n";
    check_kind("coordinate integer general", body, expect);
    let expect = "2x3 Unsigned General, 2 stored: 1,3=7 2,1=18446744073709551615";
    let body = "2 3 2\n1 3 7\n2 1 18446744073709551615\n";
    check_kind("coordinate unsigned-integer general", body, expect);
    check_kind("coordinate integer general", body, &expect.replace("Unsigned", "Integer"));
    let expect = "2x3 Pattern General, 2 stored: 1,3=1.0 2,1=1.0";
    check_kind("coordinate pattern general", "2 3 2\n1 3\n2 1\n", expect);
    let expect = "2x3 Complex General, 1 stored: 1,3=0.5-2.0j";
    check_kind("coordinate complex general", "2 3 1\n1 3 0.5 -2\n", expect);
}

#[test]
fn coordinate_with_symmetry() {
    let body = "2 2 2\n1 1 3\n2 1 4\n";
    let expect = "2x2 Real Symmetric, 2 stored: 1,1=3.0 2,1=4.0 1,2=4.0";
    check_kind("coordinate real symmetric", body, expect);
    let expect = "2x2 Integer Symmetric, 2 stored: 1,1=3 2,1=4 1,2=4";
    check_kind("coordinate integer symmetric", body, expect);
    let expect = "2x2 Real Hermitian, 2 stored: 1,1=3.0 2,1=4.0 1,2=4.0";
    check_kind("coordinate real hermitian", body, expect);
    let expect = "2x2 Pattern Symmetric, 2 stored: 1,1=1.0 2,1=1.0 1,2=1.0";
    check_kind("coordinate pattern symmetric", "2 2 2\n1 1\n2 1\n", expect);
    let expect = "2x2 Real SkewSymmetric, 1 stored: 2,1=4.0 1,2=-4.0";
    check_kind("coordinate real skew-symmetric", "2 2 1\n2 1 4\n", expect);
    let expect = "2x2 Integer SkewSymmetric, 1 stored: 2,1=4 1,2=-4";
    check_kind("coordinate integer skew-symmetric", "2 2 1\n2 1 4\n", expect);
}

/// What the entry across the diagonal says of one on the diagonal, and of its type.
#[test]
fn symmetries_must_hold() {
    let help = "correct the entry, or the symmetry in the header";
    let zero = "the diagonal of a skew-symmetric matrix is zero, the entry (2, 2) is not";
    let expect = format!("error[file-range]: t:4:1: {zero}\n  = help: {help}");
    check_kind("coordinate real skew-symmetric", "2 2 2\n1 1 0\n2 2 3\n", &expect);
    check_kind("coordinate integer skew-symmetric", "2 2 2\n1 1 0\n2 2 3\n", &expect);
    check_kind("coordinate complex skew-symmetric", "2 2 2\n1 1 0 0\n2 2 0 1\n", &expect);
    let real = "the diagonal of a hermitian matrix is real, the entry (2, 2) is not";
    let body = "2 2 2\n1 1 3 0\n2 2 4 5\n";
    let expect = format!("error[file-range]: t:4:1: {real}\n  = help: {help}");
    check_kind("coordinate complex hermitian", body, &expect);
    let least = "the negative of the entry (2, 1) does not fit its type";
    let body = "2 2 1\n2 1 -9223372036854775808\n";
    let expect = format!("error[file-range]: t:3:1: {least}\n  = help: declare the values real");
    check_kind("coordinate integer skew-symmetric", body, &expect);
}

#[test]
fn coordinate_complex_with_symmetry() {
    let body = "2 2 2\n1 1 3 0\n2 1 4 5\n";
    let expect = "2x2 Complex Symmetric, 2 stored: 1,1=3.0+0.0j 2,1=4.0+5.0j 1,2=4.0+5.0j";
    check_kind("coordinate complex symmetric", body, expect);
    let expect = "2x2 Complex Hermitian, 2 stored: 1,1=3.0+0.0j 2,1=4.0+5.0j 1,2=4.0-5.0j";
    check_kind("coordinate complex Hermitian", body, expect);
    let expect = "2x2 Complex SkewSymmetric, 1 stored: 2,1=4.0+5.0j 1,2=-4.0-5.0j";
    check_kind("coordinate complex skew-symmetric", "2 2 1\n2 1 4 5\n", expect);
}

#[test]
fn array_general() {
    let expect = "2x2 Real General, 4 stored: 1,1=1.0 2,1=2.0 1,2=0.0 2,2=4.0";
    check_kind("array real general", "2 2\n1\n2\n0\n4\n", expect);
    check_kind("array real general", "2 2\n1 2\n0 4", expect);
    let expect = "2x1 Integer General, 2 stored: 1,1=1 2,1=2";
    check_kind("array integer general", "2 1\n1\n2\n", expect);
    let expect = "1x2 Complex General, 2 stored: 1,1=1.0+2.0j 1,2=3.0+4.0j";
    check_kind("array complex general", "1 2\n1 2\n3 4\n", expect);
    check_kind("array real general", "3 0\n", "3x0 Real General, 0 stored:");
    check_kind(
        "array real general",
        "0 9000000000000000000\n",
        "0x9000000000000000000 Real General, 0 stored:",
    );
}

#[test]
fn array_with_symmetry() {
    let expect = "2x2 Real Symmetric, 3 stored: 1,1=1.0 2,1=2.0 1,2=2.0 2,2=3.0";
    check_kind("array real symmetric", "2 2\n1\n2\n3\n", expect);
    let expect = "2x2 Real SkewSymmetric, 1 stored: 2,1=3.4 1,2=-3.4";
    check_kind("array real skew-symmetric", "2 2\n3.4\n", expect);
    let expect = "3x3 Integer SkewSymmetric, 3 stored: 2,1=1 1,2=-1 3,1=2 1,3=-2 3,2=3 2,3=-3";
    check_kind("array integer skew-symmetric", "3 3\n1\n2\n3\n", expect);
    let expect =
        "2x2 Complex Hermitian, 3 stored: 1,1=1.0+0.0j 2,1=2.0+5.0j 1,2=2.0-5.0j 2,2=3.0+0.0j";
    check_kind("array complex hermitian", "2 2\n1 0\n2 5\n3 0\n", expect);
    check_kind("array real skew-symmetric", "0 0\n", "0x0 Real SkewSymmetric, 0 stored:");
}

#[test]
fn banner_is_lenient_where_files_are() {
    let expect = "1x1 Real General, 1 stored: 1,1=2.0";
    check("%%matrixmarket MATRIX Coord REAL General\n1 1 1\n1 1 2", expect);
    check("%MatrixMarket\tmatrix  coordinate real general  \r\n1 1 1\r\n1 1 2\r\n", expect);
}

#[test]
fn comments_and_empty_lines_stand_anywhere() {
    let text = "%%MatrixMarket matrix coordinate real general\n\n% one\n%two\n  \n\
                % three\n2 2 2\n% four\n\n1 1 1 \n\n  2\t2 2\n% five\n\n";
    check(text, "2x2 Real General, 2 stored: 1,1=1.0 2,2=2.0");
    let comments = read_matrix_market(text.as_bytes(), name()).unwrap().header.comments;
    assert_eq!(comments, ["one", "two", "three"]);
}

#[test]
fn explicit_zeros_and_duplicates_are_kept() {
    let expect = "2x2 Real General, 3 stored: 1,1=0.0 2,2=1.0 2,2=1.0";
    check_kind("coordinate real general", "2 2 3\n1 1 0\n2 2 1\n2 2 1\n", expect);
}

#[test]
fn unusual_numbers() {
    let expect =
        "1x1 Real General, 6 stored: 1,1=inf 1,1=-inf 1,1=NaN 1,1=1500.0 1,1=5e-324 1,1=-0.0";
    let body = "1 1 6\n1 1 inf\n1 1 -Inf\n1 1 nan\n1 1 1.5D3\n1 1 4.9e-324\n001 +1 -0\n";
    check_kind("coordinate real general", body, expect);
    let expect =
        "1x1 Real General, 3 stored: 1,1=0.1 1,1=1.7976931348623157e308 1,1=0.30000000000000004";
    let body = "1 1 3\n1 1 0.1000000000000000055511151231257827021181583404541015625\n\
                1 1 1.7976931348623157e308\n1 1 0.30000000000000004\n";
    check_kind("coordinate real general", body, expect);
}

#[test]
fn layout_is_reported() {
    let text = b"%%MatrixMarket matrix array real general\n1 1\n1\n";
    assert_eq!(read_matrix_market(text, name()).unwrap().header.layout, Layout::Array);
}

#[test]
fn wrong_banners_are_refused() {
    let help = "\n  = help: the first line is: %%MatrixMarket matrix coordinate|array \
                real|integer|complex|pattern general|symmetric|skew-symmetric|hermitian";
    let check =
        |text: &str, expect: &str| check(text, &format!("error[file-syntax]: t:1:{expect}{help}"));
    check("", "1: expected %%MatrixMarket, found the end of the file");
    check("3 3 1\n1 1 1\n", "1: expected %%MatrixMarket, found \"3\"");
    check("%%MatrixMarket tensor x\n", "16: expected \"matrix\", found \"tensor\"");
    check(
        "%%MatrixMarket matrix junk real\n",
        "23: expected \"coordinate\" or \"array\", found \"junk\"",
    );
    check(
        "%%MatrixMarket matrix array bogus\n",
        "29: expected a field such as \"real\", found \"bogus\"",
    );
    check(
        "%%MatrixMarket matrix array real\n",
        "33: expected a symmetry such as \"general\", found the end of the line",
    );
}

#[test]
fn kinds_without_meaning_are_refused() {
    let help = "\n  = help: correct the first line of the file";
    let expect = "error[file-unsupported]: t:1:1: an array without values has no content";
    check_kind("array pattern general", "1 1\n", &format!("{expect}{help}"));
    let expect = "error[file-unsupported]: t:1:1: a matrix without values cannot be skew-symmetric";
    check_kind("coordinate pattern skew-symmetric", "2 2 1\n2 1\n", &format!("{expect}{help}"));
    let expect = "error[file-range]: t:2:1: a 2 by 3 matrix cannot be symmetric\n  \
                  = help: only a square matrix has a symmetry: declare it general";
    check_kind("coordinate real symmetric", "2 3 1\n2 1 1\n", expect);
}
