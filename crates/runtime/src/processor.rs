//! The processor level that code is generated for: which there are, what they allow, what this
//! machine has.
//!
//! ```text
//! TAMIS_CPU=x86-64-v3      code for AVX2 and FMA, also on a machine that has AVX-512
//! ```
//!
//! The levels are those of the x86-64 psABI, which compilers know by the same names.

use std::env::VarError;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// The variable of the environment that names the level.
const VARIABLE: &str = "TAMIS_CPU";

/// What generated code may assume of the processor. Later levels include earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// SSE2: every x86-64 processor.
    Baseline,
    /// SSE4.2 and POPCNT.
    V2,
    /// AVX2, FMA and BMI2.
    V3,
    /// AVX-512 F, BW, CD, DQ and VL.
    V4,
    /// Everything that this machine has, on any architecture.
    Native,
}

impl Level {
    /// Every level.
    pub const ALL: [Level; 5] = [Level::Baseline, Level::V2, Level::V3, Level::V4, Level::Native];

    /// The name that `TAMIS_CPU` and C compilers give it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline => "x86-64",
            Level::V2 => "x86-64-v2",
            Level::V3 => "x86-64-v3",
            Level::V4 => "x86-64-v4",
            Level::Native => "native",
        }
    }

    /// The level of a name that this machine has.
    pub fn parse(name: &str) -> Result<Level, Diagnostic> {
        of_machine(name, name, highest(), std::env::consts::ARCH)
    }

    /// The levels that this machine has.
    pub fn supported() -> impl Iterator<Item = Level> {
        let highest = highest();
        Level::ALL.into_iter().filter(move |&l| l == Level::Native || Some(l) <= highest)
    }

    /// Whether code for this level may use the instructions of another.
    pub fn allows(self, needed: Level) -> bool {
        match self {
            Level::Native => Some(needed) <= highest(),
            level => needed <= level,
        }
    }

    /// How many bytes the widest vectors of code for this level have.
    pub fn vector_bytes(self) -> usize {
        match self {
            _ if self.allows(Level::V4) => 64,
            _ if self.allows(Level::V3) => 32,
            _ => 16,
        }
    }
}

/// The level chosen by [`set_level`], as a position in [`Level::ALL`] plus 1.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

/// The level that code is generated for from now on: the one chosen by [`set_level`], else by
/// `TAMIS_CPU`, else `native`. The environment is read once.
pub fn level() -> Result<Level, Diagnostic> {
    static NAMED: OnceLock<Result<Level, Diagnostic>> = OnceLock::new();
    match CHOSEN.load(Ordering::Relaxed).checked_sub(1) {
        Some(at) => Ok(Level::ALL[at]),
        None => NAMED.get_or_init(named).clone(),
    }
}

/// Sets the level of this process. Kernels compiled before keep theirs.
pub fn set_level(level: Level) -> Result<(), Diagnostic> {
    let level = Level::parse(level.name())?;
    CHOSEN.store(level as usize + 1, Ordering::Relaxed);
    Ok(())
}

/// Whether code may use the instructions of a level; nothing beyond the baseline where `TAMIS_CPU`
/// is wrong.
pub fn allows(needed: Level) -> bool {
    level().unwrap_or(Level::Baseline).allows(needed)
}

/// The processor's architecture, model and features, on which `native` depends.
pub fn model() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = info.split("\n\n").next().unwrap_or_default();
    let names = ["model name", "flags", "Features", "CPU implementer", "CPU variant", "CPU part"];
    let wanted = |line: &&str| names.iter().any(|name| line.starts_with(name));
    let lines = processor.lines().filter(wanted);
    [std::env::consts::ARCH].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

fn named() -> Result<Level, Diagnostic> {
    let text = match std::env::var(VARIABLE) {
        Ok(text) if text.trim().is_empty() => return Ok(Level::Native),
        Ok(text) => text,
        Err(VarError::NotUnicode(text)) => text.to_string_lossy().into_owned(),
        Err(VarError::NotPresent) => return Ok(Level::Native),
    };
    of_machine(&text, &format!("{VARIABLE}={text}"), highest(), std::env::consts::ARCH)
}

/// The level of a name, on a machine of an architecture whose highest level is known.
fn of_machine(
    name: &str,
    told: &str,
    highest: Option<Level>,
    architecture: &str,
) -> Result<Level, Diagnostic> {
    let wrong = |why: String| Diagnostic::new(Code::InvalidOption, format!("{told} {why}"));
    let Some(level) = Level::ALL.into_iter().find(|l| l.name() == name.trim()) else {
        let names = Level::ALL.map(Level::name).join(", ");
        return Err(wrong("is not a processor level".to_owned()).help(format!("one of {names}")));
    };
    match highest {
        _ if level == Level::Native => Ok(level),
        Some(highest) if level <= highest => Ok(level),
        Some(highest) => Err(wrong("is beyond this processor".to_owned())
            .help(format!("its highest level is {}; native uses all it has", highest.name()))),
        None => Err(wrong(format!("is a level of x86-64, and this processor is {architecture}"))
            .help("use native, which is the default")),
    }
}

/// The highest level that this machine has, if its architecture has levels.
fn highest() -> Option<Level> {
    static HIGHEST: OnceLock<Option<Level>> = OnceLock::new();
    *HIGHEST.get_or_init(detect)
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Option<Level> {
    macro_rules! has {
        ($($feature:tt)*) => { true $(&& std::arch::is_x86_feature_detected!($feature))* };
    }
    let v2 = has!("sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "cmpxchg16b");
    let v3 = has!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe");
    let v4 = has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl");
    Some(match (v2, v3, v4) {
        (true, true, true) => Level::V4,
        (true, true, false) => Level::V3,
        (true, false, _) => Level::V2,
        (false, ..) => Level::Baseline,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Option<Level> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_that_the_machine_lacks_are_refused() {
        let refused = |name: &str, highest, architecture: &str| {
            let told = format!("TAMIS_CPU={name}");
            let outcome = of_machine(name, &told, highest, architecture);
            outcome.map_or_else(|d| d.to_string(), |level| level.name().to_owned())
        };
        let on = |name| refused(name, Some(Level::V3), "x86_64");
        assert_eq!(on("x86-64-v3"), "x86-64-v3");
        assert_eq!(on("native"), "native");
        assert_eq!(
            on("x86-64-v4"),
            "error[invalid-option]: TAMIS_CPU=x86-64-v4 is beyond this processor\n  = help: its \
             highest level is x86-64-v3; native uses all it has"
        );
        assert_eq!(
            on("avx2"),
            "error[invalid-option]: TAMIS_CPU=avx2 is not a processor level\n  = help: one of \
             x86-64, x86-64-v2, x86-64-v3, x86-64-v4, native"
        );
        assert_eq!(
            refused("x86-64", None, "aarch64"),
            "error[invalid-option]: TAMIS_CPU=x86-64 is a level of x86-64, and this processor is \
             aarch64\n  = help: use native, which is the default"
        );
        assert_eq!(refused("native", None, "aarch64"), "native");
    }

    #[test]
    fn levels_include_earlier_ones() {
        assert!(Level::V3.allows(Level::V2) && Level::V3.allows(Level::V3));
        assert!(!Level::V3.allows(Level::V4) && !Level::Baseline.allows(Level::V2));
        let highest = Level::supported().filter(|l| *l != Level::Native).last();
        for level in Level::ALL.into_iter().filter(|l| *l != Level::Native) {
            assert_eq!(Level::Native.allows(level), Some(level) <= highest, "{level:?}");
        }
    }
}
