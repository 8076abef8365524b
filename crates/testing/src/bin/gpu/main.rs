//! Kernels on a GPU: checked against the processor, and timed by the device's clock.
//!
//! ```text
//! gpu [--quick] [--entries N] [--backend cuda|cuda-emulated] [--only spmv,ttm16]
//!     [--patterns stencil,random,power-law] [--schedule COMMANDS]...
//! ```
//!
//! Five-point stencils, random and power-law matrices and tensors of 240 MB and more, of so many entries
//! with `--entries`, small ones with `--quick`. Each `--schedule` is tried, where kernels otherwise get one. Operands and results are on the device. What is timed is a row of calls between two events of
//! the device, of Tamis and of others alike, and then a call by the host's clock, to the end of what it
//! computes. Beside that stand what the bytes that a kernel has to read and write at least once take at the
//! rate of a copy, what its gathers alone take, and what cuSPARSE takes, by CuPy and PyTorch, where Python
//! (`$TAMIS_PYTHON`, else `python3`) has them.

mod inputs;
mod peers;

use inputs::{ENTRIES, Pattern, Size};
use std::process::ExitCode;
use std::time::Instant;
use tamis::gpu::{DeviceTensor, to_device};
use tamis::{Backend, Code, Diagnostic, Duplicates, Kernel, Options, Tensor, format};
use tamis_cuda::limits::Limits;
use tamis_cuda::stream;

/// How often rows of calls are timed; the median counts.
const RUNS: usize = 9;
/// The calls of a row.
const CALLS: usize = 10;

/// An operation on a sparse operand A, in compressed rows or fibers.
struct Operation {
    name: &'static str,
    text: &'static str,
    order: usize,
    dense: &'static [(&'static str, &'static [Dim])],
    /// The format of the result.
    result: &'static str,
    /// Which level of A has the coordinates that rows of which operand are gathered by.
    gathers: &'static [(usize, &'static str)],
    /// Whether cuSPARSE has it.
    peers: bool,
}

/// A dimension of a dense operand: that of a mode of A, or a number of columns.
enum Dim {
    Of(usize),
    Columns(u64),
}

