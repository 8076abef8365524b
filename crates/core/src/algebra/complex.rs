//! What operators mean on complex constants: what [`crate::lower`] makes of them, computed.

use super::{BinaryOp, UnaryOp, eval};
use crate::datatype::Scalar;

/// A function of a complex number; one that only real numbers have is that of the real part.
pub(super) fn unary(op: UnaryOp, z: Scalar) -> Scalar {
    let [re, im] = z.parts();
    let real = |x: Scalar| Scalar::complex(x, Scalar::F64(0.0));
    let negative = |x: Scalar| eval::unary(UnaryOp::Neg, x);
    match op {
        UnaryOp::Neg => Scalar::complex(negative(re), negative(im)),
        UnaryOp::Conj => Scalar::complex(re, negative(im)),
        UnaryOp::Real => real(re),
        UnaryOp::Imag => real(im),
        UnaryOp::Abs => real(absolute(re, im)),
        UnaryOp::Square => product(z, z),
        UnaryOp::Cube => product(product(z, z), z),
        UnaryOp::Not => real(Scalar::Bool(z.is_zero()).convert(re.register())),
        op => real(eval::unary(op, re)),
    }
}

/// An operator of complex numbers of one type; comparisons give `Bool`. One that only real numbers
/// have is that of the real parts.
pub(super) fn binary(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
    let ([x, y], [c, d]) = (a.parts(), b.parts());
    let part = |x, y| eval::binary(op, x, y);
    let same = |x, y| eval::binary(BinaryOp::Eq, x, y) == Scalar::Bool(true);
    match op {
        BinaryOp::Add | BinaryOp::Sub => Scalar::complex(part(x, c), part(y, d)),
        BinaryOp::Mul => product(a, b),
        BinaryOp::Div => quotient(a, b),
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

fn quotient(a: Scalar, b: Scalar) -> Scalar {
    use BinaryOp::{Add, Div, Ge, Mul, Sub};
    let ([x, y], [c, d]) = (a.parts(), b.parts());
    let size = |x| eval::unary(UnaryOp::Abs, x);
    let wide = op(Ge, size(c), size(d)) == Scalar::Bool(true);
    let (large, small) = if wide { (c, d) } else { (d, c) };
    let r = if large.is_zero() { large } else { op(Div, small, large) };
    let below = op(Add, large, op(Mul, small, r));
    let (re, im) = match wide {
        true => (op(Add, x, op(Mul, y, r)), op(Sub, y, op(Mul, x, r))),
        false => (op(Add, op(Mul, x, r), y), op(Sub, op(Mul, y, r), x)),
    };
    Scalar::complex(op(Div, re, below), op(Div, im, below))
}

fn absolute(re: Scalar, im: Scalar) -> Scalar {
    use BinaryOp::{Add, Div, Max, Min, Mul};
    let (re, im) = (eval::unary(UnaryOp::Abs, re), eval::unary(UnaryOp::Abs, im));
    let large = op(Max, re, im);
    if large.is_zero() || large.as_f64() == f64::INFINITY {
        return large;
    }
    let r = op(Div, op(Min, re, im), large);
    let one = Scalar::F64(1.0).convert(re.register());
    op(Mul, large, eval::unary(UnaryOp::Sqrt, op(Add, one, op(Mul, r, r))))
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
}
