//! Numbers in files and as scalars.

mod support;

use support::{check, scratch, tamis};

/// Integers of 64 bit are those of their text, in files and as scalars.
#[test]
fn integers_are_exact() {
    for (value, datatype) in [
        ("9007199254740993", "i64"),
        ("-9223372036854775808", "i64"),
        ("18446744073709551615", "u64"),
    ] {
        let format = format!("B=dense{{{datatype}}}");
        let scalar = ["run", "a = B", "-f", &format, "--dtype", datatype, "-i"];
        check(&[&scalar[..], &[&format!("B={value}")]].concat(), 0, &format!("  {value}\n"));
        let path = scratch("wide.tns");
        std::fs::write(&path, format!("# dims: 2\n2 {value}\n")).expect("written");
        let input = format!("B={}", path.display());
        let run = ["run", "a = B(i)", "-f", &format, "--dtype", datatype, "-i", &input];
        check(&run, 0, &format!("  {value}\n"));
        for name in ["wide.mtx", "wide.rb", "back.tns"] {
            let to = scratch(name);
            check(&["convert", &path.to_string_lossy(), &to.to_string_lossy()], 0, "1 entry");
            let input = format!("B={}", to.display());
            let run = ["run", "a = B(i)", "-f", &format, "--dtype", datatype, "-i", &input];
            check(&run, 0, &format!("  {value}\n"));
        }
    }
    // Text has no types: without one it is a float, and what that rounds is told.
    let rounded = ["run", "a = B / 2", "-i", "B=9007199254740993"];
    check(&rounded, 0, "  4503599627370496.0\n");
    check(
        &rounded,
        0,
        "note: B has integers beyond 2^53, which f64 rounds: --dtype i64 keeps them\n",
    );
    let larger = ["run", "a = B / 2", "-i", "B=18446744073709551615"];
    check(&larger, 0, "which f64 rounds: --dtype u64 keeps them\n");
}

/// Texts do not say that a number is narrow: who reads them has the number that was stored.
#[test]
fn narrow_numbers_are_written_as_they_are() {
    let text = |path: &std::path::Path| std::fs::read_to_string(path).expect("written");
    let path = scratch("tenth.tns");
    std::fs::write(&path, "# dims: 1 1\n1 1 0.1\n").expect("written");
    for (datatype, number) in [
        ("f16", "0.0999755859375"),
        ("bf16", "0.10009765625"),
        ("f32", "0.10000000149011612"),
        ("c64", "0.10000000149011612+0j"),
    ] {
        let to = format!("csr{{{datatype}}}");
        let mut from = path.clone();
        for name in ["narrow.mtx", "narrow.tns", "again.mtx", "again.tns"] {
            let back = scratch(name);
            let files = [from.to_string_lossy(), back.to_string_lossy()];
            check(&["convert", &files[0], &files[1], "--to", &to], 0, "1 entry");
            let field = if name.ends_with("tns") { number } else { &number.replace("+0j", " 0") };
            assert!(text(&back).ends_with(&format!("\n1 1 {field}\n")), "{}", text(&back));
            from = back;
        }
        let (operand, result) = (format!("A={}", from.display()), scratch("result.tns"));
        let of = [format!("A={to}"), format!("B={to}"), format!("B={}", result.display())];
        let run = ["run", "B(i,j) = A(i,j)", "-i", &operand, "-f", &of[0], "-f", &of[1]];
        check(&[&run[..], &["-o", &of[2]]].concat(), 0, "B: 1 x 1");
        assert_eq!(text(&result), text(&from));
    }
}

