//! `tamis run` on several ranks prints and writes what one process does.

mod support;

use std::fs;
use support::{check, scratch, tamis};

const MATRIX: &str = "A=data/bar.mtx.gz";

/// The lines of a summary, but for the last, which tells times.
fn summary(args: &[&str]) -> String {
    let output = tamis(args);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().collect();
    lines[..lines.len() - 1].join("\n")
}

#[test]
fn threads_as_ranks_compute_what_one_process_does() {
    let programs: &[&[&str]] = &[
        &["y(i) = A(i,j) * x(j)", "-i", MATRIX, "-g", "x=dense"],
        &["y(j) = A(i,j) * x(i); s = y(j) * y(j)", "-i", MATRIX, "-g", "x=dense"],
        &["C(i,j) = A(i,k) * A(k,j)", "-i", MATRIX],
        &["C(i,j) = A(i,j) + A(j,i)", "-i", MATRIX, "-f", "C=csc"],
        &["C(i,j) = A(i,j) * x(j)", "-g", "A=300x200:5/row:7", "-g", "x=dense"],
        &["s = A(i,j,k)", "-g", "A=30x20x4:70/row"],
        &["t = 2 * 3"],
    ];
    for program in programs {
        let one = summary(&[&["run"], *program].concat());
        for ranks in ["1", "2", "5"] {
            let several = summary(&[&["run"], *program, &["--ranks", ranks]].concat());
            assert_eq!(several, one, "{program:?} on {ranks} ranks");
        }
    }
}

#[test]
fn the_first_rank_writes() {
    let file = scratch("y.tns");
    let output = format!("y={}", file.display());
    let run = ["run", "y(i) = A(i,j) * x(j)", "-i", MATRIX, "-g", "x=dense", "-o", &output];
    summary(&run);
    let one = fs::read(&file).unwrap();
    summary(&[&run[..], &["--ranks", "3"]].concat());
    assert_eq!(fs::read(&file).unwrap(), one);
}

#[test]
fn each_rank_writes_its_part_of_a_folder() {
    let program = "y(i) = A(i,j) * x(j); C(i,j) = A(i,k) * A(k,j); s = y(i) * y(i)";
    let run = ["run", program, "-g", "A=90x90:5/row:7", "-g", "x=dense", "-f", "C=csc"];
    let to = |name: &str, file: &str| format!("{name}={}", scratch(file).display());
    for extension in ["tns", "mtx.gz", "npz"] {
        let (y, c, s) = (format!("y.{extension}/"), format!("C.{extension}/"), "s.tns/");
        let outputs = ["-o", &to("y", &y), "-o", &to("C", &c), "-o", &to("s", s), "--ranks", "3"];
        let told = summary(&[&run[..], &outputs].concat());
        assert!(told.contains("y: 90, 90 stored, dense\n  written to"), "{told}");
        let parts = fs::read_dir(scratch(&c)).unwrap().count();
        assert_eq!(parts, 4, "a part of each of 3 ranks, and the manifest");
        // Read by one process, and by another number of ranks.
        let format = ["-f", "d=csr"];
        let read = ["run", "d(i,j) = C(i,j) * y(i)", "-i", &to("C", &c), "-i", &to("y", &y)];
        let read = [&read[..], &format].concat();
        let direct =
            ["run", "C(i,j) = A(i,k) * A(k,j); y(i) = A(i,j) * x(j); d(i,j) = C(i,j) * y(i)"];
        let of_d = |text: String| text[text.find("d: ").unwrap()..].to_owned();
        let direct = of_d(summary(&[&direct, &run[2..], &format].concat()));
        assert_eq!(of_d(summary(&read)), direct);
        assert_eq!(of_d(summary(&[&read[..], &["--ranks", "2"]].concat())), direct);
    }
    let nowhere = ["run", "y(i) = 2 * x(i)", "-g", "x=5:dense", "-o", "y=/nowhere/y.tns/"];
    check(&[&nowhere[..], &["--ranks", "3"]].concat(), 1, "create the folder first");
    let manifest = scratch("y.tns/manifest.json");
    fs::write(&manifest, "[]").unwrap();
    let read = ["run", "z(i) = 2 * y(i)", "-i", &to("y", "y.tns")];
    check(&[&read[..], &["--ranks", "3"]].concat(), 1, "manifest.json: a manifest of version 1");
}

#[test]
fn what_cannot_be_is_refused_once() {
    let run = ["run", "y(i) = 2 * x(i)", "-g", "x=5:dense"];
    check(&[&run[..], &["--ranks", "0"]].concat(), 2, "--ranks 0: there is nothing to run on");
    check(&[&run[..], &["--ranks", "2", "--mpi"]].concat(), 2, "MPI says how many ranks there are");
    check(&[&run[..], &["--ranks", "10000000000"]].concat(), 2, "more than 256 threads as ranks");
    let overflow =
        ["run", "y(i) = x(i) * x(i)", "-g", "x=5:dense", "-f", "x=dense{i8}", "-f", "y=dense{i8}"];
    let failed = tamis(&[&overflow[..], &["--ranks", "3"]].concat());
    let alone = tamis(&overflow);
    assert_eq!(failed.status.code(), alone.status.code());
    assert_eq!(failed.stderr, alone.stderr);
}

