//! Tensors in files of others, by the traits of `serde`: dimensions, format, and the arrays of levels and values, each
//! under the name of its type.
//!
//! ```text
//! {"dims": [3], "format": "sparse", "values": {"f64": [2.0, 3.0]},
//!  "levels": [{"pos": {"i32": [0, 2]}, "crd": {"i32": [0, 2]}, "width": null, "mask": null}]}
//! ```

use crate::memory::{Buffer, Element, Truth};
use crate::tensor::{LevelData, Tensor};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt;
use tamis_core::format;
use tamis_ir::datatype::DataType;
use tamis_ir::half::{Bf16, F16};

/// With the feature `serde`. Floats that JSON does not have are texts where people read them: `"inf"`.
///
/// ```
/// use tamis_runtime::Tensor;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let a = Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// let text = serde_json::to_string(&a)?;
/// assert!(text.starts_with(r#"{"dims":[2,3],"format":"csr","levels":["#));
/// assert_eq!(serde_json::from_str::<Tensor>(&text)?, a);
/// # Ok(())
/// # }
/// ```
impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let level = |level: &'_ LevelData| Level {
            pos: level.pos.clone().map(Array),
            crd: level.crd.clone().map(Array),
            width: level.width.clone().map(Array),
            mask: level.mask.clone().map(Array),
        };
        let parts = Parts {
            dims: self.dims().to_vec(),
            format: self.storage().to_string(),
            levels: self.levels().iter().map(level).collect(),
            values: Array(self.vals().clone()),
        };
        parts.serialize(serializer)
    }
}

/// Checked as [`Tensor::try_from_parts`] does: what is no tensor is an error.
///
/// ```
/// use tamis_runtime::Tensor;
/// let beyond = r#"{"dims": [3], "format": "sparse", "values": {"f64": [2.0]},
///     "levels": [{"pos": {"i32": [0, 1]}, "crd": {"i32": [3]}, "width": null, "mask": null}]}"#;
/// assert!(serde_json::from_str::<Tensor>(beyond).is_err());
/// ```
impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tensor, D::Error> {
        let Parts { dims, format, levels, values } = Parts::deserialize(deserializer)?;
        let level = |level: Level| LevelData {
            pos: level.pos.map(|array| array.0),
            crd: level.crd.map(|array| array.0),
            width: level.width.map(|array| array.0),
            mask: level.mask.map(|array| array.0),
        };
        let levels = levels.into_iter().map(level).collect();
        let spec = format::parse(&format, Some(dims.len()));
        let storage = spec.and_then(|spec| spec.resolve(DataType::F64));
        let tensor = storage.and_then(|s| Tensor::try_from_parts(dims, s, levels, values.0));
        tensor.map_err(de::Error::custom)
    }
}

/// What is written of a tensor. Buffers share their arrays.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename = "Tensor", deny_unknown_fields)]
struct Parts {
    dims: Vec<u64>,
    /// Its text, as for tensors of so many dimensions.
    format: String,
    levels: Vec<Level>,
    values: Array,
}

/// The arrays of a level.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Level {
    pos: Option<Array>,
    crd: Option<Array>,
    width: Option<Array>,
    mask: Option<Array>,
}

/// An array under the name of its type.
struct Array(Buffer);

/// An element, and what is written of it.
trait Stored: Element {
    type Written: Serialize;

    fn written(self) -> Self::Written;

    /// The element; none where the type has no such value.
    fn read(written: Self::Written) -> Option<Self>;
}

/// The elements of an array.
struct Elements<'b, T>(&'b [T]);

impl<T: Stored> Serialize for Elements<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|&x| x.written()))
    }
}

