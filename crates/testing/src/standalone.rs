//! Programs as one function, against their kernels.

use tamis::ids::Id;
use tamis::{Buffer, DataType, Diagnostic, Kernel, Tensor};
use tamis_core::standalone::{Parameter, Piece, Standalone};
use tamis_ir::datatype::Scalar;
use tamis_ir::interpret::{self, Argument};
use tamis_ir::ir::verify::verify;
use tamis_ir::ir::{Param, Status};

/// What is wrong with a kernel's program as one function, if something is: it gives the bits of the results that the
/// kernels gave.
///
/// # Errors
///
/// If it cannot be made.
pub fn difference(
    kernel: &Kernel,
    operands: &[(&str, &Tensor)],
    results: &[(String, Tensor)],
) -> Result<Option<String>, Diagnostic> {
    let Some(standalone) = kernel.standalone("case")? else { return Ok(None) };
    verify(&standalone.function)?;
    Ok(compared(&standalone, operands, results))
}

fn compared(
    standalone: &Standalone,
    operands: &[(&str, &Tensor)],
    results: &[(String, Tensor)],
) -> Option<String> {
    let outcome = match interpret::run(&standalone.function, arguments(standalone, operands)?, None)
    {
        Ok(outcome) if outcome.status == Status::Ok => outcome,
        Ok(outcome) => return Some(format!("it ended with {}", outcome.status.name())),
        Err(fault) => return Some(format!("{fault}\n{}", standalone.function)),
    };
    let given = |wanted: Parameter| {
        let at = standalone.parameters.iter().position(|p| *p == wanted)?;
        match standalone.function.params[at] {
            Param::Array(array) => Some(&outcome.arrays[array.index()]),
            Param::Scalar(_) => None,
        }
    };
    for (k, result) in standalone.results.iter().enumerate() {
        let (_, tensor) = results.iter().find(|(name, _)| *name == result.name)?;
        let sizes = given(Parameter::Sizes(k))?;
        let size = |at: usize| match sizes.get(at) {
            Scalar::I64(size) => size as u64,
            _ => unreachable!("sizes are integers"),
        };
        let dims: Vec<u64> = (0..result.order()).map(size).collect();
        if dims != tensor.dims() {
            return Some(format!("{} is {dims:?}, not {:?}", result.name, tensor.dims()));
        }
        for (at, &piece) in result.arrays.iter().enumerate() {
            let expected = copied(array(tensor, piece), piece.elem(&result.storage));
            let len = size(result.order() + at) as usize;
            let got = given(Parameter::Result(k, piece))?;
            let are_same = len == expected.len()
                && got.len() >= len
                && (0..len).all(|at| same(got.get(at), expected.get(at)));
            if !are_same {
                let (piece, name) = (piece.name(), &result.name);
                return Some(format!(
                    "{piece} of {name} differs: length {len}, not {}",
                    expected.len()
                ));
            }
        }
    }
    None
}

/// What the function is called with; `None` if it asks for a dimension.
fn arguments(standalone: &Standalone, operands: &[(&str, &Tensor)]) -> Option<Vec<Argument>> {
    let operand = |k: usize| {
        let name = standalone.operands[k].name.trim_end_matches("_before");
        operands.iter().find(|(n, _)| *n == name).expect("operands are given").1
    };
    let mut arguments = vec![];
    for &parameter in &standalone.parameters {
        arguments.push(match parameter {
            Parameter::Size(_) => return None,
            Parameter::Dimension(k, mode) => {
                Argument::Scalar(Scalar::I64(operand(k).dims()[mode.index()] as i64))
            }
            Parameter::Operand(k, piece) => {
                let storage = &standalone.operands[k].storage;
                Argument::Array(copied(array(operand(k), piece), piece.elem(storage)))
            }
            Parameter::Result(k, piece) => {
                let elem = piece.elem(&standalone.results[k].storage);
                Argument::Array(interpret::Buffer::of(elem, 0))
            }
            Parameter::Sizes(k) => {
                let result = &standalone.results[k];
                let numbers = result.order() + result.arrays.len();
                Argument::Array(interpret::Buffer::of(DataType::I64, numbers))
            }
        });
    }
    Some(arguments)
}

/// Whether two numbers have the same bits; all NaNs are the same.
fn same(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::F64(a), Scalar::F64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Scalar::F32(a), Scalar::F32(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (a, b) => a == b,
    }
}

/// An array of a tensor.
pub(crate) fn array(tensor: &Tensor, piece: Piece) -> &Buffer {
    match piece {
        Piece::Level(level, part) => {
            tensor.levels()[level.index()].part(part).expect("a valid tensor has its arrays")
        }
        Piece::Vals => tensor.vals(),
    }
}

/// An array for the interpreter.
pub(crate) fn copied(buffer: &Buffer, elem: DataType) -> interpret::Buffer {
    let mut values = vec![];
    for at in 0..buffer.len() {
        match buffer.get(at) {
            Scalar::C64(parts) => values.extend(parts.map(Scalar::F32)),
            Scalar::C128(parts) => values.extend(parts.map(Scalar::F64)),
            value => values.push(value),
        }
    }
    interpret::Buffer::holding(elem, &values).expect("an array holds what it holds")
}
