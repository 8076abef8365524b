//! What kernels on several ranks send, against what they need: `ranks [--ranks N] FILE ..`
//!
//! For each matrix and tensor, and each kernel that fits: the bytes that all ranks sent in a first run and in a later
//! one with other values, each against the values, and for sparse rows also coordinates, that ranks need of others;
//! the bytes that were forecast against those that were sent;
//! the entries of the rank that has most against an equal share; and times of a first run, of a later one, and of one
//! process. Ranks are threads.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use tamis::dist::{Communicator, Counted, Distributed, Placements, Run, agree, on_threads};
use tamis::{Diagnostic, Kernel, Options, Tensor, format};

/// A kernel: its text, its dense operands with their indices in the sparse one, and columns of these.
struct Row {
    name: &'static str,
    text: &'static str,
    /// Name, the mode of `A` whose coordinates choose rows, and how many columns there are.
    dense: &'static [(&'static str, usize, u64)],
    order: usize,
}

const ROWS: [Row; 6] = [
    Row { name: "SpMV", text: "y(i) = A(i,j) * x(j)", dense: &[("x", 1, 1)], order: 2 },
    Row { name: "SpMM 16", text: "C(i,k) = A(i,j) * B(j,k)", dense: &[("B", 1, 16)], order: 2 },
    Row {
        name: "SDDMM 8",
        text: "S(i,j) = A(i,j) * X(i,k) * Y(j,k)",
        dense: &[("X", 0, 8), ("Y", 1, 8)],
        order: 2,
    },
    Row { name: "SpGEMM", text: "C(i,j) = A(i,k) * A(k,j)", dense: &[], order: 2 },
    Row {
        name: "MTTKRP 8",
        text: "M(i,r) = A(i,k,l) * C(k,r) * D(l,r)",
        dense: &[("C", 1, 8), ("D", 2, 8)],
        order: 3,
    },
    Row { name: "TTV", text: "Y(i,j) = A(i,j,k) * x(k)", dense: &[("x", 2, 1)], order: 3 },
];

