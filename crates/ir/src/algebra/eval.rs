//! The meaning of each operator on constants: the one definition that folding and interpreting share, and that
//! compiled backends must reproduce bit for bit (see the semantics in [`crate::ir`]).

use super::cbrt::cbrt;
use super::{BinaryOp, UnaryOp, complex, exp, log};
use crate::datatype::Scalar;
use std::f64::consts::LN_2;

/// The value of a function of one operand, of the operand's register type.
pub fn unary(op: UnaryOp, x: Scalar) -> Scalar {
    match x {
        Scalar::Bool(b) => Scalar::Bool(if op == UnaryOp::Not { !b } else { b }),
        Scalar::I64(x) => Scalar::I64(unary_i64(op, x)),
        Scalar::U64(x) => Scalar::U64(unary_u64(op, x)),
        Scalar::F32(x) => Scalar::F32(unary_f32(op, x)),
        Scalar::F64(x) => Scalar::F64(unary_f64(op, x)),
        Scalar::C64(_) | Scalar::C128(_) => complex::unary(op, x),
    }
}

/// The value of an operator of two operands of one register type, real or complex; comparisons of numbers give
/// `Bool`, everything else the operands' type. `op` is not a user operator.
pub fn binary(op: BinaryOp, x: Scalar, y: Scalar) -> Scalar {
    match (x, y) {
        (Scalar::Bool(x), Scalar::Bool(y)) => Scalar::Bool(binary_bool(op, x, y)),
        (Scalar::I64(x), Scalar::I64(y)) => match compare(op, &x, &y) {
            Some(truth) => Scalar::Bool(truth),
            None => Scalar::I64(binary_i64(op, x, y)),
        },
        (Scalar::U64(x), Scalar::U64(y)) => match compare(op, &x, &y) {
            Some(truth) => Scalar::Bool(truth),
            None => Scalar::U64(binary_u64(op, x, y)),
        },
        (Scalar::F32(x), Scalar::F32(y)) => match compare(op, &x, &y) {
            Some(truth) => Scalar::Bool(truth),
            None => Scalar::F32(binary_f32(op, x, y)),
        },
        (Scalar::F64(x), Scalar::F64(y)) => match compare(op, &x, &y) {
            Some(truth) => Scalar::Bool(truth),
            None => Scalar::F64(binary_f64(op, x, y)),
        },
        (x, y) if x.is_complex() || y.is_complex() => complex::binary(op, x, y),
        (x, y) => binary(op, x, y.convert(x.register())),
    }
}

/// Whether the integer result of an operator exceeds 64 bits, so that [`binary`] wraps around.
pub fn overflows(op: BinaryOp, x: Scalar, y: Scalar) -> bool {
    macro_rules! fits {
        ($x:expr, $y:expr) => {
            match op {
                BinaryOp::Add => $x.checked_add($y).is_some(),
                BinaryOp::Sub => $x.checked_sub($y).is_some(),
                BinaryOp::Mul => $x.checked_mul($y).is_some(),
                BinaryOp::Div => $y == 0 || $x.checked_div($y).is_some(),
                _ => true,
            }
        };
    }
    match (x, y) {
        (Scalar::I64(x), Scalar::I64(y)) => !fits!(x, y),
        (Scalar::U64(x), Scalar::U64(y)) => !fits!(x, y),
        _ => false,
    }
}

/// Whether the integer result of a function exceeds 64 bits, so that [`unary`] wraps around.
pub fn overflows_unary(op: UnaryOp, x: Scalar) -> bool {
    macro_rules! fits {
        ($x:expr) => {
            match op {
                UnaryOp::Square => $x.checked_mul($x).is_some(),
                UnaryOp::Cube => $x.checked_pow(3).is_some(),
                _ => true,
            }
        };
    }
    match (op, x) {
        (UnaryOp::Neg | UnaryOp::Abs, Scalar::I64(x)) => x == i64::MIN,
        (UnaryOp::Neg, Scalar::U64(x)) => x != 0,
        (_, Scalar::I64(x)) => !fits!(x),
        (_, Scalar::U64(x)) => !fits!(x),
        _ => false,
    }
}

