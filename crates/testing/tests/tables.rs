//! Tiles of positions where rows have far more entries than others.

use tamis::{Backend, Kernel, Options, Tensor};
use tamis_testing::functions::bits;

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
