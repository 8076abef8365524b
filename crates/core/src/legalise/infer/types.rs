//! The type in which a statement computes: NumPy's promotion over its operands.
//!
//! Literals are weak: an integer literal takes the operands' type, except that truth values beside numbers other than
//! 0 and 1 become integers; a literal with a point makes integers floating-point but leaves `f32`. Functions such as
//! `sqrt` make integers `f64`.
//!
//! Integers under 64 bits and booleans compute in 64 bits, floats of 16 bits in 32. Statements of floats under 64 bits
//! compute in 64 bits if they have sums, or coordinates as values. Stored values are rounded, or checked to fit.

use crate::cin::{Overflow, Program};
use crate::notation::Expr;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp, eval};
use tamis_ir::datatype::{DataType, Register, Scalar};

/// The compute type of a value, for a result of the wanted type.
pub(in crate::legalise) fn compute_type(
    program: &Program,
    value: &Expr,
    wanted: Option<DataType>,
) -> DataType {
    let mut operands: Option<DataType> = None;
    let (mut fraction, mut imaginary, mut counts) = (false, false, false);
    let mut meet = |t: DataType| operands = Some(operands.map_or(t, |known| known.promote(t)));
    let mut meet_all = |e: &Expr| match e {
        Expr::Access(a) => meet(program.storage(a.tensor).datatype),
        // No other integer type holds it.
        Expr::Literal(Scalar::U64(_)) => meet(DataType::U64),
        Expr::Literal(c) if c.is_complex() => imaginary = true,
        Expr::Literal(c @ Scalar::I64(_)) if !DataType::Bool.holds(*c) => counts = true,
        e => fraction |= needs_float(e),
    };
    value.walk(&mut |e| {
        meet_all(e);
        if let Some(op) = e.user_op() {
            program.operators[op].body.walk(&mut meet_all);
        }
    });
    let operands = match operands {
        Some(DataType::Bool) if counts => Some(DataType::I64),
        operands => operands,
    };
    let operands = match (operands, wanted) {
        // Integers may be stored in another integer type, if they fit.
        (Some(t), Some(wanted)) if t.integers().is_none() || wanted.integers().is_none() => {
            Some(t.promote(wanted))
        }
        // Coordinates and constants are signed, and rounded once.
        (None, Some(DataType::U64)) => Some(DataType::I64),
        (None, Some(wanted)) if wanted.is_half() => Some(DataType::F64),
        (operands, wanted) => operands.or(wanted),
    };
    let computed = operands.unwrap_or(if fraction { DataType::F64 } else { DataType::I64 });
    let computed = if fraction && !computed.is_float() { DataType::F64 } else { computed };
    if imaginary { computed.complex() } else { computed }
}

/// The type in which a value is computed whose elements are stored in another type: sums of floats of 16 and 32 bits,
/// including sums of duplicates, are computed in 64 bits and rounded once. So are coordinates, which 32 bits hold
/// exactly only up to 2^24.
pub(in crate::legalise) fn computing(
    program: &Program,
    stored: DataType,
    value: &Expr,
) -> DataType {
    let mut is_wide = false;
    value.walk(&mut |e| {
        is_wide |= match e {
            Expr::Reduce { op, .. } => *op == ReduceOp::Add,
            Expr::Index(_) => true,
            Expr::Access(a) => program.storage(a.tensor).format.has_duplicates(),
            _ => false,
        };
    });
    match stored.register() {
        Register::F32 if is_wide && stored.is_complex() => DataType::C128,
        Register::F32 if is_wide => DataType::F64,
        _ => stored,
    }
}

/// How integers beyond 64 bits are treated: they are refused where integers that do not fit a narrow result are.
pub(in crate::legalise) fn overflow(datatype: DataType) -> Overflow {
    let is_narrow = datatype.integers().is_some() && datatype.size() < 8;
    if is_narrow { Overflow::Checked } else { Overflow::Wraps }
}

/// Folds comparisons, and `max`, with a negative constant where a statement computes unsigned: every other value is
/// larger. Other negative constants keep their sign as an operator, as in the text: kernels compute it, and detect the
/// overflow.
pub(in crate::legalise) fn decided(value: Expr, compute: DataType) -> Expr {
    if compute != DataType::U64 {
        return value;
    }
    if let Expr::Literal(Scalar::I64(x @ ..0)) = value {
        let size = Expr::Literal(Scalar::U64(x.unsigned_abs()));
        return Expr::Unary(UnaryOp::Neg, Box::new(size));
    }
    let value = value.map_children(&mut |child| decided(child, compute));
    let Expr::Binary(op, a, b) = &value else { return value };
    let [below_a, below_b] = [a, b].map(|e| constant(e).is_some_and(|c| c < 0));
    if below_a == below_b {
        return value;
    }
    if *op == BinaryOp::Max {
        return Expr::clone(if below_a { b } else { a });
    }
    let holds = eval::compare(*op, &below_b, &below_a);
    holds.map_or(value, |holds| Expr::Literal(Scalar::I64(holds.into())))
}

/// The value of an integer literal, perhaps with a sign.
fn constant(e: &Expr) -> Option<i128> {
    match e {
        Expr::Literal(c @ (Scalar::I64(_) | Scalar::U64(_))) => c.integer(),
        Expr::Unary(UnaryOp::Neg, a) => constant(a).map(|c| -c),
        _ => None,
    }
}

/// The type of a value: real values stay real in a statement that computes with complex numbers.
pub(in crate::legalise) fn value_type(
    program: &Program,
    value: &Expr,
    compute: DataType,
) -> DataType {
    if program.is_real(value) { compute.part() } else { compute }
}

fn needs_float(e: &Expr) -> bool {
    match e {
        Expr::Literal(c) => matches!(c, Scalar::F64(_)),
        Expr::Unary(op, _) => op.needs_float(),
        Expr::Binary(op, ..) => op.needs_float(),
        _ => false,
    }
}
