//! The meaning of operators on complex numbers, part by part: on constants, and as expressions that lowering emits.

use super::{BinaryOp, UnaryOp, eval};
use crate::datatype::{Register, Scalar};

/// A function of a complex number; a function that complex numbers lack is applied to the real part.
pub(super) fn unary(op: UnaryOp, z: Scalar) -> Scalar {
    let [re, im] = z.parts();
    let real = |x: Scalar| Scalar::complex(x, Scalar::F64(0.0));
    let negative = |x: Scalar| eval::unary(UnaryOp::Neg, x);
    match op {
        UnaryOp::Neg => Scalar::complex(negative(re), negative(im)),
        UnaryOp::Conj => Scalar::complex(re, negative(im)),
        UnaryOp::Real => real(re),
        UnaryOp::Imag => real(im),
        UnaryOp::Abs => real(absolute(&mut Numbers(re.register()), [re, im])),
        UnaryOp::Square => product(z, z),
        UnaryOp::Cube => product(product(z, z), z),
        UnaryOp::Not => real(Scalar::Bool(z.is_zero()).convert(re.register())),
        op => match elementary(&mut Numbers(re.register()), op, [re, im]) {
            Some([re, im]) => Scalar::complex(re, im),
            None => real(eval::unary(op, re)),
        },
    }
}

/// An operator on numbers of one type, either of which may be real; comparisons give `Bool`. An operator that complex
/// numbers lack is applied to the real parts.
pub(super) fn binary(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
    let ([x, y], [c, d]) = (a.parts(), b.parts());
    let part = |x, y| eval::binary(op, x, y);
    let same = |x, y| eval::binary(BinaryOp::Eq, x, y) == Scalar::Bool(true);
    match op {
        // A real operand has no imaginary part, rather than one of 0: infinity times 1j has no NaN.
        BinaryOp::Add if !a.is_complex() => Scalar::complex(part(x, c), d),
        BinaryOp::Sub if !a.is_complex() => {
            Scalar::complex(part(x, c), eval::unary(UnaryOp::Neg, d))
        }
        BinaryOp::Mul if !a.is_complex() => Scalar::complex(part(x, c), part(x, d)),
        BinaryOp::Add | BinaryOp::Sub if !b.is_complex() => Scalar::complex(part(x, c), y),
        BinaryOp::Mul | BinaryOp::Div if !b.is_complex() => Scalar::complex(part(x, c), part(y, c)),
        BinaryOp::Add | BinaryOp::Sub => Scalar::complex(part(x, c), part(y, d)),
        BinaryOp::Mul => product(a, b),
        BinaryOp::Div => {
            let [re, im] = quotient(&mut Numbers(x.register()), [x, y], [c, d]);
            Scalar::complex(re, im)
        }
        BinaryOp::Eq => Scalar::Bool(same(x, c) && same(y, d)),
        BinaryOp::Ne => Scalar::Bool(!(same(x, c) && same(y, d))),
        BinaryOp::And => truth(!a.is_zero() && !b.is_zero(), a),
        BinaryOp::Or => truth(!a.is_zero() || !b.is_zero(), a),
        BinaryOp::Xor => truth(a.is_zero() != b.is_zero(), a),
        _ => match part(x, c) {
            Scalar::Bool(b) => Scalar::Bool(b),
            re => Scalar::complex(re, Scalar::F64(0.0)),
        },
    }
}

fn truth(b: bool, like: Scalar) -> Scalar {
    Scalar::Bool(b).computed(like.datatype())
}

fn op(op: BinaryOp, x: Scalar, y: Scalar) -> Scalar {
    eval::binary(op, x, y)
}

fn product(a: Scalar, b: Scalar) -> Scalar {
    use BinaryOp::{Add, Mul, Sub};
    let ([x, y], [c, d]) = (a.parts(), b.parts());
    Scalar::complex(op(Sub, op(Mul, x, c), op(Mul, y, d)), op(Add, op(Mul, x, d), op(Mul, y, c)))
}

