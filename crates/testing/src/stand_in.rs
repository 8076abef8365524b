//! A library that stands for NVIDIA's driver and compiler: kernels run on the emulated GPU, by the calls that
//! a real one would get.
//!
//! ```text
//! alone("feeds_itself", || { .. })     runs a test once more, in a process whose driver is the stand-in
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;
use tamis_runtime::temporary::Temporary;

/// What says that this process has the stand-in.
const INSIDE: &str = "TAMIS_INSIDE_STAND_IN";

/// The stand-in, compiled; removed when dropped.
pub struct StandIn {
    folder: Temporary,
    library: PathBuf,
}

/// What was asked of the driver.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Kernels.
    pub launches: usize,
    /// Copies to the device.
    pub copies_in: usize,
    /// Copies from it.
    pub copies_out: usize,
    /// How often the host waited.
    pub waits: usize,
    /// Pieces of memory.
    pub allocations: usize,
    /// How often a stream was to wait for another one.
    pub orders: usize,
    /// Texts.
    pub compilations: usize,
    /// Bytes that were not freed.
    pub used: usize,
    /// The most bytes at a time.
    pub most: usize,
    /// How often a thread was not given back the device that it had before.
    pub entered: usize,
}

impl StandIn {
    /// The stand-in in a folder of its own; `None` without a C compiler.
    pub fn new() -> Option<StandIn> {
        let folder = Temporary::folder(&std::env::temp_dir()).ok()?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stand_in.c");
        let library = folder.path().join("libstandin.so");
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-w", "-pthread", "-o"]).arg(&library).arg(&source);
        let made = StandIn { folder, library };
        command.status().is_ok_and(|status| status.success()).then_some(made)
    }

    /// The library.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// The variables of a process whose driver it is; `mode` is how it fails, or `run`.
    pub fn variables(&self, mode: &str) -> Vec<(&'static str, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda/src/emulate.h");
        vec![
            ("TAMIS_CUDA_DRIVER", text(&self.library)),
            ("TAMIS_NVRTC", text(&self.library)),
            ("TAMIS_CACHE_DIR", text(&self.folder.path().join(format!("cache-{mode}")))),
            ("STUB", mode.to_owned()),
            ("STUB_HEADER", text(&header)),
            ("STUB_FOLDER", text(self.folder.path())),
            ("STUB_REPORT", text(&self.folder.path().join("report"))),
            ("STUB_MEMORY", (16 << 20).to_string()),
        ]
    }

    /// What the last process asked of it that ended well.
    pub fn report(&self) -> Report {
        let text = std::fs::read_to_string(self.folder.path().join("report")).unwrap_or_default();
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
        };
        Report {
            launches: number("launches"),
            copies_in: number("copies_in"),
            copies_out: number("copies_out"),
            waits: number("waits"),
            allocations: number("allocations"),
            orders: number("orders"),
            compilations: number("compilations"),
            used: number("used"),
            most: number("most"),
            entered: number("entered"),
        }
    }
}

/// Runs a test of this name once more in a process of its own, whose driver is the stand-in, and there
/// `body`; gives what was asked of the driver, outside of that process and where there is a C compiler.
pub fn alone(test: &str, body: impl FnOnce()) -> Option<Report> {
    if std::env::var_os(INSIDE).is_some() {
        body();
        return None;
    }
    let Some(stand_in) = StandIn::new() else {
        eprintln!("skipped: there is no C compiler");
        return None;
    };
    let own = std::env::current_exe().expect("a test is a file");
    let mut command = Command::new(own);
    command.args(["--exact", test, "--test-threads", "1", "--nocapture"]);
    command.envs(stand_in.variables("run")).env(INSIDE, "1");
    let output = command.output().expect("a test can be run");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    Some(stand_in.report())
}
