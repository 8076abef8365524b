//! The command as a user meets it: exit status, diagnostics, files.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use support::{check, scratch, tamis};
use tamis::processor::Level;

const SPMV: &str = "y(i) = A(i,j) * x(j)";
const MATRIX: &str = "A=data/bar.mtx.gz";

#[test]
fn a_product_runs_on_every_backend() {
    for backend in ["auto", "jit", "interp"] {
        check(
            &["run", SPMV, "-i", MATRIX, "-g", "x=dense", "--backend", backend],
            0,
            "y: 600, 600 stored",
        );
    }
}

#[test]
fn slices_fix_dimensions() {
    let part = "y(i) = A(i[100:500:2],j[:200]) * x(j)";
    check(&["run", part, "-i", MATRIX, "-g", "x=dense"], 0, "y: 200, 200 stored");
    let whole = "A(i[0:300],j) = B(j,i)";
    let old: [&str; 4] = ["-i", MATRIX, "-g", "B=600x300:0.01"];
    check(&[&["run", whole][..], &old].concat(), 0, "A: 600 x 600");
    let sized = ["-d", "A=600x50", "-g", "B=0.1"];
    check(&[&["run", whole][..], &sized].concat(), 0, "A: 600 x 50");
    check(&["run", whole, "-g", "B=50x300:0.1"], 2, "error[dimension-unknown]");
    check(&["run", whole, "-g", "B=50x300:0.1", "-d", "A=600"], 2, "error[order-mismatch]");
}

/// Whatever the storage, what is printed is what a file would hold.
#[test]
fn summaries_pair_places_with_their_values() {
    let path = scratch("four.tns");
    std::fs::write(&path, "# dims: 4 4\n1 2 1\n3 4 2\n").expect("written");
    let input = format!("A={}", path.display());
    for format in ["csr", "dok", "bcsr(2,2)", "dia", "ell", "bitmap"] {
        let format = format!("C={format}");
        let args = ["run", "C(i,j) = 2 * A(i,j)", "-i", &input, "-f", &format];
        for entry in ["(0,1) 2.0\n", "(2,3) 4.0\n"] {
            check(&args, 0, entry);
        }
    }
    let args = ["run", "y(i) = A(i,j)", "-i", &input, "-f", "y=hash"];
    check(&args, 0, "(2) 2.0\n");
}

#[test]
fn formats_tell_their_levels() {
    check(&["formats", "csr"], 0, "  (i, j) -> (i: dense, j: compressed)\n");
    check(&["formats", "bcsr(3,2)", "csf"], 0, "j%2: dense");
    check(&["formats", "csf", "dense"], 0, "  (i, j) -> (i: dense, j: dense)\n");
    check(&["formats", "dok"], 0, "      j: hashed                pos, crd ");
    check(&["formats", "ell{f32}"], 0, "no arrays");
    check(&["formats", "csr{f32}"], 0, "csr{f32}: compressed sparse rows");
    check(&["formats", "csr", "crs"], 2, "did you mean csr?");
    check(&["formats", "csr", "--json"], 0, "\"levels\":\"(i, j) -> (i: dense, j: compressed)\"");
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_full_is_told() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let run = ["run", "y(i) = x(i)", "-g", "x=5:dense"];
    let explain = ["explain", SPMV];
    for args in [&["formats"][..], &run, &explain, &["completions", "bash"], &["--help"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        let output = command.args(args).stdout(full()).output().expect("the command starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {text}");
        assert!(text.contains("error[file-not-writable]: standard output: "), "{text}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        let status = command.args(["run", "y = q +"]).stderr(full()).status();
        assert_eq!(status.expect("the command starts").code(), Some(2));
    }
}

#[test]
fn a_word_comes_before_it_is_slow() {
    let quotients = ["run", "y(i) = A(i,j) / d(j)", "-f", "A=csr", "-g", "A=5000x5000:0.000001"];
    let slow = [&quotients[..], &["-g", "d=dense", "--strict"]].concat();
    let printed = |more: &[&str]| {
        let output = tamis(&[&slow[..], more].concat());
        assert_eq!(output.status.code(), Some(0));
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr))
    };
    let (_, told) = printed(&["--time", "3"]);
    assert_eq!(told.matches("warning[many-steps]: ").count(), 1, "{told}");
    assert!(told.contains("  = help: "), "{told}");
    assert!(printed(&["--quiet"]).1.is_empty());
    assert!(!told.contains("strict=True"), "in words of the command: {told}");
    let lenient = tamis(&slow[..slow.len() - 1]);
    assert!(lenient.stderr.is_empty(), "{lenient:?}");
}