/// Arithmetic on the parts of complex numbers: on numbers, or as code.
pub trait Parts {
    /// A real number, or a truth value.
    type Part: Clone;
    /// A constant.
    fn constant(&mut self, x: f64) -> Self::Part;
    /// A function.
    fn unary(&mut self, op: UnaryOp, x: Self::Part) -> Self::Part;
    /// An operator.
    fn binary(&mut self, op: BinaryOp, x: Self::Part, y: Self::Part) -> Self::Part;
    /// One of two numbers.
    fn select(&mut self, when: Self::Part, then: Self::Part, otherwise: Self::Part) -> Self::Part;
}

/// The parts of a quotient, scaled by the larger part of the divisor (Smith, "Algorithm 116: Complex division"). If
/// the divisor is 0, each part is divided by 0, as in NumPy.
pub fn quotient<P: Parts>(on: &mut P, [x, y]: [P::Part; 2], [c, d]: [P::Part; 2]) -> [P::Part; 2] {
    use BinaryOp::{Add, Div, Eq, Ge, Mul, Sub};
    let sizes = [on.unary(UnaryOp::Abs, c.clone()), on.unary(UnaryOp::Abs, d.clone())];
    let [size_c, size_d] = sizes;
    let wide = on.binary(Ge, size_c.clone(), size_d.clone());
    let large = on.select(wide.clone(), c.clone(), d.clone());
    let small = on.select(wide.clone(), d, c);
    let zero = on.constant(0.0);
    let [none_c, none_d] = [size_c, size_d].map(|size| on.binary(Eq, size, zero.clone()));
    let none = on.binary(BinaryOp::And, none_c, none_d);
    let ratio = on.binary(Div, small.clone(), large.clone());
    let r = on.select(none.clone(), zero, ratio);
    let size = on.unary(UnaryOp::Abs, large.clone());
    let part = on.binary(Mul, small, r.clone());
    let below = on.binary(Add, large, part);
    let over_zero = [x.clone(), y.clone()];
    let [xr, yr] = [&x, &y].map(|part| on.binary(Mul, part.clone(), r.clone()));
    let re = [on.binary(Add, x.clone(), yr.clone()), on.binary(Add, xr.clone(), y.clone())];
    let im = [on.binary(Sub, y, xr), on.binary(Sub, yr, x)];
    let below = on.select(none.clone(), size, below);
    [(re, over_zero[0].clone()), (im, over_zero[1].clone())].map(|([wider, other], alone)| {
        let part = on.select(wide.clone(), wider, other);
        let part = on.select(none.clone(), alone, part);
        on.binary(Div, part, below.clone())
    })
}

/// The absolute value, scaled by the larger part.
pub fn absolute<P: Parts>(on: &mut P, [x, y]: [P::Part; 2]) -> P::Part {
    use BinaryOp::{Add, Div, Eq, Max, Min, Mul, Or};
    let (x, y) = (on.unary(UnaryOp::Abs, x), on.unary(UnaryOp::Abs, y));
    let large = on.binary(Max, x.clone(), y.clone());
    let small = on.binary(Min, x.clone(), y.clone());
    let r = on.binary(Div, small, large.clone());
    let square = on.binary(Mul, r.clone(), r);
    let [zero, one, infinity] = [0.0, 1.0, f64::INFINITY].map(|c| on.constant(c));
    let sum = on.binary(Add, one, square);
    let root = on.unary(UnaryOp::Sqrt, sum);
    let scaled = on.binary(Mul, large.clone(), root);
    let none = on.binary(Eq, large, zero.clone());
    let some = on.select(none, zero, scaled);
    // The result is infinite if one part is, even if the other is a NaN.
    let [wide, high] = [x, y].map(|part| on.binary(Eq, part, infinity.clone()));
    let infinite = on.binary(Or, wide, high);
    on.select(infinite, infinity, some)
}

