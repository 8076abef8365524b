//! Where memory runs out in code that cannot say so, a process ends with a diagnostic and leaves nothing.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use tamis_runtime::temporary::{Readers, Temporary};
use tamis_runtime::{HugePages, end_with_diagnostic};

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// The folder of the temporaries of a process that is to take all memory.
const FOLDER: &str = "TAMIS_TEST_EXHAUSTED";
/// The size of the blocks that it takes.
const SIZE: &str = "TAMIS_TEST_EXHAUSTED_BY";

#[test]
fn an_end_without_memory_leaves_no_temporaries() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        exhaust(folder.as_ref());
    }
    // Small blocks are refused one day, large ones at once; a backtrace takes some of the others.
    ends(256, "0");
    ends(1 << 30, "1");
}

/// Requires that a process which takes blocks of a size until there are none leaves nothing.
fn ends(size: usize, backtrace: &str) {
    let folder = Temporary::folder(&std::env::temp_dir()).unwrap();
    let mut limited = Command::new("sh");
    // Address space, in units of 1024 bytes.
    limited
        .args(["-c", "ulimit -v 400000; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap());
    limited.args(["--exact", "an_end_without_memory_leaves_no_temporaries", "--nocapture"]);
    let output = limited
        .envs([(SIZE, size.to_string().as_str()), ("RUST_BACKTRACE", backtrace)])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("error[out-of-memory]"), "{told}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{told}");
}

/// Makes a temporary file and a folder with a file, and takes blocks until there are none.
fn exhaust(folder: &Path) -> ! {
    end_with_diagnostic();
    let _file = Temporary::file(folder, Readers::User).unwrap();
    let inside = Temporary::folder(folder).unwrap();
    std::fs::write(inside.path().join("kernel.c"), "int x;").unwrap();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2);
    let size = std::env::var(SIZE).unwrap().parse().unwrap();
    loop {
        std::mem::forget(vec![0u8; size]);
    }
}
