//! Values on their way into an array: read, converted, summed, narrowed.

use crate::coordinates::Values;
use crate::memory::Element;
use rayon::prelude::*;
use tamis_core::datatype::DataType;
use tamis_core::diagnostic::{Code, Diagnostic};

/// Values of a list, read as the bits of the type in which a data type is summed: `f64`, `f32`
/// or, for all integers and truth values, `i64`.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'v> {
    vals: &'v Values,
    datatype: DataType,
}

impl<'v> Numbers<'v> {
    /// Refuses values that have no meaning in the data type.
    pub fn of(vals: &'v Values, datatype: DataType) -> Result<Numbers<'v>, Diagnostic> {
        let fraction = match (vals, datatype) {
            (Values::C128(_), _) => {
                let message = "the values are complex, which kernels do not compute yet";
                return Err(Diagnostic::new(Code::TypeMismatch, message)
                    .help("take real and imaginary parts apart"));
            }
            (Values::F32(v), DataType::I32 | DataType::I64) => {
                v.par_iter().map(|&x| f64::from(x)).find_first(|&x| !is_whole(x))
            }
            (Values::F64(v), DataType::I32 | DataType::I64) => {
                v.par_iter().copied().find_first(|&x| !is_whole(x))
            }
            _ => None,
        };
        match fraction {
            None => Ok(Numbers { vals, datatype }),
            Some(x) => {
                let message = format!("the value {x} is not an integer that fits {datatype}");
                Err(Diagnostic::new(Code::TypeMismatch, message).help("store the tensor as f64"))
            }
        }
    }

    /// The bits of a value.
    #[inline]
    pub fn bits(&self, n: usize) -> u64 {
        match self.datatype {
            DataType::F64 => self.float(n).to_bits(),
            DataType::F32 => u64::from(self.single(n).to_bits()),
            DataType::I32 | DataType::I64 => self.integer(n) as u64,
            DataType::Bool => u64::from(self.truth(n)),
        }
    }

    #[inline]
    fn float(&self, n: usize) -> f64 {
        match self.vals {
            Values::Bool(v) => f64::from(v[n]),
            Values::I32(v) => f64::from(v[n]),
            Values::I64(v) => v[n] as f64,
            Values::F32(v) => f64::from(v[n]),
            Values::F64(v) => v[n],
            Values::C128(v) => v[n][0],
        }
    }

    fn single(&self, n: usize) -> f32 {
        match self.vals {
            // Through f64 it would be rounded twice.
            Values::I64(v) => v[n] as f32,
            _ => self.float(n) as f32,
        }
    }

    fn integer(&self, n: usize) -> i64 {
        match self.vals {
            Values::I64(v) => v[n],
            _ => self.float(n) as i64,
        }
    }

    fn truth(&self, n: usize) -> bool {
        self.float(n) != 0.0
    }
}

fn is_whole(x: f64) -> bool {
    // 2^63 itself is the first that does not fit; infinities and NaN are refused too.
    x.trunc() == x && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x)
}

/// A stored element and how several become one.
pub(super) trait Stored: Element {
    /// The type in which values are summed.
    type Sum: Copy;
    /// A value from its bits.
    fn read(bits: u64) -> Self::Sum;
    /// The sum of two. Integers wrap, as in kernels; of truth values one true is enough.
    fn add(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// The sum as it is stored.
    fn store(sum: Self::Sum) -> Result<Self, Diagnostic>;
}

macro_rules! stored {
    ($($t:ty as $sum:ty: $read:expr, $add:expr, $store:expr;)*) => {$(
        impl Stored for $t {
            type Sum = $sum;
            fn read(bits: u64) -> $sum {
                $read(bits)
            }
            fn add(a: $sum, b: $sum) -> $sum {
                $add(a, b)
            }
            fn store(sum: $sum) -> Result<$t, Diagnostic> {
                $store(sum)
            }
        }
    )*};
}

stored! {
    f64 as f64: f64::from_bits, |a, b| a + b, Ok;
    f32 as f32: |bits| f32::from_bits(bits as u32), |a, b| a + b, Ok;
    i64 as i64: |bits| bits as i64, i64::wrapping_add, Ok;
    i32 as i64: |bits| bits as i64, i64::wrapping_add, narrow;
    u8 as bool: |bits| bits != 0, |a, b| a | b, |sum| Ok(u8::from(sum));
}

fn narrow(sum: i64) -> Result<i32, Diagnostic> {
    i32::try_from(sum).map_err(|_| {
        let message = format!("the value {sum} does not fit i32");
        Diagnostic::new(Code::IntegerOverflow, message).help("store the tensor as i64")
    })
}
