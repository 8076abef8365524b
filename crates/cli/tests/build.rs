//! `tamis build` as a user meets it.

use std::path::{Path, PathBuf};
use std::process::Command;
use tamis::temporary::Temporary;

const SPMV: &str = "y(i) = A(i,j) * x(j)";

/// Requires an exit status and a text in what is printed.
fn check(folder: &Path, args: &[&str], status: i32, expected: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    let output = command.arg("build").args(args).current_dir(folder).output();
    let output = output.expect("the command starts");
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {text}");
    assert!(text.contains(expected), "{args:?}: {text}");
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(path).expect("the file is there")
}

#[test]
fn libraries_are_written() {
    let folder = Temporary::folder(&std::env::temp_dir()).expect("there is room for a folder");
    let folder = folder.path();
    check(folder, &[SPMV, "-f", "A=csr", "-o", "spmv"], 0, "written to spmv.c");
    let call = "int spmv(const spmv_A *A, const spmv_x *x, spmv_y *y);";
    assert!(read(folder.join("spmv.h")).contains(call));
    check(folder, &[SPMV, "-f", "A=csr", "--emit", "rust"], 0, "written to compute_y.rs");
    assert!(read(folder.join("compute_y.rs")).contains("pub fn compute_y("));
    std::fs::create_dir(folder.join("src")).expect("there is room for a folder");
    for output in ["src", "src/"] {
        check(folder, &[SPMV, "-o", output], 0, "written to src/compute_y.c");
    }
    check(folder, &["a = x(i)", "-o", "total"], 0, "total.h");
    assert!(read(folder.join("total.h")).contains("int64_t dims[1]; /* unused: a number has no"));
    let threads = "parallelize(i, cpu_thread, no_races)";
    check(folder, &[SPMV, "-f", "A=csr", "-s", threads, "-o", "on_threads"], 0, "on_threads.c");
    assert!(read(folder.join("on_threads.c")).contains("#pragma omp parallel for"));
    assert!(read(folder.join("on_threads.h")).contains("-fopenmp"));
    check(folder, &["A(i,j) = 1", "-d", "j=4", "-o", "ones"], 0, "ones.h");
    assert!(read(folder.join("ones.h")).contains("int ones(int64_t i_size, ones_A *A);"));
}

#[test]
fn what_cannot_be_a_library_is_refused() {
    let folder = Temporary::folder(&std::env::temp_dir()).expect("there is room for a folder");
    std::fs::write(folder.path().join("own.c"), "int mine;\n").expect("a file");
    check(folder.path(), &[SPMV, "-o", "own"], 2, "own.c is there, and is no library of Tamis");
    assert!(!folder.path().join("own.h").exists());
    check(folder.path(), &[SPMV, "-o", "again"], 0, "again.c");
    check(folder.path(), &[SPMV, "-o", "again"], 0, "again.c");
    let check = |args: &[&str], status, expected| check(folder.path(), args, status, expected);
    check(&[SPMV, "--emit", "java"], 2, "use one of c-library, rust");
    check(&[SPMV, "-o", "src/spmv.c"], 2, "-o src/spmv.c: the endings of the files are added");
    check(&[SPMV, "-o", "src/spmv.c"], 2, "help: write -o src/spmv\n");
    check(&[SPMV, "-o", "1st"], 2, "`1st` is no name for a library");
    check(&[SPMV, "-o", "no/such/folder/spmv"], 1, "error[file-not-writable]");
    check(&["R(i[0:4]) = x(i)"], 2, "give its dimensions: -d R=SIZE");
    let scattered = "C=(i, j) -> (i: hashed, j: compressed)";
    check(&["C(i,j) = A(i,j)", "-f", scattered], 2, "packed in two steps");
    check(&["C(i,j) = C(i,j) + A(i,j)", "-f", scattered], 2, "packed in two steps");
    let told = "` is a word of C or Rust, or a name that libraries use inside\n  \
                = help: choose another name: spmv\n";
    for name in ["match", "k", "ssize_t"] {
        check(&[SPMV, "-o", name], 2, told);
    }
}
