//! Standard input and output as files, and what a conversion keeps.

mod support;

use std::io::Write;
use std::process::{Command, Stdio};
use support::{check, scratch, tamis};

/// What the command prints, with a text on its standard input.
fn piped(args: &[&str], input: &[u8], status: i32) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // What is refused before it is read closes the pipe.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{args:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &told
}

const SYMMETRIC: &str = "%%MatrixMarket matrix coordinate real symmetric\n\
                         % from a mesh\n3 3 3\n1 1 2\n2 1 4\n3 2 5\n";

/// A pipe whose name tells no format is read as standard input is.
#[cfg(unix)]
#[test]
fn pipes_are_read_as_standard_input() {
    let run = ["run", "s = A(i,j)", "-i", "A=/dev/stdin"];
    for more in [&[][..], &["--format", "mtx"]] {
        assert!(piped(&[&run[..], more].concat(), SYMMETRIC.as_bytes(), 0).contains("  20.0\n"));
    }
    let convert = ["convert", "/dev/stdin", "/dev/stdout", "--format", "tns"];
    assert!(piped(&convert, b"# dims: 1 1\n1 1 3\n", 0).starts_with("# dims: 1 1\n1 1 3\n"));
    let told = piped(&run, b"hello\n", 2);
    assert!(told.contains("the format of what goes through /dev/stdin is not known"), "{told}");
    assert!(told.contains("help: add --format mtx, rb, tns, npz, bsp or npy"), "{told}");
    let told = piped(&run, b"", 1);
    assert!(told.contains("/dev/stdin: nothing comes of it\n"), "{told}");
}

#[test]
fn standard_input_and_output_are_files() {
    let tns = "# dims: 2 2\n1 2 3\n";
    let transpose = ["run", "B(j,i) = A(i,j)", "-i", "A=-", "-o", "B=-", "--format", "tns"];
    assert_eq!(piped(&transpose, tns.as_bytes(), 0), "# dims: 2 2\n2 1 3\n");
    assert_eq!(
        piped(&["convert", "-", "-", "--format", "mtx", "--expand"], SYMMETRIC.as_bytes(), 0),
        "%%MatrixMarket matrix coordinate real general\n% from a mesh\n\
         3 3 5\n1 1 2\n2 1 4\n1 2 4\n3 2 5\n2 3 5\n"
    );
    assert!(piped(&["info", "-"], SYMMETRIC.as_bytes(), 0).contains("3 x 3"));
    // First bytes tell the format of the input, whichever that of the output is.
    assert!(piped(&["info", "-"], b"\n1\t2 .5\n", 0).contains("1 x 2"));
    let to_mtx = ["run", "B(j,i) = A(i,j)", "-i", "A=-", "-o", "B=-", "--format", "mtx"];
    assert!(piped(&to_mtx, tns.as_bytes(), 0).ends_with("\n2 2 1\n2 1 3\n"));
    let to_tns = ["convert", "-", "-", "--format", "tns", "--expand"];
    assert!(piped(&to_tns, SYMMETRIC.as_bytes(), 0).starts_with("# dims: 3 3\n"));
    let to_rb = ["convert", "-", "-", "--format", "rb"];
    assert!(piped(&to_rb, tns.as_bytes(), 0).starts_with("Tamis "));
    let told = piped(&["info", "-"], b"hello\n", 2);
    assert!(told.contains("help: add --format mtx, rb, tns, npz, bsp or npy"), "{told}");
    let told = piped(&["info", "-", "--format", "tsn"], tns.as_bytes(), 2);
    assert!(told.contains("help: did you mean tns?"), "{told}");
    // A format of what goes through - says nothing of files.
    let named = ["run", "y = A(i,j)", "-i", "A=data/bar.mtx.gz", "-f", "tns"];
    for args in [&["info", "data/bar.mtx.gz", "--format", "rb"][..], &named] {
        assert!(piped(args, b"", 2).contains("nothing goes through -"));
    }
    // Without a format, what is converted keeps its own.
    assert_eq!(piped(&["convert", "-", "-"], tns.as_bytes(), 0), tns);
    let both = ["run", "y = A(i,j) * B(i,j)", "-i", "A=-", "-i", "B=-"];
    assert!(
        piped(&both, SYMMETRIC.as_bytes(), 2).contains("A is read from standard input already")
    );
    let told = piped(&["run", "@-", "-i", "A=-"], b"y = A(i,j)", 2);
    assert!(told.contains("the program is read from standard input already"), "{told}");
    let json = ["run", "B(j,i) = A(i,j)", "-i", "A=-", "-o", "B=-", "--format", "tns", "--json"];
    assert!(piped(&json, tns.as_bytes(), 2).contains("--json goes to standard output, too"));
    let unknown = ["run", "B(j,i) = A(i,j)", "-i", "A=-", "-o", "B=-"];
    assert!(piped(&unknown, SYMMETRIC.as_bytes(), 2).contains("is not known"));
}

