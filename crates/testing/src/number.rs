//! Numbers of the dense reference: doubles, complex or not.

use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};
use std::str::FromStr;
use tamis_ir::datatype::Scalar;

/// A complex number; real ones have no imaginary part.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Number {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

impl Number {
    /// The number of a constant.
    pub fn of(c: Scalar) -> Number {
        let [re, im] = c.parts().map(Scalar::as_f64);
        Number { re, im }
    }

    /// The number as a constant.
    pub fn scalar(self) -> Scalar {
        Scalar::C128([self.re, self.im])
    }

    /// Whether it differs from 0.
    pub fn is_true(self) -> bool {
        self.re != 0.0 || self.im != 0.0
    }

    /// Whether both parts are numbers, and no infinities.
    pub fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }

    /// Whether a part is no number.
    pub fn is_nan(self) -> bool {
        self.re.is_nan() || self.im.is_nan()
    }

    /// The larger size of the two parts.
    pub fn size(self) -> f64 {
        self.re.abs().max(self.im.abs())
    }

    /// Equal, or not a number like the other.
    pub fn is_same(self, other: Number) -> bool {
        let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
        same(self.re, other.re) && same(self.im, other.im)
    }
}

impl From<f64> for Number {
    fn from(re: f64) -> Number {
        Number { re, im: 0.0 }
    }
}

impl Add for Number {
    type Output = Number;
    fn add(self, b: Number) -> Number {
        Number { re: self.re + b.re, im: self.im + b.im }
    }
}

impl Sub for Number {
    type Output = Number;
    fn sub(self, b: Number) -> Number {
        Number { re: self.re - b.re, im: self.im - b.im }
    }
}

impl Neg for Number {
    type Output = Number;
    fn neg(self) -> Number {
        Number { re: -self.re, im: -self.im }
    }
}

impl Mul for Number {
    type Output = Number;
    fn mul(self, b: Number) -> Number {
        let (re, im) = (self.re * b.re - self.im * b.im, self.re * b.im + self.im * b.re);
        // The products of a real number with infinities have no part that is not a number.
        if self.im == 0.0 && b.im == 0.0 { (self.re * b.re).into() } else { Number { re, im } }
    }
}

/// As it is read: `3`, `-0.5`, `nan`, `1+2j`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.im {
            0.0 if self.re.is_nan() => f.write_str("nan"),
            0.0 => write!(f, "{}", self.re),
            im => write!(f, "{}{im:+}j", self.re),
        }
    }
}

impl FromStr for Number {
    type Err = String;
    fn from_str(text: &str) -> Result<Number, String> {
        Scalar::parse(text).map(Number::of).ok_or_else(|| format!("{text} is no number"))
    }
}
