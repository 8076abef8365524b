//! Numbers in files and as scalars.

mod support;

use support::{check, scratch};

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
