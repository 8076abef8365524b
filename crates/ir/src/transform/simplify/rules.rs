//! The rules for one expression. All keep the bits of every value, so there is no `x * 0 = 0` and
//! no `x + 0 = x` for floats: an infinity or a negative zero would change.

use super::truth;
use crate::algebra::{BinaryOp, UnaryOp, eval};
use crate::datatype::{DataType, Register, Scalar};
use crate::ir::{Expr, Function};

/// The operand types for which a rule holds.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum On {
    /// Integers and floats.
    Numbers,
    Integers,
    /// Unsigned integers.
    Unsigned,
    Truth,
}

/// The special operand, and its value: a constant, as a number, or the other operand.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Special {
    Left(f64),
    Right(f64),
    Same,
}

/// The value of the expression: the operand that is not special (the first of two equal ones), or a constant, as a
/// number.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Gives {
    Other,
    Constant(f64),
}

/// Identities, one per line. A constant -0 is 0 for integers.
pub(super) const IDENTITIES: [(BinaryOp, On, Special, Gives); 38] = {
    use BinaryOp::*;
    use Gives::*;
    use On::*;
    use Special::*;
    [
        (Add, Numbers, Left(-0.0), Other),
        (Add, Numbers, Right(-0.0), Other),
        (Sub, Numbers, Right(0.0), Other),
        (Sub, Integers, Same, Constant(0.0)),
        (Mul, Numbers, Left(1.0), Other),
        (Mul, Numbers, Right(1.0), Other),
        (Mul, Integers, Left(0.0), Constant(0.0)),
        (Mul, Integers, Right(0.0), Constant(0.0)),
        (Div, Numbers, Right(1.0), Other),
        (Div, Integers, Left(0.0), Constant(0.0)),
        (Mod, Integers, Right(1.0), Constant(0.0)),
        (Min, Numbers, Same, Other),
        (Max, Numbers, Same, Other),
        (Eq, Integers, Same, Constant(1.0)),
        (Le, Integers, Same, Constant(1.0)),
        (Ge, Integers, Same, Constant(1.0)),
        (Ne, Integers, Same, Constant(0.0)),
        (Lt, Numbers, Same, Constant(0.0)),
        (Gt, Numbers, Same, Constant(0.0)),
        (Lt, Unsigned, Right(0.0), Constant(0.0)),
        (Ge, Unsigned, Right(0.0), Constant(1.0)),
        (Gt, Unsigned, Left(0.0), Constant(0.0)),
        (Le, Unsigned, Left(0.0), Constant(1.0)),
        (And, Truth, Left(1.0), Other),
        (And, Truth, Right(1.0), Other),
        (And, Truth, Left(0.0), Constant(0.0)),
        (And, Truth, Right(0.0), Constant(0.0)),
        (And, Truth, Same, Other),
        (Or, Truth, Left(0.0), Other),
        (Or, Truth, Right(0.0), Other),
        (Or, Truth, Left(1.0), Constant(1.0)),
        (Or, Truth, Right(1.0), Constant(1.0)),
        (Or, Truth, Same, Other),
        (Xor, Truth, Left(0.0), Other),
        (Xor, Truth, Right(0.0), Other),
        (Xor, Truth, Same, Constant(0.0)),
        (Eq, Truth, Right(1.0), Other),
        (Ne, Truth, Right(0.0), Other),
    ]
};

/// A simpler expression with the same value, if a rule gives one.
pub(super) fn apply(function: &Function, e: &Expr) -> Option<Expr> {
    match e {
        Expr::Binary(op, a, b) => match (&**a, &**b) {
            (Expr::Const(x), Expr::Const(y)) => folded(*op, *x, *y),
            _ => identity(function, *op, a, b).or_else(|| regrouped(*op, a, b)),
        },
        Expr::Unary(op, a) => match (&**a, op) {
            (Expr::Const(x), UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs) => {
                exact(eval::unary(*op, *x))
            }
            (Expr::Unary(inner, a), UnaryOp::Neg | UnaryOp::Not) if op == inner => {
                Some((**a).clone())
            }
            _ => None,
        },
        Expr::AndThen(a, b) => match (constant(a), constant(b)) {
            (Some(Scalar::Bool(true)), _) => Some((**b).clone()),
            (_, Some(Scalar::Bool(true))) => Some((**a).clone()),
            (Some(Scalar::Bool(false)), _) | (_, Some(Scalar::Bool(false))) => Some(truth(false)),
            _ => None,
        },
        Expr::Select(c, a, b) => match constant(c) {
            Some(Scalar::Bool(true)) => Some((**a).clone()),
            Some(Scalar::Bool(false)) => Some((**b).clone()),
            _ => (a == b).then(|| (**a).clone()),
        },
        Expr::Convert(to, a) => converted(function, *to, a),
        _ => None,
    }
}

