//! Adjacent elements that two statements load; processors load both with one instruction.

use super::{Expr, Function, Stmt};
use crate::algebra::BinaryOp;
use crate::datatype::{DataType, Register, Scalar};
use crate::ids::{Array, Var};

/// `low = array[index]; high = array[index + 1]`, of integers of 32 bits.
pub struct Pair<'s> {
    /// The array.
    pub array: Array,
    /// The first element.
    pub index: &'s Expr,
    /// The variables, of [`Register::I64`].
    pub vars: [Var; 2],
    /// Whether the elements are signed.
    pub signed: bool,
}

/// The pair that the first two statements load.
pub fn pair<'s>(function: &Function, stmts: &'s [Stmt]) -> Option<Pair<'s>> {
    let [Stmt::Assign { var: low, value: first }, Stmt::Assign { var: high, value: next }, ..] =
        stmts
    else {
        return None;
    };
    let (Expr::Load { array, index, lanes: 1 }, Expr::Load { array: same, index: at, lanes: 1 }) =
        (first, next)
    else {
        return None;
    };
    let elem = function.arrays[*array].elem;
    let words = matches!(elem, DataType::I32 | DataType::U32) && elem.register() == Register::I64;
    let neighbours = array == same && is_next(at, index);
    // Assigning the first variable must not change the second index.
    let apart = low != high && !super::flow::mentions(index, *low);
    let signed = elem == DataType::I32;
    (words && neighbours && apart).then_some(Pair {
        array: *array,
        index,
        vars: [*low, *high],
        signed,
    })
}

/// Whether an index is one more than another.
fn is_next(e: &Expr, than: &Expr) -> bool {
    let parts = |e: &'_ Expr| match e {
        Expr::Binary(BinaryOp::Add, rest, by) => match **by {
            Expr::Const(Scalar::I64(by)) => ((**rest).clone(), by),
            _ => (e.clone(), 0),
        },
        e => (e.clone(), 0),
    };
    let ((rest, by), (other, than)) = (parts(e), parts(than));
    rest == other && by.checked_sub(than) == Some(1)
}
