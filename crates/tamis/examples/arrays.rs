//! Arrays in and out, other formats, iterations whose result is the next operand, and what was decided.

use std::collections::BTreeMap;
use tamis::explain::{Explanation, Stage};
use tamis::{Code, Diagnostic, Options, Program, Tensor, ToFormat, format, notation};

/// Ranks the pages of a web of three, by the matrix of its links.
pub fn main() -> Result<(), Diagnostic> {
    // The arrays are taken over, not copied.
    let (indptr, indices, data) = (vec![0, 1, 2, 4], vec![1, 2, 0, 1], vec![1.0, 1.0, 0.5, 0.5]);
    let links = Tensor::csr([3, 3], indptr, indices, data)?;
    let mut x = Tensor::dense(&[3], vec![1.0 / 3.0; 3])?;
    let program = Program::parse("y(j) = 0.85 * A(i,j) * x(i) + 0.05")?;
    let step = program.operand("A", &links)?.operand("x", &x)?.compile()?;
    for _ in 0..50 {
        x = step.run(&[("A", &links), ("x", &x)])?.take("y").expect("a result");
    }
    let total: f64 = x.values::<f64>()?.iter().sum();
    assert!((total - 1.0).abs() < 1e-12);

    // Other formats, named or by their levels, as in programs.
    let blocked = links.to_format("bcsr(2,2)")?;
    assert_eq!(blocked.storage().format, format::parse("bcsr(2,2)", Some(2))?.format);

    // Arrays of a result are lent; `into_parts` takes all of them.
    let product = tamis::evaluate("C(i,j) = A(i,k) * A(k,j)", &[("A", &links)])?;
    let columns = product.levels()[1].crd.as_ref().and_then(|crd| crd.as_slice::<i32>());
    assert_eq!((columns, product.values::<f64>()?.len()), (Some(&[2, 0, 1, 1, 2][..]), 5));

    // The plan for such formats, of which a loop says what drives it.
    let program = notation::parse("y(i) = A(i,j) * x(j)")?;
    let formats = BTreeMap::from([("A".to_owned(), format::parse("csr", Some(2))?)]);
    let plan = Explanation::of(&program, &formats, &Options::default())?.stage(Stage::Plan)?;
    assert!(plan.contains("walk A(i,j)"), "{plan}");

    // Errors are told apart by their codes.
    let refused = Program::parse("y(i) = A(i,j) * x(j) +").expect_err("it ends too early");
    assert_eq!(refused.code, Code::Syntax);
    println!("ranks {:?}", x.values::<f64>()?);
    Ok(())
}
