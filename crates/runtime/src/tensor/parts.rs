//! The arrays of a tensor, given away or written.

use super::{LevelData, Tensor};
use crate::memory::{Buffer, Element};
use tamis_core::format::Storage;
use tamis_core::level::Part;
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::{Code, Diagnostic};

impl Tensor {
    /// Dimensions, storage, the arrays of each level, and values, as [`Tensor::try_from_parts`] takes
    /// them.
    pub fn into_parts(self) -> (Vec<u64>, Storage, Vec<LevelData>, Buffer) {
        (self.dims, self.storage, self.levels, self.vals)
    }

    /// The stored values as a vector, without a copy where the tensor was made of a vector, as no result of a
    /// kernel is, and nobody else has its values: see [`Buffer::into_vec`].
    ///
    /// # Errors
    /// When they are of another type.
    ///
    /// ```
    /// use tamis_runtime::Tensor;
    /// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
    /// let x = Tensor::dense(&[2], vec![3.0, 4.0])?;
    /// assert_eq!(x.into_vec::<f64>()?, [3.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_vec<T: Element>(self) -> Result<Vec<T>, Diagnostic> {
        let datatype = self.vals.datatype();
        if datatype != T::DATATYPE {
            return Err(self.other_type::<T>(datatype));
        }
        Ok(self.vals.into_vec().unwrap_or_default())
    }

    /// The stored values.
    ///
    /// # Errors
    /// When they are of another type.
    pub fn values<T: Element>(&self) -> Result<&[T], Diagnostic> {
        self.vals.as_slice().ok_or_else(|| self.other_type::<T>(self.vals.datatype()))
    }

    /// The stored values, to write to. If a clone of the tensor or somebody else shares them, they are
    /// copied first.
    ///
    /// # Errors
    /// When they are of another type, or truth values.
    ///
    /// ```
    /// use tamis_runtime::Tensor;
    /// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
    /// let mut x = Tensor::zeros::<f64>(&[2])?;
    /// x.values_mut::<f64>()?[1] = 4.0;
    /// assert_eq!(x.values::<f64>()?, [0.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn values_mut<T: Element>(&mut self) -> Result<&mut [T], Diagnostic> {
        let datatype = self.vals.datatype();
        if datatype != T::DATATYPE {
            return Err(self.other_type::<T>(datatype));
        }
        if datatype == DataType::Bool {
            let help = "make a tensor of changed values: Tensor::try_from_parts after into_parts";
            let message = "truth values are not lent to write to";
            return Err(Diagnostic::new(Code::TypeMismatch, message).help(help));
        }
        if self.vals.own_address().is_none() {
            self.vals = Buffer::from_vec(self.values::<T>()?.to_vec());
        }
        Ok(self.vals.as_mut_slice().unwrap_or_default())
    }

    /// Whether values are all that is stored, as in dense tensors.
    pub fn is_only_values(&self) -> bool {
        self.levels.iter().all(|level| Part::ALL.iter().all(|&part| level.part(part).is_none()))
    }

    /// The same tensor with values in memory of its own.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn copied(&self) -> Result<Tensor, Diagnostic> {
        Ok(Tensor { vals: self.vals.copied()?, ..self.clone() })
    }

    /// Writes the values of a tensor over those of this one, if both have the same dimensions and storage and nothing
    /// but values, and nobody else has those of this one; whether that is so.
    pub fn take_values(&mut self, other: &Tensor) -> bool {
        let is_alike = self.dims == other.dims && self.storage == other.storage;
        if !is_alike || !self.is_only_values() || self.vals.len() != other.vals.len() {
            return false;
        }
        self.vals.overwrite(&other.vals)
    }

    pub(super) fn other_type<T: Element>(&self, datatype: DataType) -> Diagnostic {
        let message = format!("the values are {datatype}, and asked for as {}", T::DATATYPE);
        let help = match datatype {
            DataType::Bool => "ask for values of the type Truth",
            _ => "ask for values of the tensor's type",
        };
        Diagnostic::new(Code::TypeMismatch, message).help(help)
    }
}