/// All schedules of a program that never ends would be run before.
#[test]
fn a_word_comes_before_schedules_are_tuned() {
    let sums = "a = sum(i, sum(j, sum(k, sqrt(x(i) + y(j) + z(k)))))";
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    command.args(["run", sums, "--tune", "-g", "x=20000:dense", "-g", "y=20000:dense"]);
    command.args(["-g", "z=20000:dense"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let stderr = child.stderr.take().expect("a pipe");
    let (said, says) = mpsc::channel();
    let reads = std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(stderr).read_line(&mut line);
        let _ = said.send(read.map(|_| line));
    });
    let told = says.recv_timeout(Duration::from_secs(30));
    child.kill().expect("it can be ended");
    child.wait().expect("it ends");
    reads.join().expect("the line was read");
    let told = told.expect("nothing is said before").expect("text");
    assert!(told.contains("warning[many-steps]"), "{told}");
}

#[test]
fn results_are_written_and_read_back() {
    let path = scratch("y.tns");
    let output = format!("y={}", path.display());
    check(&["run", SPMV, "-i", MATRIX, "-g", "x=dense", "-o", &output], 0, "written");
    let input = format!("y={}", path.display());
    check(&["run", "s = y(i)", "-i", &input], 0, "s: a scalar");
    let converted = scratch("y.mtx.gz");
    check(&["convert", &path.to_string_lossy(), &converted.to_string_lossy()], 0, "600 entries");
    check(&["info", &converted.to_string_lossy()], 0, "600 x 1");
}

#[test]
fn formats_are_recommended_by_their_bytes() {
    let path = scratch("tridiagonal.mtx");
    let mut text = "%%MatrixMarket matrix coordinate real general\n1000 1000 2998\n".to_owned();
    for i in 1..=1000i64 {
        for j in (i - 1).max(1)..=(i + 1).min(1000) {
            text.push_str(&format!("{i} {j} 1.5\n"));
        }
    }
    std::fs::write(&path, text).expect("written");
    let output = tamis(&["info", &path.to_string_lossy()]);
    let text = String::from_utf8_lossy(&output.stdout);
    let table: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("format")).collect();
    let row = |k: usize| table[k].split_whitespace().collect::<Vec<&str>>().join(" ");
    assert_eq!(row(0), "format bytes of csr why", "{text}");
    assert!(text.contains("\nordered by bytes times the cost of reading one: coo 1.1, "), "{text}");
    assert_eq!(row(1), "dia 24.0 kB 0.60 3 diagonals, 100 % full", "{text}");
    assert!(table.iter().any(|l| l.starts_with("csr") && l.contains("40.0 kB")), "{text}");
    assert!(table.last().is_some_and(|l| l.starts_with("bitmap")), "{text}");
}

#[test]
fn files_are_converted_through_any_format() {
    let formats = [
        ("csc", "1682"),
        ("coo(nonordered,nonunique)", "1682"),
        ("dok", "1682"),
        ("ell", "1682"),
        ("dia", "14008"),
        ("bcsr(2,3)", "5014"),
        ("csb(8,8)", "1682"),
        ("bitmap", "1682"),
        ("(i, j) -> (j: hashed, i: dense)", "67600"),
    ];
    let path = scratch("airfoil.mtx");
    for (format, entries) in formats {
        let args = ["convert", "data/airfoil.mtx.gz", &path.to_string_lossy(), "--to", format];
        check(&args, 0, &format!("{entries} entries written"));
    }
    let args = ["convert", "data/airfoil.mtx.gz", &path.to_string_lossy(), "--to", "hash"];
    check(&args, 2, "error[format-order]");
}

