//! `tamis run --memory-limit` on files that are larger than memory writes what a run in memory does.

mod support;

use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::thread;
use support::{check, scratch, tamis};

/// A matrix by columns, as Matrix Market files mostly are, of so many rows with about as many entries as columns in each
/// hundred.
fn matrix(kind: &str, n: u64, every: u64) -> String {
    let first = |j: u64| if kind.ends_with("symmetric") { j } else { 1 };
    let entries =
        |j: u64| (first(j)..=n).filter(move |i| (i * 131 + j * j * 7).is_multiple_of(every));
    let count: usize = (1..=n).map(|j| entries(j).count()).sum();
    let mut text = format!("%%MatrixMarket matrix coordinate {kind}\n{n} {n} {count}\n");
    for j in 1..=n {
        for i in entries(j) {
            let _ = writeln!(text, "{i} {j} {}.{}", i % 19, j % 7);
        }
    }
    text
}

fn tensor(n: u64, count: u64) -> String {
    let line = |e: u64| (e * 7919 % n + 1, e * 104_729 % n + 1, e * e / 3 % n + 1, e % 23);
    // The file does not say its dimensions.
    let mut text = format!("{n} {n} {n} 1\n");
    for (i, j, k, value) in (0..count).map(line) {
        let _ = writeln!(text, "{i} {j} {k} {value}.25");
    }
    text
}

