//! Types of values and constants, and widths of positions and coordinates.
//!
//! A [`DataType`] is what an array stores. Computation happens in a [`Register`] type: integers
//! under 64 bit and booleans (0 or 1) compute as `i64`; what is stored back is checked to fit. Floats
//! of 16 bits compute as `f32`; what is stored back is rounded.

mod scalar;

pub use scalar::Scalar;

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

    /// Whether values are floats of 16 bits.
    pub fn is_half(self) -> bool {
        matches!(self, DataType::F16 | DataType::Bf16)
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
    /// The number one below an integer that is at most 0, if this type has it exactly: floats between the two become the
    /// integer when their fraction is cut off.
    pub fn number_below(self, integer: i128) -> Option<Scalar> {
        let below = Scalar::F64((integer - 1) as f64).convert(self);
        (below.as_f64() as i128 == integer - 1).then_some(below)
    }

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

#[cfg(test)]
mod tests {
    use super::DataType;

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
    fn promotes_as_numpy() {
        for (a, row) in DataType::ALL.into_iter().zip(PROMOTED) {
            for (b, expected) in DataType::ALL.into_iter().zip(row.split(' ')) {
                assert_eq!(a.promote(b).name(), expected, "{a} with {b}");
            }
        }
    }
}
