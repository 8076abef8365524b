//! Reading and printing formats.

use super::{Format, FormatSpec, LevelSpec, Storage, parse};
use crate::level::registered;
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::ids::{Id, Mode};

/// What a text reads as, for a tensor of some order; and what that prints reads as the same.
fn check(text: &str, order: impl Into<Option<usize>>, expect: &str) {
    let spec = parse(text, order.into()).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(spec.to_string(), expect, "{text}");
    assert_eq!(parse(expect, Some(spec.format.order())).unwrap(), spec);
}

fn refused(text: &str, order: impl Into<Option<usize>>, expect: &str) {
    let diagnostic = parse(text, order.into()).unwrap_err();
    assert_eq!(diagnostic.to_string(), expect, "{text}");
}

#[test]
fn names() {
    check("csr", 2, "csr");
    check(" csc ", None, "csc");
    check("dense", 1, "dense");
    check("dense", 3, "dense");
    check("dense", 0, "dense");
    check("scalar", 0, "dense");
    check("sparse", None, "sparse");
    check("sv", 1, "sparse");
    check("sparse-vector", 1, "sparse");
    check("csf", 3, "csf");
    check("csf", 2, "dcsr");
    check("csf", 1, "sparse");
    check("dcsc", 2, "dcsc");
}

#[test]
fn levels() {
    check("(i, j) -> (i: dense, j: compressed)", 2, "csr");
    check("(row,col)->(col:dense,row:compressed)", None, "csc");
    check("() -> ()", None, "dense");
    check("(i) -> (i: compressed)", None, "sparse");
    let repeats = "(i, j) -> (i: dense, j: singleton(nonunique))";
    check(repeats, None, "(i, j) -> (i: dense, j: singleton)");
    let arrow = "(i, j, k) -> (k: compressed, i: dense, j: compressed)";
    check(arrow, 3, arrow);
    let arrow = "(i, j, k, l, m, n, i6) -> (i6: compressed, i: dense, j: dense, k: dense, l: dense, m: dense, n: dense)";
    check(arrow, 7, arrow);
}

#[test]
fn lists_of_names() {
    check("csr(nonordered)", None, "csr(nonordered)");
    check("csc( nonunique , nonordered )", 2, "csc(nonordered,nonunique)");
    check("sv(nonunique)", 1, "sparse(nonunique)");
    check("(i, j) -> (i: dense, j: compressed(nonordered))", 2, "csr(nonordered)");
    refused(
        "csr(aos)",
        2,
        "error[unknown-format]: csr takes other things in parentheses\n  | csr(aos)\n  | ^^^^^^^^\n  = help: \
         write csr([nonordered] [nonunique])",
    );
}

#[test]
fn letters() {
    check("ds", None, "csr");
    check("ds:0,1", 2, "csr");
    check("ds:1,0", 2, "csc");
    check("ss : 1, 0", 2, "dcsc");
    check("d", None, "dense");
    check("sss", 3, "csf");
    check("dss:2,0,1", 3, "(i, j, k) -> (k: dense, i: compressed, j: compressed)");
}

#[test]
fn braces() {
    check("csr{f32}", 2, "csr{f32}");
    check("csr { }", 2, "csr");
    check("dense{f64, fill: inf}", 1, "dense{f64, fill: inf}");
    check("csr{crd: i32, pos: i64, i64}", 2, "csr{i64, pos: i64, crd: i32}");
    check("ds:1,0{fill: -0.5}", 2, "csc{fill: -0.5}");
    check("csr{bool, fill: true}", 2, "csr{bool, fill: 1}");
    check("csr{fill: -inf}", 2, "csr{fill: -inf}");
    check("csr{fill: nan}", 2, "csr{fill: nan}");
    check("csr{fill: 1e-300}", 2, "csr{fill: 1e-300}");
}

#[test]
fn mapped_levels() {
    check("bcsr(4,4)", 2, "bcsr(4,4)");
    check("bsr( 2 , 3 )", None, "bcsr(2,3)");
    check("(i, j) -> (i/4: dense, j/4: compressed, i%4: dense, j%4: dense)", 2, "bcsr(4,4)");
    check("csb(64,64)", 2, "csb(64,64)");
    check("(i, j) -> (j-i: compressed, i: range)", 2, "dia");
    let arrow = "(i, j) -> (j-i: compressed, i: range, j: offset)";
    check(arrow, 2, arrow);
    let arrow = "(i, j) -> (j-i: compressed, j: range)";
    check(arrow, 2, arrow);
    check("(i, j) -> (#i: dense, i: dense, j: singleton(padded))", 2, "ell");
    check("coo", 3, "coo");
    check("(i, j) -> (i: compressed(nonunique), j: singleton)", 2, "coo");
    check("coo(nonunique,nonordered)", 2, "coo(nonordered,nonunique)");
    check("coo(aos)", 3, "coo(aos)");
    check("uq", 2, "coo");
    check("ucq", 3, "coo");
    check("coo-dense", 3, "coo-dense");
    check("mode-generic", 4, "coo-dense");
    check("dense-column", 2, "dense-column");
    check("dok", 2, "dok");
    check("hash", 1, "hash");
    check("bitmap", 2, "bitmap");
}

