//! Where tiles of positions begin is found out once for tensors that stay where they are.

use tamis::{Backend, Kernel, Options, Tensor};
use tamis_cuda::kept::{Statistics, statistics};
use tamis_cuda::resident;
use tamis_testing::functions::bits;

/// Tiles of four positions.
const SCHEDULE: &str = "fuse(i, j, f); pos(f, p, A(i,j)); split(p, block, rest, 4); \
                        split(rest, thread, nz, 2); parallelize(block, gpu_block, temporary); \
                        parallelize(thread, gpu_thread, temporary)";

#[test]
fn tables_are_kept_with_tensors() {
    if !tamis::has_c_compiler() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let matrix = |vals: [f64; 7]| {
        let (pos, crd) = (vec![0, 2, 2, 5, 6, 7], vec![0, 3, 1, 2, 4, 0, 4]);
        Tensor::csr([5, 5], pos, crd, vals.to_vec()).unwrap()
    };
    let a = matrix([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let x = Tensor::dense(&[5], vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    let schedule = tamis::schedule::parse(SCHEDULE).unwrap();
    let options = Options { schedule, backend: Backend::CudaEmulated, ..Options::default() };
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)], &options);
    let kernel = kernel.unwrap();
    let run = |a: &Tensor| bits(&kernel.run(&[("A", a), ("x", &x)]).unwrap().remove(0).1);
    let expected = run(&a);
    assert_eq!(statistics(), Statistics { kept: 0, found: 0 }, "nobody asked");

    let held = resident::hold(&a);
    let again = resident::hold(&a);
    assert_eq!(run(&a), expected);
    assert_eq!(statistics(), Statistics { kept: 1, found: 0 });
    assert_eq!(run(&a), expected);
    assert_eq!(run(&a), expected);
    assert_eq!(statistics(), Statistics { kept: 1, found: 2 });

    // Another tensor has tables of its own.
    let other = matrix([1.0; 7]);
    let of_other = run(&other);
    assert_ne!(of_other, expected);
    assert_eq!(statistics(), Statistics { kept: 1, found: 2 });

    drop(held);
    assert_eq!(run(&a), expected);
    assert_eq!(statistics(), Statistics { kept: 1, found: 3 }, "somebody still holds it");
    drop(again);
    assert_eq!(statistics(), Statistics { kept: 0, found: 3 });
    assert_eq!(run(&a), expected);
}

#[test]
fn operands_with_long_rows_are_cut_into_tiles() {
    if !tamis::has_c_compiler() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    // Rows of an entry each, and one of 3000.
    let (rows, long, columns) = (256, 100, 3000);
    let (mut pos, mut crd) = (vec![0], vec![]);
    for row in 0..rows {
        crd.extend(if row == long { 0..columns } else { row..row + 1 });
        pos.push(crd.len() as i64);
    }
    let vals: Vec<f64> = (0..crd.len()).map(|p| (p % 13) as f64).collect();
    let a = Tensor::csr([rows as u64, columns as u64], pos, crd, vals).unwrap();
    let x = Tensor::dense(&[columns as u64], (0..columns).map(|j| (j % 7) as f64).collect());
    let operands = [("A", &a), ("x", &x.unwrap())];
    let on = |backend: Backend, a: &Tensor| {
        let options = Options { backend, ..Options::default() };
        Kernel::compile("y(i) = A(i,j) * x(j)", &[("A", a), operands[1]], &options).unwrap()
    };
    let tiles = |kernel: &Kernel| {
        let function = &kernel.compiled().functions[0].function;
        function.arrays.iter().any(|array| array.name.ends_with("_edge"))
    };
    let emulated = on(Backend::CudaEmulated, &a);
    assert!(tiles(&emulated));
    let expected = on(Backend::Interpreter, &a).run(&operands).unwrap().remove(0).1;
    for _ in 0..20 {
        assert_eq!(bits(&emulated.run(&operands).unwrap().remove(0).1), bits(&expected));
    }

    let even: Vec<i64> = (0..=rows).collect();
    let crd: Vec<i64> = (0..rows).collect();
    let shape = [rows as u64, columns as u64];
    let even = Tensor::csr(shape, even, crd, vec![1.0; rows as usize]).unwrap();
    assert!(!tiles(&on(Backend::CudaEmulated, &even)));
}
