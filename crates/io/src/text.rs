//! Numbers to text: the shortest that reads back exactly as an `f64`, whatever the type, since readers do not know it.
//!
//! ```text
//! 0.1f32   0.10000000149011612
//! ```

use crate::progress;
use std::io::Write;
use tamis_runtime::{Scalar, Values};

/// Appends an integer.
pub(crate) fn push_integer(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a float: `3`, `0.5`, `1e300`, `inf`, `NaN`.
fn push_float(out: &mut Vec<u8>, value: f64) {
    // Debug, unlike Display, writes large and small numbers with an exponent.
    write_to(out, format_args!("{value:?}"));
    if out.ends_with(b".0") {
        out.truncate(out.len() - 2);
    }
}

/// Appends formatted text.
pub(crate) fn write_to(out: &mut Vec<u8>, text: std::fmt::Arguments) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(text);
}

/// How a complex number is written.
#[derive(Clone, Copy)]
pub(crate) enum ComplexText {
    /// `1.5 2`
    TwoFields,
    /// `1.5+2j`
    OneField,
}

/// Appends the value at `position`.
pub(crate) fn push_value(
    out: &mut Vec<u8>,
    values: &Values,
    position: usize,
    complex: ComplexText,
) {
    match wide(values.get(position)) {
        Scalar::F64(x) => push_float(out, x),
        Scalar::C128([re, im]) => {
            push_float(out, re);
            match complex {
                ComplexText::TwoFields => out.push(b' '),
                // A NaN is written without its sign.
                ComplexText::OneField if im.is_nan() || im.is_sign_positive() => out.push(b'+'),
                ComplexText::OneField => {}
            }
            push_float(out, im);
            if let ComplexText::OneField = complex {
                out.push(b'j');
            }
        }
        x => write_to(out, format_args!("{x}")),
    }
}

/// A number of 16 or 32 bits as one of 64, which texts are of.
pub(crate) fn wide(value: Scalar) -> Scalar {
    match value {
        Scalar::F32(x) => Scalar::F64(x.into()),
        Scalar::C64(z) => Scalar::C128(z.map(f64::from)),
        x => x,
    }
}

/// Bytes of text that are gathered before they are written.
pub(crate) const CHUNK: usize = 1 << 15;

/// Writes the text if enough has been gathered.
pub(crate) fn flush_chunk(out: &mut dyn Write, text: &mut Vec<u8>) -> std::io::Result<()> {
    if text.len() < CHUNK {
        return Ok(());
    }
    out.write_all(text)?;
    progress::advance(text.len());
    text.clear();
    Ok(())
}
