//! Types of values, widths of positions and coordinates, and constants.
//!
//! A [`DataType`] is what an array stores. Computation happens in a [`Register`] type: integers
//! under 64 bit and booleans (0 or 1) compute as `i64`; what is stored back is checked to fit.

use std::fmt;

/// The type of the elements of a values array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DataType {
    /// One byte, 0 or 1.
    Bool,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
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
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl DataType {
    /// Every data type, narrowest kind first.
    pub const ALL: [DataType; 5] =
        [DataType::Bool, DataType::I32, DataType::I64, DataType::F32, DataType::F64];

    /// The name in format text.
    pub fn name(self) -> &'static str {
        match self {
            DataType::Bool => "bool",
            DataType::I32 => "i32",
            DataType::I64 => "i64",
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
            DataType::Bool => 1,
            DataType::I32 | DataType::F32 => 4,
            DataType::I64 | DataType::F64 => 8,
        }
    }

    /// The type in which loaded elements are computed.
    pub fn register(self) -> Register {
        match self {
            DataType::Bool | DataType::I32 | DataType::I64 => Register::I64,
            DataType::F32 => Register::F32,
            DataType::F64 => Register::F64,
        }
    }

    /// Whether values are floating-point.
    pub fn is_float(self) -> bool {
        matches!(self, DataType::F32 | DataType::F64)
    }

    /// The type that holds both, as NumPy promotes: `i32` with `f32` gives `f64`.
    pub fn promote(self, other: DataType) -> DataType {
        use DataType::{F32, F64, I32, I64};
        match (self.min(other), self.max(other)) {
            (I32 | I64, F32) => F64,
            (_, wider) => wider,
        }
    }
}

impl Register {
    /// Every register type.
    pub const ALL: [Register; 4] = [Register::Bool, Register::I64, Register::F32, Register::F64];

    /// The name in printed text.
    pub fn name(self) -> &'static str {
        match self {
            Register::Bool => "bool",
            Register::I64 => "i64",
            Register::F32 => "f32",
            Register::F64 => "f64",
        }
    }

    /// The register type of this name.
    pub fn parse(name: &str) -> Option<Register> {
        Register::ALL.into_iter().find(|r| r.name() == name)
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
            Scalar::F32(_) => Register::F32,
            Scalar::F64(_) => Register::F64,
        }
    }

    /// The constant in another register type: floats truncate toward zero and saturate (NaN
    /// gives 0) when they become integers; anything but zero is true.
    pub fn convert(self, to: Register) -> Scalar {
        match to {
            Register::Bool => Scalar::Bool(match self {
                Scalar::Bool(b) => b,
                Scalar::I64(x) => x != 0,
                Scalar::F32(x) => x != 0.0,
                Scalar::F64(x) => x != 0.0,
            }),
            Register::I64 => Scalar::I64(match self {
                Scalar::Bool(b) => i64::from(b),
                Scalar::I64(x) => x,
                Scalar::F32(x) => x as i64,
                Scalar::F64(x) => x as i64,
            }),
            Register::F32 => Scalar::F32(match self {
                Scalar::Bool(b) => f32::from(u8::from(b)),
                Scalar::I64(x) => x as f32,
                Scalar::F32(x) => x,
                Scalar::F64(x) => x as f32,
            }),
            Register::F64 => Scalar::F64(match self {
                Scalar::Bool(b) => f64::from(u8::from(b)),
                Scalar::I64(x) => x as f64,
                Scalar::F32(x) => f64::from(x),
                Scalar::F64(x) => x,
            }),
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

    /// Equal as numbers of one type, with every NaN equal and `-0 == 0`.
    pub fn same_value(self, other: Scalar) -> bool {
        match (self, other) {
            (Scalar::Bool(a), Scalar::Bool(b)) => a == b,
            (Scalar::I64(a), Scalar::I64(b)) => a == b,
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
            Scalar::F32(x) if x.is_nan() => f.write_str("nan"),
            Scalar::F64(x) if x.is_nan() => f.write_str("nan"),
            Scalar::F32(x) => write!(f, "{x:?}"),
            Scalar::F64(x) => write!(f, "{x:?}"),
        }
    }
}
