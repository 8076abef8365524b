//! The level format keeps its promises, and stores what it should.

use tamis::{Coordinates, DataType, Duplicates, Kernel, Options, Parts, Values};
use tamis_example_banded::{Banded, install};
use tamis_testing::conformance::conformance;

#[test]
fn bands_keep_their_promises() {
    let report = conformance(&Banded).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(report.formats > 10 && report.kernels > 60, "{report:?}");
}

#[test]
fn a_band_matrix_times_a_vector() -> Result<(), tamis::Diagnostic> {
    install();
    let list = Coordinates::new(
        vec![3, 6],
        vec![vec![0, 0, 2, 2], vec![1, 3, 4, 5]],
        Values::F64(vec![2.0, 3.0, 4.0, 5.0]),
    )
    .expect("a list of entries");
    let spec = tamis::format::parse("(i, j) -> (i: dense, j: banded)", Some(2))?;
    let a = tamis::pack(&list, &spec.resolve(DataType::F64)?, Duplicates::Refuse)?;
    let level = &a.levels()[1];
    let first = level.crd.as_ref().and_then(|crd| crd.as_slice::<i32>());
    assert_eq!(first, Some(&[1, -1, 4][..]));
    let width = level.width.as_ref().and_then(|width| width.as_slice::<i64>());
    assert_eq!(width, Some(&[3][..]));
    let x = tamis::Tensor::dense(&[6], vec![1.0, 10.0, 100.0, 1000.0, 10.0, 1.0])?;
    let operands = [("A", &a), ("x", &x)];
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &Options::default())?;
    let (_, y) = kernel.run(&operands)?.remove(0);
    assert_eq!(y.get(&[0]).expect("inside").as_f64(), 3020.0);
    assert_eq!(y.get(&[2]).expect("inside").as_f64(), 45.0);
    Ok(())
}

/// Every part writes each second coordinate of a row; its band stores the others too, with padding.
#[test]
fn parts_may_have_entries_in_the_bands_of_others() -> Result<(), tamis::Diagnostic> {
    install();
    let b = tamis::Tensor::dense(&[], vec![2.0])?;
    let operands = [("b", &b)];
    for format in ["(i, j) -> (i: hashed, j: banded)", "(i, j) -> (i: dense, j: banded)"] {
        let options = Options {
            results: [("R".into(), tamis::format::parse(format, Some(2))?)].into(),
            dims: [("i".into(), 4), ("j".into(), 8)].into(),
            schedule: tamis::schedule::parse("split(j, j0, j1, 2); reorder(j1, j0, i)")?,
            parts: Parts::OfElements(2),
            ..Options::default()
        };
        let kernel = Kernel::compile("R(i,j) = b", &operands, &options)?;
        let (_, r) = kernel.run(&operands)?.remove(0);
        for at in 0..32u64 {
            assert_eq!(r.get(&[at / 8, at % 8]).expect("inside").as_f64(), 2.0, "{format} {at}");
        }
    }
    Ok(())
}