#[test]
fn every_format_of_two_levels_reads_back() {
    let kinds = registered();
    for outer in &kinds {
        for inner in &kinds {
            for modes in [[0, 1], [1, 0]] {
                let [a, b] = modes.map(Mode::new);
                let levels = vec![LevelSpec::of(a, *outer), LevelSpec::of(b, *inner)];
                let Ok(format) = Format::new(levels, 2) else { continue };
                let text = format.to_string();
                assert_eq!(parse(&text, Some(2)).unwrap().format, format, "{text}");
            }
        }
    }
}

#[test]
fn levels_that_are_no_format_are_refused() {
    let reason = |text: &str| parse(text, Some(2)).unwrap_err().message;
    assert_eq!(reason("(i, j) -> (i: dense)"), "no level stores the mode j");
    assert_eq!(
        reason("(i, j) -> (i/4: dense, j: dense, i%2: dense)"),
        "no level stores the offset in a block i%4"
    );
    assert_eq!(reason("(i, j) -> (i%4: dense, j: dense)"), "no level stores the block i/4");
    assert_eq!(
        reason("(i, j) -> (j-i: compressed, i: dense, j: dense)"),
        "the mode j is stored by two levels"
    );
    assert!(reason("(i, j) -> (i: range, j: dense)").starts_with("a range level comes below"));
    assert!(reason("(i, j) -> (i: dense, j: offset)").starts_with("an offset level stores"));
    assert!(reason("(i, j) -> (i: singleton, j: dense)").starts_with("a singleton level"));
    assert!(reason("(i, j) -> (#i: dense, i: dense, j: dense)").starts_with("slots are a dense"));
    assert!(
        reason("(i, j) -> (i: compressed(aos), j: dense)").starts_with("coordinates alternate")
    );
}

#[test]
fn storage_prints_what_differs_from_the_usual() {
    let csr = || parse("csr", None).unwrap().format;
    assert_eq!(Storage::of(csr(), DataType::F64).to_string(), "csr");
    assert_eq!(Storage::of(csr(), DataType::Bool).to_string(), "csr{bool}");
    let wide = Storage {
        fill: Scalar::F64(f64::INFINITY),
        pos: IndexWidth::I64,
        ..Storage::of(csr(), DataType::F64)
    };
    assert_eq!(wide.to_string(), "csr{fill: inf, pos: i64}");
    let again = parse(&wide.to_string(), None).unwrap().resolve(DataType::F64).unwrap();
    assert_eq!(again, wide);
}

#[test]
fn a_spec_resolves_to_a_storage() {
    let resolve = |text: &str| parse(text, None).unwrap().resolve(DataType::I32);
    assert_eq!(resolve("csr{fill: 7}").unwrap().fill, Scalar::I64(7));
    assert_eq!(resolve("csr{fill: 2.0}").unwrap().fill, Scalar::I64(2));
    assert_eq!(resolve("csr{f32, fill: 0.1}").unwrap().fill, Scalar::F32(0.1));
    let usual = FormatSpec::of(Format::in_order([])).resolve(DataType::F64).unwrap();
    assert_eq!(usual, Storage::of(Format::in_order([]), DataType::F64));
    for text in ["csr{fill: 0.5}", "csr{fill: inf}", "csr{fill: 3000000000}", "csr{fill: nan}"] {
        assert_eq!(resolve(text).unwrap_err().code.name(), "type-mismatch", "{text}");
    }
    let of = |text: &str| parse(text, None).unwrap().storage_of("A", DataType::I32);
    for text in ["csr{fill: 0.5}", "csr{fill: inf}", "csr{fill: -inf}", "csr{fill: nan}"] {
        assert_eq!(of(text).unwrap().datatype, DataType::F64, "{text}");
    }
    assert_eq!(of("csr{fill: 2.0}").unwrap().datatype, DataType::I32);
    let told = of("csr{fill: 3000000000}").unwrap_err().message;
    assert_eq!(told, "A: the fill value 3000000000 is not a value of i32");
}