fn input(name: &str, text: &str) -> String {
    let file = scratch(name);
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// The same is written under a limit that is smaller than the operands, in parts.
fn same(program: &str, operands: &[&str], result: &str, limit: &str) {
    for file in [format!("{result}.tns"), format!("{result}.mtx"), format!("{result}.tns.gz")] {
        let (whole, parts) = (scratch(&format!("whole-{file}")), scratch(&format!("parts-{file}")));
        let is_tensor = program.starts_with(&format!("{result}(i,j,k)"));
        if is_tensor && file.ends_with("mtx") {
            continue;
        }
        let [to_whole, to_parts] =
            [&whole, &parts].map(|file| format!("{result}={}", file.display()));
        let run = [&["run", program][..], operands].concat();
        check(&[&run[..], &["-o", &to_whole]].concat(), 0, "written to");
        let limited = ["-o", &to_parts, "--memory-limit", limit];
        check(&[&run[..], &limited].concat(), 0, "ran part by part");
        // Compressed bytes depend on where the text is cut.
        let [entries, expected] = [&parts, &whole].map(|file| tamis_io::read(file).unwrap());
        assert_eq!(entries, expected, "{program} {operands:?}");
        if !file.ends_with("gz") {
            assert!(fs::read(&parts).unwrap() == fs::read(&whole).unwrap(), "{program}");
        }
    }
    let [whole, parts] = [&[][..], &["--memory-limit", limit]].map(|limit| {
        let output = tamis(&[&["run", program][..], operands, limit].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(parts[..parts.len() - 1], whole[..whole.len() - 1], "{program} {operands:?}");
}

#[test]
fn products_of_large_matrices_are_the_same() {
    let a = format!("A={}", input("a.mtx", &matrix("real general", 3000, 97)));
    let b = format!("B={}", input("b.mtx", &matrix("real general", 3000, 1511)));
    let s = format!("A={}", input("s.mtx", &matrix("real symmetric", 3000, 197)));
    let spmv = "y(i) = A(i,j) * x(j)";
    same(spmv, &["-i", &a, "-g", "x=dense"], "y", "1500K");
    same(spmv, &["-i", &a, "-g", "x=dense", "-f", "A=dcsr"], "y", "1500K");
    same("C(i,j) = A(i,k) * B(k,j)", &["-i", &a, "-i", &b], "C", "1500K");
    same("Y(i,j) = A(i,k) * X(k,j)", &["-i", &a, "-g", "X=3000x3:dense"], "Y", "1500K");
    let factors = ["-i", &a, "-g", "X=3000x4:dense", "-g", "Y=3000x4:dense:1"];
    same("D(i,j) = A(i,j) * X(i,k) * Y(j,k)", &factors, "D", "1500K");
    same(spmv, &["-i", &s, "-g", "x=dense"], "y", "1500K");
}

#[test]
fn products_of_large_tensors_are_the_same() {
    let b = format!("B={}", input("b.tns", &tensor(500, 120_000)));
    let factors = ["-i", &b, "-g", "C=500x4:dense", "-g", "D=500x4:dense:1"];
    same("A(i,r) = B(i,j,k) * C(j,r) * D(k,r)", &factors, "A", "2M");
    same("T(i,j,k) = 2 * B(i,j,k)", &["-i", &b], "T", "2M");
}

#[test]
fn the_json_of_parts_has_all_keys() {
    let a = format!("A={}", input("j.mtx", &matrix("real general", 2000, 31)));
    let run = ["run", "y(i) = A(i,j) * x(j)", "-i", &a, "-g", "x=2000:dense", "--json"];
    let keys = |output: std::process::Output| {
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let keys: Vec<String> = object.as_object().unwrap().keys().cloned().collect();
        (keys, object["parts"].as_u64(), object["results"][0]["nnz"].as_u64())
    };
    let (whole, none, stored) = keys(tamis(&run));
    let (parts, count, same) = keys(tamis(&[&run[..], &["--memory-limit", "2M"]].concat()));
    assert_eq!((parts, same, none), (whole, stored, None));
    assert!(count.is_some_and(|count| count > 1));
}

#[test]
fn what_is_not_run_in_parts_says_why() {
    let a = format!("A={}", input("c.mtx", &matrix("real general", 2000, 31)));
    let limited = |program: &str, more: &[&str], expected: &str| {
        let run = ["run", program, "-i", &a, "--memory-limit", "2M"];
        check(&[&run[..], more].concat(), 1, expected);
    };
    let sum = "what parts of its outermost loop add up would have to be combined";
    limited("y(j) = A(i,j) * x(i)", &["-g", "x=2000:dense"], sum);
    limited("C(i,j) = A(i,k) * A(k,j)", &[], "give it a second name where it is read as a whole");
    limited("B(i,j) = A(i,j) * 2; y(i) = B(i,j)", &[], "the program has 2 kernels");
    let npz = format!("y={}", scratch("y.npz").display());
    let spmv = "y(i) = A(i,j) * x(j)";
    limited(spmv, &["-g", "x=2000:dense", "-o", &npz], "y.npz is written as a whole");
    assert!(!scratch("y.npz").exists());
    let timed = ["-g", "x=2000:dense", "--time", "3"];
    limited(spmv, &timed, "each of 3 runs would read the files again");
}

#[test]
fn dry_runs_tell_whether_there_will_be_parts() {
    let a = format!("A={}", input("d.mtx", &matrix("real general", 2000, 31)));
    let dry = |program: &str, more: &[&str], status: i32, expected: &str| {
        let run = ["run", program, "-i", &a, "--dry-run", "--quiet"];
        check(&[&run[..], more].concat(), status, expected);
    };
    let (spmv, x) = ("y(i) = A(i,j) * x(j)", ["-g", "x=2000:dense"]);
    let limited = |more: &[&'static str]| [&x[..], &["--memory-limit", "2M"], more].concat();
    dry(spmv, &limited(&[]), 0, "do not fit in 2.0 MB: it runs part by part, cut at i\n");
    dry(spmv, &limited(&["--json"]), 0, "\"cut_variable\":\"i\"");
    dry(spmv, &limited(&["--json"]), 0, "\"part_by_part\":true");
    let sum = "is not run part by part: what parts of its outermost loop add up";
    dry("y(j) = A(i,j) * x(i)", &limited(&[]), 1, sum);
    let keys = |limit: &str| {
        let run = ["run", spmv, "-i", &a, "--dry-run", "--json", "--memory-limit", limit];
        let output = tamis(&[&run[..], &x].concat()).stdout;
        let object: serde_json::Value = serde_json::from_slice(&output).unwrap();
        object.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys("2M"), keys("1G"));
    dry(spmv, &limited(&["--time", "3"]), 1, "each of 3 runs would read the files again");
    // The operand fits, and the result does not.
    let more = "note: that is more memory than it may take";
    let dense = |more: &[&'static str]| [&["-f", "B=dense"], more].concat();
    let told = format!("{more}: it runs part by part, cut at i\n");
    dry("B(i,j) = A(i,j) + 1", &dense(&["--memory-limit", "20M"]), 0, &told);
    let json = dense(&["--memory-limit", "20M", "--json"]);
    dry("B(i,j) = A(i,j) + 1", &json, 0, "\"not_in_parts\":null");
    dry("B(i,j) = A(i,j) + 1", &dense(&["--json"]), 0, "\"part_by_part\":false");
    let outer = ["run", "C(i,j) = x(i) * y(j)", "-g", "x=2000:dense", "-g", "y=2000:dense"];
    let told = format!("{more}, and the program is not run part by part: no operand is a plain");
    check(&[&outer[..], &["--dry-run", "--memory-limit", "20M"]].concat(), 0, &told);
}

#[test]
fn flaws_of_large_files_are_told_as_ever() {
    let good = matrix("real general", 2000, 31);
    let lines: Vec<&str> = good.lines().collect();
    for (at, bad) in [(lines.len() / 2, "1 2001 5"), (lines.len() - 1, "1 x 5"), (lines.len(), "")]
    {
        let text = [&lines[..at - 1], &[bad], &lines[at..]].concat().join("\n");
        let a = format!("A={}", input("bad.mtx", &text));
        let y = scratch("kept.tns");
        fs::write(&y, "# dims: 1\n").unwrap();
        let to = format!("y={}", y.display());
        let run = ["run", "y(i) = A(i,j) * x(j)", "-i", &a, "-g", "x=2000:dense", "-o", &to];
        let whole = tamis(&run);
        let parts = tamis(&[&run[..], &["--memory-limit", "2M"]].concat());
        assert_eq!(whole.status.code(), Some(1));
        assert_eq!(String::from_utf8(parts.stderr), String::from_utf8(whole.stderr));
        assert_eq!(fs::read(&y).unwrap(), b"# dims: 1\n", "what was there stays");
    }
}

#[test]
fn pipes_are_read_once() {
    let a = format!("A={}", input("p.mtx", &matrix("real general", 2000, 31)));
    let vector: String = (1..=2000).map(|i| format!("{i} 1 {}\n", i % 5)).collect();
    let text = format!("%%MatrixMarket matrix coordinate real general\n2000 1 2000\n{vector}");
    let pipe = scratch("pipe.mtx");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let x = format!("x={}", pipe.display());
    let run = ["run", "y(i) = A(i,j) * x(j)", "-i", &a, "-i", &x];
    for (more, expected) in [
        (["--memory-limit", "2M"], "ran part by part"),
        (["--memory-limit", "1G"], "ran in"),
        (["--ranks", "2"], "2 ranks"),
    ] {
        thread::scope(|scope| {
            scope.spawn(|| fs::write(&pipe, &text).unwrap());
            check(&[&run[..], &more].concat(), 0, expected);
        });
    }
}

#[test]
fn errors_of_programs_are_told_as_ever() {
    let a = format!("A={}", input("e.mtx", &matrix("real general", 2000, 31)));
    for program in ["y(i) = sqrt(A(i,j))", "y(i) = A(i,j,k)", "y = A(i)"] {
        let run = ["run", program, "-i", &a];
        let whole = tamis(&run);
        let parts = tamis(&[&run[..], &["--memory-limit", "2M"]].concat());
        assert_eq!(whole.status.code(), Some(2), "{program}");
        assert_eq!(parts.status.code(), Some(2), "{program}");
        assert_eq!(String::from_utf8(parts.stderr), String::from_utf8(whole.stderr));
    }
}
