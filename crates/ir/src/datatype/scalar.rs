//! Constants: numbers of the types in which expressions are computed.

use super::{DataType, Register};
use crate::half::{Bf16, F16};
use std::fmt;

/// A constant of a register type. Equal when the bits are equal, so it can be a key.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// An integer.
    I64(i64),
    /// An integer without sign.
    U64(u64),
    /// A binary32 number.
    F32(f32),
    /// A binary64 number.
    F64(f64),
    /// A complex number, real part first. The imperative form has none.
    C64([f32; 2]),
    /// A complex number, real part first. The imperative form has none.
    C128([f64; 2]),
}

impl Scalar {
    /// A complex number of these parts, of the type of the first, a float.
    pub fn complex(re: Scalar, im: Scalar) -> Scalar {
        match re {
            Scalar::F32(re) => Scalar::C64([re, im.as_f64() as f32]),
            re => Scalar::C128([re.as_f64(), im.as_f64()]),
        }
    }

    /// Reads a number: `3`, `-0.5`, `inf`, `nan`, `1.5+2j`, `2j`; whole ones are integers.
    pub fn parse(text: &str) -> Option<Scalar> {
        let bare = text.trim_start_matches(['+', '-']);
        let digits = bare.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        if let Some(body) = text.strip_suffix('j') {
            let exponent = |at: usize| body[..at].ends_with(['e', 'E']);
            let splits = |&(at, c): &(usize, char)| at > 0 && "+-".contains(c) && !exponent(at);
            let (re, im) = match body.char_indices().rev().find(splits) {
                Some((at, _)) => body.split_at(at),
                None => ("0", body),
            };
            return Some(Scalar::C128([re.parse().ok()?, im.parse().ok()?]));
        }
        if !digits && !matches!(bare, "inf" | "nan") {
            return None;
        }
        let signed = text.parse().map(Scalar::I64).ok();
        let integer = signed.or_else(|| text.parse().map(Scalar::U64).ok());
        integer.or_else(|| text.parse().map(Scalar::F64).ok())
    }

    /// Whether the constant is infinite though its text, of digits, is not: the text is beyond the largest number.
    pub fn is_beyond(self, text: &str) -> bool {
        !text.contains("inf") && self.parts().iter().any(|x| x.as_f64().is_infinite())
    }

    /// Whether the constant is complex, be it on the real axis.
    pub fn is_complex(self) -> bool {
        matches!(self, Scalar::C64(_) | Scalar::C128(_))
    }

    /// The real and the imaginary part.
    pub fn parts(self) -> [Scalar; 2] {
        match self {
            Scalar::C64(z) => z.map(Scalar::F32),
            Scalar::C128(z) => z.map(Scalar::F64),
            x => [x, Scalar::I64(0).convert(x.register())],
        }
    }

    /// Whether the constant is 0.
    pub fn is_zero(self) -> bool {
        self.parts().iter().all(|x| x.convert(Register::Bool) == Scalar::Bool(false))
    }

    /// The data type that holds every constant of this kind; truth values are held as integers.
    pub fn datatype(self) -> DataType {
        let part = self.register().datatype();
        if self.is_complex() { part.complex() } else { part }
    }

    /// The register type of the constant; of a complex one that of its parts.
    pub fn register(self) -> Register {
        match self {
            Scalar::Bool(_) => Register::Bool,
            Scalar::I64(_) => Register::I64,
            Scalar::U64(_) => Register::U64,
            Scalar::F32(_) | Scalar::C64(_) => Register::F32,
            Scalar::F64(_) | Scalar::C128(_) => Register::F64,
        }
    }

