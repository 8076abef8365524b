//! Values on their way into an array: read, converted, summed, narrowed.

use crate::coordinates::Values;
use crate::memory::{Element, Truth};
use crate::threads;
use std::ops::RangeInclusive;
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::half::{Bf16, F16};

/// So many values are looked at by one thread.
const PART: usize = 1 << 16;

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
        if vals.datatype().is_complex() && !datatype.is_complex() && datatype != DataType::Bool {
            let message = format!("the values are complex, but the tensor holds {datatype}");
            let complex = vals.datatype();
            return Err(Diagnostic::new(Code::TypeMismatch, message)
                .help(format!("store the tensor as {complex}")));
        }
        let numbers = Numbers { vals, datatype };
        let summed = datatype.register().datatype().integers();
        let is_held = match (&summed, vals.datatype().integers()) {
            _ if datatype == DataType::Bool => true,
            (Some(all), Some(own)) => all.contains(own.start()) && all.contains(own.end()),
            (Some(_), None) => false,
            (None, _) => {
                let own = vals.datatype();
                datatype.part() == DataType::F64 || own.promote(datatype) == datatype
            }
        };
        if is_held {
            return Ok(numbers);
        }
        let parts = threads::map(vals.len().div_ceil(PART), &|k| {
            let mut part = k * PART..vals.len().min((k + 1) * PART);
            part.find(|&n| !is_number_of(vals.get(n), datatype, summed.as_ref()))
        });
        let first = parts.into_iter().flatten().next().map(|n| vals.get(n));
        match (first, first.and_then(Scalar::integer)) {
            (None, _) => Ok(numbers),
            (_, Some(x)) => Err(beyond(x, datatype)),
            (Some(x), None) => {
                let reason =
                    if summed.is_some() { "is not an integer that fits" } else { "does not fit" };
                let wide = if datatype.is_complex() { DataType::C128 } else { DataType::F64 };
                let message = format!("the value {x} {reason} {datatype}");
                let help = format!("store the tensor as {wide}");
                Err(Diagnostic::new(Code::TypeMismatch, message).help(help))
            }
        }
    }

    /// The bits of a value.
    #[inline]
    pub fn bits(&self, n: usize) -> u128 {
        // What needs no conversion, most of the time.
        match (self.vals, self.datatype) {
            (Values::F64(v), DataType::F64) => return v[n].to_bits().into(),
            (Values::F32(v), DataType::F32) => return f64::from(v[n]).to_bits().into(),
            (Values::I64(v), DataType::I64) => return v[n].cast_unsigned().into(),
            _ => {}
        }
        bits(self.vals.get(n), self.datatype)
    }
}

/// The bits of a constant in the type from which a data type is rounded, of a complex one the real part's lowest.
#[inline]
pub(super) fn bits(c: Scalar, datatype: DataType) -> u128 {
    let single = matches!(datatype, DataType::F32 | DataType::C64);
    // Integers are rounded to 32 bits once: 64 may not hold them either.
    let c = if single && c.integer().is_some() { c.convert(Register::F32) } else { c };
    let c = match datatype {
        DataType::Bool => c.convert(Register::Bool),
        DataType::F16 | DataType::Bf16 | DataType::F32 => c.convert(Register::F64),
        DataType::C64 => c.computed(DataType::C128),
        datatype => c.computed(datatype),
    };
    match c {
        Scalar::Bool(b) => u128::from(b),
        Scalar::I64(x) => u128::from(x.cast_unsigned()),
        Scalar::U64(x) => u128::from(x),
        Scalar::F32(x) => u128::from(x.to_bits()),
        Scalar::F64(x) => u128::from(x.to_bits()),
        Scalar::C64([re, im]) => u128::from(re.to_bits()) | u128::from(im.to_bits()) << 32,
        Scalar::C128([re, im]) => u128::from(re.to_bits()) | u128::from(im.to_bits()) << 64,
    }
}

/// Whether a number has a meaning in a data type, which sums these integers: it is one of them, or no finite number that
/// becomes infinite.
fn is_number_of(x: Scalar, datatype: DataType, summed: Option<&RangeInclusive<i128>>) -> bool {
    let Some(summed) = summed else {
        let is_kept =
            |x: Scalar| !x.as_f64().is_finite() || x.stored(datatype.part()).as_f64().is_finite();
        return x.parts().into_iter().all(is_kept);
    };
    match x.integer() {
        Some(x) => summed.contains(&x),
        None => is_whole(x.as_f64(), summed),
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
    fn read(bits: u128) -> Self::Sum;
    /// The sum of two: those of floats are as exact as in kernels. Integers of 64 bits wrap, as in kernels; of truth
    /// values one true is enough.
    fn add(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// The sum as it is stored.
    fn store(sum: Self::Sum) -> Result<Self, Diagnostic>;
}

macro_rules! stored {
    ($($t:ty as $sum:ty: $read:expr, $add:expr, $store:expr;)*) => {$(
        impl Stored for $t {
            type Sum = $sum;
            fn read(bits: u128) -> $sum {
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
    f64 as f64: double, |a, b| a + b, Ok;
    f32 as f64: double, |a, b| a + b, |sum| Ok(sum as f32);
    F16 as f64: double, |a, b| a + b, |sum| Ok(F16::from(sum));
    Bf16 as f64: double, |a, b| a + b, |sum| Ok(Bf16::from(sum));
    u64 as u64: |bits| bits as u64, u64::wrapping_add, Ok;
    i64 as i64: |bits| bits as i64, i64::wrapping_add, Ok;
    i32 as i128: exact, i128::wrapping_add, narrow;
    i16 as i128: exact, i128::wrapping_add, narrow;
    i8 as i128: exact, i128::wrapping_add, narrow;
    u32 as i128: exact, i128::wrapping_add, narrow;
    u16 as i128: exact, i128::wrapping_add, narrow;
    u8 as i128: exact, i128::wrapping_add, narrow;
    Truth as bool: |bits| bits != 0, |a, b| a | b, |sum| Ok(Truth::from(sum));
    [f32; 2] as [f64; 2]:
        |bits| [double(bits), double(bits >> 64)],
        |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]],
        |sum: [f64; 2]| Ok(sum.map(|part| part as f32));
    [f64; 2] as [f64; 2]:
        |bits| [double(bits), double(bits >> 64)],
        |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]], Ok;
}

fn double(bits: u128) -> f64 {
    f64::from_bits(bits as u64)
}

/// An integer of 64 bits as one whose sums do not wrap.
fn exact(bits: u128) -> i128 {
    i128::from(bits as i64)
}

fn narrow<T: Stored + TryFrom<i128>>(sum: i128) -> Result<T, Diagnostic> {
    T::try_from(sum).map_err(|_| beyond(sum, T::DATATYPE))
}

fn beyond(x: i128, datatype: DataType) -> Diagnostic {
    let message = format!("the value {x} does not fit {datatype}");
    let holds = |t: &DataType| t.integers().is_some_and(|held| held.contains(&x));
    let wide = [DataType::I64, DataType::U64].into_iter().find(holds).unwrap_or(DataType::F64);
    Diagnostic::new(Code::IntegerOverflow, message).help(format!("store the tensor as {wide}"))
}
