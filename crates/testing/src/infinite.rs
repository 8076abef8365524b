//! Whether infinite values meet what is stored, and nothing else.
//!
//! A product of nonnegative values is infinite or finite, and never NaN, where 0 times anything is
//! 0 at coordinates without an entry. So a case whose values are ones and infinities is compared
//! with the reference on ones and very large numbers.

use crate::case::{Case, Operand};
use crate::check::{Outcome, invalid, refused_schedule};
use crate::number::Number;
use crate::random::Random;
use crate::reference::{self, Dense, Sizes};
use std::collections::BTreeMap;
use tamis::{Backend, Code, Diagnostic, Kernel, Tensor};
use tamis_core::notation::{self, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp};

/// What stands for infinity in the reference, and what is taken for it in results.
const LARGE: f64 = 1e20;

/// A case with ones and infinities for values, in which operands that store zeros have none.
pub fn drawn(case: &Case, random: &mut Random) -> Case {
    let mut value = |infinite| match infinite && random.one_in(2) {
        true => Number::from(f64::INFINITY),
        false => Number::from(1.0),
    };
    let operands = case.operands.iter().enumerate().map(|(n, o)| {
        // The first is finite, so that there is something for the others to meet.
        let places = match stores_zeros(o) {
            true => everywhere(&o.dims),
            false => o.entries.iter().map(|(at, _)| at.clone()).collect(),
        };
        let entries = places.into_iter().map(|at| (at, value(n > 0))).collect();
        Operand { entries, ..o.clone() }
    });
    Case { operands: operands.collect(), ..case.clone() }
}

/// Whether an operand holds values where it has no entries.
fn stores_zeros(operand: &Operand) -> bool {
    operand.tensor().is_ok_and(|t| t.vals().len() != operand.entries.len())
}

/// All coordinates of a tensor.
fn everywhere(dims: &[u64]) -> Vec<Vec<u64>> {
    let one = |all: Vec<Vec<u64>>, &size: &u64| {
        all.iter().flat_map(|at| (0..size).map(|c| [&at[..], &[c]].concat())).collect()
    };
    dims.iter().fold(vec![vec![]], one)
}

/// Runs a case and compares; one that does more than add and multiply floats is invalid.
pub fn check(case: &Case, backend: Backend) -> Outcome {
    match std::panic::catch_unwind(|| attempt(case, backend)) {
        Ok(Ok(outcome)) => outcome,
        // Of types that have no infinities.
        Ok(Err(d)) if matches!(d.code, Code::TypeMismatch | Code::IntegerOverflow) => {
            Outcome::Invalid
        }
        Ok(Err(d)) if invalid(&d) || refused_schedule(case, &d) => Outcome::Invalid,
        Ok(Err(d)) => Outcome::Wrong(format!("refused: {d}")),
        Err(_) => Outcome::Wrong("a panic".to_owned()),
    }
}

fn attempt(case: &Case, backend: Backend) -> Result<Outcome, Diagnostic> {
    let program = notation::make_explicit(&notation::parse(&case.text)?)?;
    if program.statements.len() > 1 || !program.statements.iter().all(|s| only_adds(&s.value)) {
        return Ok(Outcome::Invalid);
    }
    let tensors = case.tensors()?;
    // Sums over dimensions of size 0 are zeros to multiply with, as they are in matrix products.
    let is_empty = |o: &Operand| o.dims.contains(&0);
    let without = case.dims.values().any(|d| *d == 0);
    if without || case.operands.iter().any(|o| stores_zeros(o) || is_empty(o)) {
        return Ok(Outcome::Invalid);
    }
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let missing = |name: &str| !tensors.iter().any(|(n, _)| n == name);
    let read = program.statements.iter().flat_map(|s| s.value.accesses());
    if read.map(|a| &program.tensors[a.tensor].name).any(|name| missing(name)) {
        return Ok(Outcome::Invalid);
    }
    let kernel = Kernel::compile(&case.text, &operands, &case.options(backend)?)?;
    let results = kernel.run(&operands)?;
    if !operands.iter().map(|(_, t)| *t).chain(results.iter().map(|(_, t)| t)).all(is_plain) {
        return Ok(Outcome::Invalid);
    }
    let finite = |v: &Number| if v.is_finite() { *v } else { Number::from(LARGE) };
    let dense = tensors.iter().map(|(name, t)| {
        let mut dense = Dense::of(t);
        dense.vals.iter_mut().for_each(|v| *v = finite(v));
        (name.clone(), dense)
    });
    let sizes = Sizes { dims: case.dims.clone(), shapes: case.shapes.clone(), ..Sizes::default() };
    let expected = reference::evaluate(&program, &dense.collect::<BTreeMap<_, _>>(), &sizes)?;
    let wrong = results.iter().find_map(|(name, t)| wrong(name, t, &expected[name]));
    Ok(wrong.map_or(Outcome::Right, Outcome::Wrong))
}

/// Whether a tensor holds floats that are 0 where there are none.
fn is_plain(tensor: &Tensor) -> bool {
    let storage = tensor.storage();
    let real = storage.datatype.is_float() && !storage.datatype.is_complex();
    real && storage.fill.as_f64() == 0.0
}

/// What is wrong with a result, if anything is.
fn wrong(name: &str, tensor: &Tensor, expected: &Dense) -> Option<String> {
    let wrong = |(got, want): (&Number, &Number)| match want.re >= LARGE {
        true => got.re != f64::INFINITY,
        false => got != want,
    };
    let got = Dense::of(tensor).vals;
    let at = got.iter().zip(&expected.vals).position(wrong)?;
    Some(format!("{name} at {at} is {}, not {}", got[at], expected.vals[at]))
}

/// Whether an expression is a sum of products: the value of a sum that is multiplied is a number,
/// and 0 times an infinity is none.
fn only_adds(e: &Expr) -> bool {
    match e {
        Expr::Access(_) => true,
        Expr::Binary(BinaryOp::Add, a, b) => only_adds(a) && only_adds(b),
        Expr::Reduce { op: ReduceOp::Add, body, .. } => only_adds(body),
        Expr::Binary(BinaryOp::Mul, ..) => multiplies(e),
        _ => false,
    }
}

fn multiplies(e: &Expr) -> bool {
    match e {
        Expr::Access(_) => true,
        Expr::Binary(BinaryOp::Mul, a, b) => multiplies(a) && multiplies(b),
        _ => false,
    }
}
