//! The thread pool, shared with the user's: rayon's global one.

use std::env::VarError;
use tamis_core::diagnostic::{Code, Diagnostic};

/// The variable of the environment that gives the number of threads.
const VARIABLE: &str = "TAMIS_NUM_THREADS";
/// More threads than this are a mistake.
const MOST: usize = 4096;

/// Sets the number of threads, from the argument or `TAMIS_NUM_THREADS`, and returns how many
/// there are. Only the first call in a process has an effect.
pub fn set(wanted: Option<usize>) -> Result<usize, Diagnostic> {
    let (text, wanted) = match (wanted, std::env::var(VARIABLE)) {
        (Some(n), _) => (n.to_string(), Some(n)),
        (None, Ok(text)) => (format!("{VARIABLE}={text}"), text.trim().parse().ok()),
        (None, Err(VarError::NotUnicode(text))) => (format!("{VARIABLE}={}", text.display()), None),
        (None, Err(VarError::NotPresent)) => return Ok(count()),
    };
    let Some(threads) = wanted.filter(|n| (1..=MOST).contains(n)) else { return Err(wrong(&text)) };
    // Fails where there is a pool already.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    Ok(count())
}

fn wrong(text: &str) -> Diagnostic {
    Diagnostic::new(Code::InvalidOption, format!("{text} is not a number of threads"))
        .help(format!("give a number from 1 to {MOST}"))
}

/// How many threads compute.
pub fn count() -> usize {
    rayon::current_num_threads()
}
