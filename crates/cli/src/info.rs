//! `tamis info`: what a tensor file holds, and the formats that suit it.

use crate::args::InfoArgs;
use crate::failure::Failure;
use std::collections::BTreeSet;
use tamis::{Coordinates, Values};

/// Runs the command.
pub fn info(args: &InfoArgs) -> Result<(), Failure> {
    let file = tamis_io::read(&args.file)?;
    let list = &file.coordinates;
    let dims: Vec<String> = list.dims.iter().map(u64::to_string).collect();
    println!("order       {}", list.dims.len());
    println!(
        "dimensions  {}",
        if dims.is_empty() { "none (a scalar)".to_owned() } else { dims.join(" x ") }
    );
    println!("nonzeros    {}", list.vals.len());
    let size = list.dims.iter().map(|&d| d as f64).product::<f64>();
    let density = if size > 0.0 { list.vals.len() as f64 / size } else { 0.0 };
    println!("density     {density:.3e}");
    println!("stored as   {:?}, {:?}", file.header.field, file.header.symmetry);
    let zeros = zeros(&list.vals);
    if zeros > 0 {
        println!("zeros       {zeros} explicit");
    }
    if list.dims.len() == 2 {
        matrix(list);
    }
    println!("suits       {}", suits(list, density));
    Ok(())
}

fn matrix(list: &Coordinates) {
    let (rows, columns) = (&list.crds[0], &list.crds[1]);
    for (name, crds, dimension) in
        [("rows", rows, list.dims[0]), ("columns", columns, list.dims[1])]
    {
        let counts = counts(crds);
        let most = counts.iter().map(|(_, n)| *n).max().unwrap_or(0);
        let mean = list.vals.len() as f64 / (dimension.max(1)) as f64;
        let empty = dimension - counts.len() as u64;
        println!("{name:<11} {mean:.2} entries on average, {most} at most, {empty} empty");
    }
    let diagonals: BTreeSet<i64> =
        rows.iter().zip(columns).map(|(&r, &c)| c as i64 - r as i64).collect();
    println!("diagonals   {}", diagonals.len());
    for b in [2u64, 4, 8] {
        let blocks: BTreeSet<(u64, u64)> =
            rows.iter().zip(columns).map(|(&r, &c)| (r / b, c / b)).collect();
        let share = list.vals.len() as f64 / (blocks.len().max(1) as f64 * (b * b) as f64);
        println!("blocks      {b} x {b}: {} blocks, {:.0} % full", blocks.len(), 100.0 * share);
    }
    let entries: BTreeSet<(u64, u64)> = rows.iter().copied().zip(columns.iter().copied()).collect();
    let mirrored = entries.iter().filter(|&&(r, c)| entries.contains(&(c, r))).count();
    let symmetric =
        if mirrored == entries.len() { "symmetric pattern" } else { "unsymmetric pattern" };
    println!("symmetry    {symmetric}");
    if entries.len() < list.vals.len() {
        println!("duplicates  {}", list.vals.len() - entries.len());
    }
}

/// Each coordinate that occurs, with how often.
fn counts(crds: &[u64]) -> Vec<(u64, u64)> {
    let mut sorted = crds.to_vec();
    sorted.sort_unstable();
    let mut counts: Vec<(u64, u64)> = vec![];
    for c in sorted {
        match counts.last_mut() {
            Some((last, n)) if *last == c => *n += 1,
            _ => counts.push((c, 1)),
        }
    }
    counts
}

fn suits(list: &Coordinates, density: f64) -> &'static str {
    let used = |mode: usize| counts(&list.crds[mode]).len() as f64;
    match list.dims.len() {
        0 => "scalar",
        _ if density > 0.25 => "dense",
        1 => "sparse",
        2 if used(0) < 0.1 * list.dims[0] as f64 => "dcsr",
        2 => "csr (by rows), csc (by columns)",
        _ => "csf",
    }
}

fn zeros(vals: &Values) -> usize {
    let is_zero = |n: &usize| match vals {
        Values::C128(v) => v[*n] == [0.0; 2],
        _ => vals.as_f64(*n) == 0.0,
    };
    (0..vals.len()).filter(is_zero).count()
}
