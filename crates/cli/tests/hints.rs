//! What is likely meant is told where something else is written.

mod support;

use support::{check, scratch, tamis};

const SPMV: &str = "y(i) = A(i,j) * x(j)";
const MATRIX: &str = "A=data/bar.mtx.gz";

/// A file name need not be text, but an option is.
#[cfg(unix)]
#[test]
fn what_is_no_text_is_told() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"A=a\xff.tns");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tamis"));
    let output = command.args(["run", SPMV, "-i"]).arg(name).output().expect("the command starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.starts_with("error[invalid-option]: A=a\u{fffd}.tns: this is not UTF-8"),
        "{told}"
    );
    assert!(told.contains("help: give the file another name"), "{told}");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tamis"));
    let output = command.args(["run", SPMV, "--json", "-i"]).arg(name).output().expect("it starts");
    assert!(output.stdout.starts_with(b"{\"error\":"), "{:?}", output.stdout);
}

/// What other tools and languages write is refused with the text that means it here.
#[test]
fn what_is_likely_meant_is_told() {
    let matrix: &[&str] = &["-i", MATRIX, "-g", "x=dense"];
    let told = |more: &[&str], expected: &str| {
        check(&[&["run", SPMV], more].concat(), 2, &format!("help: {expected}\n"));
    };
    told(&["-i", "data/bar.mtx.gz"], "write -i A=data/bar.mtx.gz");
    told(&["-i", MATRIX, "-g", "dense"], "write -g x=dense");
    told(&["-f", "csr"], "write -f A=csr");
    told(&["-d", "600"], "write -d i=600");
    told(&[matrix, &["-o", "y.tns"]].concat(), "write -o y=y.tns");
    told(&[matrix, &["-o", "z=y.tns"]].concat(), "write -o y=y.tns");
    told(&["-i", "a=data/bar.mtx.gz"], "did you mean A?");
    told(&[matrix, &["-f", "A=csx"]].concat(), "did you mean csr? `tamis formats` lists all");
    told(&[matrix, &["--backend", "jti"]].concat(), "did you mean jit?");
    check(&["explain", SPMV, "--emit", "cin,lattise"], 2, "help: did you mean lattice?\n");
    check(&["explain", SPMV, "--kind", "asemble"], 2, "help: did you mean assemble?\n");
    check(&["build", SPMV, "--emit", "rusd"], 2, "help: did you mean rust?\n");
    check(&["run", SPMV, "--dtype", "foo"], 2, "help: use one of bool, i8");
    check(&["explain", "R(1) = A(1)"], 2, "help: write R(k[{1}])\n");
    check(&["run", SPMV, "--dtype", "f63"], 2, "help: did you mean f");
    let sizes = "write one index per mode: x(i,j), or give 1 size by -g";
    told(&["-i", MATRIX, "-g", "x=10x10:dense"], sizes);
    let dimension =
        "leave out -d j=SIZE, or use different index variables, or operands of equal dimension";
    told(&["-i", MATRIX, "-g", "x=600:dense", "-d", "j=10"], dimension);
    check(&["info", "data/bar.mtx"], 1, "help: did you mean data/bar.mtx.gz?");
    check(&["info", "data/bra.mtx.gz"], 1, "help: did you mean data/bar.mtx.gz?");
    check(&["info", "data/bar.tns"], 1, "help: did you mean data/bar.mtx.gz?");
    told(&["-i", MATRIX, "-i", "x=3"], "write x, without indices");
    told(&["-i", MATRIX, "-i", "x=dense"], "write -g x=dense");
    told(&["-i", "A=600x600:0.1"], "write -g A=600x600:0.1");
    check(&["run", "y = 2 * s", "-i", "s=web"], 2, "help: write a number, such as");
    for (name, meant) in [
        ("web_graph.mxt", "web_graph.mtx"),
        ("b.mtz", "b.mtx"),
        ("b.tsn.gz", "b.tns.gz"),
        ("b.mtx.gzip", "b.mtx.gz"),
        ("data/bar.mtz", "data/bar.mtx.gz"),
        ("data/bar", "data/bar.mtx.gz"),
    ] {
        check(&["info", name], 2, &format!("help: did you mean {meant}?\n"));
        if !name.contains("data") {
            check(
                &["convert", "data/bar.mtx.gz", name],
                2,
                &format!("help: did you mean {meant}?\n"),
            );
        }
    }
    check(&["info", "b.mtx.bz2"], 2, "help: decompress it: of compressed files, .gz are read");
    check(&["info", "Cargo.toml"], 2, "help: known are .npz");
    check(&["run", "y = 2 * s", "-i", "s=-1e400"], 2, "help: write inf, or scale it\n");
    let plus = ["run", "y(i) = x(i) + oo", "-g", "x=5:dense"];
    check(&plus, 2, "help: write inf\n");
    check(&["run", "inf = 3"], 2, "found inf\n");
    let near = ["run", "n = sum(i, x(i) < inf)", "-g", "x=5:dense"];
    check(&near, 0, "  5.0\n");
    let transposed = ["run", "C(i,j) = transpose(A)", "-i", MATRIX];
    check(&transposed, 2, "help: A is read as an index variable here");
}