/// Along the other diagonal, every entry has a diagonal to itself.
#[test]
fn formats_that_would_waste_memory_are_refused() {
    let path = scratch("across.mtx");
    let n = 20_000;
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {n}\n");
    (1..=n).for_each(|i| text.push_str(&format!("{i} {} 1.5\n", n + 1 - i)));
    std::fs::write(&path, text).expect("written");
    let input = format!("A={}", path.display());
    let args = ["run", SPMV, "-i", &input, "-f", "A=dia", "-g", "x=dense"];
    check(&args, 1, "20000 entries take 3200.1 MB as dia, and 0.3 MB as csr");
    check(&args, 1, "help: store it as csr, which takes 0.3 MB: -f A=csr");
}

/// The list of entries counts too, and is refused before it is made.
#[test]
fn generators_keep_to_the_memory() {
    let tell = "error[out-of-memory]: x does not fit in memory: ";
    let run = |spec: &str, more: &[&str], expected: &str| {
        check(&[&["run", "y = x(i)", "-g", spec], more].concat(), 1, expected);
    };
    let limit = ["--memory-limit", "10M"];
    run("x=30000000:dense", &limit, &format!("{tell}240.000 MB more were needed"));
    run("x=3000000000:0.9", &limit, &format!("{tell}24.000 GB more were needed"));
    run("x=1000000000000:dense", &[], &format!("{tell}8.000 TB more were needed"));
    let wide = ["run", "y = x(i,j)", "-g", "x=9000000000x9000000000:0.0"];
    check(&wide, 2, "more than 2^64 elements to choose from");
    check(&["run", "y = x(i)", "-g", "x=3X3:0.1"], 2, "the dimensions must be whole numbers");
    check(&["run", "y = x(i)", "-g", "x=3.5x3:0.1"], 2, "the dimensions must be whole numbers");
    let args = ["run", "y = x(i)", "-g", "x=300000:dense", "--memory-limit", "10M"];
    check(&args, 0, "y: a scalar");
}

/// Rows that have no entry take a position each; the advice is a format where they do not.
#[test]
fn operands_that_are_too_large_are_told_how_to_be_stored() {
    let large = ["run", "y = A(i,j)", "-g", "A=100000000x3:0.00000001", "-f", "A=csr"];
    let args = [&large[..], &["--memory-limit", "10M"]].concat();
    check(&args, 1, "A: an array does not fit in memory");
    check(&args, 1, "help: store it as dcsr, which takes 0.0 MB: -f A=dcsr");
}

#[test]
fn results_have_files_of_their_own() {
    let run = ["run", "y(i) = x(i); z(i) = 2 * x(i)", "-g", "x=5:dense"];
    let files = ["-o", "y=s.tns", "-o", "z=./s.tns"];
    check(&[&run[..], &files].concat(), 2, "-o z=./s.tns: y goes to the same file");
}

#[test]
fn wrong_numbers_of_threads_are_told_with_the_variable() {
    let run = |text: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.env("TAMIS_NUM_THREADS", text).args(["run", "y(i) = x(i)", "-g", "x=5:dense"]);
        command.output().expect("the command starts")
    };
    // An empty variable is one that is not set.
    assert!(run("").status.success());
    for text in ["0", "x", "5000"] {
        let output = run(text);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        let expected = format!("TAMIS_NUM_THREADS={text} is not a number of threads");
        assert!(told.contains(&expected), "{told}");
    }
}

#[test]
fn processor_levels_are_those_of_the_machine() {
    let run = |level: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.env("TAMIS_CPU", level).args(["run", "y(i) = 2 * x(i)", "-g", "x=5:dense"]);
        command.output().expect("the command starts")
    };
    for level in Level::supported() {
        assert_eq!(run(level.name()).status.code(), Some(0), "{level:?}");
    }
    for text in ["avx2", "x86-64-v5"] {
        let output = run(text);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        let expected = format!("error[invalid-option]: TAMIS_CPU={text} is not a processor level");
        assert!(told.contains(&expected), "{told}");
    }
}

