//! How fast tensors of different formats meet, are made and are converted, beside what `csr` takes.
//!
//! ```text
//! formats [--only pairs,products,conversions,fused,split] [--runs N] [--programs N] [--most MEGABYTES] [FILE.mtx ...]
//! ```
//!
//! Without files, matrices are generated: blocks of 3 x 3 near the diagonal, and random ones. Every table has
//! ratios: of a pair of formats to the pair of `csr`, of a product into a format to one into `csr`, of a conversion
//! to a copy of the larger of both tensors, and of a statement that is split to the whole one, of some that are written
//! here and of `--programs` random ones. Kernels of the JIT on one thread, whose processor time counts: the least of a
//! few runs. Formats that take more than `--most` of a matrix are left out.

mod expressions;
mod matrices;
mod tables;

use std::process::ExitCode;
use std::time::Instant;
use tables::{Bench, TABLES};
use tamis::{Diagnostic, threads};

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
    let (mut only, mut runs, mut programs, mut most, mut files) = (None, 5, 60, 256, vec![]);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || {
            let value = args.next().unwrap_or_default();
            value.parse().map_err(|_| format!("{arg} takes a number, not {value:?}"))
        };
        match arg.as_str() {
            "--runs" => runs = number()?,
            "--programs" => programs = number()?,
            "--most" => most = number()?,
            "--only" => only = args.next(),
            _ if arg.starts_with('-') => return Err(format!("unknown option {arg}")),
            _ => files.push(arg),
        }
    }
    let wanted = |name: &str| only.as_ref().is_none_or(|o| o.split(',').any(|n| n == name));
    tamis::threads::set(Some(1)).map_err(|d| d.to_string())?;
    let bench = Bench { runs, programs, most: (most as u64) << 20 };
    let matrices = matrices::all(&files)?;
    // On the thread of the pool, all that runs is its processor time.
    rayon::scope(|_| {
        for matrix in matrices {
            println!("\n# {}", matrix.about());
            for (name, table) in TABLES {
                if wanted(name) {
                    println!("\n## {name}\n");
                    table(bench, &matrix).map_err(|d: Diagnostic| d.to_string())?;
                }
            }
        }
        Ok(())
    })
}

/// The least time of a few runs, in milliseconds; slow ones run less often.
fn clock(runs: usize, mut what: impl FnMut() -> Result<(), Diagnostic>) -> Result<f64, Diagnostic> {
    Ok(clock_each(runs, 1, |_| what())?[0])
}

/// The least times of several that are compared: one runs after the other, so that what disturbs one disturbs all.
fn clock_each(
    runs: usize,
    count: usize,
    mut what: impl FnMut(usize) -> Result<(), Diagnostic>,
) -> Result<Vec<f64>, Diagnostic> {
    (0..count).try_for_each(&mut what)?;
    let (mut least, begin) = (vec![f64::INFINITY; count], Instant::now());
    for run in 0..runs * 8 {
        for (k, least) in least.iter_mut().enumerate() {
            let (start, cpu) = (Instant::now(), threads::time());
            what(k)?;
            let cpu = threads::time().zip(cpu).map(|(end, begin)| end.saturating_sub(begin));
            *least = least.min(cpu.unwrap_or_else(|| start.elapsed()).as_secs_f64() * 1e3);
        }
        // Short runs are many, since others on the machine disturb them.
        let most = 0.02 * (runs * count) as f64;
        if run + 1 >= runs.min(2) && begin.elapsed().as_secs_f64() > most {
            break;
        }
    }
    Ok(least)
}