/// A matrix in each format that text has, plain and compressed.
fn texts() -> Vec<Vec<u8>> {
    let named = |name: &&str| {
        let path = scratch(name);
        let args = ["convert", "-", &path.to_string_lossy(), "--expand"];
        piped(&args, SYMMETRIC.as_bytes(), 0);
        std::fs::read(&path).expect("written")
    };
    ["t.mtx", "t.tns", "t.rb", "t.mtx.gz", "t.tns.gz", "t.rb.gz"].iter().map(named).collect()
}

/// First bytes tell the format, of what is compressed, too.
#[test]
fn compressed_text_is_told_by_its_first_bytes() {
    let mut texts = texts();
    // The title is as the comment of another format.
    texts.push([b"# 1", &texts[2][3..]].concat());
    for text in texts {
        let name = String::from_utf8_lossy(&text);
        assert!(piped(&["info", "-"], &text, 0).contains("3 x 3"), "{name}");
        let to_tns = ["convert", "-", "-", "--format", "tns"];
        assert!(piped(&to_tns, &text, 0).contains("1 1 2\n"), "{name}");
        let run = ["run", "B(j,i) = A(i,j)", "-i", "A=-", "-o", "B=-", "-f", "rb"];
        assert!(piped(&run, &text, 0).starts_with("Tamis "), "{name}");
    }
}

