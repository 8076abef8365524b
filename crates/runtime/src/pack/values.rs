//! Values on their way into an array: read, converted, summed, narrowed.

use crate::coordinates::Values;
use crate::memory::{Element, Truth};
use rayon::prelude::*;
use std::ops::RangeInclusive;
use tamis_core::datatype::{DataType, Register, Scalar};
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::half::{Bf16, F16};

/// Values of a list, read as the bits of the register type in which a data type is summed; those
/// of truth values are 0 and 1.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'v> {
    vals: &'v Values,
    datatype: DataType,
}

impl<'v> Numbers<'v> {
    /// Refuses values that have no meaning in the data type.
    pub fn of(vals: &'v Values, datatype: DataType) -> Result<Numbers<'v>, Diagnostic> {
        if let Values::C128(_) = vals {
            let message = "the values are complex, which kernels do not compute yet";
            return Err(Diagnostic::new(Code::TypeMismatch, message)
                .help("take real and imaginary parts apart"));
        }
        let summed = datatype.register().datatype().integers();
        let Some(summed) = summed.filter(|_| datatype != DataType::Bool) else {
            return Ok(Numbers { vals, datatype });
        };
        let own = vals.datatype().integers();
        if own.is_some_and(|own| summed.contains(own.start()) && summed.contains(own.end())) {
            return Ok(Numbers { vals, datatype });
        }
        let holds = |n: usize| match vals.get(n) {
            Scalar::F32(x) => is_whole(f64::from(x), &summed),
            Scalar::F64(x) => is_whole(x, &summed),
            x => x.integer().is_some_and(|x| summed.contains(&x)),
        };
        match (0..vals.len()).into_par_iter().find_first(|&n| !holds(n)) {
            None => Ok(Numbers { vals, datatype }),
            Some(n) => {
                let x = vals.get(n);
                if let Some(x) = x.integer() {
                    return Err(beyond(x, datatype));
                }
                let x = x.as_f64();
                let message = format!("the value {x} is not an integer that fits {datatype}");
                Err(Diagnostic::new(Code::TypeMismatch, message).help("store the tensor as f64"))
            }
        }
    }

    /// The bits of a value.
    #[inline]
    pub fn bits(&self, n: usize) -> u64 {
        let x = self.vals.get(n);
        let to =
            if self.datatype == DataType::Bool { Register::Bool } else { self.datatype.register() };
        match x.convert(to) {
            Scalar::Bool(b) => u64::from(b),
            Scalar::I64(x) => x.cast_unsigned(),
            Scalar::U64(x) => x,
            Scalar::F32(x) => u64::from(x.to_bits()),
            Scalar::F64(x) => x.to_bits(),
        }
    }
}

/// Whether a float is one of these integers; of their end, the one behind it is a power of two.
fn is_whole(x: f64, held: &RangeInclusive<i128>) -> bool {
    x.trunc() == x && (*held.start() as f64..(held.end() + 1) as f64).contains(&x)
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
    F16 as f32: |bits| f32::from_bits(bits as u32), |a, b| a + b, |sum| Ok(F16::from(sum));
    Bf16 as f32: |bits| f32::from_bits(bits as u32), |a, b| a + b, |sum| Ok(Bf16::from(sum));
    u64 as u64: |bits| bits, u64::wrapping_add, Ok;
    i64 as i64: u64::cast_signed, i64::wrapping_add, Ok;
    i32 as i64: u64::cast_signed, i64::wrapping_add, narrow;
    i16 as i64: u64::cast_signed, i64::wrapping_add, narrow;
    i8 as i64: u64::cast_signed, i64::wrapping_add, narrow;
    u32 as i64: u64::cast_signed, i64::wrapping_add, narrow;
    u16 as i64: u64::cast_signed, i64::wrapping_add, narrow;
    u8 as i64: u64::cast_signed, i64::wrapping_add, narrow;
    Truth as bool: |bits| bits != 0, |a, b| a | b, |sum| Ok(Truth::from(sum));
}

fn narrow<T: Stored + TryFrom<i64>>(sum: i64) -> Result<T, Diagnostic> {
    T::try_from(sum).map_err(|_| beyond(i128::from(sum), T::DATATYPE))
}

fn beyond(x: i128, datatype: DataType) -> Diagnostic {
    let message = format!("the value {x} does not fit {datatype}");
    let wide = if x < 0 || i64::try_from(x).is_ok() { "i64" } else { "u64" };
    Diagnostic::new(Code::IntegerOverflow, message).help(format!("store the tensor as {wide}"))
}
