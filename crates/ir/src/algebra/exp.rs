//! The exponential, whose text the Rust backend also prints.

/// What `(exp(r) - 1 - r) / r^2` is near 0: a polynomial fitted to `|r| <= ln 2 / 2`, to 2^-57 of the exponential.
pub(crate) const EXP_TERMS: [f64; 10] = [
    0.5000000000000011,
    0.16666666666666433,
    0.041666666666527,
    0.00833333333348203,
    0.001388888894433258,
    0.00019841269532850628,
    2.4801492460496148e-5,
    2.7557563347514166e-6,
    2.763045294358115e-7,
    2.500723863393352e-8,
];

/// e to the x in operations that every backend has, since those of libraries differ: within one ulp,
/// by arithmetic alone, so that lanes can do it, too. Numbers beyond the largest are infinite.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // What is added and subtracted again rounds to an integer, which is in the low bits in between.
    let shift = 6755399441055744.0;
    let power = |n: f64| f64::from_bits((n + (shift + 1023.0)).to_bits() << 52);
    let [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9] = EXP_TERMS;
    let y = if x > 710.0 { 710.0 } else { x };
    let y = if y < -746.0 { -746.0 } else { y };
    // x = n ln 2 + r, and the part of r that is lost by rounding; n times the high part of ln 2 is exact.
    let n = (y * std::f64::consts::LOG2_E + shift) - shift;
    let (high, low) = (y - n * 0.6931471805601177, n * -1.7239444525614835e-13);
    let r = high - low;
    let rest = (high - r) - low;
    let s = r * r;
    let q = s * s;
    let upper = ((c4 + r * c5) + s * (c6 + r * c7)) + q * (c8 + r * c9);
    let p = ((c0 + r * c1) + s * (c2 + r * c3)) + q * upper;
    let one = 1.0 + r;
    let lost = r - (one - 1.0);
    // Two factors, since the power of 2 may be beyond all numbers where the result is not.
    let half = (n * 0.5 + shift) - shift;
    (one + (lost + (rest + s * p))) * power(half) * power(n - half)
}