const OPERATIONS: [Operation; 7] = [
    Operation {
        name: "spmv",
        text: "y(i) = A(i,j) * x(j)",
        order: 2,
        dense: &[("x", &[Dim::Of(1)])],
        result: "dense",
        gathers: &[(1, "x")],
        peers: true,
    },
    Operation {
        name: "spmm32",
        text: "C(i,k) = A(i,j) * B(j,k)",
        order: 2,
        dense: &[("B", &[Dim::Of(1), Dim::Columns(32)])],
        result: "dense",
        gathers: &[(1, "B")],
        peers: true,
    },
    Operation {
        name: "sddmm32",
        text: "C(i,j) = A(i,j) * (X(i,k) * Y(j,k))",
        order: 2,
        dense: &[("X", &[Dim::Of(0), Dim::Columns(32)]), ("Y", &[Dim::Of(1), Dim::Columns(32)])],
        result: "csr",
        gathers: &[(1, "Y")],
        peers: true,
    },
    Operation {
        name: "spgemm",
        text: "C(i,j) = A(i,k) * B(k,j)",
        order: 2,
        dense: &[],
        result: "csr",
        gathers: &[],
        peers: true,
    },
    Operation {
        name: "mttkrp32",
        text: "M(i,j) = A(i,k,l) * C(k,j) * D(l,j)",
        order: 3,
        dense: &[("C", &[Dim::Of(1), Dim::Columns(32)]), ("D", &[Dim::Of(2), Dim::Columns(32)])],
        result: "dense",
        gathers: &[(1, "C"), (2, "D")],
        peers: false,
    },
    Operation {
        name: "ttv",
        text: "y(i,j) = A(i,j,k) * x(k)",
        order: 3,
        dense: &[("x", &[Dim::Of(2)])],
        result: "dcsr",
        gathers: &[(2, "x")],
        peers: false,
    },
    Operation {
        name: "ttm16",
        text: "Y(i,j,l) = A(i,j,k) * X(k,l)",
        order: 3,
        dense: &[("X", &[Dim::Of(2), Dim::Columns(16)])],
        result: "(i,j,l) -> (i: compressed, j: compressed, l: dense)",
        gathers: &[(2, "X")],
        peers: false,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| args.iter().position(|a| a == flag).and_then(|k| args.get(k + 1));
    let quick = args.iter().any(|a| a == "--quick");
    let listed = |flag| after(flag).map(|names| names.split(',').collect::<Vec<&str>>());
    let (only, patterns) = (listed("--only"), listed("--patterns"));
    let asked = |pattern: &Pattern| patterns.as_ref().is_none_or(|p| p.contains(&pattern.name()));
    let entries = after("--entries").and_then(|n| n.parse().ok()).unwrap_or(ENTRIES);
    let flags = args.iter().zip(args.iter().skip(1));
    let schedules = flags.filter(|(flag, _)| *flag == "--schedule").map(|(_, text)| &**text);
    let mut schedules: Vec<&str> = schedules.collect();
    if schedules.is_empty() {
        schedules.push("");
    }
    let backend = after("--backend").and_then(|name| Backend::parse(name)).unwrap_or(Backend::Cuda);
    let yardsticks = match yardsticks(backend) {
        Ok(yardsticks) => yardsticks,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    println!(
        "| kernel | input | entries | ms | ms, a call | GB/s | / copy | / gather | / cuSPARSE | by |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut failed = false;
    for pattern in Pattern::ALL.into_iter().filter(asked) {
        // Operations on the same operand stand beside each other.
        let mut operand: Option<((usize, Size), Tensor)> = None;
        for operation in &OPERATIONS {
            if only.as_ref().is_some_and(|only| !only.contains(&operation.name)) {
                continue;
            }
            let size = match (quick, operation.name) {
                (true, _) => Size::Quick,
                (false, "spgemm") => Size::Squared(entries),
                (false, _) => Size::Full(entries),
            };
            let found = match &operand {
                Some((of, kept)) if *of == (operation.order, size) => Ok(kept.clone()),
                _ => packed(operation.order, pattern, size),
            };
            for schedule in &schedules {
                let raced = found.clone().and_then(|sparse| {
                    operand = Some(((operation.order, size), sparse.clone()));
                    race(operation, schedule, pattern, sparse, backend, yardsticks.as_ref())
                });
                match raced {
                    Ok(line) => println!("{line}"),
                    Err(why) => {
                        eprintln!("{} {}: {why}", operation.name, pattern.name());
                        failed = true;
                    }
                }
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The yardsticks of the device, and the rate of a copy in GB/s; an emulated one has none.
fn yardsticks(backend: Backend) -> Result<Option<(Limits, f64)>, Diagnostic> {
    if backend != Backend::Cuda {
        return Ok(None);
    }
    let device = tamis_cuda::driver::device()?;
    let limits = Limits::new()?;
    let copied = limits.copied()?;
    println!(
        "{}, sm_{}, {} processors; a copy reads and writes {copied:.0} GB/s\n",
        device.name, device.capability, device.processors
    );
    Ok(Some((limits, copied)))
}

fn packed(order: usize, pattern: Pattern, size: Size) -> Result<Tensor, Diagnostic> {
    let name = if order == 2 { "csr" } else { "csf" };
    let storage = format::parse(name, Some(order))?.resolve(tamis::DataType::F64)?;
    tamis::pack(&pattern.entries(order, size), &storage, Duplicates::Sum)
}

/// One kernel on one input: right within rounding, and how fast.
fn race(
    operation: &Operation,
    schedule: &str,
    pattern: Pattern,
    sparse: Tensor,
    backend: Backend,
    yardsticks: Option<&(Limits, f64)>,
) -> Result<String, Diagnostic> {
    let entries = sparse.nnz();
    let mut tensors = vec![("A", sparse.clone())];
    for (name, dims) in operation.dense {
        let dims = dims.iter().map(|dim| match dim {
            Dim::Of(mode) => sparse.dims()[*mode],
            Dim::Columns(n) => *n,
        });
        tensors.push((*name, dense(&dims.collect::<Vec<u64>>())?));
    }
    if operation.name == "spgemm" {
        tensors.push(("B", sparse));
    }
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (*n, t)).collect();
    let program = tamis::notation::parse(operation.text)?;
    let result = program.tensors[program.statements[0].result.tensor].name.clone();
    let mut options = Options { backend: Backend::Jit, ..Options::default() };
    let order = program.tensor(&result).map(|id| program.tensors[id].order);
    options.results.insert(result.clone(), format::parse(operation.result, order)?);
    let expected = Kernel::compile(operation.text, &operands, &options)?.run(&operands)?;
    let expected = &expected[0].1;
    options.backend = backend;
    options.schedule = tamis::schedule::parse(schedule)?;
    let kernel = Kernel::compile(operation.text, &operands, &options)?;
    let line = format!("| {} | {} | {entries} | ", operation.name, pattern.name());
    let Some((limits, copied)) = yardsticks else {
        check(&kernel.run(&operands)?[0].1, expected)?;
        return Ok(line + "- | - | - | - | - | - | - |");
    };
    let [ms, alone] = timed(&kernel, &operands, expected)?;
    let moved: usize = tensors.iter().map(|(_, t)| t.bytes()).sum::<usize>() + expected.bytes();
    let rate = moved as f64 / f64::from(ms) / 1e6;
    let gathered = match gathered(operation, &operands, limits)? {
        0.0 => "-".to_owned(),
        least => format!("{:.2}", least / ms),
    };
    let peers = beside(operation, &operands, expected, ms);
    let copied = rate / copied;
    Ok(line + &format!("{ms:.3} | {alone:.3} | {rate:.0} | {copied:.2} | {gathered} | {peers}"))
}

/// The milliseconds of a call on the device: of many in a row by its clock, and of one by the host's.
fn timed(
    kernel: &Kernel,
    operands: &[(&str, &Tensor)],
    expected: &Tensor,
) -> Result<[f32; 2], Diagnostic> {
    let on_device = operands.iter().map(|(_, tensor)| to_device(tensor));
    let on_device = on_device.collect::<Result<Vec<DeviceTensor>, Diagnostic>>()?;
    let names = operands.iter().map(|(name, _)| *name);
    let operands: Vec<(&str, &DeviceTensor)> = names.zip(&on_device).collect();
    let call = || kernel.run_on_device(&operands);
    check(&call()?[0].1.from_device()?, expected)?;
    let (mut rows, mut alone) = (vec![], vec![]);
    for _ in 0..RUNS {
        let row = || (0..CALLS).try_for_each(|_| call().map(drop));
        rows.push(stream::elapsed(row)? / CALLS as f32);
        let start = Instant::now();
        let results = call()?;
        results.iter().try_for_each(|(_, result)| result.wait())?;
        alone.push(start.elapsed().as_secs_f32() * 1e3);
    }
    check(&call()?[0].1.from_device()?, expected)?;
    Ok([rows, alone].map(|mut times| {
        times.sort_by(f32::total_cmp);
        times[times.len() / 2]
    }))
}

/// The milliseconds that the gathers of an operation take alone.
fn gathered(
    operation: &Operation,
    operands: &[(&str, &Tensor)],
    limits: &Limits,
) -> Result<f32, Diagnostic> {
    let mut least = 0.0;
    for (level, name) in operation.gathers {
        let crd = operands[0].1.levels()[*level].crd.as_ref();
        let rows = operands.iter().find(|(n, _)| n == name).map(|(_, t)| t);
        if let (Some(crd), Some(rows)) = (crd, rows) {
            let columns = rows.dims().get(1).copied().unwrap_or(1);
            least += limits.gathered(crd, rows.vals(), columns)?;
        }
    }
    Ok(least)
}

/// How many times as fast as the fastest package that calls cuSPARSE, and which that is.
fn beside(
    operation: &Operation,
    operands: &[(&str, &Tensor)],
    expected: &Tensor,
    ms: f32,
) -> String {
    let times = if operation.peers { peers::times(operation.name, operands) } else { vec![] };
    let values = expected.vals().as_slice::<f64>().unwrap_or(&[]);
    let (sum, size) = values.iter().fold((0.0, 0.0), |(s, a), v| (s + v, a + v.abs()));
    let agrees = |time: &peers::Time| (time.sum - sum).abs() <= 1e-9 * f64::max(size, 1.0);
    for wrong in times.iter().filter(|time| !agrees(time)) {
        eprintln!("{}: {} disagrees: {} and {sum}", operation.name, wrong.name, wrong.sum);
    }
    let fastest = times.iter().filter(|time| agrees(time)).min_by(|a, b| a.ms.total_cmp(&b.ms));
    match fastest {
        Some(fastest) => format!("{:.2} | {} |", fastest.ms / ms, fastest.name),
        None => "- | - |".to_owned(),
    }
}

/// Whether entries are the same, and numbers agree within the rounding of sums in another order.
fn check(got: &Tensor, expected: &Tensor) -> Result<(), Diagnostic> {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
    let agree = match (got.vals().as_slice::<f64>(), expected.vals().as_slice::<f64>()) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(near),
        _ => false,
    };
    match agree && indices(got).eq(indices(expected)) {
        true => Ok(()),
        false => Err(Diagnostic::new(Code::DeviceFailed, "the result is wrong")
            .help("report it, with the name of the device")),
    }
}

/// The positions and coordinates of a tensor, one array after another.
fn indices(tensor: &Tensor) -> impl Iterator<Item = i64> {
    let arrays = tensor.levels().iter().flat_map(|level| [&level.pos, &level.crd]).flatten();
    arrays.flat_map(|array| (0..array.len()).map(|k| array.index(k)))
}

/// A dense tensor of small numbers.
fn dense(dims: &[u64]) -> Result<Tensor, Diagnostic> {
    let count: u64 = dims.iter().product();
    Tensor::dense(dims, (0..count).map(|k| (k % 17) as f64 * 0.25).collect())
}