/// The result of a comparison; `None` for other operators.
pub fn compare<T: PartialOrd>(op: BinaryOp, x: &T, y: &T) -> Option<bool> {
    Some(match op {
        BinaryOp::Eq => x == y,
        BinaryOp::Ne => x != y,
        BinaryOp::Lt => x < y,
        BinaryOp::Le => x <= y,
        BinaryOp::Gt => x > y,
        BinaryOp::Ge => x >= y,
        _ => return None,
    })
}

fn binary_bool(op: BinaryOp, x: bool, y: bool) -> bool {
    match op {
        BinaryOp::And | BinaryOp::Mul | BinaryOp::Min => x & y,
        BinaryOp::Xor | BinaryOp::Ne | BinaryOp::Sub => x ^ y,
        BinaryOp::Eq => x == y,
        BinaryOp::Lt => !x & y,
        BinaryOp::Le => !x | y,
        BinaryOp::Gt => x & !y,
        BinaryOp::Ge => x | !y,
        _ => x | y,
    }
}

fn unary_i64(op: UnaryOp, x: i64) -> i64 {
    match op {
        UnaryOp::Neg => x.wrapping_neg(),
        UnaryOp::Not => i64::from(x == 0),
        UnaryOp::Abs => x.wrapping_abs(),
        UnaryOp::Square => x.wrapping_mul(x),
        UnaryOp::Cube => x.wrapping_mul(x).wrapping_mul(x),
        UnaryOp::Conj | UnaryOp::Real => x,
        UnaryOp::Imag => 0,
        // The other functions compute in floating point; lowering converts first.
        _ => unary_f64(op, x as f64) as i64,
    }
}

fn binary_i64(op: BinaryOp, x: i64, y: i64) -> i64 {
    match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Sub => x.wrapping_sub(y),
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div if y == 0 => 0,
        BinaryOp::Div => x.wrapping_div(y),
        BinaryOp::Mod if y == 0 || y == -1 => 0,
        BinaryOp::Mod => {
            let r = x % y;
            if r != 0 && (r < 0) != (y < 0) { r + y } else { r }
        }
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::Heaviside => match x.signum() {
            0 => y,
            sign => i64::from(sign > 0),
        },
        BinaryOp::And => i64::from(x != 0 && y != 0),
        BinaryOp::Or => i64::from(x != 0 || y != 0),
        BinaryOp::Xor => i64::from((x != 0) != (y != 0)),
        _ => binary_f64(op, x as f64, y as f64) as i64,
    }
}

fn unary_u64(op: UnaryOp, x: u64) -> u64 {
    match op {
        UnaryOp::Neg => x.wrapping_neg(),
        UnaryOp::Not => u64::from(x == 0),
        UnaryOp::Abs => x,
        UnaryOp::Square => x.wrapping_mul(x),
        UnaryOp::Cube => x.wrapping_mul(x).wrapping_mul(x),
        UnaryOp::Conj | UnaryOp::Real => x,
        UnaryOp::Imag => 0,
        _ => unary_f64(op, x as f64) as u64,
    }
}

fn binary_u64(op: BinaryOp, x: u64, y: u64) -> u64 {
    match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Sub => x.wrapping_sub(y),
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div => x.checked_div(y).unwrap_or(0),
        BinaryOp::Mod => x.checked_rem(y).unwrap_or(0),
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::Heaviside => {
            if x == 0 {
                y
            } else {
                1
            }
        }
        BinaryOp::And => u64::from(x != 0 && y != 0),
        BinaryOp::Or => u64::from(x != 0 || y != 0),
        BinaryOp::Xor => u64::from((x != 0) != (y != 0)),
        _ => binary_f64(op, x as f64, y as f64) as u64,
    }
}