fn main() -> ExitCode {
    let (mut ranks, mut files) = (4, vec![]);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--ranks" => ranks = args.next().and_then(|n| n.parse().ok()).unwrap_or(4),
            _ => files.push(arg),
        }
    }
    println!(
        "| input | kernel | sent first / need | sent later / need | forecast / sent, first and later | most entries | first ms | later ms | one process ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for file in &files {
        if let Err(why) = table(Path::new(file), ranks) {
            eprintln!("{file}: {why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn table(file: &Path, ranks: usize) -> Result<(), String> {
    let list = tamis_io::read(file).map_err(|e| e.to_string())?.coordinates;
    let order = list.dims().len();
    let name = if order == 2 { "csr" } else { "csf" };
    let packed = format::parse(name, Some(order))
        .and_then(|spec| spec.resolve(list.vals().datatype()))
        .and_then(|storage| tamis::pack(&list, &storage, tamis::Duplicates::Sum));
    let a = packed.map_err(|d| d.to_string())?;
    let stem = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.split('.').next().unwrap_or_default().to_owned();
    for row in ROWS.iter().filter(|row| row.order == order) {
        let square = a.dims()[0] == a.dims()[1];
        if row.dense.is_empty() && !square {
            continue;
        }
        let line = measured(row, &a, ranks).map_err(|d| d.to_string())?;
        println!("| {stem} | {} | {line} |", row.name);
    }
    Ok(())
}

/// What ranks sent and how long it took.
struct Ran {
    sent: [u64; 2],
    seconds: [f64; 2],
    held: usize,
    need: u64,
}

fn measured(row: &Row, a: &Tensor, ranks: usize) -> Result<String, Diagnostic> {
    let dense = |&(name, mode, columns): &(&'static str, usize, u64)| {
        let rows = a.dims()[mode];
        let values = (0..rows * columns).map(|n| 1.0 + (n % 17) as f64).collect::<Vec<f64>>();
        let dims = if columns == 1 { vec![rows] } else { vec![rows, columns] };
        Ok::<_, Diagnostic>((name, Tensor::dense(&dims, values)?))
    };
    let dense: Vec<(&str, Tensor)> = row.dense.iter().map(dense).collect::<Result<_, _>>()?;
    let mut operands = vec![("A", a)];
    operands.extend(dense.iter().map(|(name, tensor)| (*name, tensor)));
    let kernel = Kernel::compile(row.text, &operands, &Options::default())?;
    kernel.run(&operands)?;
    let start = Instant::now();
    kernel.run(&operands)?;
    let alone = start.elapsed().as_secs_f64() * 1e3;
    let ran = on_threads(ranks, |comm| {
        let mut parts = vec![];
        for (name, tensor) in &operands {
            parts.push((*name, Distributed::split(comm, tensor)?));
        }
        let counted = Counted::new(comm);
        let (mut sent, mut seconds, mut before) = ([0; 2], [0.0; 2], 0);
        for run in 0..2 {
            // The sparse operand stays, others have other values each time.
            for (place, (name, tensor)) in operands.iter().enumerate().skip(1) {
                parts[place] = (*name, Distributed::split(comm, tensor)?);
            }
            agree(comm, Ok(()))?;
            let given: Vec<(&str, &Distributed)> = parts.iter().map(|(n, t)| (*n, t)).collect();
            let start = Instant::now();
            kernel.run_distributed(&counted, &given)?;
            seconds[run] = start.elapsed().as_secs_f64() * 1e3;
            sent[run] = counted.counts().sent - before;
            before = counted.counts().sent;
        }
        let need = need(row, a, &parts, comm)?;
        Ok(Ran { sent, seconds, held: parts[0].1.held(), need })
    });
    let ran: Vec<Ran> = ran.into_iter().collect::<Result<_, _>>()?;
    let need: u64 = ran.iter().map(|ran| ran.need).sum();
    let forecast = kernel.forecast(ranks, &operands, &Placements::new())?;
    let told = [Run::First, Run::Later].into_iter().enumerate().map(|(run, of)| {
        let sent: u64 = ran.iter().map(|ran| ran.sent[run]).sum();
        format!("{:.3}", forecast.bytes(of) as f64 / sent as f64)
    });
    let told = told.collect::<Vec<String>>().join(", ");
    let ratio = |run: usize| {
        let sent: u64 = ran.iter().map(|ran| ran.sent[run]).sum();
        format!("{sent} / {need} = {:.3}", sent as f64 / need.max(1) as f64)
    };
    let most = ran.iter().map(|ran| ran.held).max().unwrap_or(0) as f64;
    let most = most * ranks as f64 / a.nnz().max(1) as f64;
    let slowest = |run: usize| ran.iter().map(|ran| ran.seconds[run]).fold(0.0, f64::max);
    let (first, later) = (slowest(0), slowest(1));
    Ok(format!(
        "{} | {} | {told} | {most:.3} | {first:.2} | {later:.2} | {alone:.2}",
        ratio(0),
        ratio(1)
    ))
}

/// The bytes that a rank needs of others: of dense operands the rows that its entries of `A` name, of `A` itself the
/// rows that its columns name, with four bytes per coordinate and row.
fn need(
    row: &Row,
    a: &Tensor,
    parts: &[(&str, Distributed)],
    comm: &dyn Communicator,
) -> Result<u64, Diagnostic> {
    let list = a.to_coordinates()?;
    let Some((_, mine)) = parts[0].1.interval(comm.rank()) else { return Ok(0) };
    let own: Vec<usize> =
        (0..list.vals().len()).filter(|&n| mine.contains(&list.crds()[0][n])).collect();
    let named = |mode: usize| own.iter().map(|&n| list.crds()[mode][n]).collect::<BTreeSet<u64>>();
    let mut bytes = 0;
    for ((_, mode, columns), (_, part)) in row.dense.iter().zip(&parts[1..]) {
        let Some((_, held)) = part.interval(comm.rank()) else { continue };
        let others = named(*mode).into_iter().filter(|at| !held.contains(at)).count() as u64;
        bytes += others * columns * size_of::<f64>() as u64;
    }
    if row.dense.is_empty() {
        let rows: BTreeSet<u64> = named(1).into_iter().filter(|at| !mine.contains(at)).collect();
        let entries = list.crds()[0].iter().filter(|at| rows.contains(at)).count() as u64;
        let value = a.storage().datatype.size() as u64;
        bytes += entries * (value + 4) + rows.len() as u64 * 4;
    }
    Ok(bytes)
}
