//! Python's numbers as tensors of order 0. Their type is weak, as in NumPy: `2.0` takes the type
//! of the floats beside it.

use crate::failure::refused;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat};
use tamis::{Code, DataType, Element, Scalar, Tensor};

/// A number of Python's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Bool(bool),
    Int(Scalar),
    Float(f64),
    Complex([f64; 2]),
}

impl Number {
    /// The number that an object is.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Number> {
        if let Ok(truth) = object.cast::<PyBool>() {
            return Ok(Number::Bool(truth.is_true()));
        }
        if object.is_instance_of::<PyFloat>() {
            return Ok(Number::Float(object.extract()?));
        }
        if let Ok(z) = object.cast::<PyComplex>() {
            return Ok(Number::Complex([z.real(), z.imag()]));
        }
        if let Ok(x) = object.extract::<i64>() {
            return Ok(Number::Int(Scalar::I64(x)));
        }
        match object.extract::<u64>() {
            Ok(x) => Ok(Number::Int(Scalar::U64(x))),
            Err(_) => {
                let message = format!("the integer {object} has more than 64 bits");
                let help = "pass a float, or divide the problem";
                Err(refused(object.py(), Code::IntegerOverflow, message, help))
            }
        }
    }

    /// The type beside operands of another.
    fn datatype(self, beside: Option<DataType>) -> DataType {
        let beside = beside.filter(|&t| t != DataType::Bool);
        match (self, beside) {
            (Number::Bool(_), _) => DataType::Bool,
            (Number::Int(Scalar::U64(_)), None) => DataType::U64,
            (Number::Int(_), None) => DataType::I64,
            (Number::Int(_), Some(t)) => t.part(),
            (Number::Float(_), Some(t)) if t.is_float() => t.part(),
            (Number::Float(_), _) => DataType::F64,
            (Number::Complex(_), Some(t)) if t.is_float() => t.complex(),
            (Number::Complex(_), _) => DataType::C128,
        }
    }

    /// The number as a tensor beside operands of a type.
    pub(crate) fn tensor(self, py: Python<'_>, beside: Option<DataType>) -> PyResult<Tensor> {
        let datatype = self.datatype(beside);
        let value = match self {
            Number::Bool(x) => Scalar::I64(i64::from(x)),
            Number::Int(x) => x,
            Number::Float(x) => Scalar::F64(x),
            Number::Complex(z) => Scalar::C128(z),
        };
        if !datatype.holds(value) {
            let message = format!("the integer {value} does not fit {datatype}");
            let help = "convert the operands beside it to a wider type";
            return Err(refused(py, Code::IntegerOverflow, message, help));
        }
        Ok(of_type(value, datatype))
    }
}

/// A tensor of order 0.
pub(crate) fn of_type(value: Scalar, datatype: DataType) -> Tensor {
    fn make<T: Element>(value: Scalar) -> Tensor {
        Tensor::scalar(T::of(value))
    }
    match datatype {
        DataType::Bool => make::<tamis::Truth>(value),
        DataType::I8 => make::<i8>(value),
        DataType::I16 => make::<i16>(value),
        DataType::I32 => make::<i32>(value),
        DataType::I64 => make::<i64>(value),
        DataType::U8 => make::<u8>(value),
        DataType::U16 => make::<u16>(value),
        DataType::U32 => make::<u32>(value),
        DataType::U64 => make::<u64>(value),
        DataType::F16 => make::<tamis::F16>(value),
        DataType::Bf16 => make::<tamis::Bf16>(value),
        DataType::F32 => make::<f32>(value),
        DataType::F64 => make::<f64>(value),
        DataType::C64 => make::<[f32; 2]>(value),
        DataType::C128 => make::<[f64; 2]>(value),
    }
}