macro_rules! float_functions {
    ($t:ident $unary:ident $binary:ident) => {
        /// The value of a function.
        pub fn $unary(op: UnaryOp, x: $t) -> $t {
            match op {
                UnaryOp::Neg => -x,
                UnaryOp::Not => $t::from(u8::from(x == 0.0)),
                UnaryOp::Abs => x.abs(),
                UnaryOp::Sqrt => x.sqrt(),
                UnaryOp::Cbrt => cbrt(f64::from(x)) as $t,
                UnaryOp::Square => x * x,
                UnaryOp::Cube => x * x * x,
                UnaryOp::Conj | UnaryOp::Real => x,
                UnaryOp::Imag => 0.0,
                UnaryOp::Exp => exp(f64::from(x)) as $t,
                UnaryOp::Log => log(f64::from(x)) as $t,
                UnaryOp::Log10 => x.log10(),
                UnaryOp::Sin => x.sin(),
                UnaryOp::Cos => x.cos(),
                UnaryOp::Tan => x.tan(),
                UnaryOp::Asin => x.asin(),
                UnaryOp::Acos => x.acos(),
                UnaryOp::Atan => x.atan(),
                UnaryOp::Sinh => x.sinh(),
                UnaryOp::Cosh => x.cosh(),
                UnaryOp::Tanh => x.tanh(),
                // The formulas of every backend, since libraries differ. Twice the number may be infinite.
                UnaryOp::Asinh if x.abs() > 1.0 / $t::MIN_POSITIVE => {
                    (x.abs().ln() + LN_2 as $t).copysign(x)
                }
                UnaryOp::Asinh => {
                    let (a, i) = (x.abs(), 1.0 / x.abs());
                    (a + a / ($t::hypot(1.0, i) + i)).ln_1p().copysign(x)
                }
                UnaryOp::Acosh if x < 1.0 => $t::NAN,
                UnaryOp::Acosh if x > 1.0 / $t::MIN_POSITIVE => x.ln() + LN_2 as $t,
                UnaryOp::Acosh => (x + (x - 1.0).sqrt() * (x + 1.0).sqrt()).ln(),
                UnaryOp::Atanh => {
                    let a = x.abs();
                    ((2.0 * a / (1.0 - a)).ln_1p() / 2.0).copysign(x)
                }
            }
        }

        fn $binary(op: BinaryOp, x: $t, y: $t) -> $t {
            let truth = |b: bool| $t::from(u8::from(b));
            match op {
                BinaryOp::Add => x + y,
                BinaryOp::Sub => x - y,
                BinaryOp::Mul => x * y,
                BinaryOp::Div => x / y,
                BinaryOp::Min => {
                    if x < y || x.is_nan() {
                        x
                    } else {
                        y
                    }
                }
                BinaryOp::Max => {
                    if x > y || x.is_nan() {
                        x
                    } else {
                        y
                    }
                }
                BinaryOp::Pow => x.powf(y),
                BinaryOp::Mod => match x % y {
                    r if r == 0.0 => r.abs().copysign(y),
                    r if (r < 0.0) != (y < 0.0) => r + y,
                    r => r,
                },
                BinaryOp::Atan2 => x.atan2(y),
                BinaryOp::Heaviside if x < 0.0 => 0.0,
                BinaryOp::Heaviside if x == 0.0 => y,
                BinaryOp::Heaviside if x > 0.0 => 1.0,
                BinaryOp::Heaviside => x,
                BinaryOp::And => truth(x != 0.0 && y != 0.0),
                BinaryOp::Or => truth(x != 0.0 || y != 0.0),
                BinaryOp::Xor => truth((x != 0.0) != (y != 0.0)),
                BinaryOp::Eq => truth(x == y),
                BinaryOp::Ne => truth(x != y),
                BinaryOp::Lt => truth(x < y),
                BinaryOp::Le => truth(x <= y),
                BinaryOp::Gt => truth(x > y),
                BinaryOp::Ge => truth(x >= y),
                BinaryOp::User(_) => x,
            }
        }
    };
}

float_functions!(f32 unary_f32 binary_f32);
float_functions!(f64 unary_f64 binary_f64);

#[cfg(test)]
mod tests {
    use super::{binary, overflows_unary};
    use crate::algebra::cbrt::cbrt;
    use crate::algebra::{BinaryOp, UnaryOp};
    use crate::algebra::{exp, log};
    use crate::datatype::Scalar;

    #[test]
    fn functions_of_integers_that_leave_64_bits_are_told() {
        use UnaryOp::{Abs, Cube, Neg, Square};
        let (signed, unsigned) = (Scalar::I64, Scalar::U64);
        for (op, most, beyond) in [
            (Neg, signed(i64::MAX), signed(i64::MIN)),
            (Neg, unsigned(0), unsigned(5)),
            (Abs, signed(-i64::MAX), signed(i64::MIN)),
            (Square, signed(3_037_000_499), signed(-3_037_000_500)),
            (Square, unsigned(u32::MAX.into()), unsigned(1 << 32)),
            (Cube, signed(-2_097_152), signed(2_097_152)),
            (Cube, unsigned(2_642_245), unsigned(2_642_246)),
        ] {
            assert!(!overflows_unary(op, most), "{op:?} of {most}");
            assert!(overflows_unary(op, beyond), "{op:?} of {beyond}");
        }
    }

