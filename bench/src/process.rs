//! The conditions of a fair race: one core, and one page policy for everybody.
//!
//! NumPy asks for huge pages for its arrays; adding sparse matrices is page faults above all, so a library
//! that does not ask would lose by its pages and not by its code. glibc can ask on behalf of every caller
//! of `malloc`, so the benchmark starts itself again under that setting, and its Python child inherits it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Which pages results lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Transparent huge pages, for everybody.
    Huge,
    /// Small pages, for everybody.
    Small,
}

impl Pages {
    /// Both thresholds are where glibc's own dynamic rule ends up after some large frees, so that the
    /// first contender does not run under another rule than the last.
    fn tunables(self) -> &'static str {
        match self {
            Self::Huge => {
                "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=67108864"
            }
            Self::Small => {
                "glibc.malloc.hugetlb=0:glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=67108864"
            }
        }
    }

    /// For people, with the kernel's own setting, which can overrule.
    pub fn describe(self) -> String {
        let setting = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        let setting = setting.unwrap_or_else(|_| "unknown".into());
        format!("{self:?} (kernel: {})", setting.trim()).to_lowercase()
    }
}

/// Starts this program again under the page policy, unless it already runs under it.
pub fn enter(pages: Pages, arguments: &[OsString]) -> Result<(), String> {
    const VARIABLE: &str = "GLIBC_TUNABLES";
    if std::env::var(VARIABLE).is_ok_and(|set| set == pages.tunables()) {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let error = Command::new(program)
        .args(arguments)
        .env(VARIABLE, pages.tunables())
        .env("NUMPY_MADVISE_HUGEPAGE", if pages == Pages::Huge { "1" } else { "0" })
        .exec();
    Err(format!("starting again under the page policy: {error}"))
}

/// Keeps this process and its children on the last core it may use; the number of that core.
pub fn pin_to_one_core() -> Result<usize, String> {
    let allowed = sched_getaffinity(None).map_err(|e| e.to_string())?;
    let core = (0..CpuSet::MAX_CPU)
        .rev()
        .find(|&core| allowed.is_set(core))
        .ok_or("there is no core to run on")?;
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one).map_err(|e| e.to_string())?;
    Ok(core)
}

/// The name of the processor.
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name).to_string()
}