/// Scales parts to about 1 by a power of two, if their squares or halves might overflow or underflow; returns these,
/// and the results of `back` for the exponents of that power, 64, -64 and 0.
fn scaled<P: Parts>(
    on: &mut P,
    z: [P::Part; 2],
    back: impl Fn(f64) -> f64,
) -> ([P::Part; 2], P::Part) {
    use BinaryOp::{Gt, Lt, Max, Mul};
    let [x, y] = z.clone().map(|part| on.unary(UnaryOp::Abs, part));
    let large = on.binary(Max, x, y);
    let [up, down, one] = [64f64, -64.0, 0.0].map(|e| on.constant(e.exp2()));
    let [back_up, back_down, back_one] = [64.0, -64.0, 0.0].map(|e| on.constant(back(e)));
    let huge = on.binary(Gt, large.clone(), up.clone());
    let tiny = on.binary(Lt, large, down.clone());
    let factor = on.select(tiny.clone(), up, one);
    let factor = on.select(huge.clone(), down, factor);
    let rest = on.select(tiny, back_down, back_one);
    let rest = on.select(huge, back_up, rest);
    (z.map(|part| on.binary(Mul, part, factor.clone())), rest)
}

/// The parts of an elementary function; `None` for other functions, and for those that only real numbers have. Branch
/// cuts are along the negative real axis, as in C and NumPy.
pub fn elementary<P: Parts>(on: &mut P, op: UnaryOp, [x, y]: [P::Part; 2]) -> Option<[P::Part; 2]> {
    use BinaryOp::{Atan2, Mul};
    use UnaryOp::{Cos, Cosh, Exp, Log, Log10, Neg, Sin, Sinh, Sqrt};
    Some(match op {
        Exp => exponential(on, [x, y]),
        Log | Log10 => {
            let angle = on.binary(Atan2, y.clone(), x.clone());
            let size = log_of_size(on, [x, y]);
            let base = if op == Log { 1.0 } else { std::f64::consts::LN_10 };
            [size, angle].map(|part| {
                let base = on.constant(base);
                on.binary(BinaryOp::Div, part, base)
            })
        }
        Sqrt => root(on, [x, y]),
        Sin | Cos | Sinh | Cosh => {
            let (angle, length) = if matches!(op, Sin | Cos) { (x, y) } else { (y, x) };
            let (sin, cos) = (on.unary(Sin, angle.clone()), on.unary(Cos, angle));
            let (sinh, cosh) = (on.unary(Sinh, length.clone()), on.unary(Cosh, length));
            if matches!(op, Sin | Sinh) {
                let [along, across] = [times(on, sin, cosh), times(on, sinh, cos)];
                if op == Sin { [along, across] } else { [across, along] }
            } else {
                let (re, im) = (on.binary(Mul, cos, cosh), times(on, sin, sinh));
                [re, if op == Cos { on.unary(Neg, im) } else { im }]
            }
        }
        _ => return None,
    })
}

/// A product that is zero if the first factor is, whatever the other factor is.
fn times<P: Parts>(on: &mut P, x: P::Part, y: P::Part) -> P::Part {
    use BinaryOp::{Eq, Max, Min, Mul};
    let [zero, one, negative] = [0.0, 1.0, -1.0].map(|c| on.constant(c));
    let none = on.binary(Eq, x.clone(), zero);
    // The result has the sign of both.
    let few = on.binary(Min, y.clone(), one);
    let few = on.binary(Max, few, negative);
    let [nothing, product] = [few, y].map(|y| on.binary(Mul, x.clone(), y));
    on.select(none, nothing, product)
}

/// An exponential, in two steps if that of the real part overflows.
fn exponential<P: Parts>(on: &mut P, [x, y]: [P::Part; 2]) -> [P::Part; 2] {
    use BinaryOp::{Eq, Mul};
    use UnaryOp::{Cos, Exp, Sin};
    let [zero, half, one, infinity] = [0.0, 0.5, 1.0, f64::INFINITY].map(|c| on.constant(c));
    let size = on.unary(Exp, x.clone());
    let half = on.binary(Mul, x, half);
    let root = on.unary(Exp, half);
    [on.unary(Cos, y.clone()), on.unary(Sin, y)].map(|turn| {
        let by_steps = times(on, turn.clone(), root.clone());
        let by_steps = times(on, by_steps, root.clone());
        let at_once = times(on, turn.clone(), size.clone());
        // Zero may have any direction.
        let known = on.binary(Eq, turn.clone(), turn.clone());
        let turn = on.select(known, turn, one.clone());
        let nothing = on.binary(Mul, turn, zero.clone());
        let none = on.binary(Eq, size.clone(), zero.clone());
        let beyond = on.binary(Eq, size.clone(), infinity.clone());
        let some = on.select(beyond, by_steps, at_once);
        on.select(none, nothing, some)
    })
}

