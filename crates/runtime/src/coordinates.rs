//! A tensor as a list of coordinates and values.

use crate::memory::{Buffer, Element};
use tamis_core::datatype::DataType;

/// A tensor as a list of coordinates and values, in any order, duplicates allowed: what files hold
/// and what pack takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    /// The dimension of each mode.
    pub dims: Vec<u64>,
    /// The zero-based coordinates: one vector per mode, each as long as the values.
    pub crds: Vec<Vec<u64>>,
    /// The values.
    pub vals: Values,
}

/// The values of a tensor, in their own type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Truth values, 0 or 1.
    Bool(Vec<u8>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Double precision complex numbers, real part first.
    C128(Vec<[f64; 2]>),
}

impl Values {
    /// The elements of an array.
    pub fn copied(buffer: &Buffer) -> Values {
        fn copy<T: Element>(buffer: &Buffer) -> Vec<T> {
            buffer.as_slice().map(<[T]>::to_vec).unwrap_or_default()
        }
        match buffer.datatype() {
            DataType::Bool => Values::Bool(copy(buffer)),
            DataType::I32 => Values::I32(copy(buffer)),
            DataType::I64 => Values::I64(copy(buffer)),
            DataType::F32 => Values::F32(copy(buffer)),
            DataType::F64 => Values::F64(copy(buffer)),
        }
    }

    /// The elements of an array at some places.
    pub fn gathered(buffer: &Buffer, places: &[usize]) -> Values {
        fn gather<T: Element>(buffer: &Buffer, places: &[usize]) -> Vec<T> {
            let all = buffer.as_slice::<T>().unwrap_or_default();
            places.iter().map(|&p| all[p]).collect()
        }
        match buffer.datatype() {
            DataType::Bool => Values::Bool(gather(buffer, places)),
            DataType::I32 => Values::I32(gather(buffer, places)),
            DataType::I64 => Values::I64(gather(buffer, places)),
            DataType::F32 => Values::F32(gather(buffer, places)),
            DataType::F64 => Values::F64(gather(buffer, places)),
        }
    }

    /// A value as a double, the real part of a complex one.
    pub fn as_f64(&self, n: usize) -> f64 {
        match self {
            Values::Bool(v) => f64::from(v[n]),
            Values::I32(v) => f64::from(v[n]),
            Values::I64(v) => v[n] as f64,
            Values::F32(v) => f64::from(v[n]),
            Values::F64(v) => v[n],
            Values::C128(v) => v[n][0],
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Bool(v) => v.len(),
            Values::I32(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::C128(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
