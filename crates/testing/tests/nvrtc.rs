//! Every kernel of the gallery compiles by NVRTC, without spilling registers, and without arrays in memory that
//! are a thread's own.
//!
//! The compiler comes from PyPI into an environment under the target folder; where it cannot be
//! had, the test says that it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tamis::temporary::Temporary;
use tamis_cuda::limits;
use tamis_cuda::nvrtc::{self, Suited};
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_testing::filetest;

/// The architecture for which registers are counted.
const MEASURED: u32 = 90;

/// The others, of which a compiler may know the newest and the oldest or not.
const OTHERS: [u32; 4] = [75, 80, 100, 120];

#[test]
fn kernels_compile_without_spills() {
    if !is_there() {
        eprintln!("skipped: NVRTC is neither installed nor to be had from PyPI");
        return;
    }
    let compiler = Suited::to(MEASURED, None).unwrap();
    let texts = texts();
    assert!(texts.len() >= 50, "only {} files of the gallery have loops for a GPU", texts.len());
    let mut shared = 0;
    for (name, kernels) in &texts {
        for kernel in compiled(&compiler, name, kernels) {
            let Compiled { name: own, registers, shared: bytes, .. } = &kernel;
            println!("{name}: {own} has {registers} registers, and {bytes} bytes for each block");
            assert_eq!((kernel.spilled, kernel.stack), (0, 0), "{name}: {kernel:?}");
            shared += usize::from(kernel.shared > 0);
        }
    }
    assert!(shared >= 6, "only {shared} kernels have memory that a block shares");
    mistakes_are_told(&compiler);
    yardsticks_compile(&compiler);
    // Every other text for one of the others, in turn.
    for (k, architecture) in OTHERS.into_iter().enumerate() {
        let compiler = Suited::to(architecture, None).unwrap();
        let texts = texts.iter().skip(2 * k).step_by(2 * OTHERS.len());
        match compiler.identity().ends_with(&format!(" sm_{architecture}")) {
            true => texts.for_each(|(name, text)| drop(compiled(&compiler, name, text))),
            false => println!("this NVRTC does not know sm_{architecture}"),
        }
    }
}

/// Each function and operator of each type of numbers has a text that compiles.
#[test]
fn every_function_compiles() {
    if !is_there() {
        eprintln!("skipped: NVRTC is neither installed nor to be had from PyPI");
        return;
    }
    let compiler = Suited::to(MEASURED, None).unwrap();
    let functions = UnaryOp::ALL.into_iter().map(|op| format!("{}(x(i))", op.name()));
    let operators = BinaryOp::ALL.into_iter().map(|op| match op.name() {
        name if name.starts_with(char::is_alphabetic) => format!("{name}(x(i), z(i))"),
        sign => format!("x(i) {sign} z(i)"),
    });
    let schedule = "split(i, b, t, 256); parallelize(b, gpu_block); parallelize(t, gpu_thread)";
    for datatype in ["f64", "f32", "i64", "u64", "f16"] {
        let (mut kernels, mut count) = (String::new(), 0);
        for value in functions.clone().chain(operators.clone()) {
            let formats =
                ["x", "z"].into_iter().filter(|name| value.contains(&format!("{name}(i)")));
            let formats: String =
                formats.map(|name| format!("{name}: dense{{{datatype}}}\n")).collect();
            let text = format!("# x\n{formats}y(i) = {value}\nschedule: {schedule}\n---- cuda\n");
            // What is not defined for a type is refused.
            let Ok(text) = filetest::stage(&text, "cuda") else { continue };
            let text = text.replace("compute_y", &format!("compute_y{count}"));
            kernels += &format!("namespace of_{count} {{\n{text}\n}}\n");
            count += 1;
        }
        assert!(count >= 25, "only {count} functions of {datatype}");
        drop(compiler.compile(&kernels).unwrap_or_else(|why| panic!("{datatype}: {why}")));
    }
}

/// The kernels of the gallery, by the names of its files.
fn texts() -> Vec<(String, String)> {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gallery");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(gallery).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut texts = vec![];
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains("gpu_") {
            texts.push((name, filetest::stage(&text, "cuda").unwrap()));
        }
    }
    texts
}

