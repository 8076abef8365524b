//! What runs on ranks allocate: this file has one test, since all threads are counted.

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use tamis::dist::{Distributed, Grid, Placement, Placements, agree, on_threads};
use tamis::{Kernel, Options, Tensor};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that four ranks allocate in a run, once they know what each other needs, where operands lie as they are needed.
fn bytes(schedule: &str, grid: &str, a: &Tensor, b: &Tensor) -> usize {
    let schedule = tamis::schedule::parse(schedule).unwrap();
    let grid = Grid::of(Some(grid), &schedule, &Placements::new(), 4).unwrap();
    let options = Options { schedule, ..Options::default() };
    let operands = [("A", a), ("B", b)];
    let kernel = Kernel::compile("C(i,k) = A(i,j) * B(j,k)", &operands, &options).unwrap();
    let rows = Placement::Rows("x".to_owned());
    let columns = Placement::Blocks(vec![(1, "y".to_owned())]);
    let all = on_threads(4, |comm| {
        let a = Distributed::split(comm, a)?.placed(comm, &grid, &rows)?;
        let b = Distributed::split(comm, b)?;
        let b = if grid.dimensions() > 1 { b.placed(comm, &grid, &columns)? } else { b };
        let operands = [("A", &a), ("B", &b)];
        kernel.run_on_grid(comm, &grid, &operands)?;
        agree(comm, Ok(()))?;
        let region = Region::new(ALLOCATOR);
        agree(comm, Ok(()))?;
        let _results = kernel.run_on_grid(comm, &grid, &operands)?;
        agree(comm, Ok(()))?;
        Ok(region.change().bytes_allocated)
    });
    all.into_iter().map(Result::unwrap).max().unwrap()
}

/// Operands are neither copied nor made anew.
#[test]
fn runs_do_not_copy_operands() {
    let (rows, width) = (400u64, 500u64);
    let crd: Vec<i64> = (0..rows).flat_map(|_| 0..width as i64).collect();
    let pos = (0..=rows).map(|row| (row * width) as i64).collect();
    let stored = (rows * width) as usize;
    let a = Tensor::csr([rows, width], pos, crd, vec![1.0; stored]).unwrap();
    let b = Tensor::dense(&[width, 8], vec![1.0; 8 * width as usize]).unwrap();
    let list = 24 * stored;
    let both = "distribute(i, io, ii, x); distribute(k, ko, ki, y)";
    for (schedule, grid) in [("distribute(i, io, ii, x)", "x=4"), (both, "x=2,y=2")] {
        let bytes = bytes(schedule, grid, &a, &b);
        assert!(bytes < list / 4, "{bytes} bytes on {grid}, of a list of {list}");
    }
}
