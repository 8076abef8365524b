//! The type in which a statement computes: NumPy's promotion over its operands.
//!
//! Literals are weak: an integer literal takes the operands' type, a literal with a point makes
//! integers floating-point but leaves `f32`. Functions such as `sqrt` make integers `f64`.

use crate::algebra::BinaryOp;
use crate::cin::Program;
use crate::datatype::{DataType, Register, Scalar};
use crate::notation::Expr;

/// The compute type of a value whose result is wanted in some type.
pub(super) fn compute_type(program: &Program, value: &Expr, wanted: Option<DataType>) -> DataType {
    let mut operands: Option<DataType> = wanted;
    let mut fraction = false;
    value.walk(&mut |e| match e {
        Expr::Access(a) => {
            let datatype = program.storage(a.tensor).datatype;
            operands = Some(operands.map_or(datatype, |t| t.promote(datatype)));
        }
        Expr::UserUnary(op, _) | Expr::Binary(BinaryOp::User(op), ..) => {
            program.operators[*op].body.walk(&mut |e| fraction |= needs_float(e));
        }
        e => fraction |= needs_float(e),
    });
    let computed = operands.unwrap_or(if fraction { DataType::F64 } else { DataType::I64 });
    if fraction && !computed.is_float() { DataType::F64 } else { computed }
}

fn needs_float(e: &Expr) -> bool {
    match e {
        Expr::Literal(c) => matches!(c, Scalar::F64(_)),
        Expr::Unary(op, _) => op.needs_float(),
        Expr::Binary(op, ..) => op.needs_float(),
        _ => false,
    }
}

/// The element type that holds every value of a compute type.
pub(super) fn accumulator(compute: DataType) -> DataType {
    match compute.register() {
        Register::F32 => DataType::F32,
        Register::F64 => DataType::F64,
        Register::Bool | Register::I64 => DataType::I64,
    }
}