    /// The constant in another register type: floats truncate toward zero and saturate (NaN
    /// gives 0) when they become integers; integers of another sign keep their bits; anything but
    /// zero is true. A complex number gives its real part.
    pub fn convert(self, to: Register) -> Scalar {
        if to == Register::Bool && self.is_complex() {
            return Scalar::Bool(!self.is_zero());
        }
        macro_rules! number {
            ($t:ty) => {
                match self {
                    Scalar::Bool(b) => u8::from(b) as $t,
                    Scalar::I64(x) => x as $t,
                    Scalar::U64(x) => x as $t,
                    Scalar::F32(x) => x as $t,
                    Scalar::F64(x) => x as $t,
                    Scalar::C64([x, _]) => x as $t,
                    Scalar::C128([x, _]) => x as $t,
                }
            };
        }
        match to {
            Register::Bool => Scalar::Bool(match self {
                Scalar::Bool(b) => b,
                Scalar::I64(x) => x != 0,
                Scalar::U64(x) => x != 0,
                other => other.as_f64() != 0.0,
            }),
            Register::I64 => Scalar::I64(number!(i64)),
            Register::U64 => Scalar::U64(number!(u64)),
            Register::F32 => Scalar::F32(number!(f32)),
            Register::F64 => Scalar::F64(number!(f64)),
        }
    }

    /// The constant in the type in which a data type is computed.
    pub fn computed(self, datatype: DataType) -> Scalar {
        if !datatype.is_complex() {
            return self.convert(datatype.register());
        }
        let [re, im] = self.parts().map(|x| x.convert(datatype.register()));
        Scalar::complex(re, im)
    }

    /// Whether an array of a data type takes the constant: integers do not take numbers beyond them.
    pub fn fits(self, datatype: DataType) -> bool {
        match (datatype.integers(), self.integer()) {
            (None, _) => true,
            _ if datatype == DataType::Bool => true,
            (Some(all), Some(x)) => all.contains(&x),
            (Some(all), None) => {
                let x = self.as_f64();
                let is_above = match Register::F64.number_below(*all.start()) {
                    Some(below) => x > below.as_f64(),
                    None => x >= *all.start() as f64,
                };
                is_above && x < (*all.end() + 1) as f64
            }
        }
    }

    /// The constant as an array of a data type holds it, if it fits, as it is computed.
    pub fn stored(self, datatype: DataType) -> Scalar {
        match (datatype, self.computed(datatype)) {
            (DataType::Bool, _) => self.convert(Register::Bool).computed(datatype),
            (DataType::F16, _) => Scalar::F32(F16::from(self.as_f64()).into()),
            (DataType::Bf16, _) => Scalar::F32(Bf16::from(self.as_f64()).into()),
            (_, x) => x,
        }
    }

    /// The number as an `f64`.
    pub fn as_f64(self) -> f64 {
        match self.convert(Register::F64) {
            Scalar::F64(x) => x,
            _ => unreachable!("convert gives the register type asked for"),
        }
    }

    /// The number as an `i64`.
    pub fn as_i64(self) -> i64 {
        match self.convert(Register::I64) {
            Scalar::I64(x) => x,
            _ => unreachable!("convert gives the register type asked for"),
        }
    }

    /// The integer, if it is one.
    pub fn integer(self) -> Option<i128> {
        match self {
            Scalar::I64(x) => Some(i128::from(x)),
            Scalar::U64(x) => Some(i128::from(x)),
            _ => None,
        }
    }

