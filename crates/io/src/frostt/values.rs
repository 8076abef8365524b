//! The values of a FROSTT file, whose type shows only as they are read.
//!
//! ```text
//! 1  0.5                        f64
//! 1  9007199254740993           i64, as f64 would round the second
//! 1  18446744073709551615       u64
//! 0.5  9007199254740993         f64, which integers cannot be in any case
//! 1  2+3j                       complex
//! ```

use crate::counted::Counted;
use crate::cursor::{Cursor, beyond};
use crate::error::{Flaw, Parsed};
use crate::number;
use tamis_runtime::Values;

/// The values read so far.
pub(super) enum Numbers {
    /// Floats; whether one is known to be no integer.
    Real { vals: Vec<f64>, broken: bool },
    /// Integers, some of which no float is.
    Whole(Vec<i128>),
    /// Complex numbers, from the first one on.
    Complex(Vec<[f64; 2]>),
}

impl Numbers {
    /// None yet.
    pub fn new() -> Numbers {
        Numbers::Real { vals: vec![], broken: false }
    }

    /// How many there is room for.
    pub fn capacity(&self) -> usize {
        match self {
            Numbers::Real { vals, .. } => vals.capacity(),
            Numbers::Whole(vals) => vals.capacity(),
            Numbers::Complex(vals) => vals.capacity(),
        }
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, more: usize) -> Parsed<()> {
        let reserved = match self {
            Numbers::Real { vals, .. } => vals.try_reserve_exact(more),
            Numbers::Whole(vals) => vals.try_reserve_exact(more),
            Numbers::Complex(vals) => vals.try_reserve_exact(more),
        };
        reserved.map_err(|_| Flaw::no_room("the list of values", more.saturating_mul(self.size())))
    }

    /// Bytes of a number.
    pub fn size(&self) -> usize {
        match self {
            Numbers::Real { .. } => 8,
            Numbers::Whole(_) | Numbers::Complex(_) => 16,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Numbers::Real { vals, .. } => vals.len(),
            Numbers::Whole(vals) => vals.len(),
            Numbers::Complex(vals) => vals.len(),
        }
    }

    /// Reads one field.
    #[inline(always)]
    pub fn read(&mut self, cursor: &mut Cursor) -> Parsed<()> {
        if let Numbers::Real { vals, .. } = self
            && let Some(value) = cursor.short_float()
        {
            vals.push(value);
            return Ok(());
        }
        self.read_unusual(cursor)
    }

    #[inline(never)]
    fn read_unusual(&mut self, cursor: &mut Cursor) -> Parsed<()> {
        cursor.skip_blanks();
        let field = cursor.field();
        if let Some(value) = number::integer(field) {
            self.push_whole(value)?;
        } else if let Some(value) = number::float(field) {
            cursor.check_range(field, value)?;
            self.push_real(value)?;
        } else if let Some(value) = number::complex(field) {
            if number::is_beyond_complex(field) {
                return Err(beyond(field, cursor.at()));
            }
            self.push_complex(value)?;
        } else {
            return Err(cursor.unexpected("a number"));
        }
        cursor.take_field();
        Ok(())
    }

    fn push_whole(&mut self, value: i128) -> Parsed<()> {
        match self {
            Numbers::Real { vals, broken } => {
                let near = value as f64;
                if *broken || near as i128 == value {
                    vals.push(near);
                } else if vals.iter().any(|&x| number::whole(x).is_none()) {
                    *broken = true;
                    vals.push(near);
                } else {
                    let mut all = others(vals, |x| number::whole(x).unwrap_or(0))?;
                    all.push(value);
                    *self = Numbers::Whole(all);
                }
            }
            Numbers::Whole(vals) => vals.push(value),
            Numbers::Complex(vals) => vals.push([value as f64, 0.0]),
        }
        Ok(())
    }

    fn push_real(&mut self, value: f64) -> Parsed<()> {
        match self {
            Numbers::Real { vals, .. } => vals.push(value),
            Numbers::Whole(all) => match number::whole(value) {
                Some(value) => all.push(value),
                None => {
                    let mut vals = others(all, |x| x as f64)?;
                    vals.push(value);
                    *self = Numbers::Real { vals, broken: true };
                }
            },
            Numbers::Complex(vals) => vals.push([value, 0.0]),
        }
        Ok(())
    }

    pub fn push_complex(&mut self, value: [f64; 2]) -> Parsed<()> {
        match self {
            Numbers::Real { vals, .. } => *self = Numbers::Complex(others(vals, |re| [re, 0.0])?),
            Numbers::Whole(all) => *self = Numbers::Complex(others(all, |x| [x as f64, 0.0])?),
            Numbers::Complex(_) => {}
        }
        if let Numbers::Complex(vals) = self {
            vals.push(value);
        }
        Ok(())
    }

    /// All of them in one type; integers that none of 64 bit holds are floats.
    pub fn finish(self) -> Parsed<Values> {
        let all = match self {
            Numbers::Real { vals, .. } => return Ok(Values::F64(vals)),
            Numbers::Complex(vals) => return Ok(Values::C128(vals)),
            Numbers::Whole(all) => all,
        };
        if all.iter().all(|&x| i64::try_from(x).is_ok()) {
            return Ok(Values::I64(others(&all, |x| x as i64)?));
        }
        match all.iter().all(|&x| u64::try_from(x).is_ok()) {
            true => Ok(Values::U64(others(&all, |x| x as u64)?)),
            false => Ok(Values::F64(others(&all, |x| x as f64)?)),
        }
    }
}

/// The numbers in another type, with as much room.
fn others<T: Copy, U>(all: &Vec<T>, other: impl Fn(T) -> U) -> Parsed<Vec<U>> {
    let mut made = Counted::with_room(all.capacity())?.into_vec();
    made.extend(all.iter().map(|&x| other(x)));
    Ok(made)
}