/// The natural logarithm of the absolute value; near 1, by the distance of its square from 1.
fn log_of_size<P: Parts>(on: &mut P, z: [P::Part; 2]) -> P::Part {
    use BinaryOp::{Add, And, Div, Gt, Lt, Max, Min, Mul, Sub};
    let (near, power) = scaled(on, z.clone(), |exponent| exponent * std::f64::consts::LN_2);
    let size = absolute(on, near);
    let log = on.unary(UnaryOp::Log, size);
    let log = on.binary(Add, log, power);
    let [x, y] = z.clone().map(|part| on.unary(UnaryOp::Abs, part));
    let (large, small) = (on.binary(Max, x.clone(), y.clone()), on.binary(Min, x, y));
    let [low, high, one, two] = [0.7, 1.4, 1.0, 2.0].map(|c| on.constant(c));
    let (less, more) = (on.binary(Sub, large.clone(), one.clone()), on.binary(Add, large, one));
    let (product, square) = (on.binary(Mul, less, more), on.binary(Mul, small.clone(), small));
    let distance = on.binary(Add, product, square);
    let sum = on.binary(Add, two, distance.clone());
    let ratio = on.binary(Div, distance, sum);
    let by_distance = on.unary(UnaryOp::Atanh, ratio);
    let size = absolute(on, z);
    let (above, below) = (on.binary(Gt, size.clone(), low), on.binary(Lt, size, high));
    let around = on.binary(And, above, below);
    on.select(around, by_distance, log)
}

/// The square root with a nonnegative real part, without cancellation.
fn root<P: Parts>(on: &mut P, z: [P::Part; 2]) -> [P::Part; 2] {
    use BinaryOp::{Add, Div, Eq, Lt, Mul, Or};
    let height = on.unary(UnaryOp::Abs, z[1].clone());
    let imaginary = z[1].clone();
    let ([x, y], back) = scaled(on, z, |exponent| (exponent / 2.0).exp2());
    let size = absolute(on, [x.clone(), y.clone()]);
    let [zero, half, one] = [0.0, 0.5, 1.0].map(|c| on.constant(c));
    let width = on.unary(UnaryOp::Abs, x.clone());
    let [size_half, width_half] =
        [size.clone(), width].map(|part| on.binary(Mul, part, half.clone()));
    let sum = on.binary(Add, size_half, width_half);
    let large = on.unary(UnaryOp::Sqrt, sum);
    let part = on.binary(Mul, y.clone(), half);
    let small = on.binary(Div, part, large.clone());
    // The sign of a zero determines the side of the branch cut.
    let slope = on.binary(Div, one, y.clone());
    let [below, beneath] = [y.clone(), slope].map(|part| on.binary(Lt, part, zero.clone()));
    let below = on.binary(Or, below, beneath);
    let negative = on.unary(UnaryOp::Neg, large.clone());
    let signed = on.select(below, negative, large.clone());
    let left = on.binary(Lt, x, zero.clone());
    let narrow = on.unary(UnaryOp::Abs, small.clone());
    let re = on.select(left.clone(), narrow, large);
    let im = on.select(left, signed, small);
    let none = on.binary(Eq, size, zero.clone());
    let root = [on.select(none.clone(), zero, re), on.select(none, y, im)];
    let [re, im] = root.map(|part| on.binary(Mul, part, back.clone()));
    let infinity = on.constant(f64::INFINITY);
    let infinite = on.binary(Eq, height.clone(), infinity);
    [on.select(infinite.clone(), height, re), on.select(infinite, imaginary, im)]
}

/// Parts as numbers of a type.
struct Numbers(Register);

impl Parts for Numbers {
    type Part = Scalar;

    fn constant(&mut self, x: f64) -> Scalar {
        Scalar::F64(x).convert(self.0)
    }

    fn unary(&mut self, op: UnaryOp, x: Scalar) -> Scalar {
        eval::unary(op, x)
    }

