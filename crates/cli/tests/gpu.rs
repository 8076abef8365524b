//! What is told where there is no GPU, or where it fails, and what is copied there and back: by a library that
//! stands for NVIDIA's.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: [&str; 8] =
    ["run", "y(i) = A(i,j) * x(j)", "-f", "A=csr", "-g", "A=20x20:0.5", "-g", "x=dense"];

fn tamis(variables: &[(&str, &str)]) -> Output {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpu-cache");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    command.args(PROGRAM).args(["--backend", "cuda"]).env("TAMIS_CACHE_DIR", cache);
    command.envs(variables.iter().copied()).output().unwrap()
}

fn told(variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let output = tamis(variables);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// The stand-in, compiled; `None` without a C compiler.
fn stub() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stub.c");
    let library =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libstub.{}.so", std::process::id()));
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(&source);
    command.status().is_ok_and(|s| s.success()).then_some(library)
}

#[test]
fn without_a_driver_the_way_out_is_told() {
    let (status, text) = told(&[("TAMIS_CUDA_DRIVER", "/nowhere/libcuda.so")]);
    assert_eq!(status, Some(2), "{text}");
    let expected = "error[unsupported-backend]: there is no CUDA driver here: /nowhere/libcuda.so \
                    cannot be loaded";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("use --backend jit"), "{text}");
}

#[test]
fn each_failure_of_a_device_is_told() {
    let Some(library) = stub() else {
        eprintln!("skipped: there is no C compiler");
        return;
    };
    let library = library.to_string_lossy().into_owned();
    let cases = [
        ("old-driver", 2, "the CUDA driver cannot start: the driver is older than the library"),
        ("no-device", 2, "the CUDA driver finds no device"),
        ("old-device", 2, "Stub 1 has compute capability 3.0, and kernels need 6.0 or newer"),
        ("wrong-text", 1, "error[compiler-failed]: NVRTC failed: a quote"),
        ("full", 1, "error[out-of-memory]: Stub 1 has no room for 84 bytes: 5 of 1000 are free"),
        ("fault", 1, "error[device-failed]: Stub 1 failed: an illegal memory access"),
    ];
    for (mode, expected_status, expected) in cases {
        let variables =
            [("TAMIS_CUDA_DRIVER", &*library), ("TAMIS_NVRTC", &*library), ("STUB", mode)];
        let (status, text) = told(&variables);
        assert!(text.contains(expected), "{mode}: {text}");
        assert_eq!(status, Some(expected_status), "{mode}: {text}");
        assert!(text.contains("= help: "), "{mode}: {text}");
    }
    let variables =
        [("TAMIS_CUDA_DRIVER", &*library), ("TAMIS_NVRTC", "/nowhere/libnvrtc.so"), ("STUB", "")];
    let (status, text) = told(&variables);
    assert_eq!(status, Some(2), "{text}");
    assert!(
        text.contains("/nowhere/libnvrtc.so, which TAMIS_NVRTC names, cannot be loaded"),
        "{text}"
    );
    let ok = tamis(&[("TAMIS_CUDA_DRIVER", &*library), ("TAMIS_NVRTC", &*library)]);
    assert_eq!(ok.status.code(), Some(0), "{}", String::from_utf8_lossy(&ok.stderr));
    run_on_the_emulator(&library);
    let _ = std::fs::remove_file(library);
}

/// Operands go to the device and results come back, kernels run in their order.
fn run_on_the_emulator(library: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda/src/emulate.h");
    let programs: [&[&str]; 7] = [
        &["y(i) = A(i,j) * x(j)", "-f", "A=csr", "-f", "y=dense"],
        &["y(i) = A(i,j) * x(j)", "-f", "A=csc", "-f", "y=dense"],
        &["y(i) = A(i,j) * x(j)", "-f", "A=csr{f32}", "-f", "x=dense{f32}", "-f", "y=dense{i16}"],
        &["y = A(i,j) * x(j)", "-f", "A=csr"],
        &["y(i) = A(i,j) * x(j)", "-f", "A=dcsr", "-f", "y=sparse"],
        &["y(i,j) = A(i,k) * A(k,j) * x(j)", "-f", "A=csr", "-f", "y=csr"],
        &["y(j) = A(i,j) * x(i)", "-f", "A=csr", "-f", "y=sparse"],
    ];
    for program in programs {
        let written = |backend: &str| {
            let path = folder.join(format!("gpu.{}.{backend}.tns", std::process::id()));
            let cache = folder.join(format!("gpu-cache.{}", std::process::id()));
            let output = Command::new(env!("CARGO_BIN_EXE_tamis"))
                .arg("run")
                .args(program)
                .args(["-g", "A=20x20:0.5", "-g", "x=dense", "--backend", backend])
                .args(["-o", &format!("y={}", path.display())])
                .env("TAMIS_CACHE_DIR", &cache)
                .envs([("TAMIS_CUDA_DRIVER", library), ("TAMIS_NVRTC", library), ("STUB", "run")])
                .env("STUB_HEADER", &header)
                .env("STUB_FOLDER", folder)
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{program:?}: {told}");
            let on_host = backend == "cuda" && program[0].starts_with("y(j)");
            let noted = told.contains("note: compute_y runs on the host: ");
            assert_eq!(noted, on_host, "{program:?}: {told}");
            let _ = std::fs::remove_dir_all(cache);
            let text = std::fs::read_to_string(&path).unwrap();
            let _ = std::fs::remove_file(path);
            let value = |line: &str| line.rsplit(' ').next().unwrap().parse::<f64>().ok();
            text.lines().filter_map(value).collect::<Vec<f64>>()
        };
        let (expected, got) = (written("jit"), written("cuda"));
        assert!(!expected.is_empty() && expected.len() == got.len(), "{program:?}: {got:?}");
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * a.abs().max(1.0);
        assert!(expected.iter().zip(&got).all(near), "{program:?}: {got:?}, not {expected:?}");
    }
}