fn constant(e: &Expr) -> Option<Scalar> {
    match e {
        Expr::Const(c) => Some(*c),
        _ => None,
    }
}

/// Operators whose values have the same bits on every machine.
fn folded(op: BinaryOp, x: Scalar, y: Scalar) -> Option<Expr> {
    let float = x.register().is_float();
    let rounded_once = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div);
    let comparison = op.is_logical();
    let known = !float || rounded_once || comparison;
    if known { exact(eval::binary(op, x, y)) } else { None }
}

/// A constant, except for NaNs, whose bits are up to the machine.
fn exact(c: Scalar) -> Option<Expr> {
    c.same_value(c).then_some(())?;
    let nan = c.register().is_float() && c.as_f64().is_nan();
    (!nan).then_some(Expr::Const(c))
}

fn identity(function: &Function, op: BinaryOp, a: &Expr, b: &Expr) -> Option<Expr> {
    let (left, right) = (constant(a), constant(b));
    let same = a == b;
    if left.is_none() && right.is_none() && !same {
        return None;
    }
    let ty = function.type_of(a);
    let is = |c: Option<Scalar>, x: f64| c == Some(Scalar::F64(x).convert(ty.register));
    let holds = |on| match on {
        On::Numbers => ty.register != Register::Bool,
        On::Integers => ty.register.is_integer(),
        On::Unsigned => ty.register == Register::U64,
        On::Truth => ty.register == Register::Bool,
    };
    let applies = |special| match special {
        Special::Left(x) => is(left, x),
        Special::Right(x) => is(right, x),
        Special::Same => same,
    };
    let mut of_scalars = IDENTITIES.iter().filter(|(of, ..)| *of == op && ty.lanes == 1);
    let (_, _, special, gives) =
        *of_scalars.find(|(_, on, special, _)| holds(*on) && applies(*special))?;
    Some(match (gives, special) {
        (Gives::Other, Special::Left(_)) => b.clone(),
        (Gives::Other, _) => a.clone(),
        (Gives::Constant(x), _) => {
            let result = if op.is_logical() { Register::Bool } else { ty.register };
            Expr::Const(Scalar::F64(x).convert(result))
        }
    })
}

/// `x + 1 + 2` as `x + 3`, for integers.
fn regrouped(op: BinaryOp, a: &Expr, b: &Expr) -> Option<Expr> {
    let signed = |op: BinaryOp, c: &Expr| match (op, constant(c)?) {
        (BinaryOp::Add, Scalar::I64(c)) => Some(c),
        (BinaryOp::Sub, Scalar::I64(c)) => Some(c.wrapping_neg()),
        _ => None,
    };
    let Expr::Binary(inner, x, c) = a else { return None };
    let sum = signed(*inner, c)?.wrapping_add(signed(op, b)?);
    let negative = sum < 0 && sum != i64::MIN;
    let op = if negative { BinaryOp::Sub } else { BinaryOp::Add };
    let sum = if negative { sum.wrapping_neg() } else { sum };
    Some(Expr::Binary(op, x.clone(), Box::new(Expr::Const(Scalar::I64(sum)))))
}

fn converted(function: &Function, to: Register, a: &Expr) -> Option<Expr> {
    match a {
        Expr::Const(c) => exact(c.convert(to)),
        _ if function.type_of(a).register == to => Some(a.clone()),
        Expr::Convert(through, b) => {
            let from = function.type_of(b).register;
            // A truth value is 0 or 1 in every type, and so are elements of arrays of truth values.
            let elements = |e: &Expr| match e {
                Expr::Load { array, .. } => function.arrays[*array].elem == DataType::Bool,
                _ => false,
            };
            let kept = from == Register::Bool || *through == Register::Bool && elements(b);
            (kept && from == to).then(|| (**b).clone())
        }
        _ => None,
    }
}
