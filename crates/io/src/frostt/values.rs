//! The values of a FROSTT file, whose type shows only as they are read.
//!
//! ```text
//! 1  0.5                        f64
//! 1  9007199254740993           i64, as f64 would round the second
//! 1  18446744073709551615       u64
//! 0.5  9007199254740993         f64, which integers cannot be in any case
//! 1  2+3j                       complex
//! ```

use crate::cursor::Cursor;
use crate::error::Parsed;
use crate::number;
use crate::triplets::reserved;
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
    /// None yet, with room for some.
    pub fn with_room(length: usize, at: usize) -> Parsed<Numbers> {
        Ok(Numbers::Real { vals: reserved(length, at)?, broken: false })
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
            self.push_whole(value);
        } else if let Some(value) = number::float(field) {
            self.push_real(value);
        } else if let Some(value) = number::complex(field) {
            self.push_complex(value);
        } else {
            return Err(cursor.unexpected("a number"));
        }
        cursor.take_field();
        Ok(())
    }

    fn push_whole(&mut self, value: i128) {
        match self {
            Numbers::Real { vals, broken } => {
                let near = value as f64;
                if *broken || near as i128 == value {
                    return vals.push(near);
                }
                match vals.iter().map(|&x| number::whole(x)).collect::<Option<Vec<i128>>>() {
                    Some(mut all) => {
                        all.push(value);
                        *self = Numbers::Whole(all);
                    }
                    None => {
                        *broken = true;
                        vals.push(near);
                    }
                }
            }
            Numbers::Whole(vals) => vals.push(value),
            Numbers::Complex(vals) => vals.push([value as f64, 0.0]),
        }
    }

    fn push_real(&mut self, value: f64) {
        match self {
            Numbers::Real { vals, .. } => vals.push(value),
            Numbers::Whole(all) => match number::whole(value) {
                Some(value) => all.push(value),
                None => {
                    let mut vals = floats(all);
                    vals.push(value);
                    *self = Numbers::Real { vals, broken: true };
                }
            },
            Numbers::Complex(vals) => vals.push([value, 0.0]),
        }
    }

    pub fn push_complex(&mut self, value: [f64; 2]) {
        let on_axis = |vals: &[f64]| vals.iter().map(|&re| [re, 0.0]).collect();
        match self {
            Numbers::Real { vals, .. } => *self = Numbers::Complex(on_axis(vals)),
            Numbers::Whole(all) => *self = Numbers::Complex(on_axis(&floats(all))),
            Numbers::Complex(_) => {}
        }
        if let Numbers::Complex(vals) = self {
            vals.push(value);
        }
    }

    /// All of them in one type; integers that none of 64 bit holds are floats.
    pub fn finish(self) -> Values {
        let all = match self {
            Numbers::Real { vals, .. } => return Values::F64(vals),
            Numbers::Complex(vals) => return Values::C128(vals),
            Numbers::Whole(all) => all,
        };
        if let Some(vals) = all.iter().map(|&x| i64::try_from(x).ok()).collect() {
            return Values::I64(vals);
        }
        match all.iter().map(|&x| u64::try_from(x).ok()).collect() {
            Some(vals) => Values::U64(vals),
            None => Values::F64(floats(&all)),
        }
    }
}

fn floats(all: &[i128]) -> Vec<f64> {
    all.iter().map(|&x| x as f64).collect()
}
