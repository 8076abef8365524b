//! The thread pool, shared with the user's: rayon's global one.

use tamis_core::diagnostic::{Code, Diagnostic};

/// Sets the number of threads, from the argument or `TAMIS_NUM_THREADS`, and returns how many
/// there are. Only the first call in a process has an effect.
pub fn set(wanted: Option<usize>) -> Result<usize, Diagnostic> {
    let named = std::env::var("TAMIS_NUM_THREADS").ok();
    let wanted = match (wanted, named) {
        (Some(n), _) => Some(n),
        (None, Some(text)) => Some(text.trim().parse().map_err(|_| wrong(&text))?),
        (None, None) => None,
    };
    match wanted {
        Some(0) => return Err(wrong("0")),
        Some(n) if n > 4096 => return Err(wrong(&n.to_string())),
        Some(n) => {
            let _ = rayon::ThreadPoolBuilder::new().num_threads(n).build_global();
        }
        None => {}
    }
    Ok(rayon::current_num_threads())
}

fn wrong(text: &str) -> Diagnostic {
    Diagnostic::new(Code::InvalidOption, format!("{text} is not a number of threads"))
        .help("give a number from 1 to 4096")
}
