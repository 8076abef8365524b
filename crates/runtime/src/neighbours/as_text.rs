//! Formats and schedules in files of others, by the traits of `serde`: as their text, which reads back the same.
//!
//! ```text
//! csr{f32}                               a name where that tells the order
//! (i, j) -> (i: dense, j: dense)         else the arrow form
//! reorder(j, i)
//! ```

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::Display;
use tamis_core::format::{self, Format, FormatSpec, Storage};
use tamis_core::schedule::{self, Schedule};
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// A format, a storage or a schedule that is written as its text.
///
/// ```
/// use tamis_core::format::{self, Format};
/// use tamis_runtime::as_text::AsText;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let format = format::parse("csr", None)?.format;
/// let text = serde_json::to_string(&[AsText(format.clone())])?;
/// assert_eq!(text, r#"["csr"]"#);
/// let [AsText(back)] = serde_json::from_str::<[AsText<Format>; 1]>(&text)?;
/// assert_eq!(back, format);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct AsText<T>(pub T);

/// What has a text that reads back the same.
pub trait Text: Sized {
    /// The text.
    fn text(&self) -> String;

    /// What it says.
    ///
    /// # Errors
    ///
    /// If it says nothing of this kind.
    fn read(text: &str) -> Result<Self, Diagnostic>;
}

impl<T: Text> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de, T: Text> Deserialize<'de> for AsText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AsText<T>, D::Error> {
        deserialize(deserializer).map(AsText)
    }
}

/// For fields: `#[serde(with = "tamis::as_text")]`.
///
/// ```
/// use tamis_core::schedule::{self, Schedule};
/// # mod tamis { pub use tamis_runtime::as_text; }
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Job {
///     program: String,
///     #[serde(with = "tamis::as_text")]
///     schedule: Schedule,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = r#"{"program":"y(i) = A(i,j) * x(j)","schedule":"reorder(j, i)"}"#;
/// let job: Job = serde_json::from_str(text)?;
/// assert_eq!(job.schedule, schedule::parse("reorder(j, i)")?);
/// assert_eq!(serde_json::to_string(&job)?, text);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<T: Text, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.text())
}

/// For fields, as [`serialize`].
///
/// # Errors
///
/// If there is no text, or it says nothing of this kind.
pub fn deserialize<'de, T: Text, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    T::read(&text).map_err(D::Error::custom)
}

impl Text for Format {
    fn text(&self) -> String {
        of_order(self, self)
    }

    fn read(text: &str) -> Result<Format, Diagnostic> {
        let spec = format::parse(text, None)?;
        if spec == FormatSpec::of(spec.format.clone()) {
            return Ok(spec.format);
        }
        let message = format!("{spec} says more than levels");
        Err(Diagnostic::new(Code::FormatProperty, message).help("leave out the braces"))
    }
}

impl Text for FormatSpec {
    fn text(&self) -> String {
        of_order(&self.format, self)
    }

    fn read(text: &str) -> Result<FormatSpec, Diagnostic> {
        format::parse(text, None)
    }
}

/// What the text leaves out is usual: `f64`, fill 0, 32-bit positions and coordinates.
impl Text for Storage {
    fn text(&self) -> String {
        of_order(&self.format, self)
    }

    fn read(text: &str) -> Result<Storage, Diagnostic> {
        format::parse(text, None)?.resolve(DataType::F64)
    }
}

impl Text for Schedule {
    fn text(&self) -> String {
        self.to_string()
    }

    fn read(text: &str) -> Result<Schedule, Diagnostic> {
        schedule::parse(text)
    }
}

/// What is printed as a format and more, with a format that reads back without an order.
fn of_order(format: &Format, printed: &dyn Display) -> String {
    let (name, printed) = (format.to_string(), printed.to_string());
    match format::parse(&name, None).is_ok_and(|read| read.format == *format) {
        true => printed,
        false => format!("{}{}", format.arrow(), &printed[name.len()..]),
    }
}
