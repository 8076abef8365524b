//! Every kernel of the gallery compiles by NVRTC, without spilling registers.
//!
//! The compiler comes from PyPI into an environment under the target folder; where it cannot be
//! had, the test says that it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tamis_cuda::limits;
use tamis_cuda::nvrtc::{self, Suited};
use tamis_testing::filetest;

/// The architecture of the code.
const ARCHITECTURE: u32 = 90;

#[test]
fn kernels_compile_without_spills() {
    if !is_there() {
        eprintln!("skipped: NVRTC is neither installed nor to be had from PyPI");
        return;
    }
    let compiler = Suited::to(ARCHITECTURE, None).unwrap();
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gallery");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(gallery).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut compiled = 0;
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        if !text.contains("gpu_") {
            continue;
        }
        let kernels = filetest::stage(&text, "cuda").unwrap();
        let start = Instant::now();
        let binary =
            compiler.compile(&kernels).unwrap_or_else(|why| panic!("{name}: {why}\n{kernels}"));
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {} bytes in {seconds:.3} s", binary.code.len());
        let is_warning = |line: &&str| line.contains("warning");
        let warnings: Vec<&str> = binary.log.lines().filter(is_warning).collect();
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
        for line in binary.log.lines().filter(|line| line.contains("spill")) {
            assert!(line.contains(" 0 bytes spill stores, 0 bytes spill loads"), "{name}: {line}");
        }
        compiled += 1;
    }
    assert!(compiled >= 9, "only {compiled} files of the gallery have loops for a GPU");
    mistakes_are_told(&compiler);
    yardsticks_compile(&compiler);
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
    if library(&environment).is_none() {
        let run = |program: &Path, args: &[&str]| {
            Command::new(program).args(args).output().is_ok_and(|o| o.status.success())
        };
        let folder = environment.to_string_lossy().into_owned();
        let pip = ["-m", "pip", "install", "--quiet", "nvidia-cuda-nvrtc-cu12"];
        let made = run(Path::new("python3"), &["-m", "venv", &folder])
            && run(&environment.join("bin/python"), &pip);
        if !made {
            return false;
        }
    }
    library(&environment).map(|path| nvrtc::prefer(&path)).is_some()
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
