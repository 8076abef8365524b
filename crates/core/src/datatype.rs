//! Types of values, widths of positions and coordinates, and constants.
//!
//! A [`DataType`] is what an array stores. Computation happens in a [`Register`] type: integers
//! under 64 bit and booleans (0 or 1) compute as `i64`; what is stored back is checked to fit. Floats
//! of 16 bits compute as `f32`; what is stored back is rounded.

use crate::half::{Bf16, F16};
use std::fmt;
use std::ops::RangeInclusive;

/// The type of the elements of a values array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DataType {
    /// One byte, 0 or 1.
    Bool,
    /// 8-bit signed integer.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// IEEE binary16.
    F16,
    /// The upper half of an IEEE binary32.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// A complex number of two binary32, real part first.
    C64,
    /// A complex number of two binary64, real part first.
    C128,
}

/// The type in which expressions are computed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Register {
    /// The result of a comparison; never stored.
    Bool,
    /// 64-bit signed integer.
    I64,
    /// 64-bit unsigned integer.
    U64,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl DataType {
    /// Every data type: truth values, integers, floats, each narrowest first.
    pub const ALL: [DataType; 15] = {
        use DataType::*;
        [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, Bf16, F32, F64, C64, C128]
    };

    /// The name in format text.
    pub fn name(self) -> &'static str {
        match self {
            DataType::Bool => "bool",
            DataType::I8 => "i8",
            DataType::I16 => "i16",
            DataType::I32 => "i32",
            DataType::I64 => "i64",
            DataType::U8 => "u8",
            DataType::U16 => "u16",
            DataType::U32 => "u32",
            DataType::U64 => "u64",
            DataType::F16 => "f16",
            DataType::Bf16 => "bf16",
            DataType::F32 => "f32",
            DataType::F64 => "f64",
            DataType::C64 => "c64",
            DataType::C128 => "c128",
        }
    }

    /// The data type of this name.
    pub fn parse(name: &str) -> Option<DataType> {
        DataType::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            DataType::Bool | DataType::I8 | DataType::U8 => 1,
            DataType::I16 | DataType::U16 | DataType::F16 | DataType::Bf16 => 2,
            DataType::I32 | DataType::U32 | DataType::F32 => 4,
            DataType::I64 | DataType::U64 | DataType::F64 | DataType::C64 => 8,
            DataType::C128 => 16,
        }
    }

    /// The type in which loaded elements are computed; of complex numbers that of their parts.
    pub fn register(self) -> Register {
        match self {
            DataType::F16 | DataType::Bf16 | DataType::F32 | DataType::C64 => Register::F32,
            DataType::F64 | DataType::C128 => Register::F64,
            DataType::U64 => Register::U64,
            _ => Register::I64,
        }
    }

    /// Whether values are floating-point, complex or not.
    pub fn is_float(self) -> bool {
        self.register().is_float()
    }

    /// Whether values are complex.
    pub fn is_complex(self) -> bool {
        matches!(self, DataType::C64 | DataType::C128)
    }

    /// The type of the real and imaginary part; a real type is its own.
    pub fn part(self) -> DataType {
        if self.is_complex() { self.register().datatype() } else { self }
    }

    /// The complex type whose parts hold the values.
    pub fn complex(self) -> DataType {
        match self.register() {
            Register::F32 => DataType::C64,
            _ => DataType::C128,
        }
    }

    /// The integers that elements can be: 0 and 1 of truth values, none of floats.
    pub fn integers(self) -> Option<RangeInclusive<i128>> {
        let bits = 8 * self.size() as u32;
        match self {
            DataType::Bool => Some(0..=1),
            DataType::I8 | DataType::I16 | DataType::I32 | DataType::I64 => {
                Some(-(1 << (bits - 1))..=(1 << (bits - 1)) - 1)
            }
            DataType::U8 | DataType::U16 | DataType::U32 | DataType::U64 => {
                Some(0..=(1 << bits) - 1)
            }
            _ => None,
        }
    }

    /// The type that holds both, as NumPy promotes: `i32` with `f32` gives `f64`, `i8` with `u8`
    /// gives `i16`, `i64` with `u64` gives `f64`; `f16` with `bf16` gives `f32`;
    /// `c64` with `f64` gives `c128`.
    pub fn promote(self, other: DataType) -> DataType {
        let (a, b) = (self.min(other), self.max(other));
        if b.is_complex() {
            return a.part().promote(b.part()).complex();
        }
        match (a.integers(), b.integers()) {
            _ if a == DataType::Bool || a == b => b,
            (Some(a), Some(b)) => {
                let both = *a.start().min(b.start())..=*a.end().max(b.end());
                DataType::of_integers(both).unwrap_or(DataType::F64)
            }
            (Some(_), None) => match a.size() {
                1 => b,
                2 => b.max(DataType::F32),
                _ => DataType::F64,
            },
            _ if (a, b) == (DataType::F16, DataType::Bf16) => DataType::F32,
            _ => b,
        }
    }

    /// The narrowest integer type that holds these, signed if some are negative.
    fn of_integers(held: RangeInclusive<i128>) -> Option<DataType> {
        let signed = [DataType::I8, DataType::I16, DataType::I32, DataType::I64];
        let unsigned = [DataType::U8, DataType::U16, DataType::U32, DataType::U64];
        let types = if *held.start() < 0 { signed } else { unsigned };
        let holds = |t: &DataType| {
            t.integers().is_some_and(|all| all.contains(held.start()) && all.contains(held.end()))
        };
        types.into_iter().find(holds)
    }

    /// Whether an array of this type can hold a constant of its register type.
    pub fn holds(self, c: Scalar) -> bool {
        match (self.integers(), c.integer()) {
            (Some(held), Some(x)) => held.contains(&x),
            _ => true,
        }
    }
}