    fn binary(&mut self, op: BinaryOp, x: Scalar, y: Scalar) -> Scalar {
        eval::binary(op, x, y)
    }

    fn select(&mut self, when: Scalar, then: Scalar, otherwise: Scalar) -> Scalar {
        if when == Scalar::Bool(true) { then } else { otherwise }
    }
}

#[cfg(test)]
mod tests {
    use super::{BinaryOp, Scalar, UnaryOp, eval};

    fn check(got: Scalar, expected: &str) {
        assert_eq!(got.to_string(), expected);
    }

    #[test]
    fn arithmetic_is_that_of_complex_numbers() {
        let (a, b) = (Scalar::C128([1.0, 2.0]), Scalar::C128([3.0, -4.0]));
        check(eval::binary(BinaryOp::Add, a, b), "4.0-2.0j");
        check(eval::binary(BinaryOp::Mul, a, b), "11.0+2.0j");
        check(eval::binary(BinaryOp::Div, b, a), "-1.0-2.0j");
        check(eval::binary(BinaryOp::Eq, a, a), "true");
        check(eval::binary(BinaryOp::Ne, a, b), "true");
        check(eval::unary(UnaryOp::Abs, b), "5.0+0.0j");
        check(eval::unary(UnaryOp::Cube, a), "-11.0-2.0j");
        check(eval::unary(UnaryOp::Conj, a), "1.0-2.0j");
        let large = Scalar::C64([3e38, 1e38]);
        check(eval::binary(BinaryOp::Div, large, large), "1.0+0.0j");
        check(eval::unary(UnaryOp::Abs, Scalar::C128([3e300, 4e300])), "5e300+0.0j");
        check(eval::binary(BinaryOp::Div, a, Scalar::C128([0.0, 0.0])), "inf+infj");
    }

    /// Expected values are NumPy's, with `complex128`.
    #[test]
    fn quotients_of_special_numbers_are_those_of_numpy() {
        const INF: f64 = f64::INFINITY;
        const NAN: f64 = f64::NAN;
        let table = [
            ([1.0, 0.0], [0.0, 0.0], [INF, NAN]),
            ([1.0, 0.0], [0.0, -0.0], [INF, NAN]),
            ([1.0, 0.0], [2.0, 0.0], [0.5, 0.0]),
            ([1.0, 0.0], [NAN, 0.0], [NAN, NAN]),
            ([1.0, 0.0], [1e-308, 1e-308], [5e+307, -5e+307]),
            ([1.0, 0.0], [-0.0, 0.0], [INF, NAN]),
            ([0.0, 0.0], [0.0, 0.0], [NAN, NAN]),
            ([-0.0, 0.0], [0.0, -0.0], [NAN, NAN]),
            ([INF, 0.0], [0.0, 0.0], [INF, NAN]),
            ([INF, 0.0], [2.0, 0.0], [INF, NAN]),
            ([INF, 0.0], [INF, 1.0], [NAN, NAN]),
            ([INF, NAN], [0.0, 0.0], [INF, NAN]),
            ([INF, NAN], [2.0, 0.0], [NAN, NAN]),
            ([INF, NAN], [NAN, 0.0], [NAN, NAN]),
            ([2.0, -3.0], [0.0, 0.0], [INF, -INF]),
            ([2.0, -3.0], [0.0, 2.0], [-1.5, -1.0]),
            ([2.0, -3.0], [NAN, 0.0], [NAN, NAN]),
            ([0.0, INF], [0.0, 0.0], [NAN, INF]),
            ([0.0, INF], [NAN, 0.0], [NAN, NAN]),
            ([NAN, 1.0], [0.0, 0.0], [NAN, INF]),
            ([NAN, 1.0], [2.0, 0.0], [NAN, NAN]),
            ([1e+308, 1e+308], [0.0, 0.0], [INF, INF]),
            ([1e+308, 1e+308], [2.0, 0.0], [5e+307, 5e+307]),
            ([1e+308, 1e+308], [0.0, 2.0], [5e+307, -5e+307]),
            ([1e+308, 1e+308], [1e-308, 1e-308], [INF, 0.0]),
            ([-INF, 2.0], [0.0, 0.0], [-INF, INF]),
            ([-INF, 2.0], [2.0, 0.0], [-INF, NAN]),
            ([-INF, 2.0], [NAN, 0.0], [NAN, NAN]),
        ];
        for (a, b, expected) in table {
            let quotient = eval::binary(BinaryOp::Div, Scalar::C128(a), Scalar::C128(b));
            let Scalar::C128(got) = quotient else { panic!("{a:?} / {b:?} is {quotient}") };
            for (got, expected) in got.into_iter().zip(expected) {
                let near = (got - expected).abs() <= 1e-15 * expected.abs();
                let same = got == expected || near || got.is_nan() && expected.is_nan();
                assert!(same, "{a:?} / {b:?} has the part {got}, not {expected}");
            }
        }
    }

