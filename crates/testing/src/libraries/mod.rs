//! Random programs as libraries: compiled by a C compiler and by Rust's, run, and compared with kernels.

mod sample;

use crate::check::{Outcome, check};
use crate::generate;
use crate::random::Random;
pub use sample::Sample;
use std::fs;
use std::path::Path;
use std::process::Command;
use tamis::Backend;

/// So many programs that have libraries, by name.
pub fn drawn(random: &mut Random, count: usize) -> Vec<(String, Sample)> {
    let mut samples = vec![];
    while samples.len() < count {
        let case = generate::case(random);
        if check(&case, Backend::Interpreter) != Outcome::Right {
            continue;
        }
        let name = format!("case_{}", samples.len());
        if let Ok(Some(sample)) = Sample::of(&case, &name) {
            samples.push((name, sample));
        }
    }
    samples
}

/// The programs whose libraries in C print something else than is expected, with what they print.
///
/// # Panics
///
/// If a file cannot be written, or the compiler refuses one or warns.
pub fn wrong_in_c(samples: &[(String, Sample)], folder: &Path) -> Vec<String> {
    let mut main = "#include <stdio.h>\n".to_owned();
    let mut headers = String::new();
    let (mut body, mut files) = (String::new(), vec![]);
    for (name, sample) in samples {
        for (file, text) in sample.in_c(name) {
            fs::write(folder.join(&file), text).expect("the folder can be written to");
            files.extend((!file.ends_with(".h")).then_some(file));
        }
        headers += &format!("#include \"{name}.h\"\n");
        main += &format!("void run_{name}(void);\n");
        body += &format!("  printf(\"# {name}\\n\");\n  run_{name}();\n");
    }
    main += &format!("int main(void) {{\n{body}  return 0;\n}}\n");
    fs::write(folder.join("main.c"), main).expect("the folder can be written to");
    fs::write(folder.join("headers.cpp"), headers).expect("the folder can be written to");
    // A program may compare unsigned numbers with 0.
    let strict = [
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-type-limits",
        "-Wno-psabi",
        "-fwrapv",
        "-ffp-contract=off",
    ];
    let build = |more: &[&str]| {
        let mut command = Command::new("cc");
        command.args(strict).args(["-O1", "-std=gnu11", "main.c"]).args(&files).args(more);
        compiled(command.args(["-o", "in_c", "-lm"]).current_dir(folder));
    };
    build(&[]);
    compiled(Command::new("c++").args(["-fsyntax-only", "headers.cpp"]).current_dir(folder));
    let mut wrong = different(samples, &printed(&mut Command::new(folder.join("in_c"))));
    if files.iter().any(|file| has_threads(&folder.join(file))) && has_openmp(folder) {
        build(&["-fopenmp"]);
        for threads in ["1", "2", "3"] {
            let mut command = Command::new(folder.join("in_c"));
            let text = printed(command.env("OMP_NUM_THREADS", threads));
            let on = |what: String| format!("on {threads} threads: {what}");
            wrong.extend(different(samples, &text).into_iter().map(on));
        }
    }
    wrong
}

/// Whether a file has loops on threads.
fn has_threads(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains("#pragma omp parallel for"))
}

/// Whether the C compiler has OpenMP.
fn has_openmp(folder: &Path) -> bool {
    fs::write(folder.join("openmp.c"), "int main(void) { return 0; }\n")
        .expect("the folder can be written to");
    let mut command = Command::new("cc");
    command.args(["-fopenmp", "openmp.c", "-o", "openmp"]).current_dir(folder);
    let has = command.output().is_ok_and(|output| output.status.success());
    if !has {
        eprintln!("the C compiler has no OpenMP: loops on threads ran on one");
    }
    has
}

/// The programs whose modules in Rust print something else than is expected, with what they print.
///
/// # Panics
///
/// If a file cannot be written, or the compiler refuses one or warns.
pub fn wrong_in_rust(samples: &[(String, Sample)], folder: &Path) -> Vec<String> {
    let (mut main, mut body) = (sample::SHOW_IN_RUST.to_owned(), String::new());
    for (name, sample) in samples {
        let (module, run) = sample.in_rust(name);
        fs::write(folder.join(format!("{name}.rs")), module).expect("the folder can be written to");
        main += &format!("mod {name};\n{run}");
        body += &format!("    println!(\"# {name}\");\n    run_{name}();\n");
    }
    main += &format!("fn main() {{\n{body}}}\n");
    fs::write(folder.join("main.rs"), main).expect("the folder can be written to");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let mut command = Command::new(rustc);
    command.args(["--edition", "2024", "-D", "warnings", "main.rs"]);
    compiled(command.args(["-o", "in_rust"]).current_dir(folder));
    different(samples, &printed(&mut Command::new(folder.join("in_rust"))))
}

/// Whether there is a compiler of C and of C++.
pub fn has_c_compilers() -> bool {
    ["cc", "c++"].iter().all(|name| Command::new(name).arg("--version").output().is_ok())
}

fn compiled(command: &mut Command) {
    let output = command.output().expect("the compiler starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.is_empty(), "{command:?}: {text}");
}

fn printed(program: &mut Command) -> String {
    let output = program.output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn different(samples: &[(String, Sample)], text: &str) -> Vec<String> {
    let mut parts = text.split("# case_").skip(1).map(|part| part.split_once('\n'));
    let mut wrong = vec![];
    for (name, sample) in samples {
        let got = parts.next().flatten().map_or("", |(_, rest)| rest);
        if got != sample.expected() {
            wrong.push(format!("{name}\n{got}instead of\n{}", sample.expected()));
        }
    }
    wrong
}
