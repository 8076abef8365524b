//! What is told where there is no GPU, or where it fails, and what is copied there and back: by a library that
//! stands for NVIDIA's.

use std::process::{Command, Output};
use tamis::temporary::Temporary;
use tamis_testing::stand_in::StandIn;

const PROGRAM: [&str; 8] =
    ["run", "y(i) = A(i,j) * x(j)", "-f", "A=csr", "-g", "A=20x20:0.5", "-g", "x=dense"];

fn tamis(variables: &[(&str, String)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    command.args(PROGRAM).args(["--backend", "cuda"]);
    command.envs(variables.iter().cloned()).output().unwrap()
}

fn told(variables: &[(&str, String)]) -> (Option<i32>, String) {
    let output = tamis(variables);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn without_a_driver_the_way_out_is_told() {
    let (status, text) = told(&[("TAMIS_CUDA_DRIVER", "/nowhere/libcuda.so".to_owned())]);
    assert_eq!(status, Some(2), "{text}");
    let expected = "error[unsupported-backend]: there is no CUDA driver here: /nowhere/libcuda.so \
                    cannot be loaded";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("use --backend jit"), "{text}");
}

fn stand_in() -> Option<StandIn> {
    let found = StandIn::new();
    if found.is_none() {
        eprintln!("skipped: there is no C compiler");
    }
    found
}

#[test]
fn each_failure_of_a_device_is_told() {
    let Some(stand_in) = stand_in() else { return };
    let library = stand_in.library().to_string_lossy().into_owned();
    let version = |driver: &str| {
        format!("no NVRTC compiles for sm_90 with a driver of CUDA {driver}: {library} is of CUDA")
    };
    let (old, new) = (version("11"), version("12"));
    let none = "there is no CUDA device 2, which TAMIS_CUDA_DEVICE names";
    let cases = [
        (
            "old-driver",
            "0",
            2,
            "the CUDA driver cannot start: the driver is older than the library",
        ),
        ("no-device", "0", 2, "the CUDA driver finds no device"),
        ("old-device", "0", 2, "Stub 1 has compute capability 3.0, and kernels need 6.0 or newer"),
        ("old-device", "1", 2, "Stub 2 has compute capability 3.0, and kernels need 6.0 or newer"),
        ("", "2", 2, none),
        ("wrong-text", "0", 1, "error[compiler-failed]: NVRTC failed: a quote"),
        (
            "full",
            "0",
            1,
            "error[out-of-memory]: Stub 1 has no room for 84 bytes: 5 of 1000 are free",
        ),
        ("fault", "0", 1, "error[device-failed]: Stub 1 failed: an illegal memory access"),
        ("old-cuda", "0", 2, &*old),
        ("new-nvrtc", "0", 2, &*new),
    ];
    for (mode, device, expected_status, expected) in cases {
        let mut variables = stand_in.variables(mode);
        variables
            .extend([("TAMIS_CUDA_DEVICE", device.to_owned()), ("STUB_MEMORY", "1000".into())]);
        let (status, text) = told(&variables);
        assert!(text.contains(expected), "{mode}: {text}");
        assert_eq!(status, Some(expected_status), "{mode}: {text}");
        assert!(text.contains("= help: "), "{mode}: {text}");
    }
    let mut missing = stand_in.variables("");
    missing.push(("TAMIS_NVRTC", "/nowhere/libnvrtc.so".to_owned()));
    let (status, text) = told(&missing);
    assert_eq!(status, Some(2), "{text}");
    assert!(
        text.contains("/nowhere/libnvrtc.so, which TAMIS_NVRTC names, cannot be loaded"),
        "{text}"
    );
    // A device that is newer than NVRTC gets code that its driver compiles on.
    for mode in ["", "new-device"] {
        let ok = tamis(&stand_in.variables(mode));
        assert_eq!(ok.status.code(), Some(0), "{mode}: {}", String::from_utf8_lossy(&ok.stderr));
    }
    run_on_the_emulator(&stand_in);
}

/// Operands go to the device and results come back, kernels run in their order.
fn run_on_the_emulator(stand_in: &StandIn) {
    let folder = Temporary::folder(&std::env::temp_dir()).unwrap();
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
            let path = folder.path().join(format!("gpu.{backend}.tns"));
            let output = Command::new(env!("CARGO_BIN_EXE_tamis"))
                .arg("run")
                .args(program)
                .args(["-g", "A=20x20:0.5", "-g", "x=dense", "--backend", backend])
                .args(["-o", &format!("y={}", path.display())])
                .envs(stand_in.variables("run"))
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{program:?}: {told}");
            let on_host = backend == "cuda" && program[0].starts_with("y(j)");
            let noted = told.contains("note: compute_y runs on the host: ");
            assert_eq!(noted, on_host, "{program:?}: {told}");
            let text = std::fs::read_to_string(&path).unwrap();
            let value = |line: &str| line.rsplit(' ').next().unwrap().parse::<f64>().ok();
            text.lines().filter_map(value).collect::<Vec<f64>>()
        };
        let (expected, got) = (written("jit"), written("cuda"));
        assert!(!expected.is_empty() && expected.len() == got.len(), "{program:?}: {got:?}");
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * a.abs().max(1.0);
        assert!(expected.iter().zip(&got).all(near), "{program:?}: {got:?}, not {expected:?}");
    }
}