impl Register {
    /// Every register type.
    pub const ALL: [Register; 5] =
        [Register::Bool, Register::I64, Register::U64, Register::F32, Register::F64];

    /// The name in printed text.
    pub fn name(self) -> &'static str {
        match self {
            Register::Bool => "bool",
            Register::I64 => "i64",
            Register::U64 => "u64",
            Register::F32 => "f32",
            Register::F64 => "f64",
        }
    }

    /// The register type of this name.
    pub fn parse(name: &str) -> Option<Register> {
        Register::ALL.into_iter().find(|r| r.name() == name)
    }

    /// Whether values are floating-point.
    pub fn is_float(self) -> bool {
        matches!(self, Register::F32 | Register::F64)
    }

    /// Whether values are integers, signed or not.
    pub fn is_integer(self) -> bool {
        matches!(self, Register::I64 | Register::U64)
    }

    /// The element type that holds every value; truth values are held as integers.
    pub fn datatype(self) -> DataType {
        match self {
            Register::Bool | Register::I64 => DataType::I64,
            Register::U64 => DataType::U64,
            Register::F32 => DataType::F32,
            Register::F64 => DataType::F64,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The width of the elements of a positions or coordinates array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IndexWidth {
    /// 32-bit signed.
    I32,
    /// 64-bit signed.
    I64,
}

impl IndexWidth {
    /// The data type of the elements.
    pub fn datatype(self) -> DataType {
        match self {
            IndexWidth::I32 => DataType::I32,
            IndexWidth::I64 => DataType::I64,
        }
    }

    /// The narrowest width that holds every number up to and including `largest`.
    pub fn for_max(largest: u64) -> IndexWidth {
        if largest <= i32::MAX as u64 { IndexWidth::I32 } else { IndexWidth::I64 }
    }
}

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
                let (x, least) = (self.as_f64(), *all.start());
                // What is above -1 is 0 without its fraction.
                let is_above = if least == 0 { x > -1.0 } else { x >= least as f64 };
                is_above && x < (*all.end() + 1) as f64
            }
        }
    }

    /// The constant as an array of a data type holds it, if it fits, as it is computed.
    pub fn stored(self, datatype: DataType) -> Scalar {
        match (datatype, self.computed(datatype)) {
            (DataType::Bool, _) => self.convert(Register::Bool).computed(datatype),
            (DataType::F16, Scalar::F32(x)) => Scalar::F32(F16::from(x).into()),
            (DataType::Bf16, Scalar::F32(x)) => Scalar::F32(Bf16::from(x).into()),
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

    /// Equal as numbers of one type, with every NaN equal and `-0 == 0`.
    pub fn same_value(self, other: Scalar) -> bool {
        match (self, other) {
            (Scalar::Bool(a), Scalar::Bool(b)) => a == b,
            (Scalar::I64(a), Scalar::I64(b)) => a == b,
            (Scalar::U64(a), Scalar::U64(b)) => a == b,
            (a, b) if a.is_complex() && b.is_complex() => {
                let parts = a.parts().into_iter().zip(b.parts());
                a.datatype() == b.datatype() && parts.into_iter().all(|(a, b)| a.same_value(b))
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

    /// Rows and columns in the order of [`DataType::ALL`], by NumPy's `promote_types`; `bf16` is
    /// to integers as `f16` is.
    const PROMOTED: [&str; 15] = [
        "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128",
        "i8 i8 i16 i32 i64 i16 i32 i64 f64 f16 bf16 f32 f64 c64 c128",
        "i16 i16 i16 i32 i64 i16 i32 i64 f64 f32 f32 f32 f64 c64 c128",
        "i32 i32 i32 i32 i64 i32 i32 i64 f64 f64 f64 f64 f64 c128 c128",
        "i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 f64 f64 c128 c128",
        "u8 i16 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128",
        "u16 i32 i32 i32 i64 u16 u16 u32 u64 f32 f32 f32 f64 c64 c128",
        "u32 i64 i64 i64 i64 u32 u32 u32 u64 f64 f64 f64 f64 c128 c128",
        "u64 f64 f64 f64 f64 u64 u64 u64 u64 f64 f64 f64 f64 c128 c128",
        "f16 f16 f32 f64 f64 f16 f32 f64 f64 f16 f32 f32 f64 c64 c128",
        "bf16 bf16 f32 f64 f64 bf16 f32 f64 f64 f32 bf16 f32 f64 c64 c128",
        "f32 f32 f32 f64 f64 f32 f32 f64 f64 f32 f32 f32 f64 c64 c128",
        "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128",
        "c64 c64 c64 c128 c128 c64 c64 c128 c128 c64 c64 c64 c128 c64 c128",
        "c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128",
    ];

    #[test]
    fn constants_are_equal_if_their_texts_are() {
        let nan = |sign: f64| Scalar::F64(f64::NAN.copysign(sign));
        assert_eq!(nan(1.0), nan(-1.0));
        assert_ne!(Scalar::F64(0.0), Scalar::F64(-0.0));
        assert_ne!(Scalar::F64(f64::NAN), Scalar::F32(f32::NAN));
    }

    #[test]
    fn promotes_as_numpy() {
        for (a, row) in DataType::ALL.into_iter().zip(PROMOTED) {
            for (b, expected) in DataType::ALL.into_iter().zip(row.split(' ')) {
                assert_eq!(a.promote(b).name(), expected, "{a} with {b}");
            }
        }
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