/// What the compiler says of a kernel, in bytes and registers.
#[derive(Debug, Default)]
struct Compiled {
    name: String,
    stack: u32,
    spilled: u32,
    registers: u32,
    shared: u32,
}

/// Compiles kernels without a warning.
fn compiled(compiler: &Suited, name: &str, kernels: &str) -> Vec<Compiled> {
    let start = Instant::now();
    let binary = compiler.compile(kernels).unwrap_or_else(|why| panic!("{name}: {why}\n{kernels}"));
    let (seconds, identity) = (start.elapsed().as_secs_f64(), compiler.identity());
    println!("{name}: {} bytes in {seconds:.3} s by {identity}", binary.code.len());
    let is_warning = |line: &&str| line.contains("warning");
    let warnings: Vec<&str> = binary.log.lines().filter(is_warning).collect();
    assert!(warnings.is_empty(), "{name}: {warnings:?}");
    let mut found: Vec<Compiled> = vec![];
    for line in binary.log.lines() {
        if let Some((_, name)) = line.split_once("Function properties for ") {
            found.push(Compiled { name: name.trim().to_owned(), ..Compiled::default() });
        }
        let Some(kernel) = found.last_mut() else { continue };
        for part in line.split([',', ':']) {
            let mut words =
                part.split_whitespace().filter(|word| *word != "Used" && *word != "used");
            let Some(count) = words.next().and_then(|word| word.parse::<u32>().ok()) else {
                continue;
            };
            match words.collect::<Vec<_>>().join(" ").as_str() {
                "bytes stack frame" => kernel.stack = count,
                "bytes spill stores" | "bytes spill loads" => kernel.spilled += count,
                "registers" => kernel.registers = count,
                "bytes smem" => kernel.shared = count,
                _ => {}
            }
        }
    }
    let all = kernels.matches("__global__").count();
    let known = found.iter().filter(|kernel| kernel.registers > 0).count();
    assert!(found.len() == all && known == all, "{name}: {found:?} in\n{}", binary.log);
    found
}

/// What the benchmark for GPUs measures a device by.
fn yardsticks_compile(compiler: &Suited) {
    let binary = compiler.compile(limits::TEXT).unwrap_or_else(|why| panic!("{why}"));
    assert!(!binary.log.contains("warning"), "{}", binary.log);
}

/// What does not compile is a diagnostic that quotes the compiler.
fn mistakes_are_told(compiler: &Suited) {
    let why = compiler.compile("__global__ void f() { x = 1; }").err().unwrap();
    let text = why.to_string();
    assert!(text.starts_with("error[compiler-failed]: NVRTC failed: "), "{text}");
    assert!(text.contains("identifier \"x\" is undefined"), "{text}");
}

/// Finds the compiler, or gets it.
fn is_there() -> bool {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvrtc");
    if library(&environment).is_none() && nvrtc::is_available() {
        return true;
    }
    if library(&environment).is_none() && !is_made(&environment) {
        return false;
    }
    library(&environment).map(|path| nvrtc::prefer(&path)).is_some()
}

/// Makes the environment elsewhere and gives it its name when it is complete: other tests look for it at the same time,
/// and whoever is first stays.
fn is_made(environment: &Path) -> bool {
    let run = |program: &Path, args: &[&str]| {
        Command::new(program).args(args).output().is_ok_and(|o| o.status.success())
    };
    let Some(Ok(made)) = environment.parent().map(Temporary::folder) else { return false };
    let folder = made.path().to_string_lossy().into_owned();
    let pip = ["-m", "pip", "install", "--quiet", "nvidia-cuda-nvrtc-cu12"];
    let is_whole = run(Path::new("python3"), &["-m", "venv", &folder])
        && run(&made.path().join("bin/python"), &pip);
    is_whole && (made.rename(environment).is_ok() || library(environment).is_some())
}

/// The library in an environment of Python.
fn library(environment: &Path) -> Option<PathBuf> {
    let python = std::fs::read_dir(environment.join("lib")).ok()?.flatten().next()?.path();
    let folder = python.join("site-packages/nvidia/cuda_nvrtc/lib");
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libnvrtc.so.")
    })
}