    /// Equal as numbers of one type or its complex one, with every NaN equal and `-0 == 0`.
    pub fn same_value(self, other: Scalar) -> bool {
        match (self, other) {
            (Scalar::Bool(a), Scalar::Bool(b)) => a == b,
            (Scalar::I64(a), Scalar::I64(b)) => a == b,
            (Scalar::U64(a), Scalar::U64(b)) => a == b,
            (a, b) if a.is_complex() || b.is_complex() => {
                a.parts().into_iter().zip(b.parts()).all(|(a, b)| a.same_value(b))
            }
            (Scalar::F32(a), Scalar::F32(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Scalar::F64(a), Scalar::F64(b)) => a == b || (a.is_nan() && b.is_nan()),
            _ => false,
        }
    }

    /// What tells constants apart: all but one NaN from another, as in texts.
    fn key(self) -> (u8, u64, u64) {
        let single = |x: f32| u64::from(if x.is_nan() { f32::NAN } else { x }.to_bits());
        let double = |x: f64| if x.is_nan() { f64::NAN } else { x }.to_bits();
        match self {
            Scalar::Bool(b) => (0, u64::from(b), 0),
            Scalar::I64(x) => (1, x as u64, 0),
            Scalar::F32(x) => (2, single(x), 0),
            Scalar::F64(x) => (3, double(x), 0),
            Scalar::U64(x) => (4, x, 0),
            Scalar::C64([re, im]) => (5, single(re), single(im)),
            Scalar::C128([re, im]) => (6, double(re), double(im)),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Scalar {}

impl std::hash::Hash for Scalar {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// Prints the shortest text that reads back: `true`, `3`, `0.5`, `1.0`, `inf`, `-inf`, `nan`,
/// `1.5+2.0j`.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::I64(x) => write!(f, "{x}"),
            Scalar::U64(x) => write!(f, "{x}"),
            Scalar::F32(x) if x.is_nan() => f.write_str("nan"),
            Scalar::F64(x) if x.is_nan() => f.write_str("nan"),
            Scalar::F32(x) => write!(f, "{x:?}"),
            Scalar::F64(x) => write!(f, "{x:?}"),
            Scalar::C64(_) | Scalar::C128(_) => {
                let [re, im] = self.parts();
                let plus = im.as_f64().is_nan() || im.as_f64().is_sign_positive();
                write!(f, "{re}{}{im}j", if plus { "+" } else { "" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DataType, Register, Scalar};

    #[test]
    fn fractions_below_the_least_integer_fit() {
        for (x, datatype, fits) in [
            (-128.9, DataType::I8, true),
            (-129.0, DataType::I8, false),
            (127.9, DataType::I8, true),
            (-0.9, DataType::U8, true),
            (-1.0, DataType::U8, false),
            (-2147483648.9, DataType::I32, true),
            (-9223372036854775808.0, DataType::I64, true),
            (-9223372036854777856.0, DataType::I64, false),
        ] {
            assert_eq!(Scalar::F64(x).fits(datatype), fits, "{x} as {datatype}");
        }
        assert_eq!(Register::F32.number_below(-128), Some(Scalar::F32(-129.0)));
        assert_eq!(Register::F32.number_below(-1 << 31), None);
        assert_eq!(Register::F64.number_below(-1 << 63), None);
    }

    #[test]
    fn constants_are_equal_if_their_texts_are() {
        let nan = |sign: f64| Scalar::F64(f64::NAN.copysign(sign));
        assert_eq!(nan(1.0), nan(-1.0));
        assert_ne!(Scalar::F64(0.0), Scalar::F64(-0.0));
        assert_ne!(Scalar::F64(f64::NAN), Scalar::F32(f32::NAN));
    }

    #[test]
    fn integers_without_sign_convert_over_their_whole_range() {
        let most = Scalar::U64(u64::MAX);
        assert_eq!(most.convert(Register::F64), Scalar::F64(18446744073709551616.0));
        assert_eq!(Scalar::F64(1e30).convert(Register::U64), most);
        assert_eq!(Scalar::F64(-1.5).convert(Register::U64), Scalar::U64(0));
        assert_eq!(Scalar::I64(-1).convert(Register::U64), most);
        assert_eq!(most.convert(Register::I64), Scalar::I64(-1));
        assert!(DataType::U64.holds(most) && !DataType::U32.holds(Scalar::I64(1 << 32)));
        assert!(!DataType::U8.holds(Scalar::I64(-1)) && DataType::I8.holds(Scalar::I64(-128)));
        assert_eq!(most.to_string(), "18446744073709551615");
        let fits = |x: f64, datatype: DataType| Scalar::F64(x).fits(datatype);
        assert!(fits(-128.0, DataType::I8) && !fits(128.0, DataType::I8));
        assert!(!fits(f64::INFINITY, DataType::I64) && !fits(f64::NAN, DataType::U8));
        assert!(
            !fits(-1.0, DataType::U8)
                && fits(-0.5, DataType::U8)
                && fits(7.5, DataType::Bool)
                && fits(1e300, DataType::F32)
        );
        assert_eq!(Scalar::F64(7.5).stored(DataType::Bool), Scalar::I64(1));
    }
}
