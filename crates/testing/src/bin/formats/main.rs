//! How fast tensors of different formats meet, are made and are converted, beside what `csr` takes.
//!
//! ```text
//! formats [--only pairs,products,conversions,fused] [--runs N] [--most MEGABYTES] [FILE.mtx ...]
//! ```
//!
//! Without files, matrices are generated: blocks of 3 x 3 near the diagonal, and random ones. Every table has
//! ratios: of a pair of formats to the pair of `csr`, of a product into a format to one into `csr`, of a conversion
//! to a copy of the larger of both tensors, and of a statement that is split to the whole one. Kernels of the JIT on one
//! thread; the least of a few runs counts. Formats that take more than `--most` of a matrix are left out.

mod matrices;
mod tables;

use std::process::ExitCode;
use std::time::Instant;
use tables::{Bench, TABLES};
use tamis::Diagnostic;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let (mut only, mut runs, mut most, mut files) = (None, 5, 256, vec![]);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || {
            let value = args.next().unwrap_or_default();
            value.parse().map_err(|_| format!("{arg} takes a number, not {value:?}"))
        };
        match arg.as_str() {
            "--runs" => runs = number()?,
            "--most" => most = number()?,
            "--only" => only = args.next(),
            _ if arg.starts_with('-') => return Err(format!("unknown option {arg}")),
            _ => files.push(arg),
        }
    }
    let wanted = |name: &str| only.as_ref().is_none_or(|o| o.split(',').any(|n| n == name));
    tamis::threads::set(Some(1)).map_err(|d| d.to_string())?;
    let bench = Bench { runs, most: (most as u64) << 20 };
    for matrix in matrices::all(&files)? {
        println!("\n# {}", matrix.about());
        for (name, table) in TABLES {
            if wanted(name) {
                println!("\n## {name}\n");
                table(bench, &matrix).map_err(|d: Diagnostic| d.to_string())?;
            }
        }
    }
    Ok(())
}

/// The least time of a few runs, in milliseconds; slow ones run less often.
fn clock(runs: usize, mut what: impl FnMut() -> Result<(), Diagnostic>) -> Result<f64, Diagnostic> {
    what()?;
    let (mut least, begin) = (f64::INFINITY, Instant::now());
    for run in 0..runs * 8 {
        let start = Instant::now();
        what()?;
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
        // Short runs are many, since others on the machine disturb them.
        if run + 1 >= runs.min(2) && begin.elapsed().as_secs_f64() > 0.02 * runs as f64 {
            break;
        }
    }
    Ok(least)
}