    #[test]
    fn remainders_are_exact_and_have_the_sign_of_the_divisor() {
        let check = |x: f64, y: f64, wanted: f64| {
            let found = binary(BinaryOp::Mod, Scalar::F64(x), Scalar::F64(y));
            assert!(found.same_value(Scalar::F64(wanted)), "mod({x}, {y}) is {found}");
        };
        check(1.0, f64::INFINITY, 1.0);
        check(-1.0, f64::INFINITY, f64::INFINITY);
        check(1.0, 0.1, 0.09999999999999995);
        check(-7.0, 3.0, 2.0);
        check(7.0, -3.0, -2.0);
        check(6.0, -3.0, -0.0);
        check(1e300, 7.0, 1e300 % 7.0);
    }

    #[test]
    fn cube_roots_are_near_and_those_of_cubes_exact() {
        for k in -2000i32..2000 {
            let root = f64::from(k) * 0.25;
            assert_eq!(cbrt(root * root * root).to_bits(), root.to_bits(), "{root}");
            let x = f64::from(k) * 1.37f64.powi(k);
            let (near, root) = (x.cbrt(), cbrt(x));
            assert!((root - near).abs() <= near.abs() * f64::EPSILON, "{x}: {root} {near}");
        }
        for x in [5e-324, -1e-310, f64::MAX, f64::MIN_POSITIVE, -0.0] {
            assert!((cbrt(x) - x.cbrt()).abs() <= x.cbrt().abs() * f64::EPSILON, "{x}");
        }
        assert_eq!(cbrt(-0.0).to_bits(), (-0.0f64).to_bits());
        assert!(cbrt(f64::NAN).is_nan() && cbrt(f64::INFINITY) == f64::INFINITY);
    }

    /// The number of floats between two of the same sign, neither of them NaN.
    fn apart(x: f64, y: f64) -> u64 {
        assert!(x.is_sign_positive() == y.is_sign_positive() && !x.is_nan(), "{x} {y}");
        x.to_bits().abs_diff(y.to_bits())
    }

    #[test]
    fn exponentials_and_logarithms_are_within_one_ulp() {
        // Steps by a ratio without a pattern in binary.
        let mut unit = 0.5f64;
        for _ in 0..200_000 {
            unit = (unit + 0.618_033_988_749_894_9) % 1.0;
            for x in [unit - 0.5, unit * 1457.0 - 747.0, unit * 1e-9] {
                assert!(apart(exp(x), x.exp()) <= 1, "exp({x:?}) is {:?}", exp(x));
            }
            let any = f64::from_bits((unit * f64::INFINITY.to_bits() as f64) as u64);
            for x in [unit + 0.5, 1.0 + (unit - 0.5) * 1e-3, any, any * f64::MIN_POSITIVE] {
                assert!(x == 0.0 || apart(log(x), x.ln()) <= 1, "log({x:?}) is {:?}", log(x));
            }
        }
    }

    #[test]
    fn exponentials_and_logarithms_are_exact_where_they_should_be() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let check = |name: &str, x: f64, found: f64, wanted: f64| {
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{name}({x}) is {found}"
            );
        };
        let exps = [
            (0.0, 1.0),
            (-0.0, 1.0),
            (inf, inf),
            (-inf, 0.0),
            (nan, nan),
            (709.782712893384, 1.7976931348622732e308),
            (709.782712893385, inf),
            (-745.1332191019411, 5e-324),
            (-745.1332191019412, 0.0),
            (f64::MAX, inf),
            (f64::MIN, 0.0),
            (5e-324, 1.0),
        ];
        exps.into_iter().for_each(|(x, wanted)| check("exp", x, exp(x), wanted));
        let logs = [
            (0.0, -inf),
            (-0.0, -inf),
            (1.0, 0.0),
            (inf, inf),
            (nan, nan),
            (-1.0, nan),
            (-inf, nan),
            (-5e-324, nan),
            (5e-324, -744.4400719213812),
            (f64::MAX, 709.782712893384),
        ];
        logs.into_iter().for_each(|(x, wanted)| check("log", x, log(x), wanted));
    }
}