/// Entries of the same coordinate are one element; no dimensions are too large to be told.
#[test]
fn odd_tensors_are_described() {
    let info = |text: &str, expected: &str| {
        let path = scratch("odd.tns");
        std::fs::write(&path, text).expect("written");
        check(&["info", &path.to_string_lossy()], 0, expected);
    };
    let twice = "# dims: 1 1 2\n1 1 1 1\n1 1 1 2\n";
    info(twice, "density     5.000e-1\n");
    info(twice, "duplicates  1\n");
    let most = i64::MAX;
    info(&format!("# dims: {most} {most} {most}\n1 1 1 1\n"), "formats are not compared");
    info(&format!("# dims: {most} {most}\n{most} 1 1\n1 1 1\n"), "diagonals   2, 0 % full");
}

#[test]
fn fill_values_other_than_zero_are_told() {
    let path = scratch("c.tns");
    let output = format!("C={}", path.display());
    check(
        &["run", "C(i,j) = A(i,j) + 1", "-f", "C=csr", "-g", "A=4x5:0.2", "-o", &output],
        0,
        "written",
    );
    let text = std::fs::read_to_string(&path).expect("the file is there");
    assert!(text.contains("# tamis fill: 1.0\n"), "{text}");
    assert_eq!(text.lines().filter(|l| !l.starts_with('#')).count(), 4);
    let input = format!("C={}", path.display());
    let total = |input: &str| tamis(&["run", "s = C(i,j)", "-i", input, "-f", "C=csr"]).stdout;
    let expected = String::from_utf8(total(&input)).expect("text");
    let sum = |text: &str| text.lines().nth(1).map(str::to_owned);
    for name in ["c.mtx", "c.npz", "c.bsp.npz", "c.tns.gz"] {
        let other = scratch(name);
        let args = ["convert", &path.to_string_lossy(), &other.to_string_lossy()];
        check(&args, 0, "4 entries");
        let text = String::from_utf8(total(&format!("C={}", other.display()))).expect("text");
        assert_eq!(sum(&text), sum(&expected), "{name}");
    }
    check(&["info", &input[2..]], 0, "fill value  1.0");
    let npz = scratch("d.npz").to_string_lossy().into_owned();
    check(&["convert", &input[2..], &npz], 0, "Tamis reads that, SciPy reads 0");
}

#[test]
fn quotients_of_integers_from_files_are_noted() {
    let path = scratch("a.mtx");
    let text = "%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 3\n1 2 1\n";
    std::fs::write(&path, text).expect("a file");
    let input = format!("A={}", path.display());
    let run = ["run", "d(i) = A(i,j); P(i,j) = A(i,j) / d(i)", "-i", &input];
    let note = "note: integers are divided, which rounds toward 0";
    check(&run, 0, note);
    let told = tamis(&["run", "P(i,j) = A(i,j) / 2.0", "-i", &input]).stderr;
    assert!(!String::from_utf8_lossy(&told).contains(note));
    for more in [["--dtype", "f64"], ["-f", "A=csr{i64}"], ["-f", "P=csr{f64}"]] {
        let told = tamis(&[&run[..], &more].concat()).stderr;
        assert!(!String::from_utf8_lossy(&told).contains(note));
    }
}

#[test]
fn wrong_requests_end_with_2() {
    let cases: [(&[&str], &str); 12] = [
        (&["run", "y(i) = A(i,j", "-i", MATRIX], "error[syntax]"),
        (&["run", SPMV, "-i", MATRIX], "error[missing-input]"),
        (&["run", SPMV, "-i", MATRIX, "-g", "x=dense", "-g", "y=dense"], "error[unused-input]"),
        (&["run", SPMV, "-i", MATRIX, "-g", "x=dense", "-d", "q=3"], "error[unknown-variable]"),
        (&["run", SPMV, "-i", MATRIX, "-g", "z=dense"], "error[unknown-tensor]"),
        (&["run", SPMV, "-i", MATRIX, "-g", "x=10:dense"], "error[dimension-mismatch]"),
        (&["run", SPMV, "-i", MATRIX, "-g", "x=2.5"], "error[invalid-option]"),
        (&["run", SPMV, "-i", "A"], "error[invalid-option]"),
        (
            &["run", SPMV, "-i", MATRIX, "-g", "x=dense", "--backend", "cuda"],
            "error[unsupported-backend]",
        ),
        (
            &["run", SPMV, "-i", MATRIX, "-g", "x=dense", "-s", "tile(i, 4)"],
            "error[syntax]: there is no command named tile",
        ),
        (&["run", SPMV, "-i", MATRIX, "-g", "x=dense", "-o", "y=y.xyz"], "error[file-unknown"),
        (&["explain", SPMV, "-f", "A=csx"], "error[unknown-format]"),
    ];
    for (args, expected) in cases {
        check(args, 2, expected);
    }
}

