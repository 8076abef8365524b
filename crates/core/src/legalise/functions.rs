//! Functions and quotients of values, which take longer than sums and products.

use crate::notation::Expr;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::ids::IndexVar;

/// Whether a value contains functions or quotients.
pub(super) fn has_functions(e: &Expr) -> bool {
    is_function(e) || e.children().into_iter().any(has_functions)
}

/// Whether a value is a function or a quotient.
pub(super) fn is_function(e: &Expr) -> bool {
    match e {
        Expr::Unary(op, _) => *op != UnaryOp::Neg,
        Expr::Binary(op, ..) => {
            matches!(op, BinaryOp::Div | BinaryOp::Mod | BinaryOp::Pow | BinaryOp::Atan2)
        }
        Expr::UserUnary(..) => true,
        _ => false,
    }
}

/// Whether a value contains functions that take many instructions, of an argument that depends on a variable.
pub(super) fn has_slow_functions_of(var: IndexVar, e: &Expr) -> bool {
    is_slow_function(e) && e.free_vars().contains(&var)
        || e.children().into_iter().any(|child| has_slow_functions_of(var, child))
}

/// Whether a value is a function for which processors have no instruction.
pub(super) fn is_slow_function(e: &Expr) -> bool {
    matches!(e, Expr::Unary(op, _) if op.needs_float() && *op != UnaryOp::Sqrt)
}
