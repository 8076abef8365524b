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
    pub const ALL: [DataType; 13] = {
        use DataType::*;
        [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, Bf16, F32, F64]
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
            DataType::I64 | DataType::U64 | DataType::F64 => 8,
        }
    }

    /// The type in which loaded elements are computed.
    pub fn register(self) -> Register {
        match self {
            DataType::F16 | DataType::Bf16 | DataType::F32 => Register::F32,
            DataType::F64 => Register::F64,
            DataType::U64 => Register::U64,
            _ => Register::I64,
        }
    }

    /// Whether values are floating-point.
    pub fn is_float(self) -> bool {
        self.register().is_float()
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
            DataType::F16 | DataType::Bf16 | DataType::F32 | DataType::F64 => None,
        }
    }

    /// The type that holds both, as NumPy promotes: `i32` with `f32` gives `f64`, `i8` with `u8`
    /// gives `i16`, `i64` with `u64` gives `f64`; `f16` with `bf16` gives `f32`.
    pub fn promote(self, other: DataType) -> DataType {
        let (a, b) = (self.min(other), self.max(other));
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
}

impl Scalar {
    /// The register type of the constant.
    pub fn register(self) -> Register {
        match self {
            Scalar::Bool(_) => Register::Bool,
            Scalar::I64(_) => Register::I64,
            Scalar::U64(_) => Register::U64,
            Scalar::F32(_) => Register::F32,
            Scalar::F64(_) => Register::F64,
        }
    }

    /// The constant in another register type: floats truncate toward zero and saturate (NaN
    /// gives 0) when they become integers; integers of another sign keep their bits; anything but
    /// zero is true.
    pub fn convert(self, to: Register) -> Scalar {
        match to {
            Register::Bool => Scalar::Bool(match self {
                Scalar::Bool(b) => b,
                Scalar::I64(x) => x != 0,
                Scalar::U64(x) => x != 0,
                Scalar::F32(x) => x != 0.0,
                Scalar::F64(x) => x != 0.0,
            }),
            Register::I64 => Scalar::I64(match self {
                Scalar::Bool(b) => i64::from(b),
                Scalar::I64(x) => x,
                Scalar::U64(x) => x as i64,
                Scalar::F32(x) => x as i64,
                Scalar::F64(x) => x as i64,
            }),
            Register::U64 => Scalar::U64(match self {
                Scalar::Bool(b) => u64::from(b),
                Scalar::I64(x) => x as u64,
                Scalar::U64(x) => x,
                Scalar::F32(x) => x as u64,
                Scalar::F64(x) => x as u64,
            }),
            Register::F32 => Scalar::F32(match self {
                Scalar::Bool(b) => f32::from(u8::from(b)),
                Scalar::I64(x) => x as f32,
                Scalar::U64(x) => x as f32,
                Scalar::F32(x) => x,
                Scalar::F64(x) => x as f32,
            }),
            Register::F64 => Scalar::F64(match self {
                Scalar::Bool(b) => f64::from(u8::from(b)),
                Scalar::I64(x) => x as f64,
                Scalar::U64(x) => x as f64,
                Scalar::F32(x) => f64::from(x),
                Scalar::F64(x) => x,
            }),
        }
    }

    /// The constant as an array of a data type holds it, if it does, in its register type.
    pub fn stored(self, datatype: DataType) -> Scalar {
        match (datatype, self.convert(datatype.register())) {
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
            Scalar::Bool(_) | Scalar::F32(_) | Scalar::F64(_) => None,
        }
    }

    /// Equal as numbers of one type, with every NaN equal and `-0 == 0`.
    pub fn same_value(self, other: Scalar) -> bool {
        match (self, other) {
            (Scalar::Bool(a), Scalar::Bool(b)) => a == b,
            (Scalar::I64(a), Scalar::I64(b)) => a == b,
            (Scalar::U64(a), Scalar::U64(b)) => a == b,
            (Scalar::F32(a), Scalar::F32(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Scalar::F64(a), Scalar::F64(b)) => a == b || (a.is_nan() && b.is_nan()),
            _ => false,
        }
    }

    fn key(self) -> (u8, u64) {
        match self {
            Scalar::Bool(b) => (0, u64::from(b)),
            Scalar::I64(x) => (1, x as u64),
            Scalar::F32(x) => (2, u64::from(x.to_bits())),
            Scalar::F64(x) => (3, x.to_bits()),
            Scalar::U64(x) => (4, x),
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

/// Prints the shortest text that reads back: `true`, `3`, `0.5`, `1.0`, `inf`, `-inf`, `nan`.
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DataType, Register, Scalar};

    /// Rows and columns in the order of [`DataType::ALL`], by NumPy's `promote_types`; `bf16` is
    /// to integers as `f16` is.
    const PROMOTED: [&str; 13] = [
        "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64",
        "i8 i8 i16 i32 i64 i16 i32 i64 f64 f16 bf16 f32 f64",
        "i16 i16 i16 i32 i64 i16 i32 i64 f64 f32 f32 f32 f64",
        "i32 i32 i32 i32 i64 i32 i32 i64 f64 f64 f64 f64 f64",
        "i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 f64 f64",
        "u8 i16 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64",
        "u16 i32 i32 i32 i64 u16 u16 u32 u64 f32 f32 f32 f64",
        "u32 i64 i64 i64 i64 u32 u32 u32 u64 f64 f64 f64 f64",
        "u64 f64 f64 f64 f64 u64 u64 u64 u64 f64 f64 f64 f64",
        "f16 f16 f32 f64 f64 f16 f32 f64 f64 f16 f32 f32 f64",
        "bf16 bf16 f32 f64 f64 bf16 f32 f64 f64 f32 bf16 f32 f64",
        "f32 f32 f32 f64 f64 f32 f32 f64 f64 f32 f32 f32 f64",
        "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64",
    ];

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
    }
}