    #[test]
    fn functions_are_those_of_complex_numbers() {
        let check = |op, z: [f64; 2], expected: [f64; 2]| {
            let Scalar::C128(got) = eval::unary(op, Scalar::C128(z)) else { panic!("{op:?}") };
            for (got, expected) in got.into_iter().zip(expected) {
                let near = (got - expected).abs() <= 1e-15 * expected.abs().max(1.0);
                assert!(near || got == expected, "{op:?} of {z:?}: {got} and not {expected}");
                assert_eq!(got.is_sign_negative(), expected.is_sign_negative(), "{op:?} of {z:?}");
            }
        };
        let z = [0.5, -1.25];
        check(UnaryOp::Exp, z, [0.5198786860084937, -1.5646111274988195]);
        check(UnaryOp::Log, z, [0.2973535538733464, -1.1902899496825317]);
        check(UnaryOp::Log10, z, [0.12913900762151564, -0.5169363570120227]);
        check(UnaryOp::Sqrt, z, [0.9608046632337985, -0.6504964265019547]);
        check(UnaryOp::Sin, z, [0.9053586344209573, -1.4058162504314684]);
        check(UnaryOp::Cos, z, [1.6572478640539148, 0.7680009178735728]);
        check(UnaryOp::Sinh, z, [0.16431300276137265, -1.0700996973668526]);
        check(UnaryOp::Cosh, z, [0.355565683247121, -0.49451143013196674]);
        check(UnaryOp::Sqrt, [-4.0, 0.0], [0.0, 2.0]);
        check(UnaryOp::Sqrt, [-4.0, -0.0], [0.0, -2.0]);
        check(UnaryOp::Sqrt, [0.0, -0.0], [0.0, -0.0]);
        check(UnaryOp::Sqrt, [f64::NEG_INFINITY, 1.0], [0.0, f64::INFINITY]);
        check(UnaryOp::Sqrt, [1e300, 1e300], [1.09868411346781e150, 4.550898605622274e149]);
        check(UnaryOp::Exp, [f64::INFINITY, 0.0], [f64::INFINITY, 0.0]);
        check(UnaryOp::Exp, [710.0, 1e-10], [f64::INFINITY, 2.2339947661617116e+298]);
        check(UnaryOp::Exp, [f64::NEG_INFINITY, f64::INFINITY], [0.0, 0.0]);
        check(UnaryOp::Sin, [4.0, 0.0], [4f64.sin(), -0.0]);
        check(UnaryOp::Sqrt, [5e-324, 0.0], [2.2227587494850775e-162, 0.0]);
        check(UnaryOp::Sqrt, [1.5, f64::NEG_INFINITY], [f64::INFINITY, f64::NEG_INFINITY]);
        check(UnaryOp::Sqrt, [1.7e308, 1.7e308], [1.4325088230154573e+154, 5.933645827121221e+153]);
        check(UnaryOp::Log, [1.7e308, 1.7e308], [710.0734104835082, std::f64::consts::FRAC_PI_4]);
        check(UnaryOp::Log, [f64::INFINITY, 1.0], [f64::INFINITY, 0.0]);
        check(UnaryOp::Log, [0.0, 0.0], [f64::NEG_INFINITY, 0.0]);
        check(UnaryOp::Log, [-1.0, 0.0], [0.0, std::f64::consts::PI]);
    }
}