/// No finite number becomes infinite, whatever asks for a narrower type; infinite ones stay.
#[test]
fn numbers_beyond_a_narrow_type_are_refused() {
    let path = scratch("beyond.tns");
    let file = path.to_string_lossy();
    for (value, datatype, wide) in [
        ("70000.5", "f16", "f64"),
        ("1e+300", "f32", "f64"),
        ("-1e39", "bf16", "f64"),
        ("1e39+0j", "c64", "c128"),
    ] {
        std::fs::write(&path, format!("# dims: 2 2\n1 1 1\n1 2 {value}\n")).expect("written");
        let help = format!(" does not fit {datatype}\n  = help: store the tensor as {wide}\n");
        let (to, of) = (format!("csr{{{datatype}}}"), format!("A={file}"));
        check(&["convert", &file, "-", "--format", "tns", "--to", &to], 2, &help);
        let run = ["run", "n = sum(i, j, abs(A(i,j)))", "-i", &of];
        check(&[&run[..], &["-f", &format!("A={to}")]].concat(), 2, &help);
        check(&[&run[..], &["--dtype", datatype]].concat(), 2, &help);
    }
    let whole = scratch("beyond.mtx");
    let text = "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 70000\n2 2 1\n";
    std::fs::write(&whole, text).expect("written");
    let convert = ["convert", &whole.to_string_lossy(), "-", "--format", "tns", "--to"];
    check(&[&convert[..], &["csr{f16}"]].concat(), 1, "the value 70000 does not fit f16\n");
    std::fs::write(&path, "# dims: 2 2\n1 1 inf\n1 2 65504\n").expect("written");
    let convert = ["convert", &file, "-", "--format", "tns", "--to", "csr{f16}"];
    check(&convert, 0, "1 1 inf\n1 2 65504\n");
}

/// What a conversion rounds is told, too.
#[test]
fn conversions_note_integers_that_are_rounded() {
    let path = scratch("rounded.mtx");
    for (value, datatype, digits) in
        [("9007199254740993", "f64", 53), ("16777217", "f32", 24), ("2049", "f16", 11)]
    {
        let text =
            format!("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 {value}\n");
        std::fs::write(&path, text).expect("written");
        let (file, to) = (path.to_string_lossy(), format!("csr{{{datatype}}}"));
        let convert = ["convert", &file, "-", "--format", "tns", "--to", &to];
        let told = format!("2^{digits}, which {datatype} rounds: --to with {{i64}} keeps them\n");
        check(&convert, 0, &told);
        let output = tamis(&[&convert[..], &["--quiet"]].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn numbers_beyond_the_largest_are_refused_where_they_are_written() {
    let beyond = "the number is beyond 1.8e308, the largest\n  | s = 1e400\n  |     ^^^^^\n";
    check(&["run", "s = 1e400"], 2, &format!("{beyond}  = help: write inf\n"));
    check(&["run", "s = -1e400j"], 2, "help: write infj\n");
    check(&["run", "s = -1e308"], 0, "  -1e308\n");
    let sum = ["run", "s = sum(i, x(i))", "-g", "x=5:0.5", "-f", "x=sparse{fill: -1e400}"];
    check(&sum, 2, "the fill value is beyond 1.8e308, the largest number\n");
    let path = scratch("fill.tns");
    std::fs::write(&path, "# dims: 2\n# tamis fill: 1e400\n1 1\n").expect("written");
    check(&["info", &path.to_string_lossy()], 1, "fill");
}

/// Stored zeros are counted by a fill value that no entry has.
#[test]
fn stored_entries_are_counted() {
    let path = scratch("ratings.tns");
    std::fs::write(&path, "# dims: 2 3\n1 1 0\n1 2 3\n2 3 5\n").expect("written");
    let input = format!("A={}", path.display());
    let count = ["run", "n = sum(i, j, A(i,j) != 0)", "-i", &input];
    check(&count, 0, "  2.0\n");
    let count = ["run", "n = sum(i, j, A(i,j) != -1)", "-i", &input, "-f", "A=csr{fill: -1}"];
    check(&count, 0, "  3.0\n");
    let mean = "m(i) = sum(j, A(i,j) * (A(i,j) != -1)) / sum(j, A(i,j) != -1)";
    let mean = ["run", mean, "-i", &input, "-f", "A=csr{fill: -1}", "-o", "m=-"];
    check(&[&mean[..], &["--format", "tns"]].concat(), 0, "1 1.5\n2 5\n");
}

/// Quotients of numbers alone are rounded, too.
#[test]
fn quotients_of_integers_are_noted() {
    for (numbers, is_noted) in
        [("7/2", true), ("1 / 0", true), ("3 * (7/2)", true), ("7/2.0", false)]
    {
        let told = String::from_utf8(tamis(&["run", &format!("s = {numbers}")]).stderr);
        let note = "note: integers are divided, which rounds toward 0";
        assert_eq!(told.expect("text").contains(note), is_noted, "{numbers}");
    }
}