#[test]
fn failing_files_end_with_1() {
    check(&["run", SPMV, "-i", "A=gone.mtx", "-g", "x=dense"], 1, "error[file-not-readable]");
    let output = "y=/no/such/folder/y.tns";
    check(
        &["run", SPMV, "-i", MATRIX, "-g", "x=dense", "-o", output],
        1,
        "error[file-not-writable]",
    );
    let bad = scratch("bad.mtx");
    std::fs::write(&bad, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1.0\n")
        .expect("written");
    let input = format!("A={}", bad.display());
    check(&["run", SPMV, "-i", &input, "-g", "x=dense"], 1, "error[file-syntax]");
}

#[test]
fn a_broken_compiler_is_told() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    let folder = scratch("cache");
    command.env("TAMIS_CC", "true").env("TAMIS_CACHE_DIR", folder);
    command.args(["run", "y(i) = x(i)", "-g", "x=5:dense", "--backend", "c"]);
    let output = command.output().expect("the command starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("error[compiler-failed]"), "{text}");
}

/// The schedule that was fastest is remembered, for operands of like size.
#[test]
fn schedules_are_tuned_once() {
    let tuned = |density: &str, expected: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.env("TAMIS_CACHE_DIR", scratch("tuned"));
        let program = "C(i,j) = A(i,j) * B(i,j)";
        command.args(["run", program, "-f", "A=csr", "-f", "B=csr", "-f", "C=csr", "--tune"]);
        command.args(["-g", &format!("A=50x60:{density}:1"), "-g", "B=50x60:0.2:2"]);
        let output = command.output().expect("the command starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(text.starts_with(expected) && text.contains("C: 50 x 60"), "{text}");
        text.into_owned()
    };
    let first = tuned("0.2", "tuned:\n");
    assert!(first.contains("ms  no commands\n"), "{first}");
    assert!(first.contains("ms  mergeby(j, gallop)\n"), "{first}");
    tuned("0.2", "tuned before: ");
    tuned("0.02", "tuned:\n");
}

/// `explain` takes the operands of `run`, and shows what that would compile.
#[test]
fn operands_are_explained() {
    let explain = |args: &[&str], status, part: &str| {
        check(&[&["explain", SPMV], args].concat(), status, part);
    };
    explain(&["-g", "A=9x9:0.1", "-g", "x=dense", "--emit", "graph"], 0, "j (compressed)");
    explain(&["-g", "A=9x3000000000:0.0", "--emit", "ir"], 0, "A2_crd: in [i64]");
    explain(&["-f", "A=csr", "--dtype", "f32", "--emit", "ir"], 0, "A_vals: in [f32]");
    explain(&["-g", "A=9x9:0.1", "-d", "j=8"], 2, "error[dimension-mismatch]");
    explain(&["-d", "k=8"], 2, "error[unknown-variable]");
    let added = ["explain", "y(i) += A(i,j)", "-f", "A=csr", "-g", "y=4:1.0", "--emit", "ir"];
    check(&added, 0, "y_old_vals: in [f64]");
    explain(&["--format", "dot"], 2, "write --emit graph");
    explain(&["--format", "csr"], 2, "write -f A=csr for a tensor");
    // A row of 300 entries is searched for the two of another.
    let few_and_many = |a: &str, expected: &str| {
        let a = format!("A=30000x30000:{a}");
        let skewed = ["C(i,j) = A(i,j) * B(i,j)", "-g", &a, "-g", "B=30000x30000:0.01"];
        let formats = ["-f", "A=csr", "-f", "B=csr", "-f", "C=csr", "--emit", "schedule"];
        check(&[&["explain"], &skewed[..], &formats[..]].concat(), 0, expected);
        // A command for other loops leaves that.
        let scheduled = ["-s", "split(i, i0, i1, 8)", "--emit", "plan"];
        let formats = &formats[..formats.len() - 2];
        let args = [&["explain"], &skewed[..], formats, &scheduled].concat();
        check(&args, 0, if expected.contains("gallop") { " galloping" } else { "where all" });
    };
    few_and_many("0.0001", "reorder(i, j)\nmergeby(j, gallop)\n");
    few_and_many("0.01", "2e8 multiply-adds\nreorder(i, j)\n");
}

#[test]
fn kinds_of_kernels_are_explained() {
    let explain = |args: &[&str], status, part: &str| {
        check(&[&["explain", "C(i,j) = A(i,j)", "-f", "A=csr"], args].concat(), status, part);
    };
    explain(
        &["-f", "C=csr", "--kind", "assemble", "--emit", "ir"],
        0,
        "fn assemble_C(A1_size: i64, A2_pos",
    );
    explain(&["-f", "C=csr", "--kind", "compute", "--emit", "cin"], 0, "within(C(i,j), C(i,j) =");
    explain(&["-f", "C=ell", "--kind", "compute"], 0, "# C is computed whole");
    explain(&["--kind", "symbolic"], 2, "use one of fused, assemble, compute");
}

#[test]
fn every_stage_is_explained() {
    for stage in ["notation", "cin", "schedule", "graph", "lattice", "plan", "ir", "c", "asm"] {
        assert!(tamis(&["explain", SPMV, "-f", "A=csr", "--emit", stage]).status.success());
    }
    let seen = |args: &[&str], part: &str| check(&[&["explain", SPMV], args].concat(), 0, part);
    seen(&["-f", "A=csr", "--emit", "graph"], "A(i,j): i (dense) -> j (compressed)");
    seen(&["-f", "A=dia", "--emit", "graph"], "y: loops d -> i");
    let drawn = ["-f", "A=csr", "--emit", "graph", "--format", "dot"];
    seen(&drawn, "a0_0 [label=\"A(i,j)\", shape=plaintext]");
    seen(&drawn, "v0_0 -> v0_1 [label=\"compressed\", color=1]");
    let stages = ["notation", "cin", "schedule", "graph", "lattice", "plan", "ir", "c", "asm"];
    stages.iter().for_each(|stage| seen(&["-f", "A=csr"], &format!("---- {stage}\n")));
    seen(&["-f", "A=csr"], " lines: --emit asm\n");
    check(&["formats"], 0, "compressed");
    check(&["completions", "bash"], 0, "tamis");
}

#[test]
fn memory_is_limited() {
    let read = ["run", "t = A(i,j)", "-i", "A=data/bar.mtx.gz", "--memory-limit", "100k"];
    check(&read, 1, "a first part of the file does not fit");
    let dense = ["run", "C(i,j) = A(i,j) + 1", "-g", "A=3000x3000:0.001", "-f", "C=dense"];
    for backend in ["jit", "c", "interp"] {
        let with = |limit| [&dense[..], &["--backend", backend, "--memory-limit", limit]].concat();
        check(&with("30MX"), 2, "--memory-limit 30MX: this is no size");
        check(&with("30MB"), 1, "72.000 MB more were needed");
        check(&with("0.03GiB"), 1, "the limit of 32.212 MB");
        if backend != "interp" {
            check(&with("0.2G"), 0, "C: 3000 x 3000");
        }
    }
    // Appending grows arrays until there is no more.
    let sparse = ["run", "C(i,j) = A(i,k) * B(k,j)", "-g", "A=900x900:0.1", "-g", "B=900x900:0.1"];
    let sparse = [&sparse[..], &["-f", "A=csr", "-f", "B=csr", "-f", "C=csr"]].concat();
    for backend in ["jit", "c"] {
        let with = |limit| [&sparse[..], &["--backend", backend, "--memory-limit", limit]].concat();
        check(&with("5M"), 1, "error[out-of-memory]: C does not fit in memory");
        check(&with("500M"), 0, "C: 900 x 900");
        // Threads take no more than there is.
        for threads in ["1", "2", "4", "8", "8"] {
            check(&[&with("13M")[..], &["--threads", threads]].concat(), 0, "C: 900 x 900");
        }
    }
}
