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
