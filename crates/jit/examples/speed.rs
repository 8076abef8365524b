//! How long two kernels take to compile and to run:
//! `cargo run --release -p tamis-jit --example speed`.

#[path = "../tests/conformance/harness.rs"]
#[expect(dead_code, reason = "the checks are for tests")]
mod harness;
#[path = "../tests/conformance/kernels.rs"]
mod kernels;

use kernels::{scattered, spmm, spmv};
use std::time::Instant;
use tamis_ir::interpret::Argument;
use tamis_ir::ir::Function;
use tamis_runtime::kernel::Executable;

fn main() {
    // The first compilation sets up the code generator as well.
    compile_ms(&spmv(), 1);
    for (rows, per_row) in [(2_000, 16), (100_000, 16)] {
        let matrix = scattered(rows, per_row);
        let flops = 2.0 * (rows * per_row) as f64;
        report("spmv", &spmv(), matrix.arguments(1), flops);
        for (vectors, lanes) in [(1, 2), (8, 2), (4, 4), (2, 8), (12, 2)] {
            let columns = 16 * vectors * i64::from(lanes) / 4;
            let kernel = spmm(columns, vectors, lanes);
            let name = format!("spmm, {columns} columns, {vectors} x f64x{lanes}");
            report(&name, &kernel, matrix.arguments(columns as usize), columns as f64 * flops);
        }
    }
}

fn report(name: &str, kernel: &Function, mut arguments: Vec<Argument>, flops: f64) {
    let compile = compile_ms(kernel, 50);
    let code = tamis_jit::compile(kernel).unwrap_or_else(|d| panic!("{d}"));
    let mut slots = harness::slots(&mut arguments);
    let runs = 9;
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            // SAFETY: the slots follow the calling convention of the kernel, which has no locals.
            unsafe { code.call(&mut slots) };
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let time = times[runs / 2];
    println!(
        "{name}: compile {compile:.3} ms, run {:.3} ms, {:.2} GFLOP/s",
        time * 1e3,
        flops / time / 1e9
    );
}

/// The median over some compilations.
fn compile_ms(kernel: &Function, runs: usize) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            let code = tamis_jit::compile(kernel);
            let time = start.elapsed().as_secs_f64() * 1e3;
            drop(code);
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[runs / 2]
}
