//! Kernels on a GPU: checked against the processor, and timed by the device's clock.
//!
//! `gpu [--quick] [--backend cuda|cuda-emulated]`: five-point stencils, random and power-law matrices of 240 MB and more, small ones
//! with `--quick`. Bytes are those that a kernel has to read and write at least once.

use std::process::ExitCode;
use tamis::{Backend, Code, Diagnostic, Kernel, Options, Schedule, Tensor, Values};
use tamis::{Coordinates, Duplicates, format};
use tamis_cuda::device::last_milliseconds;
use tamis_testing::random::Random;

/// How often each kernel is timed; the median counts.
const RUNS: usize = 9;

/// An operation, the formats of its operands, and whether the first is a tensor of order 3.
struct Operation {
    name: &'static str,
    text: &'static str,
    sparse: &'static str,
    dense: &'static [(&'static str, &'static [Size])],
    results: &'static [(&'static str, &'static str)],
}

/// A dimension of a dense operand: that of the sparse one, or a number of columns.
enum Size {
    Of(usize),
    Columns(u64),
}

const OPERATIONS: [Operation; 5] = [
    Operation {
        name: "spmv",
        text: "y(i) = A(i,j) * x(j)",
        sparse: "csr",
        dense: &[("x", &[Size::Of(1)])],
        results: &[],
    },
    Operation {
        name: "spmm32",
        text: "C(i,k) = A(i,j) * B(j,k)",
        sparse: "csr",
        dense: &[("B", &[Size::Of(1), Size::Columns(32)])],
        results: &[("C", "dense")],
    },
    Operation {
        name: "sddmm32",
        text: "C(i,j) = A(i,j) * (X(i,k) * Y(j,k))",
        sparse: "csr",
        dense: &[
            ("X", &[Size::Of(0), Size::Columns(32)]),
            ("Y", &[Size::Of(1), Size::Columns(32)]),
        ],
        results: &[("C", "csr")],
    },
    Operation {
        name: "mttkrp32",
        text: "M(i,j) = A(i,k,l) * C(k,j) * D(l,j)",
        sparse: "csf",
        dense: &[
            ("C", &[Size::Of(1), Size::Columns(32)]),
            ("D", &[Size::Of(2), Size::Columns(32)]),
        ],
        results: &[("M", "dense")],
    },
    Operation {
        name: "ttv",
        text: "y(i,j) = A(i,j,k) * x(k)",
        sparse: "csf",
        dense: &[("x", &[Size::Of(2)])],
        results: &[("y", "dense")],
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let quick = args.iter().any(|a| a == "--quick");
    let named = args.iter().position(|a| a == "--backend").and_then(|k| args.get(k + 1));
    let backend = named.and_then(|name| Backend::parse(name)).unwrap_or(Backend::Cuda);
    if backend == Backend::Cuda {
        match tamis_cuda::driver::device() {
            Ok(device) => {
                println!(
                    "{}, {}, {} processors",
                    device.name, device.architecture, device.processors
                );
            }
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::from(2);
            }
        }
    }
    println!("{:10} {:10} {:>12} {:>10} {:>8}", "kernel", "input", "nnz", "ms", "GB/s");
    let mut failed = false;
    for operation in &OPERATIONS {
        for input in ["stencil", "random", "power-law"] {
            match race(operation, input, quick, backend) {
                Ok(line) => println!("{line}"),
                Err(why) => {
                    eprintln!("{} {input}: {why}", operation.name);
                    failed = true;
                }
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// One kernel on one input: right within rounding, and how fast.
fn race(
    operation: &Operation,
    input: &str,
    quick: bool,
    backend: Backend,
) -> Result<String, Diagnostic> {
    let list = entries(operation, input, quick);
    let storage =
        format::parse(operation.sparse, Some(list.dims.len()))?.resolve(tamis::DataType::F64)?;
    let sparse = tamis::pack(&list, &storage, Duplicates::Sum)?;
    let mut tensors = vec![("A".to_owned(), sparse)];
    for (name, sizes) in operation.dense {
        let dims = sizes.iter().map(|size| match size {
            Size::Of(mode) => list.dims[*mode],
            Size::Columns(n) => *n,
        });
        tensors.push(((*name).to_owned(), dense(&dims.collect::<Vec<u64>>())?));
    }
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let mut options = Options { backend, schedule: Schedule::default(), ..Options::default() };
    let program = tamis::notation::parse(operation.text)?;
    for (name, text) in operation.results {
        let order = program.tensor(name).map(|id| program.tensors[id].order);
        options.results.insert((*name).to_owned(), format::parse(text, order)?);
    }
    let kernel = Kernel::compile(operation.text, &operands, &options)?;
    let reference = Options { backend: Backend::Jit, ..options.clone() };
    let reference = Kernel::compile(operation.text, &operands, &reference)?;
    let expected = reference.run(&operands)?;
    let known = operation.results.iter().any(|(_, format)| *format == "csr");
    let call = || match known {
        true => kernel.compute(&operands, &[("C", &expected[0].1)]),
        false => kernel.run(&operands),
    };
    let _resident: Vec<_> = match backend {
        Backend::Cuda => tensors
            .iter()
            .map(|(_, t)| tamis_cuda::resident::to_device(t))
            .collect::<Result<_, _>>()?,
        _ => tensors.iter().map(|(_, t)| tamis_cuda::resident::hold(t)).collect(),
    };
    let mut times = vec![];
    let mut bytes: usize = tensors.iter().map(|(_, t)| size(t)).sum();
    for _ in 0..if backend == Backend::Cuda { RUNS } else { 2 } {
        let results = call()?;
        times.push(last_milliseconds().unwrap_or(f32::NAN));
        check(&results[0].1, &expected[0].1)?;
    }
    bytes += expected[0].1.vals().len() * 8;
    times.sort_by(f32::total_cmp);
    let ms = times[times.len() / 2];
    let rate = bytes as f64 / f64::from(ms) / 1e6;
    Ok(format!("{:10} {input:10} {:>12} {ms:>10.3} {rate:>8.1}", operation.name, list.vals.len()))
}

/// The entries of the sparse operand.
fn entries(operation: &Operation, input: &str, quick: bool) -> Coordinates {
    let matrix = operation.sparse == "csr";
    match (input, quick) {
        ("stencil", true) => stencil(40, matrix),
        ("stencil", false) => stencil(2200, matrix),
        ("power-law", true) => {
            power_law(if matrix { &[2_000, 20_000] } else { &[1_000, 100, 400] }, 20_000)
        }
        ("power-law", false) => {
            let dims: &[u64] =
                if matrix { &[1 << 20, 1 << 20] } else { &[1 << 12, 1 << 12, 1 << 12] };
            power_law(dims, 24_000_000)
        }
        (_, true) => random(if matrix { &[500, 500] } else { &[60, 60, 60] }, 5_000),
        (_, false) => {
            let dims: &[u64] =
                if matrix { &[1 << 20, 1 << 20] } else { &[1 << 12, 1 << 12, 1 << 12] };
            random(dims, 24_000_000)
        }
    }
}

/// The bytes of a tensor's arrays.
fn size(tensor: &Tensor) -> usize {
    let levels = tensor.levels().iter().flat_map(|l| [&l.pos, &l.crd]).flatten();
    levels.chain([tensor.vals()]).map(|array| array.len() * array.datatype().size()).sum()
}

/// Whether numbers agree within the rounding of sums in another order.
fn check(got: &Tensor, expected: &Tensor) -> Result<(), Diagnostic> {
    let (got, expected) = (got.to_coordinates(), expected.to_coordinates());
    let (Values::F64(a), Values::F64(b)) = (&got.vals, &expected.vals) else { return Ok(()) };
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
    match a.len() == b.len() && a.iter().zip(b).all(near) {
        true => Ok(()),
        false => Err(Diagnostic::new(Code::DeviceFailed, "the result is wrong")
            .help("report it, with the name of the device")),
    }
}

/// A five-point stencil on a square, or a tensor with two such entries beside each other.
fn stencil(side: u64, matrix: bool) -> Coordinates {
    let n = side * side;
    let (mut crds, mut vals) = (vec![vec![]; if matrix { 2 } else { 3 }], vec![]);
    for row in 0..n {
        let (x, y) = (row % side, row / side);
        let mut push = |column: u64, value: f64| {
            crds[0].push(row);
            crds[1].push(column);
            if let Some(third) = crds.get_mut(2) {
                third.push(row % 64);
            }
            vals.push(value);
        };
        if y > 0 {
            push(row - side, -1.0);
        }
        if x > 0 {
            push(row - 1, -1.0);
        }
        push(row, 4.0);
        if x + 1 < side {
            push(row + 1, -1.0);
        }
        if y + 1 < side {
            push(row + side, -1.0);
        }
    }
    let dims = if matrix { vec![n, n] } else { vec![n, n, 64] };
    Coordinates { dims, crds, vals: Values::F64(vals) }
}

/// Entries anywhere, more of them in the first rows.
fn random(dims: &[u64], entries: usize) -> Coordinates {
    listed(dims, entries, &mut |random, rows| {
        let below = 1 + random.below(rows as usize);
        random.below(below) as u64
    })
}

/// Entries anywhere, of rows that have half as many where there are twice as many rows before.
fn power_law(dims: &[u64], entries: usize) -> Coordinates {
    const STEPS: usize = 1 << 30;
    listed(dims, entries, &mut |random, rows| {
        let share = random.below(STEPS) as f64 / STEPS as f64;
        (((rows as f64).powf(share)) as u64).clamp(1, rows) - 1
    })
}

/// Entries in rows of someone's choice, anywhere in these.
fn listed(
    dims: &[u64],
    entries: usize,
    row: &mut dyn FnMut(&mut Random, u64) -> u64,
) -> Coordinates {
    let mut random = Random::new(7);
    let mut crds = vec![vec![]; dims.len()];
    let mut vals = vec![];
    for _ in 0..entries {
        for (k, (list, &dim)) in crds.iter_mut().zip(dims).enumerate() {
            list.push(match k {
                0 => row(&mut random, dim),
                _ => random.below(dim as usize) as u64,
            });
        }
        vals.push(1.0 + random.below(8) as f64);
    }
    Coordinates { dims: dims.to_vec(), crds, vals: Values::F64(vals) }
}

/// A dense tensor of small numbers.
fn dense(dims: &[u64]) -> Result<Tensor, Diagnostic> {
    let count: u64 = dims.iter().product();
    Tensor::dense(dims, (0..count).map(|k| (k % 17) as f64 * 0.25).collect())
}