/// A pipe gives as many bytes as were written at once.
#[test]
fn first_bytes_come_through_pipes_in_any_pieces() {
    for text in texts() {
        let mark: &[u8] = if text.starts_with(b"\x1f") { b"" } else { b"\xef\xbb\xbf" };
        let bytes = [mark, &text].concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.args(["info", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        for piece in bytes[..20].chunks(1).chain([&bytes[20..]]) {
            pipe.write_all(piece).expect("it is read");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        drop(pipe);
        let output = child.wait_with_output().expect("it ends");
        assert!(String::from_utf8_lossy(&output.stdout).contains("3 x 3"), "{output:?}");
    }
}

/// Where nothing comes, the command before it likely failed, whatever the format.
#[test]
fn an_empty_standard_input_is_told() {
    let run = ["run", "y(i) = x(i)", "-i", "x=-"];
    let said = |args: &[&str]| {
        let told = piped(args, b"", 1);
        let expected = "error[file-truncated]: -: standard input is empty\n  = help: did the command before it fail?";
        assert!(told.contains(expected), "{args:?}: {told}");
    };
    said(&["info", "-"]);
    said(&["convert", "-", "-", "--format", "tns"]);
    said(&run);
    for format in ["mtx", "rb", "tns", "npz", "bsp"] {
        said(&["info", "-", "--format", format]);
        said(&[&run[..], &["--format", format]].concat());
    }
}

#[test]
fn zeros_are_dropped_where_that_is_asked_for() {
    let text = "%%MatrixMarket matrix coordinate real general\n% tamis fill: inf\n2 2 3\n1 1 0\n1 2 inf\n2 1 3\n";
    let convert = ["convert", "-", "-", "--format", "tns", "--drop-zeros"];
    let told = piped(&convert, text.as_bytes(), 0);
    assert_eq!(told, "# dims: 2 2\n# tamis fill: inf\n1 1 0\n2 1 3\n");
    // What the file says of its other elements is not overruled.
    for (fill, status, expected) in [("0", 2, "the file has inf where"), ("inf", 0, "(0) 0.0")] {
        let format = format!("A=csr{{fill: {fill}}}");
        let run = ["run", "y(i) = min(j, A(i,j))", "-i", "A=-", "-f", "mtx", "-f", &format];
        assert!(piped(&run, text.as_bytes(), status).contains(expected), "{fill}");
    }
    let told = piped(&convert, text.replace("% tamis fill: inf\n", "").as_bytes(), 0);
    assert_eq!(told, "# dims: 2 2\n1 2 inf\n2 1 3\n");
}

/// Archives come through pipes, too.
#[test]
fn archives_are_read_from_pipes() {
    for format in ["npz", "bsp"] {
        let path = scratch(&format!("piped.{}", if format == "bsp" { "bsp.npz" } else { "npz" }));
        let file = path.to_string_lossy().into_owned();
        check(&["convert", "data/bar.mtx.gz", &file], 0, "entries written");
        let bytes = std::fs::read(&path).expect("written");
        let mut bytes: &[u8] = &bytes;
        let args = ["run", "s = A(i,j)", "-i", "A=-", "--format", format];
        let whole = piped(&args, bytes, 0);
        assert!(whole.contains("s: a scalar"), "{whole}");
        bytes = &bytes[..bytes.len() / 2];
        assert!(piped(&args, bytes, 1).contains("error[file-compression]: -: "));
    }
}

/// The dimensions of a file that does not say them are given, as those of operands are.
#[test]
fn dimensions_of_files_are_given() {
    let convert = ["convert", "-", "-", "--format", "tns", "-d"];
    let told = |sizes: &str, text: &str, status| {
        let info = piped(&["info", "-", "-d", sizes], text.as_bytes(), status);
        (piped(&[&convert[..], &[sizes]].concat(), text.as_bytes(), status), info)
    };
    let (converted, info) = told("2x5", "1 2 3\n", 0);
    assert_eq!(converted, "# dims: 2 5\n1 2 3\n");
    assert!(info.contains("dimensions  2 x 5\n"), "{info}");
    told("2x5", "# dims: 2 5\n1 2 3\n", 0);
    for (sizes, text, expected) in [
        ("2x5", "# dims: 2 4\n1 2 3\n", "-d 2x5: the file has the dimensions 2 x 4"),
        ("2", "1 2 3\n", "-d 2: the file has order 2"),
        ("2x", "1 2 3\n", "help: write -d 10x20"),
        ("i=2", "1 2 3\n", "help: write -d 10x20"),
    ] {
        let (converted, info) = told(sizes, text, 2);
        assert!(converted.contains(expected) && info.contains(expected), "{converted}{info}");
    }
}

/// Files are read and measured in so much memory, or refused.
#[test]
fn commands_on_files_have_a_limit_of_memory() {
    for command in
        [&["info", "data/bar.mtx.gz"][..], &["convert", "data/bar.mtx.gz", "-", "--format", "tns"]]
    {
        check(&[command, &["--memory-limit", "10k"]].concat(), 1, "[file-too-large]");
        check(&[command, &["--memory-limit", "100M"]].concat(), 0, "600");
    }
}

#[test]
fn conversions_keep_symmetries_and_patterns() {
    let from = scratch("kept.mtx");
    let to = scratch("kept-too.mtx");
    let args = ["convert", &from.to_string_lossy(), &to.to_string_lossy()];
    for (kind, text) in [
        ("rsa", "real symmetric\n% from a mesh\n3 3 3\n1 1 2\n2 1 4\n3 2 5\n"),
        ("rza", "real skew-symmetric\n2 2 1\n2 1 4\n"),
        ("cha", "complex hermitian\n2 2 2\n1 1 1 0\n2 1 4 -1\n"),
        ("csa", "complex symmetric\n2 2 2\n1 1 1 2\n2 1 4 -1\n"),
        ("cza", "complex skew-symmetric\n2 2 1\n2 1 4 -1\n"),
        ("isa", "integer symmetric\n2 2 1\n2 1 4\n"),
        ("psa", "pattern symmetric\n3 3 2\n1 1\n3 2\n"),
        ("pua", "pattern general\n3 3 2\n3 2\n1 3\n"),
        ("pra", "pattern general\n3 4 2\n3 2\n1 4\n"),
        ("ira", "integer general\n3 4 1\n1 4 7\n"),
    ] {
        let text = &format!("%%MatrixMarket matrix coordinate {text}");
        std::fs::write(&from, text).expect("written");
        assert!(tamis(&args).status.success());
        assert_eq!(std::fs::read_to_string(&to).expect("written"), *text);
        let rb = piped(&["convert", "-", "-", "--format", "rb"], text.as_bytes(), 0);
        assert_eq!(rb.lines().nth(2).map(|line| &line[..3]), Some(kind), "{rb}");
        // Without a format the output has that of the input.
        assert_eq!(piped(&["convert", "-", "-"], rb.as_bytes(), 0), rb);
        let back = piped(&["convert", "-", "-", "--format", "mtx"], rb.as_bytes(), 0);
        let is_entry = |line: &&str| !line.starts_with("% ");
        let entries = |text: &str| text.lines().filter(is_entry).collect::<Vec<_>>().join("\n");
        assert_eq!(entries(&back), entries(text));
        let expanded = [&args[..], &["--expand"]].concat();
        assert!(tamis(&expanded).status.success());
        let expanded = std::fs::read_to_string(&to).expect("written");
        assert!(expanded.lines().next().is_some_and(|l| l.ends_with(" general")), "{expanded}");
        assert!(!expanded.contains("pattern"), "{expanded}");
    }
}

#[test]
fn hdf5_is_left_to_python() {
    check(&["info", "x.bsp.h5"], 2, "HDF5 is read and written by Python alone");
}

#[test]
fn arrays_of_numpy_are_written_in_full() {
    let (array, back) = (scratch("a.npy"), scratch("a.tns"));
    let [array, back] = [&array, &back].map(|path| path.display().to_string());
    let matrix = ["-i", "A=-", "-o", &format!("B={array}")];
    piped(&[&["run", "B(j,i) = A(i,j)"], &matrix[..]].concat(), SYMMETRIC.as_bytes(), 0);
    check(&["info", &array], 0, "3 x 3");
    check(
        &["run", "y(i) = A(i,j)", "-i", &format!("A={array}"), "-o", &format!("y={back}")],
        0,
        "y",
    );
    let sums = std::fs::read_to_string(&back).expect("written");
    assert_eq!(sums, "# dims: 3\n1 6\n2 9\n3 5\n");
}

/// Dimensions that a file does not say are its largest coordinates, which may be too few.
#[test]
fn dimensions_of_files_are_told_of_where_they_differ() {
    let path = scratch("short.tns");
    std::fs::write(&path, "1 2 3\n2 1 4\n").expect("a file");
    let input = format!("A={}", path.display());
    let product = ["run", "y(i) = A(i,j) * x(j)", "-i", &input, "-g", "x=3:dense"];
    check(&product, 2, "give them by -d A=..x.., or in its first line");
    check(&[&product[..], &["-d", "A=2x3"]].concat(), 0, "y");
}

#[test]
fn programs_come_from_files() {
    let path = scratch("program.txt");
    let text = "# twice, # and summed; (\n\nt(i) = 2 * x(i)  # ü\ny = t(i)\n";
    std::fs::write(&path, text).expect("a file");
    let named = format!("@{}", path.display());
    check(&["run", &named, "-g", "x=3:dense:1"], 0, "y: a scalar");
    check(&["explain", &named, "--emit", "cin"], 0, "t(i) = 2");
    check(&["run", "@no-such-file"], 1, "error[file-not-readable]: no-such-file: cannot read");
    std::fs::write(&path, "t(i) = 2 * x(i)\n# ü\ny = t(i) ? 2\n").expect("a file");
    let at = format!("{}:3:10: ", path.display());
    check(&["explain", &named], 2, &at);
    check(&["explain", &named, "--json"], 2, "\"line\":3");
    // Dimensions are known only when operands are read.
    std::fs::write(&path, "y(i) =\n  x(i) + z(i)").expect("a file");
    let sizes = ["-g", "x=3:dense", "-g", "z=4:dense"];
    check(&[&["run", &named][..], &sizes].concat(), 2, &format!("{}:2:10: ", path.display()));
    assert!(
        piped(&["explain", "@-", "--emit", "cin"], b"t(i) = 2 * x(i)\n", 0).contains("t(i) = 2")
    );
}