#[test]
fn options_that_say_too_much_or_too_little_are_told() {
    let twice = ["run", "x(i) = 1", "-d", "i=3", "-d", "i=4"];
    check(&twice, 2, "error[invalid-option]: -d i=4: i has another size already\n");
    check(&["run", "x(i) = 1", "-d", "i=3", "-d", "i=3"], 0, "x: 3, 3 stored, dense");
    check(&["run", "t = i", "-d", "i=5"], 2, "help: i is a number here, no index variable\n");
    check(&["run", "y(i) = x(i)", "-g", "x"], 2, "help: write -g x=1000x1000:0.01\n");
    let rows = |each: &str, status, expected: &str| {
        let generator = format!("A=4x20:{each}");
        check(&["run", "y(i) = A(i,j)", "-g", &generator], status, expected);
    };
    rows("20/row", 0, "y: 4, 4 stored");
    rows("21/row", 2, "error[invalid-option]: -g A=4x20:21/row: a row has 20 elements, not 21\n");
    rows("21/row:7", 2, "help: write 20/row, or fewer\n");
    let operand = ["run", "y(i) = x(i)", "-g", "x=5:dense", "-o", "x=x.npy"];
    check(&operand, 2, "help: x is an operand: write its copy");
    let vectors = ["explain", "y(i) = A(i,j) * x(j)", "-f", "A=csr", "-s", "vectorize(j)"];
    check(&vectors, 2, "help: write parallelize(i, cpu_vector)\n");
    for name in ["printf", "sinf", "write"] {
        let library = ["build", "y(i) = A(i,j) * x(j)", "-f", "A=csr", "-o", name];
        check(&library, 2, &format!("error[syntax]: `{name}` is a name of the C library\n"));
    }
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let explain = |more: &[&str], expected: &str| {
        check(&[&["explain", SPMV, "-f", "A=csr", "--emit", "graph"], more].concat(), 2, expected);
    };
    explain(&["--format", "dot", "--json"], "--format dot: --json has each stage as its text");
    explain(&["--format", "text", "--json"], "leave out --json or --format");
    explain(&["--format", "dot", "--format", "text"], "the form of the graph is given twice");
    explain(&["--format", "mtx"], "--format mtx: nothing goes through -\n");
    check(&["explain", SPMV, "-f", "A=csr @ nz(x)"], 2, "-f A: there are no ranks to lie on\n");
    check(&["build", SPMV, "--format", "mtx"], 2, "--format mtx: nothing goes through -\n");
    let standard = ["run", "y(i) = x(i)", "-i", "x=-", "--format", "mtx", "--format", "tns"];
    check(&standard, 2, "--format tns: mtx is the format of what goes through - already\n");
}

#[test]
fn symmetries_that_are_not_kept_are_noted_once() {
    let input = scratch("lower.mtx");
    let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n";
    std::fs::write(&input, text).expect("written");
    let noted = |output: &str, more: &[&str]| {
        let (input, output) = (input.to_string_lossy(), scratch(output));
        let output = tamis(&[&["convert", &input, &output.to_string_lossy()], more].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr)
            .expect("text")
            .matches("note: both triangles of the symmetric matrix")
            .count()
    };
    for name in ["e.tns", "e.npz", "e.npy", "e.bsp.npz"] {
        assert_eq!(noted(name, &[]), 1, "{name}");
        assert_eq!(noted(name, &["--json"]), 1, "{name}");
        for asked in [&["--quiet"][..], &["--expand"], &["--to", "csr"]] {
            assert_eq!(noted(name, asked), 0, "{name} {asked:?}");
        }
    }
    ["e.mtx", "e.rb"].iter().for_each(|name| assert_eq!(noted(name, &[]), 0, "{name}"));
}

#[test]
fn sizes_beyond_64_bits_are_left_out() {
    let path = scratch("wide.tns");
    let wide = "# dims: 4000000000000000000 4000000000000000000\n1 1 1.0\n";
    std::fs::write(&path, wide).expect("a file");
    let path = path.display().to_string();
    let told = String::from_utf8(tamis(&["info", &path]).stdout).expect("text");
    assert!(
        told.contains("dcsr") && !told.contains("\ndense ") && !told.contains("\ncsr "),
        "{told}"
    );
    check(&["run", "y(i) = x(i)", "-g", "x=5:dense", "--time", "99999999999"], 2, "--time");
}

#[test]
fn counts_are_whole_numbers() {
    for (option, value) in [("--time", "1e3"), ("--threads", "-1"), ("--ranks", "two")] {
        let told = format!("'{value}' for '{option} <N>': write a whole number, such as 4\n");
        check(&["run", "s = 1", option, value], 2, &told);
    }
    check(&["run", "s = 1", "-d", "-1"], 2, "error[invalid-option]: -d -1: ");
}

#[test]
fn what_fixes_a_dimension_is_told() {
    let product = ["run", "y(i) = A(i,j) * x(k)", "-i", MATRIX, "-g", "x=dense"];
    let told = "nothing fixes the dimension of k, an index of x\n  | y(i) = A(i,j) * x(k)\n  |                 ^^^^\n  \
                = help: give it by -d k=SIZE, or all: -g x=DIMS:DENSITY\n";
    check(&product, 2, told);
    check(&[&product[..], &["-d", "k=3"]].concat(), 0, "y: 600");
    let sliced = ["run", "y(i) = B(i, j[0:3])", "-g", "B=dense"];
    check(&sliced, 2, "help: give it by -d B=SIZExSIZE, or all: -g B=DIMS:DENSITY\n");
    check(&[&sliced[..], &["-d", "B=5x7"]].concat(), 0, "y: 5, 5 stored");
    let written = ["run", "A(i[0:3]) = 1"];
    check(&written, 2, "help: give A a value, or its dimensions: -d A=SIZE\n");
    check(&[&written[..], &["-d", "A=5"]].concat(), 0, "A: 5, 5 stored");
}
