//! Floats of 16 bits, which are stored only: loads widen to `f32`, stores round to nearest even, an `f64` once.
//!
//! ```
//! use tamis_ir::half::{Bf16, F16};
//! assert_eq!(f32::from(F16::from(0.1)), 0.099975586);
//! assert_eq!(f32::from(Bf16::from(0.1)), 0.100_097_656);
//! ```
//!
//! The conversions are the ones that every backend does in the same steps. A NaN that is stored is
//! the usual one, without sign and payload.

use std::fmt;
use std::ops::Add;

/// IEEE binary16.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct F16(u16);

/// The upper half of an IEEE binary32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Bf16(u16);

/// 2^112, what exponents of [`F16`] are short of those of `f32`.
pub const RAISE: f32 = f32::from_bits(239 << 23);

impl From<F16> for f32 {
    fn from(x: F16) -> f32 {
        let (sign, rest) = (u32::from(x.0 & 0x8000) << 16, u32::from(x.0 & 0x7fff));
        let finite = (f32::from_bits(rest << 13) * RAISE).to_bits();
        let bits = if rest >= 0x7c00 { rest << 13 | 0x7f80_0000 } else { finite };
        f32::from_bits(sign | bits)
    }
}

impl From<f32> for F16 {
    fn from(x: f32) -> F16 {
        let (sign, rest) = (x.to_bits() >> 16 & 0x8000, x.to_bits() & 0x7fff_ffff);
        let bits = match rest {
            0x7f80_0001.. => return F16(0x7e00),
            0x4780_0000.. => 0x7c00,
            // The last digit of 0.5 is the least number, so that the sum rounds.
            ..0x3880_0000 => (f32::from_bits(rest) + 0.5).to_bits() - 0.5f32.to_bits(),
            _ => (rest - (112 << 23) + 0xfff + (rest >> 13 & 1)) >> 13,
        };
        F16((sign | bits) as u16)
    }
}

impl From<f64> for F16 {
    fn from(x: f64) -> F16 {
        F16::from(round_to_odd(x))
    }
}

/// The `f32` that rounds to 16 bits as a number does: its first 14 binary digits, of which the last is 1 where further
/// ones are cut off. It lies between the same neighbours, and is never halfway between two unless the number is
/// (rounding to odd: Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
pub fn round_to_odd(x: f64) -> f32 {
    const CUT: u64 = (1 << 39) - 1;
    let bits = x.to_bits();
    f64::from_bits((bits & !CUT) | (u64::from(bits & CUT != 0) << 39)) as f32
}

impl From<Bf16> for f32 {
    fn from(x: Bf16) -> f32 {
        f32::from_bits(u32::from(x.0) << 16)
    }
}

impl From<f32> for Bf16 {
    fn from(x: f32) -> Bf16 {
        if x.is_nan() {
            return Bf16(0x7fc0);
        }
        let bits = x.to_bits();
        Bf16(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }
}

impl From<f64> for Bf16 {
    fn from(x: f64) -> Bf16 {
        Bf16::from(round_to_odd(x))
    }
}

macro_rules! stored {
    ($($t:ident)*) => {$(
        impl $t {
            /// The number of these bits.
            pub fn from_bits(bits: u16) -> $t {
                $t(bits)
            }

            /// The bits.
            pub fn to_bits(self) -> u16 {
                self.0
            }
        }

        impl Add for $t {
            type Output = $t;
            fn add(self, other: $t) -> $t {
                $t::from(f32::from(self) + f32::from(other))
            }
        }

        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f32::from(*self).fmt(f)
            }
        }
    )*};
}

stored!(F16 Bf16);

#[cfg(test)]
mod tests {
    use super::{Bf16, F16};

    /// Checks that a number becomes the nearest of a type, given as all of its numbers from 0 to
    /// infinity, of two equally near ones the even.
    fn check(x: f64, all: &[f32], rounded: f32) {
        let least = f64::from(all[1]);
        let beyond = 2.0 * f64::from(all[all.len() - 2]) - f64::from(all[all.len() - 3]);
        // Infinity stands where the next number would.
        let place = |x: f32| if x.is_infinite() { beyond } else { f64::from(x) };
        let at = all.partition_point(|&y| f64::from(y) < x.abs());
        let near = [at.saturating_sub(1), at.min(all.len() - 1)];
        let off = |k: usize| (place(all[k]) - x.abs()).abs();
        let best = match off(near[0]).partial_cmp(&off(near[1])) {
            Some(std::cmp::Ordering::Less) => near[0],
            Some(std::cmp::Ordering::Equal) if near[0] % 2 == 0 => near[0],
            _ => near[1],
        };
        assert_eq!(rounded.to_bits(), all[best].copysign(x as f32).to_bits(), "{x:e} by {least:e}");
    }

    #[test]
    fn every_number_reads_back_and_all_others_become_the_nearest() {
        let halves: Vec<f32> = (0..=0x7c00).map(|b| F16::from_bits(b).into()).collect();
        let brains: Vec<f32> = (0..=0x7f80).map(|b| Bf16::from_bits(b).into()).collect();
        assert_eq!((halves[1], halves[0x3c00], halves[0x7bff]), (2f32.powi(-24), 1.0, 65504.0));
        assert_eq!((brains[1], brains[0x3f80]), (f32::from_bits(1 << 16), 1.0));
        assert!(halves[0x7c00].is_infinite() && brains[0x7f80].is_infinite());
        for bits in 0..=u16::MAX {
            let (half, brain) = (F16::from_bits(bits), Bf16::from_bits(bits));
            let is_nan = (f32::from(half).is_nan(), f32::from(brain).is_nan());
            assert_eq!(is_nan, (bits & 0x7fff > 0x7c00, bits & 0x7fff > 0x7f80));
            assert!(is_nan.0 || F16::from(f32::from(half)) == half);
            assert!(is_nan.1 || Bf16::from(f32::from(brain)) == brain);
        }
        assert_eq!(F16::from(-f32::NAN).to_bits(), 0x7e00);
        assert_eq!(Bf16::from(-f32::NAN).to_bits(), 0x7fc0);
        let least = f64::from_bits(f64::INFINITY.to_bits() + 1);
        assert_eq!((F16::from(least).to_bits(), Bf16::from(least).to_bits()), (0x7e00, 0x7fc0));
        let mut state = 1u32;
        for step in 0..300_000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Near the numbers of the types, ties and edges too.
            let edge = f32::from(F16::from_bits(state as u16)).to_bits();
            let near = edge.wrapping_add([0, 1 << 12, (1 << 12) + 1, 1 << 15][step as usize % 4]);
            for x in [f32::from_bits(state), f32::from_bits(near)] {
                if !x.is_finite() {
                    continue;
                }
                check(x.into(), &halves, F16::from(x).into());
                check(x.into(), &brains, Bf16::from(x).into());
                // Beside them by less than an `f32` tells.
                for x in [f64::from(x).next_down(), x.into(), f64::from(x).next_up()] {
                    check(x, &halves, F16::from(x).into());
                    check(x, &brains, Bf16::from(x).into());
                }
            }
        }
    }
}
