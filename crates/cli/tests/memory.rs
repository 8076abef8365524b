//! Requests beyond memory end in a diagnostic, and others take what they need.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::process::{Command, Output};

/// The address space of a command, in units of 1024 bytes.
const ADDRESSES: usize = 1_000_000;

/// Runs the command in so much address space, in a folder of its own.
fn limited(folder: &PathBuf, args: &[&str]) -> Output {
    let limit = format!("ulimit -v {ADDRESSES}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limit, "sh", env!("CARGO_BIN_EXE_tamis")]).args(args).current_dir(folder);
    // Each thread takes address space.
    command.env("TAMIS_NUM_THREADS", "2").output().expect("the command starts")
}

/// Requires an exit status and a text in what is printed.
fn check(folder: &PathBuf, args: &[&str], status: i32, expected: &str) {
    let output = limited(folder, args);
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {text}");
    assert!(text.contains(expected), "{args:?}: {text}");
}

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tamis-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

const OUTER: &str = "C(i,j) = x(i) * y(j)";

/// Three copies of the result would be more than there is.
#[test]
fn a_summary_takes_no_memory() {
    let folder = scratch("summary");
    let vectors = ["-g", "x=7000:dense", "-g", "y=7000:dense"];
    check(&folder, &[&["run", OUTER][..], &vectors].concat(), 0, "  .. 48999992 more\n  sum ");
    let copied = ["run", "C(i,j) = 2 * A(i,j)", "-g", "A=5000x5000:dense"];
    check(&folder, &copied, 0, "24999992 more");
    let _ = std::fs::remove_dir_all(folder);
}

/// Lists of the entries would take three times the array.
#[test]
fn generated_arrays_take_no_lists() {
    let folder = scratch("generated");
    let cases = [["dd:1,0", "dense"], ["dd", "0.9"], ["dense", "0.05"], ["dd:1,0{f32}", "0.95:3"]];
    for [format, density] in cases {
        let (format, generator) = (format!("A={format}"), format!("A=8000x8000:{density}"));
        let operands = ["-f", &format, "-g", &generator];
        check(&folder, &[&["run", "s = A(i,j)"][..], &operands].concat(), 0, "s: a scalar");
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn oversized_requests_end_in_a_diagnostic() {
    let folder = scratch("oversized");
    let header = "%%MatrixMarket matrix coordinate real general\n";
    let hyper = format!("{header}1099511627776 1099511627776 2\n1 1 1\n549755813888 4 2\n");
    std::fs::write(folder.join("hyper.mtx"), hyper).expect("written");
    std::fs::write(folder.join("long.tns"), "1 2 3\n".repeat(2_000_000)).expect("written");
    let told = "error[out-of-memory]";
    let large = ["-g", "x=20000:dense", "-g", "y=20000:dense"];
    for more in [&["--quiet"][..], &["-o", "C=c.tns"], &["--threads", "1"], &["--dtype", "c128"]] {
        check(&folder, &[&["run", OUTER][..], &large, more].concat(), 1, told);
    }
    for format in ["csr", "bitmap"] {
        let format = format!("C={format}");
        check(&folder, &[&["run", OUTER][..], &large, &["-f", &format]].concat(), 1, told);
    }
    // The result fits, and its list of entries does not.
    let once = ["-g", "x=7000:dense", "-g", "y=7000:dense", "-o", "C=c.tns"];
    check(&folder, &[&["run", OUTER][..], &once].concat(), 1, told);
    check(&folder, &["run", "y(i) = A(i,j)", "-g", "A=20000x20000:0.5"], 1, told);
    check(&folder, &["run", "y(i) = A(i,j)", "-g", "A=20000x20000:dense"], 1, told);
    // No entries are generated.
    let dense = ["run", "y(i) = A(i,j)", "-g", "A=1000000x1000000:0.00002", "-f", "A=dense"];
    check(&folder, &dense, 1, "A does not fit in memory: 8.000 TB more were needed");
    check(&folder, &["run", "B(i,j) = A(i,j)", "-i", "A=hyper.mtx", "-f", "A=csr"], 1, told);
    check(&folder, &["convert", "hyper.mtx", "out.mtx", "--to", "csr"], 1, told);
    let bitmap = ["convert", "hyper.mtx", "out.mtx", "--to", "bitmap"];
    check(&folder, &bitmap, 2, "error[dimension-too-large]");
    let near = ["-g", "x=13000:dense", "-g", "y=13000:dense"];
    check(&folder, &[&["run", OUTER][..], &near].concat(), 1, "1.352 GB more were needed, ");
    check(&folder, &[&["run", OUTER][..], &near].concat(), 1, " are free\n");
    let limit = ["--memory-limit", "20M"];
    let long = format!("{header}9 9 2000000\n{}", "1 2 3\n".repeat(2_000_000));
    std::fs::write(folder.join("long.mtx"), long).expect("written");
    let told = "a list of 2000000 entries does not fit in memory: 48.000 MB more were needed";
    check(&folder, &["info", "long.mtx", "--memory-limit", "20M"], 1, told);
    let read = ["run", "B(i,j) = A(i,j)", "-i", "A=long.tns"];
    check(&folder, &[&read[..], &limit].concat(), 1, "error[file-too-large]: long.tns: ");
    let converted = ["convert", "long.tns", "out.mtx"];
    check(&folder, &[&converted[..], &limit].concat(), 1, "error[file-too-large]: long.tns: ");
    check(&folder, &converted, 0, "2000000 entries written");
    let _ = std::fs::remove_dir_all(folder);
}

/// Matrices with by far more rows than entries are stored by the rows that have any.
#[test]
fn hypersparse_files_are_read_back() {
    let folder = scratch("hyper");
    let file = "# dims: 1099511627776 1099511627776\n1 1 1\n549755813888 4 2\n";
    std::fs::write(folder.join("h.tns"), file).expect("written");
    check(&folder, &["convert", "h.tns", "h.mtx"], 0, "2 entries");
    let run = ["run", "B(i,j) = 2 * A(i,j)", "-i", "A=h.mtx"];
    check(&folder, &run, 0, "2 stored, dcsr{pos: i64, crd: i64}\n  (0,0) 2.0\n");
    std::fs::write(folder.join("v.tns"), "# dims: 1099511627776\n7 1\n").expect("written");
    check(&folder, &["run", "a = v(i)", "-i", "v=v.tns"], 0, "  1.0\n");
    let _ = std::fs::remove_dir_all(folder);
}

/// Dimensions of tensors and of index variables hold for files that have none.
#[test]
fn dimensions_of_files_are_given() {
    let folder = scratch("given");
    std::fs::write(folder.join("A.tns"), "1 1 2\n2 3 -1\n").expect("written");
    std::fs::write(folder.join("E.tns"), "").expect("written");
    let run = |file: &str, dims: &[&str], status: i32, expected: &str| {
        let input = format!("A={file}");
        let args = [&["run", "B(i,j) = A(i,j)", "-i", &input][..], dims].concat();
        check(&folder, &args, status, expected);
    };
    run("A.tns", &[], 0, "B: 2 x 3, 2 stored");
    run("A.tns", &["-d", "A=3x4"], 0, "B: 3 x 4, 2 stored");
    run("A.tns", &["-d", "i=5"], 0, "B: 5 x 3, 2 stored");
    run("A.tns", &["-d", "i=1"], 1, "A.tns:2:1: coordinate 2 of mode 1 is beyond the dimension 1");
    run("E.tns", &["-d", "A=3x4"], 0, "B: 3 x 4, 0 stored");
    run("E.tns", &["-d", "i=3", "-d", "j=4"], 0, "B: 3 x 4, 0 stored");
    run("E.tns", &["-d", "i=3"], 1, "neither entries nor dimensions");
    let _ = std::fs::remove_dir_all(folder);
}