/// Declares what is written of each element type, in the order of their numbers.
macro_rules! stored {
    ($($number:literal $name:ident: $t:ty, $written:ty, $to:expr, $from:expr;)*) => {
        $(impl Stored for $t {
            type Written = $written;

            fn written(self) -> $written {
                $to(self)
            }

            fn read(written: $written) -> Option<$t> {
                $from(written)
            }
        })*

        impl Serialize for Array {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let name = self.0.datatype().name();
                match self.0.datatype() {
                    $(DataType::$name => {
                        let elements = Elements(self.0.as_slice::<$t>().unwrap_or_default());
                        serializer.serialize_newtype_variant("Array", $number, name, &elements)
                    })*
                }
            }
        }

        /// An array as it is read.
        #[derive(serde::Deserialize)]
        #[serde(rename = "Array", rename_all = "lowercase")]
        enum Read {
            $($name(Vec<$written>),)*
        }

        impl<'de> Deserialize<'de> for Array {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Array, D::Error> {
                let beyond = |name: &str| de::Error::custom(format!("a value is no {name}"));
                match Read::deserialize(deserializer)? {
                    $(Read::$name(written) => {
                        let elements: Option<Vec<$t>> = written.into_iter().map(Stored::read).collect();
                        let elements = elements.ok_or_else(|| beyond(DataType::$name.name()))?;
                        Ok(Array(Buffer::from_vec(elements)))
                    })*
                }
            }
        }
    };
}

stored! {
    0 Bool: Truth, bool, |x: Truth| x.byte() != 0, |x| Some(Truth::of_byte(u8::from(x)));
    1 I8: i8, i8, |x| x, Some;
    2 I16: i16, i16, |x| x, Some;
    3 I32: i32, i32, |x| x, Some;
    4 I64: i64, i64, |x| x, Some;
    5 U8: u8, u8, |x| x, Some;
    6 U16: u16, u16, |x| x, Some;
    7 U32: u32, u32, |x| x, Some;
    8 U64: u64, u64, |x| x, Some;
    9 F16: F16, Real<f32>, |x: F16| Real(x.into()), narrow;
    10 Bf16: Bf16, Real<f32>, |x: Bf16| Real(x.into()), narrow;
    11 F32: f32, Real<f32>, Real, |x: Real<f32>| Some(x.0);
    12 F64: f64, Real<f64>, Real, |x: Real<f64>| Some(x.0);
    13 C64: [f32; 2], [Real<f32>; 2], |x: [f32; 2]| x.map(Real), |x: [Real<f32>; 2]| Some(x.map(|x| x.0));
    14 C128: [f64; 2], [Real<f64>; 2], |x: [f64; 2]| x.map(Real), |x: [Real<f64>; 2]| Some(x.map(|x| x.0));
}

/// A float of 16 bits, if it is one.
fn narrow<T: Copy + From<f32>>(wide: Real<f32>) -> Option<T>
where
    f32: From<T>,
{
    let narrow = T::from(wide.0);
    let back = f32::from(narrow);
    (back == wide.0 || wide.0.is_nan()).then_some(narrow)
}

/// A float; where people read it, the text of one that JSON does not have.
#[derive(Clone, Copy)]
struct Real<T>(T);

/// The texts of floats that JSON does not have.
const TEXTS: [&str; 3] = ["inf", "-inf", "NaN"];

/// Reads a float of some type.
struct Reader<T>(std::marker::PhantomData<T>);

macro_rules! real {
    ($t:ty, $serialize:ident) => {
        impl Serialize for Real<$t> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match serializer.is_human_readable() && !self.0.is_finite() {
                    true => serializer.collect_str(&self.0),
                    false => serializer.$serialize(self.0),
                }
            }
        }

        impl<'de> Deserialize<'de> for Real<$t> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match deserializer.is_human_readable() {
                    true => deserializer.deserialize_any(Reader::<$t>(std::marker::PhantomData)),
                    false => <$t>::deserialize(deserializer).map(Real),
                }
            }
        }

        impl Visitor<'_> for Reader<$t> {
            type Value = Real<$t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or one of the texts inf, -inf and NaN")
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Real<$t>, E> {
                let read = x as $t;
                match read.is_finite() || !x.is_finite() {
                    true => Ok(Real(read)),
                    false => Err(E::custom(format!("{x} is beyond {}", stringify!($t)))),
                }
            }

            fn visit_i64<E: de::Error>(self, x: i64) -> Result<Real<$t>, E> {
                Ok(Real(x as $t))
            }

            fn visit_u64<E: de::Error>(self, x: u64) -> Result<Real<$t>, E> {
                Ok(Real(x as $t))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Real<$t>, E> {
                let read = text.parse().ok().filter(|_| TEXTS.contains(&text));
                read.map(Real).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
    };
}

real!(f32, serialize_f32);
real!(f64, serialize_f64);