#[test]
fn what_ranks_need_is_printed() {
    let explain = ["explain", "y(i) = A(i,j) * x(j)", "-f", "A=csr", "--emit", "comm"];
    check(&explain, 0, "x(j)  mode 1: what A(i,j) stores in mode 2");
    let sum = ["explain", "y(j) = A(i,j) * x(i)", "-f", "A=csr", "--emit", "comm"];
    check(&sum, 0, "y: parts of i on each rank, combined by sum in order");
}

/// A matrix with an entry in about every other column of each row, and its file.
fn written(name: &str, text: &str) -> String {
    let file = scratch(name);
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn matrix(kind: &str, n: usize) -> String {
    let mut lines: Vec<String> = vec![];
    for i in 1..=n {
        for j in (1..=i).filter(|j| (i * 7 + j * j) % 3 == 0) {
            lines.push(format!("{i} {j} {}", (i * 31 + j * 17) % 101));
        }
    }
    let count = lines.len();
    format!("%%MatrixMarket matrix coordinate {kind}\n% c\n{n} {n} {count}\n{}", lines.join("\n"))
}

#[test]
fn text_is_read_in_parts() {
    let files = [
        ("general.mtx", matrix("real general", 40)),
        ("symmetric.mtx", matrix("real symmetric", 40)),
        ("integers.mtx", matrix("integer general", 40)),
        ("array.mtx", {
            let values: Vec<String> = (0..40 * 40).map(|n| format!("{}.5", n % 13)).collect();
            format!("%%MatrixMarket matrix array real general\n40 40\n{}\n", values.join("\n"))
        }),
        ("both.mtx", {
            let head = "%%MatrixMarket matrix coordinate real symmetric\n40 40 3\n";
            format!("{head}2 1 5\n1 2 5\n40 40 1\n")
        }),
        ("plain.tns", "1 1 0.5\n40 2 9007199254740993\n3 40 2\n3 40 0.25\n".to_owned()),
    ];
    for (name, text) in files {
        let input = format!("A={}", written(name, &text));
        let formats: &[&[&str]] = &[&[], &["-f", "A=csc"], &["-f", "A=coo"], &["-f", "A=dcsr"]];
        for format in formats {
            let run = ["run", "C(i,j) = A(i,k) * A(k,j); y(i) = A(i,j)", "-i", &input];
            let run = [&run[..], format].concat();
            let one = summary(&run);
            for ranks in ["2", "3", "16"] {
                let several = summary(&[&run[..], &["--ranks", ranks]].concat());
                assert_eq!(several, one, "{name} {format:?} on {ranks} ranks");
            }
        }
    }
}

#[test]
fn a_bad_line_is_told_once_with_its_place() {
    let good = matrix("real general", 30);
    let last = good.lines().count();
    for (at, bad) in [(9, "1 1"), (last / 2, "31 1 5"), (last, "x")] {
        let lines: Vec<&str> = good.lines().collect();
        let text = [&lines[..at - 1], &[bad], &lines[at..]].concat().join("\n");
        let input = format!("A={}", written("bad.mtx", &text));
        let run = ["run", "s = A(i,j)", "-i", &input];
        let alone = tamis(&run);
        let told = String::from_utf8_lossy(&alone.stderr);
        assert!(told.contains(&format!("bad.mtx:{at}:")), "{told}");
        for ranks in ["2", "5"] {
            let several = tamis(&[&run[..], &["--ranks", ranks]].concat());
            assert_eq!(several.status.code(), alone.status.code());
            assert_eq!(several.stderr, alone.stderr, "line {at} on {ranks} ranks");
        }
    }
}

#[test]
fn what_ranks_would_send_is_foretold() {
    let explain = ["explain", "y(i) = A(i,j) * x(j)", "-i", MATRIX, "-g", "x=dense"];
    let with = |more: &[&str]| [&explain[..], &["--emit", "comm"], more].concat().join("\u{1}");
    let check = |more: &[&str], code, text| {
        check(&with(more).split('\u{1}').collect::<Vec<_>>(), code, text);
    };
    check(&["--ranks", "4"], 0, "x: elements");
    check(&["--ranks", "4096", "--network", "10G,2us"], 0, "a first run takes about");
    check(&["--ranks", "0"], 2, "--ranks 0: so many ranks are not foretold");
    check(&["--ranks", "4", "--network", "10G"], 2, "expected bandwidth and latency");
    check(&["--ranks", "4", "-s", "distribute(j, jo, ji, x)"], 2, "it is not the loop that is cut");
    let other = [&explain[..], &["--emit", "cin", "--ranks", "4"]].concat();
    support::check(&other, 2, "comm alone tells of ranks");
    check(&["--ranks", "4", "-s", "distribute(i, io, ii, x)"], 0, "A: elements");
    check(&["--ranks", "4", "-f", "A=csr @ rows(x)", "--grid", "x=4"], 0, "x: elements");
    let unknown = ["explain", "y(i) = 2 * x(i)", "--emit", "comm", "--ranks", "2"];
    support::check(&unknown, 2, "x");
}

#[test]
fn ranks_in_a_grid_have_blocks() {
    let program = ["run", "C(i,k) = A(i,j) * B(j,k)", "-i", MATRIX, "-g", "B=dense", "-d", "k=7"];
    let one = summary(&program);
    let both = "distribute(i, io, ii, x); distribute(k, ko, ki, y)";
    let more: &[&[&str]] = &[
        &["-s", both, "--grid", "x=3,y=2", "-f", "A=csr @ rows(x)", "-f", "B=dense @ blocks(k: y)"],
        &["-s", both, "--grid", "y=3,x=2", "-f", "A=csr @ blocks(j: x, i: y)"],
        &["--grid", "x=3,y=2", "-f", "A=csr @ blocks(i: x, j: y)", "-f", "B=dense @ rows(y)"],
        &["-s", "distribute(k, ko, ki, y)", "-f", "C=dense @ rows(y)"],
        &["-f", "A=csr @ nz(i, j)"],
    ];
    for more in more {
        assert_eq!(summary(&[&program[..], &["--ranks", "6"], more].concat()), one, "{more:?}");
    }
    // One process has all, also of several axes.
    assert_eq!(summary(&[&program[..], &["-s", both]].concat()), one);
    let refused = |more: &[&str], text: &str| {
        check(&[&program[..], &["--ranks", "6"], more].concat(), 2, text);
    };
    refused(&["-s", both], "x and y name axes of a grid of ranks");
    refused(&["-s", "distribute(i, io, ii, x)", "--grid", "x=3,y=2"], "shares no loop along y");
    refused(&["-s", "distribute(j, jo, ji, x)"], "its result does not tell it");
    refused(&["--grid", "x=3,y=2", "-f", "A=csr @ nz(i, j)"], "nz without an axis");
    let foretold = ["explain", program[1], "-i", MATRIX, "-g", "B=dense", "-d", "k=7", "-s", both];
    let foretold =
        [&foretold[..], &["--emit", "comm", "--ranks", "6", "--grid", "x=3,y=2"]].concat();
    check(&foretold, 2, "is not foretold");
    let twice = ["run", "C(i,j) = A(i,k) * A(k,j)", "-i", MATRIX, "--ranks", "4"];
    let twice = [&twice[..], &["-s", "distribute(j, jo, ji, x)"]].concat();
    check(&twice, 2, "A has it in several modes");
}

#[test]
fn operands_lie_as_formats_say() {
    let program = ["run", "y(i) = A(i,j) * x(j)", "-i", MATRIX, "-g", "x=dense"];
    let one = summary(&program);
    let more: &[&[&str]] = &[
        &["-f", "A=csr @ rows(x)", "-s", "distribute(i, io, ii, x)", "--grid", "x=3"],
        &["-f", "A=csr @ nz(x)", "-f", "x=dense @ replicated", "--grid", "x=3"],
        &["-f", "A=csr @ replicated"],
    ];
    for more in more {
        let several = summary(&[&program[..], &["--ranks", "3"], more].concat());
        assert_eq!(several, one, "{more:?}");
    }
    // One process has all, wherever it lies.
    assert_eq!(summary(&[&program[..], &["-f", "A=csr @ rows(x)"]].concat()), one);
    let on_three = |more: &[&str], text: &str| {
        check(&[&program[..], &["--ranks", "3"], more].concat(), 2, text);
    };
    on_three(&["--grid", "x=4"], "grid x=4: the grid has 4 ranks, and there are 3");
    on_three(&["--grid", "x=2,y=2"], "grid x=2,y=2: the grid has 4 ranks, and there are 3");
    on_three(&["--grid", "x=1,x=3"], "x is named twice");
    for grid in ["=3", "5 5=3", "x=", "x=three", "x=2=3", "x", "x=0", "x=3,"] {
        on_three(&["--grid", grid], "expected a name and a number of ranks");
    }
    on_three(&["--grid", "x=3", "-f", "A=csr @ nz(y)"], "names an axis y");
    on_three(
        &["-f", "A=csr @ nz(y)", "-s", "distribute(i, io, ii, x)"],
        "x and y name axes of a grid of ranks",
    );
    on_three(&["-f", "A=csr @ blocks(k: x)"], "k is not the index of one mode of the tensor");
    on_three(&["-f", "A=csr @ cols(x)"], "cols(x) is no distribution");
    check(&[&program[..], &["--grid", "x=4"]].concat(), 2, "the grid has 4 ranks, and there is 1");
    on_three(&["-f", "A=dok @ rows(x)"], "A: tensors stored as");
    let number =
        ["run", "y(i) = a * x(i)", "-f", "a=dense @ rows(x)", "-i", "a=2", "-g", "x=5:dense"];
    check(&[&number[..], &["--ranks", "2"]].concat(), 0, "y: 5, 5 stored");
    let build = ["build", program[1], "-f", "A=csr @ rows(x)"];
    check(&build, 2, "libraries run in one process");
}
