//! Kinds of values and of entries that parts of a file have, a bit each, and the type that all parts have together.
//!
//! ```text
//! 0.5 2                   FRACTION        with the others f64
//! 9007199254740993        EXACT           alone i64, as f64 would round it
//! 18446744073709551615    EXACT, ABOVE    u64, unless another part has NEGATIVE
//! ```

use crate::counted::Counted;
use crate::error::Parsed;
use crate::number;
use tamis_runtime::{DataType, Values};

/// A number with a fraction.
pub(crate) const FRACTION: u64 = 1;
/// Integers that no float is.
pub(crate) const EXACT: u64 = 1 << 1;
/// An integer below 0, above 2^63 - 1, and one that neither 64 bits with nor without a sign hold.
pub(crate) const NEGATIVE: u64 = 1 << 2;
pub(crate) const ABOVE: u64 = 1 << 3;
pub(crate) const BEYOND: u64 = 1 << 4;
pub(crate) const COMPLEX: u64 = 1 << 5;
/// Entries of a symmetric matrix below its diagonal and above it.
pub(crate) const LOWER: u64 = 1 << 6;
pub(crate) const UPPER: u64 = 1 << 7;

/// The type of the values of a file.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    Real,
    Signed,
    Unsigned,
    Complex,
}

impl Wanted {
    pub(crate) fn datatype(self) -> DataType {
        match self {
            Wanted::Real => DataType::F64,
            Wanted::Signed => DataType::I64,
            Wanted::Unsigned => DataType::U64,
            Wanted::Complex => DataType::C128,
        }
    }
}

/// The type of values that a file says are integers.
pub(crate) fn of_integers(marks: u64) -> Wanted {
    if marks & ABOVE != 0 { Wanted::Unsigned } else { Wanted::Signed }
}

/// The type of values of which the file says nothing.
pub(crate) fn of_numbers(marks: u64) -> Wanted {
    let has = |mark: u64| marks & mark != 0;
    match () {
        () if has(COMPLEX) => Wanted::Complex,
        () if has(FRACTION | BEYOND) || !has(EXACT) => Wanted::Real,
        () if !has(ABOVE) => Wanted::Signed,
        () if has(NEGATIVE) => Wanted::Real,
        () => Wanted::Unsigned,
    }
}

/// The kinds of values that decide the type of a file's values.
pub(crate) fn of_values(vals: &Values) -> u64 {
    let of_integer = |x: i128| {
        let is_above = x > i128::from(i64::MAX);
        let is_beyond = x < i128::from(i64::MIN) || x > i128::from(u64::MAX);
        [(x < 0, NEGATIVE), (is_above, ABOVE), (is_beyond, BEYOND)]
            .iter()
            .fold(0, |marks, &(is, mark)| if is { marks | mark } else { marks })
    };
    match vals {
        Values::I64(v) => EXACT | if v.iter().any(|&x| x < 0) { NEGATIVE } else { 0 },
        Values::U64(v) => EXACT | if v.iter().any(|&x| x > i64::MAX as u64) { ABOVE } else { 0 },
        Values::F64(v) => {
            let mut marks = 0;
            for &x in v {
                match number::whole(x) {
                    Some(whole) => marks |= of_integer(whole),
                    None => return FRACTION,
                }
            }
            marks
        }
        _ => COMPLEX,
    }
}

/// Values of a part in the type of the whole.
pub(crate) fn cast(vals: Values, wanted: Wanted) -> Parsed<Values> {
    let whole = |x: f64| number::whole(x).unwrap_or(0);
    Ok(match (wanted, vals) {
        (Wanted::Complex, Values::F64(v)) => Values::C128(others(v, |x| [x, 0.0])?),
        (Wanted::Complex, Values::I64(v)) => Values::C128(others(v, |x| [x as f64, 0.0])?),
        (Wanted::Complex, Values::U64(v)) => Values::C128(others(v, |x| [x as f64, 0.0])?),
        (Wanted::Real, Values::I64(v)) => Values::F64(others(v, |x| x as f64)?),
        (Wanted::Real, Values::U64(v)) => Values::F64(others(v, |x| x as f64)?),
        (Wanted::Signed, Values::F64(v)) => Values::I64(others(v, |x| whole(x) as i64)?),
        (Wanted::Unsigned, Values::F64(v)) => Values::U64(others(v, |x| whole(x) as u64)?),
        (Wanted::Unsigned, Values::I64(v)) => Values::U64(others(v, |x| x as u64)?),
        (_, vals) => vals,
    })
}

fn others<T: Copy, U>(all: Vec<T>, other: impl Fn(T) -> U) -> Parsed<Vec<U>> {
    let mut made = Counted::with_room(all.len())?.into_vec();
    made.extend(all.into_iter().map(other));
    Ok(made)
}
