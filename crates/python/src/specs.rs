//! Formats as users write them, and what they leave open.

use crate::failure::raised;
use pyo3::prelude::*;
use tamis::format::{self, FormatSpec};
use tamis::{Code, DataType, Diagnostic, Scalar, Storage};

/// A format as a user wrote it, for tensors of an order.
pub(crate) fn spec(py: Python<'_>, text: &str, order: usize) -> PyResult<FormatSpec> {
    format::parse(text, Some(order)).map_err(|d| raised(py, &d))
}

/// The storage that a specification gives beside one that is known: what it leaves open stays.
pub(crate) fn beside(spec: &FormatSpec, known: &Storage) -> Result<Storage, Diagnostic> {
    if is_silent(spec) && spec.format == known.format {
        return Ok(known.clone());
    }
    let datatype = spec.datatype.unwrap_or(known.datatype);
    let kept = FormatSpec {
        fill: spec.fill.or_else(|| Some(constant(known.fill))),
        pos: spec.pos.or(Some(known.pos)),
        crd: spec.crd.or(Some(known.crd)),
        ..spec.clone()
    };
    kept.resolve(datatype)
}

/// A specification with this fill value, which it may not contradict, for values of a type if it names none.
pub(crate) fn with_fill(
    spec: FormatSpec,
    fill: &str,
    values: DataType,
) -> Result<FormatSpec, Diagnostic> {
    let given = format::parse(&format!("dense{{fill: {fill}}}"), Some(1))?.fill;
    let datatype = spec.datatype.unwrap_or(values);
    let stored = |fill: Option<Scalar>| fill.map(|fill| fill.stored(datatype));
    match (stored(spec.fill), stored(given)) {
        (Some(own), Some(given)) if !own.same_value(given) => {
            let message = format!("the format has the fill value {own}, and fill_value is {given}");
            Err(Diagnostic::new(Code::InvalidOption, message).help("give one of them"))
        }
        _ => Ok(FormatSpec { fill: spec.fill.or(given), ..spec }),
    }
}

/// Whether a specification says nothing but the format.
fn is_silent(spec: &FormatSpec) -> bool {
    spec.datatype.is_none() && spec.fill.is_none() && spec.pos.is_none() && spec.crd.is_none()
}

/// A fill value as specifications hold it: in the widest type of its kind.
pub(crate) fn constant(fill: Scalar) -> Scalar {
    match fill {
        Scalar::F32(x) => Scalar::F64(f64::from(x)),
        Scalar::C64([re, im]) => Scalar::C128([f64::from(re), f64::from(im)]),
        other => other,
    }
}