#[test]
fn unknown_formats_are_refused() {
    refused(
        "csx",
        2,
        "error[unknown-format]: there is no format named csx\n  | csx\n  | ^^^\n  = help: did you \
         mean csr? `tamis::format::NAMED` lists all",
    );
    refused(
        "CSR",
        2,
        "error[unknown-format]: there is no format named CSR\n  | CSR\n  | ^^^\n  = help: write csr",
    );
    refused(
        "(i, j) -> (i: compressed, j: list)",
        2,
        "error[unknown-format]: there is no level format named list\n  | (i, j) -> (i: \
         compressed, j: list)\n  |                              ^^^^\n  = help: the level \
         formats are dense, range, compressed, singleton, offset, hashed, bitmap",
    );
    refused(
        "sx",
        2,
        "error[unknown-format]: there is no format named sx\n  | sx\n  | ^^\n  = help: the named \
         formats are dense, dense-column, sparse, hash, csr, csc, dcsr, dcsc, coo, dok, ell, dia, \
         bcsr, csb, csf, coo-dense, bitmap; or write the levels: (i, j) -> (i: dense, j: \
         compressed)",
    );
    refused(
        "csr{f8}",
        2,
        "error[unknown-format]: there is no data type named f8\n  | csr{f8}\n  |     ^^\n  = help: \
         the data types are bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128",
    );
    for text in [
        "bcsr",
        "bcsr(4)",
        "csr(4,4)",
        "coo(padded)",
        "(i, j) -> (i: dense(nonunique), j: dense)",
        "(i, j) -> (i: compressed(sorted), j: dense)",
        "csr{pos: i16}",
        "dz",
    ] {
        let diagnostic = parse(text, Some(2)).unwrap_err();
        assert_eq!(diagnostic.code.name(), "unknown-format", "{text}: {diagnostic}");
        assert!(diagnostic.help.is_some() && diagnostic.place.is_some(), "{text}");
    }
}

#[test]
fn formats_of_the_wrong_order_are_refused() {
    refused(
        "csr{f32}",
        3,
        "error[format-order]: csr stores 2 modes, but the tensor has 3 modes\n  | csr{f32}\n  | ^^^\n  \
         = help: formats for 3 modes are dense, dense-column, coo, csf, coo-dense, bitmap",
    );
    refused(
        "(i, j) -> (i: dense, i: dense)",
        2,
        "error[format-order]: the mode i is stored by two levels\n  | (i, j) -> (i: dense, i: dense)\n  \
         |                      ^\n  = help: each mode is stored by one level, or by its block i/4 and its offset i%4, or by a \
         diagonal j-i beside the other mode",
    );
    refused(
        "(i, j) -> (i: dense)",
        2,
        "error[format-order]: no level stores the mode j\n  | (i, j) -> (i: dense)\n  |           \
         ^^^^^^^^^^\n  = help: add a level, such as j: compressed",
    );
    refused(
        "(i, j) -> (i: dense, k: dense)",
        2,
        "error[format-order]: k is not a mode of this format\n  | (i, j) -> (i: dense, k: dense)\n  \
         |                      ^\n  = help: the modes are i, j",
    );
    for (text, order) in [
        ("ds:0", 2),
        ("ds:0,0", 2),
        ("ds:0,2", 2),
        ("ds:0,1,2", 2),
        ("ds", 3),
        ("csf", 0),
        ("(i, i) -> (i: dense)", 2),
        ("(i) -> (i: dense)", 2),
        ("sparse", 2),
        ("csr", 0),
    ] {
        let diagnostic = parse(text, Some(order)).unwrap_err();
        assert_eq!(diagnostic.code.name(), "format-order", "{text}: {diagnostic}");
    }
    assert_eq!(parse("dense", None).unwrap_err().code.name(), "format-order");
}

#[test]
fn other_texts_are_refused() {
    refused(
        "csr csc",
        2,
        "error[syntax]: expected the end of the format, found c\n  | csr csc\n  |     ^\n  = help: \
         formats are written csr, or (i, j) -> (i: dense, j: compressed)",
    );
    refused(
        "csr{f32, fill: one}",
        2,
        "error[syntax]: the fill value is not a number\n  | csr{f32, fill: one}\n  |                \
         ^^^\n  = help: fill values are numbers, inf, -inf, nan, 1.5+2j, true or \
         false",
    );
    refused(
        "csr{i32, fill: 0.5}",
        2,
        "error[type-mismatch]: the fill value 0.5 is not a value of i32\n  | csr{i32, fill: 0.5}\n  \
         |                ^^^\n  = help: choose a value that fits, or a wider data type: {f64} or {c128}",
    );
    for text in [
        "",
        "{f32}",
        "csr{",
        "csr{f32",
        "csr{f32 f64}",
        "csr{f32, f64}",
        "csr{fill}",
        "csr}",
        "(i, j)",
        "(i, j) ->",
        "(i, j -> (i: dense)",
        "(i) -> (i dense)",
        "(i) -> (i: dense",
        "ds:",
        "ds:x",
        "ds:99999999999999999999999",
        "\u{0}",
        "(1) -> (1: dense)",
    ] {
        assert_eq!(parse(text, None).unwrap_err().code.name(), "syntax", "{text}");
    }
}
